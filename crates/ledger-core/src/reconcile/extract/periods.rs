//! Periods of merchants: the open one, closed ones, and the lists by which settlements took them.

use super::{Observations, StoredItem};
use crate::crediting::OpenPeriod;
use crate::dynamo::{Attributes, ItemError};
use crate::ids::{MerchantId, SettlementId};
use crate::keys::{attr, sk};
use crate::reconcile::fact::{
    GroupFact, PeriodFact, PeriodTotals, SettledPeriod, SettledSide, SettledSum, SettlementFact,
};
use crate::reconcile::num::Num;
use crate::settlements::{ClosedPeriod, read_batch};
use crate::time::Timestamp;
use crate::transaction::{PERIOD, PeriodSums};

/// The item of crediting a merchant. Before the first record is credited in a period it names none.
pub(super) fn crediting(at: &StoredItem<'_>) -> Observations {
    if !at.item.contains_key(PERIOD) && !PeriodSums::are_in(at.item) {
        return Ok(Vec::new());
    }
    let open = OpenPeriod::read(at.item)?;
    let last = at.item.opt_timestamp(attr::UPDATED_AT)?.map_or(0, Timestamp::millis);
    let fact = PeriodFact::Open { sums: totals(&open.sums), at: last };
    Ok(vec![at.fact(GroupFact::Period(merchant(at)?, open.number, fact))])
}

/// A closed period, with the settlement that has it.
pub(super) fn closed(at: &StoredItem<'_>) -> Observations {
    let period = ClosedPeriod::read(at.item)?;
    at.check_key("merchant_id", period.merchant, at.id)?;
    at.check_key(PERIOD, format!("{:08}", period.number), at.after(sk::PERIOD))?;
    let sums = totals(&period.sums);
    let of_settlement = period.settlement.map(|settlement| {
        let PeriodTotals { records, totals } = sums.clone();
        let settled = SettledPeriod { merchant: period.merchant, records, totals };
        at.fact(GroupFact::Settlement(settlement, SettlementFact::Period(settled)))
    });
    let fact = PeriodFact::Closed { sums, settlement: period.settlement };
    let mut observed = vec![at.fact(GroupFact::Period(period.merchant, period.number, fact))];
    observed.extend(of_settlement);
    Ok(observed)
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
    let fact = |(number, sums): (u32, &PeriodSums)| {
        let fact = PeriodFact::Taken { sums: Some(totals(sums)), settlement };
        at.fact(GroupFact::Period(merchant, number, fact))
    };
    Ok(periods.map(fact).collect())
}

fn merchant(at: &StoredItem<'_>) -> Result<MerchantId, ItemError> {
    MerchantId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))
}

fn totals(sums: &PeriodSums) -> PeriodTotals {
    let sides = [(SettledSide::Taken, &sums.taken), (SettledSide::Refunded, &sums.refunded)];
    let all =
        sides.into_iter().flat_map(|(side, by_asset)| by_asset.iter().map(move |(asset, sum)| (side, asset, sum)));
    let all = all.map(|(side, asset, sum)| (SettledSum { side, asset: asset.clone() }, Num(sum.value())));
    PeriodTotals { records: sums.records.into(), totals: all.filter(|(_, sum)| !sum.is_zero()).collect() }
}
