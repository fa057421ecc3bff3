//! `GET /v1/admin/statements`: a merchant's month.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use ledger_core::ids::MerchantId;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::figures::{MonthFigures, StatementView};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Params};

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/statements")
    .summary("Returns a merchant's month: balances that add up, fees as invoices, and payouts.")
    .about(
        "Made of the totals of posting days, so that it equals them. Each settlement's fee is a qualified invoice of its own, with \
         its tax rounded down once. `status` says whether the month is closed.",
    )
    .permission(Permission::FiguresRead)
    .parameter(Parameter::required_in_query("merchant_id", "The merchant.", Kind::Id))
    .parameter(Parameter::required_in_query("month", "The month, in Japan.", Kind::Text("2026-11")))
    .ok::<StatementView>("The statement")
    .or_csv()
    .when(Code::NotFound, "no such merchant")
    .when(Code::WrongState, "the tenant's records have no figures");

pub(crate) async fn get(State(app): State<App>, who: Admin, mut params: Params) -> Result<Response, Problem> {
    let today = app.now().business_date();
    let month = params.month("month", today)?;
    let merchant = request::id("merchant_id", &params.require("merchant_id")?, MerchantId::parse)?;
    let wants_csv = params.wants_csv()?;
    params.finish()?;
    let terms = app.merchant(who.tenant(), merchant).await?;
    let statement = MonthFigures::read(&app, who.tenant(), (month, today)).await?.statement(merchant).await?;
    let view = StatementView::new((merchant, &terms.name), month, &statement)?;
    Ok(if wants_csv { view.file()?.into_response() } else { Json(view).into_response() })
}
