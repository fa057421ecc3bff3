//! `GET /v1/merchant/payments` and `/{id}`: the merchant's payments, with their refunds.

use axum::Json;
use axum::extract::State;
use ledger_core::ids::PaymentId;
use ledger_core::keys;
use ledger_core::payments::PaymentRecord;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{PathId, RecordListing};
use ledger_runtime::views::{Page, PaymentDetail, RecordView};

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/merchant/payments")
    .summary("Lists the merchant's payments and refunds, newest first.")
    .about(RecordView::OF_LISTS)
    .permission(Permission::ShopRead)
    .pages_of::<RecordView>()
    .parameter(RecordListing::KIND)
    .parameter(RecordListing::STATUS)
    .parameter(RecordListing::SHOP)
    .in_ranges_of_asset()
    .of_shops();

pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    mut wanted: RecordListing,
) -> Result<Json<Page<RecordView>>, Problem> {
    if let Some(own) = who.shop() {
        if wanted.filter.shop.is_some_and(|shop| shop != own) {
            return Ok(Json(Page { items: Vec::new(), next_cursor: None }));
        }
        wanted.filter.shop = Some(own);
    }
    app.merchant_payments(who.tenant(), who.merchant_id(), &wanted).await.map(Json)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/payments/{id}")
    .summary("Returns one of the merchant's payments.")
    .permission(Permission::ShopRead)
    .id("id", "The payment's id.")
    .ok::<PaymentDetail>("The payment")
    .of_shops()
    .when(Code::NotFound, "no such payment of this merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<PaymentId>,
) -> Result<Json<PaymentDetail>, Problem> {
    let item = app.dynamo().get(&keys::payment(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let payment = PaymentRecord::read(&item)?;
    if who.owns(&payment) { Ok(Json(PaymentDetail::from(&payment))) } else { Err(Problem::not_found()) }
}
