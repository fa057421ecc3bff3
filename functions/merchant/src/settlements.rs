//! `GET /v1/merchant/settlements` and `/{id}`: what was settled, and what became of it.

use axum::Json;
use axum::extract::State;
use ledger_core::ids::SettlementId;
use ledger_runtime::app::App;
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{self, PathId};
use ledger_runtime::views::{Page, SettlementView};

/// The merchant's settlements, newest first.
#[utoipa::path(get, path = "/v1/merchant/settlements", tag = "merchant",
    params(("limit" = Option<u32>, Query, description = "1 to 100, 20 if absent"),
        ("cursor" = Option<String>, Query, description = "`next_cursor` of the page before")),
    responses((status = 200, description = "A page", body = Page<SettlementView>),
        (status = 400, description = "`invalid_request`")))]
pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    page: request::Page,
) -> Result<Json<Page<SettlementView>>, Problem> {
    Ok(Json(app.settlements(who.tenant(), who.merchant_id(), page).await?))
}

/// One settlement of the merchant's.
#[utoipa::path(get, path = "/v1/merchant/settlements/{id}", tag = "merchant",
    params(("id" = String, Path, description = "The settlement")),
    responses((status = 200, description = "The settlement", body = SettlementView),
        (status = 404, description = "No such settlement of this merchant")))]
pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<SettlementId>,
) -> Result<Json<SettlementView>, Problem> {
    let settlement = app.settlement(who.tenant(), who.merchant_id(), id).await?;
    Ok(Json(SettlementView::from(&settlement)))
}
