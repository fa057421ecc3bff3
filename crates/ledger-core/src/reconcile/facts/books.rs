//! Balances and settlements.

use super::{At, Told, wrong};
use crate::account::Account;
use crate::ids::{CardId, CustomerId, MerchantId};
use crate::keys::{attr, sk};
use crate::money::{Amount, Asset};
use crate::ops::settlement::Settlement;
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{Fact, Num, Nums, Subject};

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
        for (side, sum) in [("taken", &of_asset.taken), ("refunded", &of_asset.refunded)] {
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
    };
    Ok(vec![at.fact(Subject::Settlement(settlement.id), fact)])
}
