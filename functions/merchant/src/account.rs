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

/// A merchant's balance of one asset. Refunds may take each part below zero.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantBalanceView {
    asset: String,
    /// What has been added to the balance and has not been paid out.
    credited: String,
    /// What of it is put aside by a settlement that is under way.
    held: String,
    /// Payments less refunds on their way to the balance.
    uncredited: String,
    /// Credited and uncredited together: what the merchant is owed.
    total: String,
}

/// A merchant's balances.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantBalancesView {
    balances: Vec<MerchantBalanceView>,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant")
    .summary("The merchant itself.")
    .permission(Permission::ShopRead)
    .ok::<MerchantView>("The merchant")
    .when(Code::NotFound, "no such merchant");

pub(crate) async fn get(State(app): State<App>, who: Merchant) -> Result<Json<MerchantView>, Problem> {
    let key = Partition::merchant(who.tenant(), who.merchant_id()).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(MerchantView::read(&item)?))
}

pub(crate) const BALANCES: Endpoint = Endpoint::get("/v1/merchant/balances")
    .summary("What the merchant is owed: credited, and on its way.")
    .about(
        "The two are read as of one instant, so that their sum is right while payments are being credited. A \
         payment or refund of the last moments may not be in it yet; none is in it twice.",
    )
    .permission(Permission::ShopRead)
    .ok::<MerchantBalancesView>("The balances")
    .when(Code::NotFound, "no such merchant")
    .when(Code::Busy, "too much is on its way at the moment to be summed as of one instant");

pub(crate) async fn balances(State(app): State<App>, who: Merchant) -> Result<Json<MerchantBalancesView>, Problem> {
    let sums = app.merchant_balances(who.tenant(), who.merchant_id()).await?;
    let balances = sums.into_iter().map(|(asset, sum)| {
        let total = sum.credited.checked_plus(&sum.uncredited).map_err(|_| Problem::internal())?;
        Ok(MerchantBalanceView {
            asset: asset.to_string(),
            credited: sum.credited.text(),
            held: sum.held.text(),
            uncredited: sum.uncredited.text(),
            total: total.text(),
        })
    });
    Ok(Json(MerchantBalancesView { balances: balances.collect::<Result<_, Problem>>()? }))
}
