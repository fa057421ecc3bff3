//! Balances and settlements.

use super::{At, Told, nums, wrong};
use crate::account::Account;
use crate::dynamo::read;
use crate::ids::{CardId, CustomerId, MerchantId, SettlementId};
use crate::keys::{attr, sk};
use crate::money::{Amount, Asset};
use crate::ops::crediting::merchant_delta;
use crate::ops::settlement::{Destination, Settlement};
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{Fact, Num, Nums, Subject};
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
    stored(at, account, asset)
}

/// A stored-value card.
pub(super) fn card(at: &At<'_>) -> Told {
    let account = Account::Card(CardId::parse(at.id).map_err(|_| wrong(attr::PK))?);
    stored(at, account, Asset::Ecopay)
}

fn stored(at: &At<'_>, account: Account, asset: Asset) -> Told {
    if !at.item.contains_key(attr::BALANCE) {
        return Err(wrong(attr::BALANCE));
    }
    let [balance, held, reserved] = [at.num(attr::BALANCE)?, at.num(attr::HELD)?, at.num(attr::RESERVED)?];
    let mut said = Vec::new();
    let is_merchant = matches!(account, Account::Merchant(_));
    for (name, part) in [(attr::BALANCE, balance), (attr::HELD, held), (attr::RESERVED, reserved)] {
        if part.is_negative() && !(is_merchant && name == attr::BALANCE) {
            let negative = at.finding(BreakKind::NegativeBalance, account).of(&asset);
            said.push(at.broken(negative.expected(format!("{name} of 0 or more")).found(part)));
        }
    }
    if matches!(account, Account::Customer(_)) {
        let (sum, exposure) = (balance.plus(held).plus(reserved), at.num(attr::EXPOSURE)?);
        if sum != exposure {
            said.push(
                at.broken(at.finding(BreakKind::ExposureDiffers, account).of(&asset).expected(sum).found(exposure)),
            );
        }
    }
    let at_ms = at.since(attr::UPDATED_AT)?.millis();
    said.push(at.fact(Subject::Account(account, asset), Fact::Stored { balance, held, reserved, at: at_ms }));
    Ok(said)
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
