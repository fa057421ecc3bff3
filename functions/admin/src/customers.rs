//! `/v1/admin/customers`: opens wallets; shows, changes and freezes customers.

use crate::sign_in::SignInView;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::customer_state::is_closed_wallet;
use ledger_core::customers;
use ledger_core::customers::open::CustomerOpen;
use ledger_core::customers::profile::{self, ProfileChange, ProfilePatch, ProfileReceipt, Status, WalletView};
use ledger_core::dynamo::ItemError;
use ledger_core::failure::Failure;
use ledger_core::idempotency::Claim;
use ledger_core::ids::CustomerId;
use ledger_core::keys::Partition;
use ledger_core::notices::Contact;
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::terms::SignInTerms;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PatchField, PathId, ProfileBody, SentText};
use ledger_runtime::views::{BalanceView, CustomerChangeView, CustomerView, LimitsView, unclaimed_of, words};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A request to open a customer's wallet.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"name": "Hanako Aoba", "email": "hanako@example.com", "phone": "+81-90-1234-5678"}))]
pub(crate) struct CustomerOpenBody {
    /// The id from the identity provider; a new id is made if absent.
    customer_id: Option<String>,
    /// The customer's name.
    name: String,
    /// How the name is read, in kana, if known.
    kana: Option<String>,
    /// The e-mail address, if known.
    email: Option<String>,
    /// The telephone number, if known.
    phone: Option<String>,
}

/// A change of a customer. An absent field keeps its value.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"status": "frozen", "reason": "the card was lost"}))]
pub(crate) struct CustomerPatchBody {
    /// The new name.
    #[serde(default)]
    #[schema(value_type = String, required = false)]
    name: PatchField<String>,
    /// How the name is read, in kana; `null` removes it.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    kana: PatchField<String>,
    /// The new e-mail address; `null` removes it.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    email: PatchField<String>,
    /// The new telephone number; `null` removes it.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    phone: PatchField<String>,
    /// `frozen` stops every debit of the customer; `active` allows them again.
    #[schema(value_type = Option<words::AccountStatus>)]
    status: Option<String>,
    /// The reason for the change; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A customer whose wallet was opened.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CustomerOpenedView {
    /// The customer's id.
    customer_id: String,
    /// `active`.
    #[schema(value_type = words::AccountStatus)]
    status: &'static str,
    /// The time at which the wallet was opened.
    created_at: String,
}

/// A customer and their balances.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WalletDetail {
    #[serde(flatten)]
    customer: CustomerView,
    /// One balance per asset.
    balances: Vec<BalanceView>,
    /// With what the customer signs in.
    sign_in: SignInView,
    /// What of `unclaimed` is of the closed wallet, by asset; absent if nothing is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unclaimed: BTreeMap<String, String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/customers")
    .summary("Opens a customer's wallet with a balance of every asset that is enabled for the tenant.")
    .permission(Permission::CustomersOpen)
    .body::<CustomerOpenBody>()
    .created::<CustomerOpenedView>("Opened")
    .problems(&[Code::AlreadyExists])
    .keyed(Operation::CustomerOpen);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<CustomerOpenBody>,
) -> Result<Outcome, Problem> {
    let customer = body.customer_id.as_deref().map(|id| request::id("customer_id", id, CustomerId::parse));
    let customer = customer.transpose()?;
    let name = request::name("name", &body.name);
    let kana = body.kana.as_deref().map(|text| request::kana("kana", text));
    let email = body.email.as_deref().map(|text| request::email("email", text));
    let phone = body.phone.as_deref().map(|text| request::phone("phone", text));
    let fields = ledger_core::idempotency::Fields::new()
        .with_some("customer_id", customer)
        .with("name", name.as_sent())
        .with_some("kana", kana.as_ref().map(SentText::as_sent))
        .with_some("email", email.as_ref().map(SentText::as_sent))
        .with_some("phone", phone.as_ref().map(SentText::as_sent));
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let open = CustomerOpen {
            tenant: who.tenant().clone(),
            actor: who.actor(),
            customer,
            name: name.text()?,
            kana: request::text_of(kana.as_ref())?,
            email: request::text_of(email.as_ref())?,
            phone: request::text_of(phone.as_ref())?,
        };
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let terms = match terms.sign_ins {
            // The tenant's first move may be younger than the cache, and an id that is given may be its subject.
            SignInTerms::OwnIds if customer.is_some() => {
                app.records().forget_tenant(who.tenant());
                app.terms_at(who.tenant(), cx.now).await?
            }
            SignInTerms::OwnIds | SignInTerms::Moved => terms,
        };
        let keys = app.keys_of_change(who.tenant(), open.kana.is_some()).await?;
        Ok(customers::open::plan(&open, &terms, &keys, &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            let view = CustomerOpenedView {
                customer_id: receipt.customer.to_string(),
                status: Status::Active.name(),
                created_at: receipt.created_at.to_string(),
            };
            created(GET.path(&[&receipt.customer]), &view)
        })
        .await)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/customers/{customer_id}")
    .summary("Returns a customer and their balances.")
    .about("The audit trail shows who read them.")
    .permission(Permission::CustomersRead)
    .id("customer_id", "The customer's id.")
    .ok::<WalletDetail>("The customer")
    .when(Code::LegacyRecordUnreadable, "the legacy record has an invalid value; `attribute` names it")
    .when(Code::NotFound, "no such customer");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CustomerId>,
) -> Result<Json<WalletDetail>, Problem> {
    let partition = Partition::customer(who.tenant(), id);
    let item = app.dynamo().get(&partition.profile()).await.map_err(named)?.ok_or_else(Problem::not_found)?;
    let balances = app.dynamo().balances(&partition).await.map_err(named)?;
    let balances = balances.iter().map(BalanceView::read).collect::<Result<_, ItemError>>()?;
    let sign_in = SignInView::read(&item, id)?;
    let view =
        WalletDetail { customer: CustomerView::read(&item)?, balances, sign_in, unclaimed: unclaimed_of(&item)? };
    record_read(&app, &who, id).await?;
    Ok(Json(view))
}

/// Puts on the audit trail who sees the customer's personal data. Without the record the data is not shown.
pub(crate) async fn record_read(app: &App, who: &Admin, customer: CustomerId) -> Result<(), Problem> {
    let cx = app.ledger().context(app.now())?;
    let transaction = customers::read::record(who.tenant(), who.actor(), customer, &cx).map_err(|error| {
        tracing::error!(%error, "a read cannot be put on record");
        Problem::internal()
    })?;
    Ok(app.ledger().apply(who.tenant(), Operation::CustomerRead, &transaction).await?)
}

pub(crate) const LIMITS: Endpoint = Endpoint::get("/v1/admin/customers/{customer_id}/limits")
    .summary("Returns a customer's limits, what is used of them and when they reset.")
    .about("The audit trail shows who read them.")
    .permission(Permission::CustomersRead)
    .id("customer_id", "The customer's id.")
    .ok::<LimitsView>("The limits")
    .when(Code::LegacyRecordUnreadable, "the legacy record has an invalid value; `attribute` names it")
    .when(Code::NotFound, "no such customer");

pub(crate) async fn limits(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CustomerId>,
) -> Result<Json<LimitsView>, Problem> {
    let items = app.dynamo().balances(&Partition::customer(who.tenant(), id)).await.map_err(named)?;
    if items.is_empty() {
        return Err(Problem::not_found());
    }
    let terms = app.terms(who.tenant()).await?;
    let view = LimitsView::of_customer(&terms, &items, app.now())?;
    record_read(&app, &who, id).await?;
    Ok(Json(view))
}

/// A problem that names the attribute of a legacy record that cannot be read.
pub(crate) fn named(error: ReadError) -> Problem {
    match error {
        ReadError::Unadoptable(error) => Problem::legacy_record_attribute(&error),
        ReadError::Throttled | ReadError::Unavailable(_) | ReadError::Refused(_) | ReadError::Unreadable(_) => {
            error.into()
        }
    }
}

pub(crate) const PATCH: Keyed = Endpoint::patch("/v1/admin/customers/{customer_id}")
    .summary("Changes a customer; `status` freezes or unfreezes the profile and every balance at once.")
    .permission(Permission::CustomersFreeze)
    .id("customer_id", "The customer's id.")
    .body::<CustomerPatchBody>()
    .ok::<CustomerChangeView>("Changed")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::WrongState, "`status` was sent, and the customer is closed; or the customer was erased")
    .when(Code::NotFound, "no such customer")
    .asks_ties()
    .keyed(Operation::CustomerPatch);

pub(crate) async fn patch(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CustomerId>,
    KeyedJson(key, body): KeyedJson<CustomerPatchBody>,
) -> Result<Outcome, Problem> {
    let status = body.status.as_deref().map(|word| request::word("status", word, Status::parse, "active or frozen"));
    let status = status.transpose()?;
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let (profile, fields) =
        ProfileBody { name: body.name, kana: body.kana, email: body.email, phone: body.phone }.read()?;
    let fields = fields
        .with_some("status", status.map(Status::name))
        .with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = PATCH.claim(&app, &who, key, &[&id], fields).await?;
    let plan = async |cx| {
        let (patch, reason) = (profile.patch()?, request::text_of(reason.as_ref())?);
        Change { id, patch: &patch, status, reason: reason.as_ref() }.plan(&app, &who, &claim, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, |receipt| ok(&CustomerChangeView::from(receipt))).await)
}

struct Change<'a> {
    id: CustomerId,
    patch: &'a ProfilePatch,
    status: Option<Status>,
    reason: Option<&'a FreeText>,
}

impl Change<'_> {
    /// Plans the change. A change of status is planned from the accounts that exist, one of the contact from what it was.
    async fn plan(
        &self,
        app: &App,
        who: &Admin,
        claim: &Claim,
        cx: &Context,
    ) -> Result<Planned<ProfileReceipt>, PlanError> {
        let (tenant, id) = (who.tenant(), self.id);
        let partition = Partition::customer(tenant, id);
        let item = if self.status.is_some() || self.patch.touches_contact() {
            let items = app.ledger().read_for(claim, &[partition.profile()]).await?;
            Some(items.into_iter().flatten().next().ok_or(PlanError::Missing)?)
        } else {
            None
        };
        let previous = item.as_ref().map(Contact::read).transpose()?;
        if self.status.is_some() && item.as_ref().is_some_and(is_closed_wallet) {
            return Err(Failure::WrongState.into());
        }
        let status = match (self.status, &item) {
            (Some(status), Some(item)) => Some((status, WalletView::read(item, &app.balances(&partition).await?)?)),
            (None, _) | (_, None) => None,
        };
        let status = status.as_ref().map(|(status, wallet)| (*status, wallet));
        let keys = app.keys_of_change(tenant, !self.patch.kana.is_keep()).await?;
        let change = ProfileChange { patch: self.patch, previous: previous.as_ref(), keys: &keys };
        let planned = profile::plan_by_operator(tenant, id, change, status, who.actor(), self.reason, cx)?;
        let of = (vec![Account::Customer(id)], Permission::CustomersFreeze);
        app.alone((claim, &who.member()), of, planned).await
    }
}
