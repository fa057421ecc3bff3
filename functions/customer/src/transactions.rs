//! `GET /v1/me/transactions` and `/{id}`: the customer's history, newest first.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::ids::TransactionId;
use ledger_core::keys::Partition;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Endpoint;
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{HistoryListing, Listing, PathId};
use ledger_runtime::views::{HistoryView, Page};

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/me/transactions")
    .summary("Lists the customer's transactions, newest first.")
    .about(HistoryView::OF_LISTS)
    .open()
    .pages_of::<HistoryView>()
    .parameter(Listing::OPERATION)
    .parameter(Listing::MERCHANT)
    .in_ranges_of_asset()
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::NotFound, "the customer was moved from this sign-in to another one");

pub(crate) async fn list(
    State(app): State<App>,
    who: Customer,
    wanted: HistoryListing,
) -> Result<Json<Page<HistoryView>>, Problem> {
    let partition = Partition::customer(who.tenant(), who.id());
    app.history(&partition, Account::Customer(who.id()), &wanted).await.map(Json)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/me/transactions/{id}")
    .summary("Returns one of the customer's transactions.")
    .open()
    .id("id", "The transaction's id.")
    .ok::<HistoryView>("The transaction")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::NotFound, "no such transaction of this customer");

pub(crate) async fn get(
    State(app): State<App>,
    who: Customer,
    PathId(id): PathId<TransactionId>,
) -> Result<Json<HistoryView>, Problem> {
    let partition = Partition::customer(who.tenant(), who.id());
    app.history_line(&partition, Account::Customer(who.id()), id).await.map(Json)
}
