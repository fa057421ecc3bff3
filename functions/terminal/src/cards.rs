//! `GET /v1/terminal/cards/{card_id}`: shows a card's balance and status.

use axum::Json;
use axum::extract::State;
use ledger_core::cards::record::CardRecord;
use ledger_core::ids::CardId;
use ledger_core::keys;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Endpoint;
use ledger_runtime::identity::Caller;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::PathId;
use ledger_runtime::terminal::Terminal;
use ledger_runtime::views::CardView;

pub(crate) const GET: Endpoint = Endpoint::get("/v1/terminal/cards/{card_id}")
    .summary("Returns a card's balance and status.")
    .about("The response never has the card's `customer_id` or `replaced_by`.")
    .open()
    .id("card_id", "The card's id.")
    .ok::<CardView>("The card")
    .when(Code::NotFound, "no such card");

pub(crate) async fn get(
    State(app): State<App>,
    who: Terminal,
    PathId(id): PathId<CardId>,
) -> Result<Json<CardView>, Problem> {
    let item = app.dynamo().get(&keys::card(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let view = CardView::at(&CardRecord::read(&item)?, app.now());
    Ok(Json(CardView { customer_id: None, replaced_by: None, ..view }))
}
