//! Adding returned payouts, and periods that were given back, to a settlement, and releasing its records, as many per
//! transaction as fit. A record belongs to exactly one settlement, because its stamp is conditional. The settlement's sums
//! are those of its stamped records, because both change in one transaction. A closed period is one record with many sums.

use super::period::{self, PeriodBatch};
use super::record::Settlement;
use super::returned::{self, RETURNED_ID};
use super::totals::payouts_returned_attribute;
use crate::crediting::{PeriodId, PeriodSide, PeriodSums};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::keys::{self, Key, attr};
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Role, TransactItem, Transaction};
use std::collections::BTreeMap;

/// The most records in one transaction. Its other two items are the settlement and the list of the records.
pub const RECORDS_MAX: usize = MAX_ITEMS - 2;

/// A returned payout or a closed period that can be settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settleable {
    /// The returned payout of an earlier settlement, and what it owes the merchant, by asset.
    Returned(SettlementId, Vec<Delta>),
    /// A closed period with its sums.
    Period(PeriodId, PeriodSums),
}

impl Settleable {
    /// Reads a record from the table or a list.
    ///
    /// # Errors
    /// [`ItemError`] if it is no such record.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        if PeriodSums::are_in(item) {
            return Ok(Self::Period(PeriodId::of_closed(item)?, PeriodSums::read(item)?));
        }
        Ok(Self::Returned(item.parsed(RETURNED_ID, SettlementId::parse)?, returned::owed(item)?))
    }

    /// Whether no settlement has the record, by its item as it was read.
    #[must_use]
    pub fn is_free(item: &Item) -> bool {
        !item.contains_key("settlement_id")
    }

    /// The name and sums of a closed period; `None` for a returned payout.
    #[must_use]
    pub fn as_period(&self) -> Option<(PeriodId, &PeriodSums)> {
        match self {
            Self::Period(id, sums) => Some((*id, sums)),
            Self::Returned(..) => None,
        }
    }

    /// The record's key. `merchant` must be the record's own merchant.
    #[must_use]
    pub fn key(&self, tenant: &Tenant, merchant: MerchantId) -> Key {
        match self {
            Self::Returned(settlement, _) => keys::returned(tenant, merchant, *settlement),
            Self::Period(id, _) => id.key(tenant, merchant),
        }
    }

    /// How many records it is.
    fn records(&self) -> u32 {
        match self {
            Self::Returned(..) => 1,
            Self::Period(_, sums) => sums.records,
        }
    }

    fn role(&self) -> Role {
        match self {
            Self::Returned(..) => Role::Returned,
            Self::Period(..) => Role::Period,
        }
    }

    /// What it adds to each sum of a settlement. Refunds and cash taken are negative.
    fn parts(&self) -> Vec<(Part, Delta)> {
        match self {
            Self::Returned(_, owed) => owed.iter().map(|delta| (Part::PayoutsReturned, delta.clone())).collect(),
            Self::Period(_, sums) => sums.changes().map(|(side, delta)| (Part::Of(side), delta)).collect(),
        }
    }

    /// Its form in a list of a settlement.
    fn value(&self) -> Value {
        Value::M(match self {
            Self::Returned(id, owed) => {
                Item::from([(RETURNED_ID.to_owned(), Value::s(id)), returned::owed_attribute(owed)])
            }
            Self::Period(id, sums) => sums.item().into_iter().chain([id.attribute()]).collect(),
        })
    }
}

/// A sum of a settlement that grows with its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// A sum as of a period.
    Of(PeriodSide),
    /// What was paid before and returned.
    PayoutsReturned,
}

impl Part {
    fn attribute(self, asset: &Asset) -> String {
        match self {
            Self::Of(side) => side.attribute(asset),
            Self::PayoutsReturned => payouts_returned_attribute(asset),
        }
    }

    /// The signed change of the sum when records are added or released. Each sum is a positive quantity.
    fn change(self, sum: Delta, more: bool) -> Delta {
        let sum = match self {
            Self::Of(side) => side.signed(sum),
            Self::PayoutsReturned => sum,
        };
        if more { sum } else { sum.inverse() }
    }
}

/// The record of the batch whose guard failed at `position` of the transaction. That record is another settlement's,
/// or not credited. `None` for the first two items.
#[must_use]
pub fn dropped(position: usize) -> Option<usize> {
    position.checked_sub(2)
}

/// Adds records, at most [`RECORDS_MAX`], to a settlement that was read. Each is guarded on being credited and
/// unstamped. If a guard fails, the caller leaves that record out and builds the rest again.
///
/// # Errors
/// [`BuildError`] if the sums do not fit, or for too many records.
pub fn collect(
    tenant: &Tenant,
    settlement: &Settlement,
    records: &[Settleable],
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let update = added(settlement, records)?;
    let mut items = vec![settlement.changed(tenant, update, now), listed(tenant, settlement, records, now)];
    items.extend(records.iter().map(|record| stamped(tenant, settlement, record)));
    Transaction::unkeyed(items)
}

/// Releases the records of the last transaction that added some. The caller reads them with [`read_batch`] from
/// [`last_batch`].
///
/// # Errors
/// [`BuildError`] if the sums do not fit, or there is nothing to release.
pub fn release_batch(
    tenant: &Tenant,
    settlement: &Settlement,
    records: &[Settleable],
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let update = changed(settlement, records, false)?;
    let mut items = if let Some(closed) = last_closed(settlement) {
        let listed = period::given_back(tenant, settlement, closed.period, now);
        vec![settlement.changed(tenant, closed.removed(update), now), listed]
    } else {
        let key = keys::settled(tenant, settlement.merchant, settlement.id, settlement.batches);
        let undone = Update::new().set("given_back_at", "now", Value::s(now));
        let there = Clause { condition: Condition::absent("given_back_at"), failure: Failure::StalePlan };
        let list = TransactItem::update(Role::Settlement, key, undone, vec![there]);
        vec![settlement.changed(tenant, update, now), list]
    };
    items.extend(records.iter().map(|record| unstamped(tenant, settlement, record)));
    Transaction::unkeyed(items)
}

/// The key of the item with the records that the last transaction added: their list, or the period that was closed.
#[must_use]
pub fn last_batch(tenant: &Tenant, settlement: &Settlement) -> Key {
    match last_closed(settlement) {
        Some(closed) => closed.period.key(tenant, settlement.merchant),
        None => keys::settled(tenant, settlement.merchant, settlement.id, settlement.batches),
    }
}

/// The last batch of a settlement, if it is a period that it closed.
fn last_closed(settlement: &Settlement) -> Option<PeriodBatch> {
    settlement.closed.iter().find(|closed| closed.batch == settlement.batches).copied()
}

/// Reads the records that one transaction added, from the item under [`last_batch`].
///
/// # Errors
/// [`ItemError`] if an attribute is missing or malformed.
pub fn read_batch(item: &Item) -> Result<Vec<Settleable>, ItemError> {
    if PeriodSums::are_in(item) {
        return Settleable::read(item).map(|period| vec![period]);
    }
    item.maps("records", Settleable::read)
}

/// The change of the totals when records are added, as one more batch.
pub(super) fn added(settlement: &Settlement, records: &[Settleable]) -> Result<Update, BuildError> {
    changed(settlement, records, true)
}

/// The change of the totals when records are added or released.
fn changed(settlement: &Settlement, records: &[Settleable], more: bool) -> Result<Update, BuildError> {
    let parts: Vec<(Part, Delta)> = records.iter().flat_map(Settleable::parts).collect();
    let sums = crate::account::net(parts.iter().map(|(part, delta)| ((delta.asset().clone(), *part), delta)))?;
    let by_name: BTreeMap<String, Delta> = sums
        .into_iter()
        .map(|((asset, part), sum): ((Asset, Part), Delta)| (part.attribute(&asset), part.change(sum, more)))
        .collect();
    let count = records.iter().fold(0_i64, |count, record| count.saturating_add(record.records().into()));
    let (batches, count) = if more {
        (settlement.batches.saturating_add(1), count)
    } else {
        (settlement.batches.saturating_sub(1), count.saturating_neg())
    };
    let update = Update::new().add("records", "records", Value::int(count));
    let update =
        by_name.into_iter().fold(update, |update, (name, sum)| update.add(name.clone(), name, Value::N(sum.text())));
    Ok(update.set("batches", "batches", Value::int(batches.into())))
}

/// The list of the records, under the next batch number of the settlement as it was read.
fn listed(tenant: &Tenant, settlement: &Settlement, records: &[Settleable], now: Timestamp) -> TransactItem {
    let number = settlement.batches.saturating_add(1);
    let key = keys::settled(tenant, settlement.merchant, settlement.id, number);
    let item = Item::from([
        ("settlement_id".to_owned(), Value::s(settlement.id)),
        ("records".to_owned(), Value::L(records.iter().map(Settleable::value).collect())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
    ]);
    TransactItem::put_new(Role::Settlement, key, item, Failure::StalePlan)
}

fn stamped(tenant: &Tenant, settlement: &Settlement, record: &Settleable) -> TransactItem {
    let is_credited = match record {
        Settleable::Returned(..) => Some(Condition::exists("credited_at")),
        Settleable::Period(..) => None,
    };
    let guards = [Some(Condition::exists(attr::PK)), is_credited, Some(Condition::absent("settlement_id"))];
    let clauses = guards.into_iter().flatten();
    let clauses = clauses.map(|condition| Clause { condition, failure: Failure::WrongState }).collect();
    let update = Update::new().set("settlement_id", "settlement", Value::s(settlement.id));
    TransactItem::update(record.role(), record.key(tenant, settlement.merchant), update, clauses)
}

fn unstamped(tenant: &Tenant, settlement: &Settlement, record: &Settleable) -> TransactItem {
    let mine = Clause {
        condition: Condition::compare("settlement_id", Cmp::Eq, "settlement", Value::s(settlement.id)),
        failure: Failure::WrongState,
    };
    let update = Update::new().remove("settlement_id");
    TransactItem::update(record.role(), record.key(tenant, settlement.merchant), update, vec![mine])
}
