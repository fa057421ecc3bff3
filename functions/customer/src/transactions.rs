//! `GET /v1/me/transactions` and `/{id}`: the customer's history, newest first.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::ids::TransactionId;
use ledger_core::keys::Partition;
use ledger_runtime::app::App;
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, PathId};
use ledger_runtime::views::{HistoryView, Page};

/// The customer's history, newest first.
#[utoipa::path(get, path = "/v1/me/transactions", tag = "customer",
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 if absent"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page", body = Page<HistoryView>),
        (status = 400, description = "`invalid_request`")))]
pub(crate) async fn list(
    State(app): State<App>,
    who: Customer,
    page: request::Page,
) -> Result<Json<Page<HistoryView>>, Problem> {
    let partition = Partition::customer(who.tenant(), who.id());
    app.history(&partition, Account::Customer(who.id()), page).await.map(Json)
}

/// One transaction of the customer's.
#[utoipa::path(get, path = "/v1/me/transactions/{id}", tag = "customer",
    params(("id" = String, Path, description = "The transaction")),
    responses((status = 200, description = "The transaction", body = HistoryView),
        (status = 404, description = "No such transaction of this customer")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathId(id): PathId<TransactionId>,
) -> Result<Json<HistoryView>, Problem> {
    let partition = Partition::customer(who.tenant(), who.id());
    app.history_line(&partition, Account::Customer(who.id()), id).await.map(Json)
}
