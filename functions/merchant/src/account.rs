//! `GET /v1/merchant` and `/v1/merchant/balances`.

use axum::Json;
use axum::extract::State;
use ledger_core::dynamo::{Item, ItemError, Value, read};
use ledger_core::keys::{self, Partition, Work, attr, sk};
use ledger_core::money::{Asset, Balance, Delta};
use ledger_runtime::app::App;
use ledger_runtime::dynamo::{QuerySpec, SortKeys};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::Problem;
use ledger_runtime::views::MerchantView;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// How many records of one shard are asked for at a time.
const BATCH: usize = 500;

/// A merchant's balance of one asset.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantBalanceView {
    asset: String,
    /// What has been added to the balance.
    credited: String,
    /// Payments less refunds on their way to the balance.
    uncredited: String,
    /// Both together: what the merchant is owed.
    total: String,
}

/// A merchant's balances.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantBalancesView {
    balances: Vec<MerchantBalanceView>,
}

/// The merchant itself.
#[utoipa::path(get, path = "/v1/merchant", tag = "merchant",
    responses((status = 200, description = "The merchant", body = MerchantView),
        (status = 404, description = "No such merchant")))]
pub(crate) async fn get(State(app): State<App>, who: Merchant) -> Result<Json<MerchantView>, Problem> {
    let key = Partition::merchant(who.tenant(), who.merchant_id()).profile();
    let item = app.dynamo().get(&key).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(MerchantView::read(&item)?))
}

/// What the merchant is owed: credited, and on its way.
#[utoipa::path(get, path = "/v1/merchant/balances", tag = "merchant",
    responses((status = 200, description = "The balances", body = MerchantBalancesView),
        (status = 404, description = "No such merchant")))]
pub(crate) async fn balances(State(app): State<App>, who: Merchant) -> Result<Json<MerchantBalancesView>, Problem> {
    let merchant = app.merchant(who.tenant(), who.merchant_id()).await?;
    let mut sums = BTreeMap::<Asset, (Balance, Balance)>::new();
    let partition = Partition::merchant(who.tenant(), merchant.id);
    for item in app.balances(&partition).await? {
        let asset =
            read::parsed(&item, attr::SK, |key| Asset::parse(key.strip_prefix(sk::BALANCE).unwrap_or_default()))?;
        let credited = Balance::from_stored(asset.clone(), read::number(&item, attr::BALANCE)?)
            .map_err(|_| ItemError { attribute: attr::BALANCE.to_owned() })?;
        sums.insert(asset.clone(), (credited, Balance::zero(asset)));
    }
    for shard in 0..merchant.shards.count() {
        let due = keys::due_partition(who.tenant(), Work::Credit(merchant.id), shard);
        let mut after = None;
        loop {
            let query = QuerySpec::due(due.clone(), SortKeys::All).after(after.take()).limit(BATCH);
            let items = app.dynamo().query(&query).await?;
            for item in &items {
                add(&mut sums, item)?;
            }
            match items.last() {
                Some(last) if items.len() >= BATCH => after = Some(read::text(last, attr::DUE_SK)?.to_owned()),
                Some(_) | None => break,
            }
        }
    }
    let balances = sums.into_iter().map(|(asset, (credited, uncredited))| {
        let total = credited.checked_plus(&uncredited).map_err(|_| wrong())?;
        Ok(MerchantBalanceView {
            asset: asset.to_string(),
            credited: credited.text(),
            uncredited: uncredited.text(),
            total: total.text(),
        })
    });
    Ok(Json(MerchantBalancesView { balances: balances.collect::<Result<_, ItemError>>()? }))
}

/// Adds what a record owes to the merchant.
fn add(sums: &mut BTreeMap<Asset, (Balance, Balance)>, item: &Item) -> Result<(), ItemError> {
    for (asset, delta) in read::opt_map(item, "merchant_delta").ok_or_else(wrong)? {
        let asset = Asset::parse(asset).map_err(|_| wrong())?;
        let Value::N(number) = delta else { return Err(wrong()) };
        let delta = Delta::from_stored(asset.clone(), number).map_err(|_| wrong())?;
        let sum = sums.entry(asset.clone()).or_insert_with(|| (Balance::zero(asset.clone()), Balance::zero(asset)));
        sum.1 = sum.1.checked_apply(&delta).map_err(|_| wrong())?;
    }
    Ok(())
}

fn wrong() -> ItemError {
    ItemError { attribute: "merchant_delta".to_owned() }
}
