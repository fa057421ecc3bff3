//! Balances and settlements.

use super::{Observation, Observations, StoredItem, num, nums};
use crate::account::Account;
use crate::card_state::CardState;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::forms::SeenCorrections;
use crate::ids::{CardId, CustomerId, MerchantId, SettlementId};
use crate::keys::{attr, sk};
use crate::migration::LegacyBalances;
use crate::money::{Amount, Asset};
use crate::reconcile::fact::{
    AccountFact, BalanceAmounts, BalanceItem, GroupFact, PeriodFact, RecordedSettlement, SettledSide, SettledSum,
    SettledSums, SettlementFact, Stamp,
};
use crate::reconcile::num::Num;
use crate::settlements::returned::{self, RETURNED_ID};
use crate::settlements::{Destination, Settlement};
use crate::time::Timestamp;

/// A customer's or a merchant's balance of an asset. A merchant's may be below zero, because a refund may exceed it.
pub(super) fn balance(at: &StoredItem<'_>) -> Observations {
    let asset = Asset::parse(at.after(sk::BALANCE)).map_err(|_| ItemError::invalid(attr::SK))?;
    let account = match at.kind {
        "customer" => Account::Customer(CustomerId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))?),
        _ => Account::Merchant(MerchantId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))?),
    };
    Ok(vec![stored(at, account, asset, BalanceItem::Own, at.item)])
}

/// A stored-value card.
pub(super) fn card(at: &StoredItem<'_>) -> Observations {
    let account = Account::Card(CardId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))?);
    let mut observed = vec![stored(at, account, Asset::Ecopay, BalanceItem::Own, at.item)];
    // Its balance counts in every state.
    if let Err(error) = at.item.named("state", CardState::parse) {
        observed.push(at.unreadable(&error));
    }
    Ok(observed)
}

/// A customer's legacy item during a migration: which balances it holds, and their amounts.
pub(super) fn legacy(at: &StoredItem<'_>) -> Observations {
    let Some(standing) = LegacyBalances::read(&at.key, at.item)? else { return Ok(Vec::new()) };
    let item = if at.sk == "customer" { BalanceItem::GodRecord } else { BalanceItem::Metrics };
    let locations = standing.in_legacy.into_iter().map(|(asset, in_legacy_model)| {
        at.of_account(standing.account, asset, AccountFact::Location { in_legacy_model })
    });
    let balances = standing.balances.into_iter();
    let balances = balances.map(|(asset, view)| stored(at, standing.account, asset, item, &view));
    Ok(locations.chain(balances).collect())
}

/// The amounts of an item that may hold a balance. The check decides whether the item counts, and so whether
/// unreadable amounts matter.
fn stored(at: &StoredItem<'_>, account: Account, asset: Asset, item: BalanceItem, view: &Item) -> Observation {
    let fact = match amounts(account, view) {
        Ok(amounts) => AccountFact::Balance { item, amounts },
        Err(error) => AccountFact::UnreadableBalance { item, sk: at.sk.to_owned(), attribute: error.attribute },
    };
    at.of_account(account, asset, fact)
}

fn amounts(account: Account, item: &Item) -> Result<BalanceAmounts, ItemError> {
    if !item.contains_key(attr::BALANCE) {
        return Err(ItemError::invalid(attr::BALANCE));
    }
    let corrections = SeenCorrections::of_balance(item)?;
    let is_customer = matches!(account, Account::Customer(_));
    Ok(BalanceAmounts {
        balance: num(item, attr::BALANCE)?,
        held: num(item, attr::HELD)?,
        reserved: num(item, attr::RESERVED)?,
        owed: num(item, attr::OWED)?,
        exposure: is_customer.then(|| num(item, attr::EXPOSURE)).transpose()?,
        corrections: corrections.count,
        corrected_at: corrections.last_at.map(Timestamp::millis),
        updated_at: item.timestamp(attr::UPDATED_AT)?.millis(),
    })
}

/// A settlement.
pub(super) fn settlement(at: &StoredItem<'_>) -> Observations {
    let settlement = Settlement::read(at.item)?;
    at.check_key("merchant_id", settlement.merchant, at.id)?;
    at.check_key("settlement_id", settlement.id, at.after(sk::SETTLEMENT))?;
    let mut totals = SettledSums::new();
    for (asset, of_asset) in &settlement.totals {
        let sides = [
            (SettledSide::Taken, &of_asset.taken),
            (SettledSide::Refunded, &of_asset.refunded),
            (SettledSide::PayoutsReturned, &of_asset.payouts_returned),
            (SettledSide::CashTaken, &of_asset.cash_taken),
            (SettledSide::CashReversed, &of_asset.cash_reversed),
            (SettledSide::Deposited, &of_asset.deposited),
            (SettledSide::RefundRoom, &of_asset.refund_room),
        ];
        for (side, sum) in sides {
            if sum.as_delta().is_some() {
                totals.insert(SettledSum { side, asset: asset.clone() }, Num(sum.value()));
            }
        }
    }
    let yen = |part: &Option<Amount>| Num(part.as_ref().map(Amount::value).unwrap_or_default());
    let record = RecordedSettlement {
        merchant: settlement.merchant,
        state: settlement.state,
        records: settlement.records.into(),
        totals,
        net: yen(&settlement.net),
        fee: yen(&settlement.fee),
        tax: yen(&settlement.tax),
        payable: yen(&settlement.payable),
        provider_paid_at: match settlement.destination {
            Destination::Stripe { .. } => settlement.paid_at.map(Timestamp::millis),
            Destination::Bank(_) => None,
        },
        is_by_bank: matches!(settlement.destination, Destination::Bank(_)),
        transfer_on: settlement.transfer_on,
    };
    let mut observed = vec![at.fact(GroupFact::Settlement(settlement.id, SettlementFact::Record(record)))];
    observed.extend(settlement.closed.iter().map(|closed| {
        let fact = PeriodFact::Taken { sums: None, settlement: settlement.id };
        at.fact(GroupFact::Period(settlement.merchant, closed.period, fact))
    }));
    observed.extend(super::refund_room::returned(at, &settlement)?);
    Ok(observed)
}

/// A returned payout: its entry gave it back to the merchant, and another settlement takes it.
pub(super) fn returned(at: &StoredItem<'_>) -> Observations {
    let merchant = MerchantId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))?;
    let of = at.item.parsed(RETURNED_ID, SettlementId::parse)?;
    at.check_key(RETURNED_ID, of, at.after(sk::RETURNED))?;
    let delta = nums(&returned::owed(at.item)?);
    let Some(settlement) = at.item.opt_parsed("settlement_id", SettlementId::parse)? else {
        return Ok(Vec::new());
    };
    let stamp = SettlementFact::Stamp(Stamp { merchant, delta });
    Ok(vec![at.fact(GroupFact::Settlement(settlement, stamp))])
}
