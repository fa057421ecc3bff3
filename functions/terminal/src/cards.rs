//! `GET /v1/terminal/cards/{card_id}`: what is on a card.

use axum::Json;
use axum::extract::State;
use ledger_core::ids::CardId;
use ledger_core::keys;
use ledger_core::ops::card::CardRecord;
use ledger_runtime::app::App;
use ledger_runtime::identity::Caller;
use ledger_runtime::problem::Problem;
use ledger_runtime::request::PathId;
use ledger_runtime::terminal::Terminal;
use ledger_runtime::views::CardView;

/// Card inquiry. Whose card it is stays hidden.
#[utoipa::path(get, path = "/v1/terminal/cards/{card_id}", tag = "terminal", security(()),
    params(("card_id" = String, Path, description = "The card")),
    responses((status = 200, description = "The card", body = CardView),
        (status = 404, description = "No such card")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Terminal,
    PathId(id): PathId<CardId>,
) -> Result<Json<CardView>, Problem> {
    let item = app.dynamo().get(&keys::card(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let view = CardView::from(&CardRecord::read(&item)?);
    Ok(Json(CardView { customer_id: None, ..view }))
}
