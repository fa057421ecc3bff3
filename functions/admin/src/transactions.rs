//! `GET /v1/admin/customers/{id}/transactions` and `/v1/admin/cards/{id}/transactions`: the history of an account.

use crate::customers;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::cards::record::CardRecord;
use ledger_core::dynamo::Item;
use ledger_core::ids::{CardId, CustomerId};
use ledger_core::keys::{self, Key, Partition};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{HistoryListing, Listing, PathId};
use ledger_runtime::views::{HistoryView, Page};

const OF_CUSTOMERS: &str = "The audit trail shows who read them. With a filter, a page may have fewer items than `limit`, or \
                            none, and still a `next_cursor`.";
const OF_CARDS: &str = "If the card has an owner, the audit trail shows who read them. With a filter, a page may have fewer \
                        items than `limit`, or none, and still a `next_cursor`.";

pub(crate) const OF_CUSTOMER: Endpoint = Endpoint::get("/v1/admin/customers/{customer_id}/transactions")
    .summary("Lists a customer's transactions, newest first.")
    .about(OF_CUSTOMERS)
    .permission(Permission::CustomersRead)
    .id("customer_id", "The customer's id.")
    .pages_of::<HistoryView>()
    .parameter(Listing::OPERATION)
    .parameter(Listing::MERCHANT)
    .in_ranges_of_asset()
    .when(Code::LegacyRecordUnreadable, "the legacy record has an invalid value; `attribute` names it")
    .when(Code::NotFound, "no such customer");

pub(crate) async fn of_customer(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CustomerId>,
    wanted: HistoryListing,
) -> Result<Json<Page<HistoryView>>, Problem> {
    let partition = Partition::customer(who.tenant(), id);
    let _ = existing(&app, &partition.profile()).await?;
    let lines = app.history(&partition, Account::Customer(id), &wanted).await?;
    customers::record_read(&app, &who, id).await?;
    Ok(Json(lines))
}

pub(crate) const OF_CARD: Endpoint = Endpoint::get("/v1/admin/cards/{card_id}/transactions")
    .summary("Lists a card's transactions, newest first.")
    .about(OF_CARDS)
    .permission(Permission::CardsRead)
    .id("card_id", "The card's id.")
    .pages_of::<HistoryView>()
    .parameter(Listing::OPERATION)
    .parameter(Listing::MERCHANT)
    .in_ranges_of_asset()
    .when(Code::NotFound, "no such card");

pub(crate) async fn of_card(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<CardId>,
    wanted: HistoryListing,
) -> Result<Json<Page<HistoryView>>, Problem> {
    let card = CardRecord::read(&existing(&app, &keys::card(who.tenant(), id)).await?)?;
    let lines = app.history(&Partition::card(who.tenant(), id), Account::Card(id), &wanted).await?;
    // What an owned card paid says as much of its owner as the owner's own transactions.
    if let Some(owner) = card.owner {
        customers::record_read(&app, &who, owner).await?;
    }
    Ok(Json(lines))
}

/// An account without transactions has an empty page, an account that does not exist is 404.
pub(crate) async fn existing(app: &App, key: &Key) -> Result<Item, Problem> {
    app.dynamo().get(key).await.map_err(customers::named)?.ok_or_else(Problem::not_found)
}
