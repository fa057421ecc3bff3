//! `GET /v1/me/balances`: the balance of every asset, and the aggregates.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::ItemError;
use ledger_core::keys::{self, Partition};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Endpoint;
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::views::{BalanceView, MetricsView};
use serde::Serialize;
use utoipa::ToSchema;

/// A customer's wallet.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WalletView {
    /// One balance per asset.
    balances: Vec<BalanceView>,
    /// The customer's totals, and the estimate of CO2.
    metrics: MetricsView,
    /// What the programme is called.
    programme: String,
}

pub(crate) const BALANCES: Endpoint = Endpoint::get("/v1/me/balances")
    .summary("Returns every balance of the customer, and the customer's totals.")
    .open()
    .ok::<WalletView>("The wallet")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::NotFound, "no wallet has been opened for this customer");

pub(crate) async fn balances(State(app): State<App>, who: Customer) -> Result<Json<WalletView>, Problem> {
    let partition = Partition::customer(who.tenant(), who.id());
    let items = app.balances(&partition).await?;
    if items.is_empty() {
        return Err(Problem::not_found());
    }
    let metrics = app.dynamo().get(&keys::metrics(who.tenant(), who.id())).await?;
    let programme = app.terms(who.tenant()).await?.display_name.to_string();
    let balances = items.iter().map(BalanceView::read).collect::<Result<_, ItemError>>()?;
    Ok(Json(WalletView { balances, metrics: MetricsView::read(metrics.as_ref(), &items)?, programme }))
}
