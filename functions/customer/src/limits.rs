//! `GET /v1/me/limits`: the customer's limits, and what is used of them.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Endpoint;
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::views::LimitsView;

pub(crate) const GET: Endpoint = Endpoint::get("/v1/me/limits")
    .summary("Returns the customer's limits, what is used of them and when they reset.")
    .open()
    .ok::<LimitsView>("The limits")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::NotFound, "no wallet has been opened for this customer");

pub(crate) async fn get(State(app): State<App>, who: Customer) -> Result<Json<LimitsView>, Problem> {
    let items = app.limited_items(who.tenant(), Account::Customer(who.id())).await?;
    if items.is_empty() {
        return Err(Problem::not_found());
    }
    let terms = app.terms(who.tenant()).await?;
    Ok(Json(LimitsView::of_customer(&terms, &items, app.now())?))
}
