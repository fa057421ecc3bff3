//! `GET /v1/merchant/settlements` and `/{id}`: the merchant's settlements and their states.

use axum::Json;
use axum::extract::State;
use ledger_core::ids::SettlementId;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, PathId};
use ledger_runtime::views::{Page, SettlementView};

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/merchant/settlements")
    .summary("Lists the merchant's settlements, newest first.")
    .permission(Permission::ShopRead)
    .pages_of::<SettlementView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    page: request::Page,
) -> Result<Json<Page<SettlementView>>, Problem> {
    Ok(Json(app.settlements(who.tenant(), who.merchant_id(), page).await?))
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/settlements/{id}")
    .summary("Returns one of the merchant's settlements.")
    .permission(Permission::ShopRead)
    .id("id", "The settlement's id.")
    .ok::<SettlementView>("The settlement")
    .when(Code::NotFound, "no such settlement of this merchant");

pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<SettlementId>,
) -> Result<Json<SettlementView>, Problem> {
    let settlement = app.settlement(who.tenant(), who.merchant_id(), id).await?;
    app.settlement_view(who.tenant(), &settlement).await.map(Json)
}
