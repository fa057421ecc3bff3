//! Balances and settlements.

use super::{At, Said, Told, num, nums, wrong};
use crate::account::Account;
use crate::dynamo::{Item, ItemError, read};
use crate::forms::SeenCorrections;
use crate::ids::{CardId, CustomerId, MerchantId, SettlementId};
use crate::keys::{attr, sk};
use crate::migration::Standing;
use crate::money::{Amount, Asset};
use crate::ops::crediting::merchant_delta;
use crate::ops::settlement::{Destination, Settlement};
use crate::reconcile::fact::{Fact, Place, Subject};
use crate::reconcile::num::{Num, Nums};
use crate::time::Timestamp;

/// A customer's or a merchant's balance of an asset. A merchant's may be below zero: refunds take what is not
/// there any more.
pub(super) fn balance(at: &At<'_>) -> Told {
    let asset = at.sk.strip_prefix(sk::BALANCE).and_then(|asset| Asset::parse(asset).ok());
    let asset = asset.ok_or_else(|| wrong(attr::SK))?;
    let account = match at.kind {
        "customer" => Account::Customer(CustomerId::parse(at.id).map_err(|_| wrong(attr::PK))?),
        _ => Account::Merchant(MerchantId::parse(at.id).map_err(|_| wrong(attr::PK))?),
    };
    Ok(vec![stored(at, account, asset, Place::Own, at.item)])
}

/// A stored-value card.
pub(super) fn card(at: &At<'_>) -> Told {
    let account = Account::Card(CardId::parse(at.id).map_err(|_| wrong(attr::PK))?);
    Ok(vec![stored(at, account, Asset::Ecopay, Place::Own, at.item)])
}

/// A legacy item of a customer whose tenant leaves that model: which balances stand there, and what it holds.
pub(super) fn legacy(at: &At<'_>) -> Told {
    let Some(standing) = Standing::read(&at.key, at.item)? else { return Ok(Vec::new()) };
    let of = |asset: Asset| Subject::Account(standing.account, asset);
    let place = if at.sk == "customer" { Place::GodRecord } else { Place::Metrics };
    let stands = standing.in_legacy.into_iter();
    let stands = stands.map(|(asset, in_legacy)| at.fact(of(asset), Fact::Standing { in_legacy }));
    let balances = standing.balances.into_iter();
    let balances = balances.map(|(asset, view)| stored(at, standing.account, asset, place, &view));
    Ok(stands.chain(balances).collect())
}

/// What an item says of a balance. What is wrong with that by itself is said by whoever knows whether it counts.
fn stored(at: &At<'_>, account: Account, asset: Asset, place: Place, item: &Item) -> Said {
    let fact = numbers(account, place, item);
    let unread = |error: ItemError| Fact::Unread { place, sk: at.sk.to_owned(), attribute: error.attribute };
    at.fact(Subject::Account(account, asset), fact.unwrap_or_else(unread))
}

fn numbers(account: Account, place: Place, item: &Item) -> Result<Fact, ItemError> {
    if !item.contains_key(attr::BALANCE) {
        return Err(wrong(attr::BALANCE));
    }
    let corrections = SeenCorrections::of_balance(item)?;
    let is_customer = matches!(account, Account::Customer(_));
    Ok(Fact::Stored {
        place,
        balance: num(item, attr::BALANCE)?,
        held: num(item, attr::HELD)?,
        reserved: num(item, attr::RESERVED)?,
        owed: num(item, attr::OWED)?,
        exposure: is_customer.then(|| num(item, attr::EXPOSURE)).transpose()?,
        corrections: corrections.count,
        corrected_at: corrections.last_at.map(Timestamp::millis),
        at: read::parsed(item, attr::UPDATED_AT, Timestamp::parse)?.millis(),
    })
}

/// A settlement.
pub(super) fn settlement(at: &At<'_>) -> Told {
    let settlement = Settlement::read(at.item)?;
    let mut totals = Nums::new();
    for (asset, of_asset) in &settlement.totals {
        let sides = [("taken", &of_asset.taken), ("refunded", &of_asset.refunded), ("came_back", &of_asset.came_back)];
        for (side, sum) in sides {
            if sum.as_delta().is_some() {
                totals.insert(format!("{side} {asset}"), Num(sum.value()));
            }
        }
    }
    let yen = |part: &Option<Amount>| Num(part.as_ref().map(Amount::value).unwrap_or_default());
    let fact = Fact::Settlement {
        merchant: Account::Merchant(settlement.merchant).to_string(),
        state: settlement.state.name().to_owned(),
        records: settlement.records.into(),
        totals,
        parts: [yen(&settlement.net), yen(&settlement.fee), yen(&settlement.tax), yen(&settlement.payable)],
        provider_paid_at: match settlement.destination {
            Destination::Stripe { .. } => settlement.paid_at.map(Timestamp::millis),
            Destination::Bank(_) => None,
        },
    };
    Ok(vec![at.fact(Subject::Settlement(settlement.id), fact)])
}

/// What came back of a settlement that was paid: its entry gave it to the merchant, and another settlement takes it.
pub(super) fn returned(at: &At<'_>) -> Told {
    let merchant = Account::Merchant(MerchantId::parse(at.id).map_err(|_| wrong(attr::PK))?).to_string();
    let delta = nums(&merchant_delta(at.item)?);
    if !at.item.contains_key("settlement_id") {
        return Ok(Vec::new());
    }
    let settlement = read::parsed(at.item, "settlement_id", SettlementId::parse)?;
    Ok(vec![at.fact(Subject::Settlement(settlement), Fact::Stamped { merchant, delta, came_back: true })])
}
