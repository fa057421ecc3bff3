//! `GET /v1/admin/payments/{payment_id}`: a payment of any merchant.

use axum::Json;
use axum::extract::State;
use ledger_core::ids::PaymentId;
use ledger_core::keys;
use ledger_core::payments::PaymentRecord;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::PathId;
use ledger_runtime::views::PaymentDetail;

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
