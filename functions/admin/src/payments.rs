//! `GET /v1/admin/payments` and `/v1/admin/refunds`: payments and refunds of all merchants; a payment; the payments of
//! one merchant; and open holds.

use crate::customers;
use crate::transactions::existing;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{CustomerId, MerchantId, PaymentId};
use ledger_core::keys::{self, Partition};
use ledger_core::lists::{HoldFilter, ListedKind};
use ledger_core::payments::PaymentRecord;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::permission;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Params, PathId, RecordListing, TenantListing};
use ledger_runtime::views::{HoldView, Page, PaymentDetail, RecordView};

pub(crate) const OF_MERCHANT: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/payments")
    .summary("Lists a merchant's payments and refunds, newest first.")
    .about(RecordView::OF_LISTS)
    .permission(Permission::MerchantsRead)
    .id("merchant_id", "The merchant's id.")
    .pages_of::<RecordView>()
    .parameter(RecordListing::KIND)
    .parameter(RecordListing::STATUS)
    .parameter(RecordListing::SHOP)
    .in_ranges_of_asset()
    .when(Code::NotFound, "no such merchant");

pub(crate) async fn of_merchant(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<MerchantId>,
    wanted: RecordListing,
) -> Result<Json<Page<RecordView>>, Problem> {
    app.merchant_payments(who.tenant(), id, &wanted).await.map(Json)
}

pub(crate) const HOLDS: Endpoint = Endpoint::get("/v1/admin/holds")
    .summary("Lists open holds, the one that expires first first.")
    .about(
        "Holds that were just opened may be missing for a moment. A page may have fewer items than `limit`, or none, and \
         still a `next_cursor`. With `customer_id` it also needs `customers.read`, and the audit trail shows who read them.",
    )
    .permission(Permission::MerchantsRead)
    .pages_of::<HoldView>()
    .parameter(Parameter::in_query("merchant_id", "Holds for this merchant.", Kind::Id))
    .parameter(Parameter::in_query("customer_id", "Holds of this customer's money.", Kind::Id))
    .when(Code::NotFound, "no such customer");

pub(crate) async fn holds(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<HoldView>>, Problem> {
    let merchant = params.take("merchant_id")?;
    let merchant = merchant.map(|id| request::id("merchant_id", &id, MerchantId::parse)).transpose()?;
    let customer = params.take("customer_id")?;
    let customer = customer.map(|id| request::id("customer_id", &id, CustomerId::parse)).transpose()?;
    let page = params.pair_page()?;
    params.finish()?;
    if let Some(customer) = customer {
        require_customer(&app, &who, customer).await?;
    }
    let filter = HoldFilter { merchant, payer: customer.map(Account::Customer) };
    let page = app.open_holds(who.tenant(), page, filter).await?;
    if let Some(customer) = customer {
        customers::record_read(&app, &who, customer).await?;
    }
    Ok(Json(page))
}

/// Requires that the caller may read customers, and that the customer exists.
async fn require_customer(app: &App, who: &Admin, customer: CustomerId) -> Result<(), Problem> {
    permission::require(app, &who.member(), Permission::CustomersRead).await?;
    existing(app, &Partition::customer(who.tenant(), customer).profile()).await.map(drop)
}

const OF_TENANT: &str = "What was sealed last is first: newest first, except what was sealed late. The worker seals within two minutes, so \
     that the most recent ones are missing that long. A page may have fewer items than `limit`, or none, and still a \
     `next_cursor`. With `customer_id`, the audit trail shows who read them.";

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/payments")
    .summary("Lists payments to all merchants.")
    .about(OF_TENANT)
    .permission(Permission::MerchantsRead)
    .pages_of::<RecordView>()
    .parameter(TenantListing::MERCHANT)
    .parameter(TenantListing::CUSTOMER)
    .parameter(RecordListing::STATUS)
    .in_ranges_of_asset()
    .when(Code::NotFound, "no such merchant or customer");

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<RecordView>>, Problem> {
    let state = params.payment_status()?;
    let wanted = params.tenant_listing(ListedKind::Payments, state)?;
    params.finish()?;
    of_tenant(&app, &who, ListedKind::Payments, &wanted).await
}

pub(crate) const REFUNDS: Endpoint = Endpoint::get("/v1/admin/refunds")
    .summary("Lists refunds of all merchants, without reversals.")
    .about(OF_TENANT)
    .permission(Permission::MerchantsRead)
    .pages_of::<RecordView>()
    .parameter(TenantListing::MERCHANT)
    .parameter(TenantListing::CUSTOMER)
    .in_ranges_of_asset()
    .when(Code::NotFound, "no such merchant or customer");

pub(crate) async fn refunds(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<RecordView>>, Problem> {
    let wanted = params.tenant_listing(ListedKind::Refunds, None)?;
    params.finish()?;
    of_tenant(&app, &who, ListedKind::Refunds, &wanted).await
}

async fn of_tenant(
    app: &App,
    who: &Admin,
    kind: ListedKind,
    wanted: &TenantListing,
) -> Result<Json<Page<RecordView>>, Problem> {
    let tenant = who.tenant();
    match wanted {
        TenantListing::All(wanted, filter) => app.sealed_records(tenant, kind, (wanted, filter)).await.map(Json),
        TenantListing::OfMerchant(merchant, wanted) => {
            let merchant = app.merchant(tenant, *merchant).await?;
            let of = (merchant.id, merchant.shards);
            let (items, next_cursor) = app.merchant_records(tenant, of, wanted.listing, &wanted.filter).await?;
            let items = items.iter().map(RecordView::read_with_merchant).collect::<Result<_, ItemError>>()?;
            Ok(Json(Page { items, next_cursor }))
        }
        TenantListing::OfCustomer(customer, wanted) => {
            require_customer(app, who, *customer).await?;
            let of = (kind, *customer);
            let page = app.customer_records(tenant, of, wanted.listing, &wanted.filter).await?;
            customers::record_read(app, who, *customer).await?;
            Ok(Json(page))
        }
    }
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/payments/{payment_id}")
    .summary("Returns a payment.")
    .permission(Permission::MerchantsRead)
    .id("payment_id", "The payment's id.")
    .ok::<PaymentDetail>("The payment")
    .when(Code::NotFound, "no such payment");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<PaymentId>,
) -> Result<Json<PaymentDetail>, Problem> {
    let item = app.dynamo().get(&keys::payment(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(PaymentDetail::from(&PaymentRecord::read(&item)?)))
}
