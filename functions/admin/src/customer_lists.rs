//! `GET /v1/admin/customers` and `POST /v1/admin/customers/search`: finds customers. A search is sent in a body, because a
//! URL is logged.

use crate::customers;
use axum::Json;
use axum::extract::State;
use ledger_core::customers::read::{self, FoundBy};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::finding::Sought;
use ledger_core::ids::CustomerId;
use ledger_core::keys::{self, Key, Lookup, Partition, attr};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_runtime::app::App;
use ledger_runtime::cursor::PlacedCursor;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Json as JsonBody, Params, SentText, search_limit};
use ledger_runtime::views::{Page, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

const STATUSES: &[&str] = &["active", "frozen", "closed"];

/// A customer in a list. The e-mail address and the telephone number are shown with the customer alone.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerListedView {
    /// The customer's id.
    customer_id: String,
    /// The name; absent if the customer was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// How the name is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    kana: Option<String>,
    /// `active`, `frozen` or `closed`.
    #[schema(value_type = words::CustomerStatus)]
    status: String,
    /// The time at which the wallet was opened.
    created_at: String,
}

/// What a customer is searched by: one of `customer_id`, `phone`, `email`, `name` and `kana`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"phone": "090-1234-5678"}))]
pub(crate) struct CustomerSearchBody {
    /// The customer's id.
    customer_id: Option<String>,
    /// The whole telephone number, in any usual form; without a country it is of Japan.
    phone: Option<String>,
    /// The whole e-mail address.
    email: Option<String>,
    /// The beginning of the name. Spaces, letters' case and width do not matter.
    name: Option<String>,
    /// The beginning of how the name is read, in any kana.
    kana: Option<String>,
    /// The maximum number of customers; 20 if absent.
    #[schema(minimum = 1, maximum = 100, example = 20)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// What is sought.
enum Wanted {
    Id(CustomerId),
    Value(Sought),
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/customers")
    .summary("Lists customers, newest first.")
    .about(
        "With `status`, a page may have fewer items than `limit`, or none, and still a `next_cursor`. The audit trail shows \
         who listed them.",
    )
    .permission(Permission::CustomersRead)
    .timed_pages_of::<CustomerListedView>()
    .parameter(Parameter::in_query("status", "Customers with this status only.", Kind::Word(STATUSES)))
    .when(Code::WrongState, "the tenant's customers are in a legacy model");

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<CustomerListedView>>, Problem> {
    let status = params.word("status", STATUSES)?;
    let page = params.timed_page()?;
    params.finish()?;
    let tenant = who.tenant();
    app.require_split(tenant).await?;
    let shards = |times| (0..keys::LISTED_SHARDS.count()).map(|shard| reads::customers(tenant, shard, times)).collect();
    let keep = |profile: &Item| {
        let view = CustomerListedView::read(profile)?;
        Ok(status.is_none_or(|status| view.status == status).then_some(view))
    };
    let found = app.listed_page(tenant, page, shards, (Key::clone, keep)).await?;
    record(&app, &who, FoundBy::List, found.items.len()).await?;
    Ok(Json(found))
}

pub(crate) const SEARCH: Endpoint = Endpoint::post("/v1/admin/customers/search")
    .summary("Finds customers by their id, telephone number, e-mail address, name or the reading of the name.")
    .about(
        "One of the fields is given. A telephone number and an e-mail address are compared as a whole, a name and its \
         reading by their beginning. More than one customer may be found. The audit trail shows who searched, by which \
         field, and how many were found.",
    )
    .permission(Permission::CustomersRead)
    .body::<CustomerSearchBody>()
    .ok_page_of::<CustomerListedView>("The customers that were found")
    .when(Code::WrongState, "the tenant's customers are in a legacy model");

pub(crate) async fn search(
    State(app): State<App>,
    who: Admin,
    JsonBody(body): JsonBody<CustomerSearchBody>,
) -> Result<Json<Page<CustomerListedView>>, Problem> {
    let limit = search_limit(body.limit)?;
    let after = body.cursor.as_deref().map(PlacedCursor::parse).transpose()?;
    let wanted = body.wanted()?;
    let tenant = who.tenant();
    app.require_split(tenant).await?;
    let lookup_keys = app.ledger().marker_keys().await?;
    let (by, found) = match &wanted {
        Wanted::Id(id) => {
            let profile =
                app.dynamo().get(&Partition::customer(tenant, *id).profile()).await.map_err(customers::named)?;
            let items = profile.iter().map(CustomerListedView::read).collect::<Result<_, ItemError>>()?;
            (FoundBy::Id, Page { items, next_cursor: None })
        }
        Wanted::Value(sought) => {
            let after = after.as_ref().map(PlacedCursor::place);
            let queries = sought.of_customers(tenant, &lookup_keys, after);
            let record = |key: &Key| key.partition().profile();
            let keep = |profile: &Item| sought.is_in(profile)?.then(|| CustomerListedView::read(profile)).transpose();
            (FoundBy::Value(sought.lookup()), app.search_page(tenant, queries, limit, (record, keep)).await?)
        }
    };
    record(&app, &who, by, found.items.len()).await?;
    Ok(Json(found))
}

impl CustomerSearchBody {
    fn wanted(&self) -> Result<Wanted, Problem> {
        let id = self.customer_id.as_deref().map(|id| request::id("customer_id", id, CustomerId::parse)).transpose()?;
        let phone = self.phone.as_deref().map(|text| {
            let sought = Sought::parse(Lookup::Phone, text);
            sought.ok_or_else(|| Problem::invalid_field("phone", "is not a telephone number"))
        });
        let value = |sent: Option<SentText>, lookup: Lookup| {
            let Some(sent) = sent else { return Ok(None) };
            let sought = Sought::parse(lookup, sent.text()?.expose());
            sought.map(Some).ok_or_else(|| Problem::invalid_field(lookup.name(), "must not be empty"))
        };
        let email = value(self.email.as_deref().map(|text| request::email("email", text)), Lookup::Email)?;
        let name = value(self.name.as_deref().map(|text| request::name("name", text)), Lookup::Name)?;
        let kana = value(self.kana.as_deref().map(|text| request::kana("kana", text)), Lookup::Kana)?;
        let values = [phone.transpose()?, email, name, kana].into_iter().flatten().map(Wanted::Value);
        let mut wanted = id.map(Wanted::Id).into_iter().chain(values);
        match (wanted.next(), wanted.next()) {
            (Some(wanted), None) => Ok(wanted),
            (None, _) | (Some(_), Some(_)) => {
                Err(Problem::invalid("Send one of customer_id, phone, email, name and kana."))
            }
        }
    }
}

impl CustomerListedView {
    fn read(profile: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            customer_id: profile.string("customer_id")?,
            name: profile.opt_string("name")?,
            kana: profile.opt_string("kana")?,
            status: profile.string("status")?,
            created_at: profile.string(attr::CREATED_AT)?,
        })
    }
}

/// Takes the status of accounts that a list is of.
/// Puts on the audit trail who found customers. Without the record they are not shown.
async fn record(app: &App, who: &Admin, by: FoundBy, found: usize) -> Result<(), Problem> {
    let cx = app.ledger().context(app.now())?;
    let transaction = read::record_search(who.tenant(), who.actor(), by, found, &cx).map_err(|error| {
        tracing::error!(%error, "a search cannot be put on record");
        Problem::internal()
    })?;
    Ok(app.ledger().apply(who.tenant(), Operation::CustomerSearch, &transaction).await?)
}
