//! Periods of merchants: the open ones, closed ones, and the lists by which settlements took them.

use super::{Observation, Observations, StoredItem};
use crate::account::Account;
use crate::crediting::LaneCredit;
use crate::crediting::{PERIOD, PeriodId, PeriodSide, PeriodSums};
use crate::dynamo::{Attributes, ItemError};
use crate::ids::{MerchantId, SettlementId};
use crate::keys::{attr, sk};
use crate::money::Delta;
use crate::reconcile::fact::{
    AccountFact, GroupFact, PeriodFact, PeriodTotals, SettledPeriod, SettledSide, SettledSum, SettlementFact,
};
use crate::reconcile::num::Num;
use crate::settlements::{ClosedPeriod, read_batch};

/// What the merchant is credited with in a lane: its open period there.
pub(super) fn lane(at: &StoredItem<'_>) -> Observations {
    let in_key = at.after(sk::CREDITED);
    let lane: u32 = in_key.parse().map_err(|_| ItemError::invalid(attr::SK))?;
    at.check_key(attr::SK, format!("{lane:02}"), in_key)?;
    let open = LaneCredit::read(lane, at.item)?;
    let fact = PeriodFact::Open { sums: totals(&open.sums), until: open.segment };
    Ok(vec![at.fact(GroupFact::Period(merchant(at)?, open.period(), fact))])
}

/// A closed period, with the settlement that has it.
pub(super) fn closed(at: &StoredItem<'_>) -> Observations {
    let period = ClosedPeriod::read(at.item)?;
    at.check_key("merchant_id", period.merchant, at.id)?;
    at.check_key(PERIOD, period.id.sort_key(), at.after(sk::PERIOD))?;
    let sums = totals(&period.sums);
    let of_settlement = period.settlement.map(|settlement| {
        let PeriodTotals { records, totals } = sums.clone();
        let settled = SettledPeriod { merchant: period.merchant, records, totals };
        at.fact(GroupFact::Settlement(settlement, SettlementFact::Period(settled)))
    });
    let fact = PeriodFact::Closed { sums, settlement: period.settlement };
    let mut observed = vec![at.fact(GroupFact::Period(period.merchant, period.id, fact))];
    observed.extend(of_settlement);
    observed.extend(moved(at, &period)?);
    Ok(observed)
}

/// What closing a lane's period moved to the merchant's balances. The entries that were credited in the period changed its
/// sums alone: each balance has the closed periods, and each period its entries.
fn moved(at: &StoredItem<'_>, period: &ClosedPeriod) -> Result<Vec<Observation>, ItemError> {
    let closed_at = at.since(attr::CREATED_AT)?.millis();
    let net = period.sums.net().map_err(|_| ItemError::invalid(PERIOD))?;
    let fact = |delta: &Delta| {
        let fact = AccountFact::Posted { held: false, delta: Num(delta.value()), at: closed_at };
        at.of_account(Account::Merchant(period.merchant), delta.asset().clone(), fact)
    };
    Ok(net.iter().map(fact).collect())
}

/// The list of a settlement's batch: the periods in it, unless they were given back.
pub(super) fn taken(at: &StoredItem<'_>) -> Observations {
    let settlement = at.item.parsed("settlement_id", SettlementId::parse)?;
    let (in_key, _) = at.after(sk::SETTLED).split_once('#').ok_or_else(|| ItemError::invalid(attr::SK))?;
    at.check_key("settlement_id", settlement, in_key)?;
    if at.item.contains_key("given_back_at") {
        return Ok(Vec::new());
    }
    let merchant = merchant(at)?;
    let periods = read_batch(at.item)?;
    let periods = periods.iter().filter_map(|record| record.as_period());
    let fact = |(id, sums): (PeriodId, &PeriodSums)| {
        let fact = PeriodFact::Taken { sums: Some(totals(sums)), settlement };
        at.fact(GroupFact::Period(merchant, id, fact))
    };
    Ok(periods.map(fact).collect())
}

fn merchant(at: &StoredItem<'_>) -> Result<MerchantId, ItemError> {
    MerchantId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))
}

fn totals(sums: &PeriodSums) -> PeriodTotals {
    let of_side = |of: PeriodSide| {
        let side = match of {
            PeriodSide::Taken => SettledSide::Taken,
            PeriodSide::Refunded => SettledSide::Refunded,
            PeriodSide::CashTaken => SettledSide::CashTaken,
            PeriodSide::CashReversed => SettledSide::CashReversed,
            PeriodSide::Deposited => SettledSide::Deposited,
            PeriodSide::RefundRoom => SettledSide::RefundRoom,
        };
        sums.side(of).iter().map(move |(asset, sum)| (side, asset, sum))
    };
    let all = PeriodSide::ALL
        .into_iter()
        .flat_map(of_side)
        .map(|(side, asset, sum)| (SettledSum { side, asset: asset.clone() }, Num(sum.value())));
    PeriodTotals { records: sums.records.into(), totals: all.filter(|(_, sum)| !sum.is_zero()).collect() }
}
