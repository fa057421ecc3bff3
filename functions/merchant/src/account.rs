//! `GET /v1/merchant` and `/v1/merchant/balances`.

use axum::Json;
use axum::extract::State;
use ledger_core::keys::Partition;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Permission};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::views::MerchantView;
use serde::Serialize;
use utoipa::ToSchema;

/// A merchant's balance of one asset. Refunds may make each amount negative.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantBalanceView {
    /// The asset.
    asset: String,
    /// The amount that is credited to the merchant and not paid out.
    credited: String,
    /// The part of `credited` that an open settlement holds.
    held: String,
    /// Payments less refunds that are not credited yet.
    uncredited: String,
    /// The amount that the merchant is owed: `credited` plus `uncredited`.
    total: String,
}

/// A merchant's balances.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantBalancesView {
    /// One balance per asset.
    balances: Vec<MerchantBalanceView>,
    /// The instant of the balances.
    as_of: String,
    /// Whether `uncredited` has everything that waits. If not, more waits than is summed, and `total` lacks it too.
    complete: bool,
    /// What the programme is called.
    programme: String,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant")
    .summary("Returns the merchant.")
    .permission(Permission::ShopRead)
    .of_shops()
    .ok::<MerchantView>("The merchant")
    .when(Code::NotFound, "no such merchant");

pub(crate) async fn get(State(app): State<App>, who: Merchant) -> Result<Json<MerchantView>, Problem> {
    let key = Partition::merchant(who.tenant(), who.merchant_id()).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(MerchantView::read(&item)?))
}

pub(crate) const BALANCES: Endpoint = Endpoint::get("/v1/merchant/balances")
    .summary("Returns what the merchant is owed: credited, and not credited yet.")
    .about(
        "Both are read as of one instant, so their sum is correct while payments are being credited. The most \
         recent payments and refunds may be missing; none is counted twice.",
    )
    .permission(Permission::ShopRead)
    .ok::<MerchantBalancesView>("The balances")
    .when(Code::NotFound, "no such merchant")
    .when(Code::Busy, "the merchant is credited too often to read its balances as of one instant");

pub(crate) async fn balances(State(app): State<App>, who: Merchant) -> Result<Json<MerchantBalancesView>, Problem> {
    let sums = app.merchant_balances(who.tenant(), who.merchant_id()).await?;
    let balances = sums.by_asset.into_iter().map(|(asset, sum)| {
        let total = sum.credited.checked_plus(&sum.uncredited).map_err(|_| Problem::internal())?;
        Ok(MerchantBalanceView {
            asset: asset.to_string(),
            credited: sum.credited.text(),
            held: sum.held.text(),
            uncredited: sum.uncredited.text(),
            total: total.text(),
        })
    });
    let balances = balances.collect::<Result<_, Problem>>()?;
    let programme = app.terms(who.tenant()).await?.display_name.to_string();
    Ok(Json(MerchantBalancesView { balances, as_of: sums.as_of.rfc3339(), complete: sums.is_complete, programme }))
}
