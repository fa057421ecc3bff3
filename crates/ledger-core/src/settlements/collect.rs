//! Adding records to a settlement and releasing them, as many per transaction as fit. A record belongs to exactly one
//! settlement, because its stamp is conditional. The settlement's sums are those of its stamped records, because both
//! change in one transaction.

use super::record::{Settlement, came_back_attribute, refunded_attribute, taken_attribute};
use super::returned::RETURNED_ID;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, PaymentId, RefundId, SettlementId, Tenant};
use crate::keys::{self, Key, Work, attr};
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Role, TransactItem, Transaction};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The most records in one transaction. Its other two items are the settlement and the list of the records.
pub const RECORDS_MAX: usize = MAX_ITEMS - 2;

/// A record that can be settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settleable {
    /// The record.
    pub source: Source,
    /// What it owes to the merchant, by asset.
    pub deltas: Vec<Delta>,
}

/// The kind and id of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A payment.
    Payment(PaymentId),
    /// A refund of a payment.
    Refund(PaymentId, RefundId),
    /// The returned payout of an earlier settlement.
    Returned(SettlementId),
}

impl Settleable {
    /// Reads a record from the table or the index.
    ///
    /// # Errors
    /// [`ItemError`] if it is no such record.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let payment = || item.parsed("payment_id", PaymentId::parse);
        let returned = item.opt_parsed(RETURNED_ID, SettlementId::parse)?;
        let source = match (returned, item.opt_parsed("refund_id", RefundId::parse)?) {
            (Some(settlement), _) => Source::Returned(settlement),
            (None, Some(refund)) => Source::Refund(payment()?, refund),
            (None, None) => Source::Payment(payment()?),
        };
        let deltas = super::record::quantities(item, "merchant_delta")?;
        let deltas = deltas.values().filter_map(crate::money::Balance::as_delta).collect();
        Ok(Self { source, deltas })
    }

    /// The record's key. `merchant` must be the record's own merchant.
    #[must_use]
    pub fn key(&self, tenant: &Tenant, merchant: MerchantId) -> Key {
        match self.source {
            Source::Payment(payment) => keys::payment(tenant, payment),
            Source::Refund(payment, refund) => keys::refund(tenant, payment, refund),
            Source::Returned(settlement) => keys::returned(tenant, merchant, settlement),
        }
    }

    fn id(&self) -> Uuid {
        match self.source {
            Source::Payment(payment) => payment.uuid(),
            Source::Refund(_, refund) => refund.uuid(),
            Source::Returned(settlement) => settlement.uuid(),
        }
    }

    fn role(&self) -> Role {
        match self.source {
            Source::Payment(_) => Role::Payment,
            Source::Refund(..) => Role::Refund,
            Source::Returned(_) => Role::Returned,
        }
    }

    /// The sum of a settlement that a delta belongs to.
    fn part(&self, delta: &Delta) -> Part {
        match self.source {
            Source::Payment(_) | Source::Refund(..) if delta.is_debit() => Part::Refunded,
            Source::Payment(_) | Source::Refund(..) => Part::Taken,
            Source::Returned(_) => Part::CameBack,
        }
    }

    fn value(&self) -> Value {
        let mut item = Item::from([("merchant_delta".to_owned(), crate::transaction::changes(&self.deltas))]);
        let mut name = |name: &str, id: Value| item.insert(name.to_owned(), id);
        match self.source {
            Source::Payment(payment) => name("payment_id", Value::s(payment)),
            Source::Refund(payment, refund) => {
                name("payment_id", Value::s(payment));
                name("refund_id", Value::s(refund))
            }
            Source::Returned(settlement) => name(RETURNED_ID, Value::s(settlement)),
        };
        Value::M(item)
    }
}

/// A sum of a settlement that grows with its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Taken,
    Refunded,
    CameBack,
}

impl Part {
    fn attribute(self, asset: &Asset) -> String {
        match self {
            Self::Taken => taken_attribute(asset),
            Self::Refunded => refunded_attribute(asset),
            Self::CameBack => came_back_attribute(asset),
        }
    }

    /// The signed change of the sum when records are added or released. Refunds count as a positive quantity.
    fn change(self, sum: Delta, more: bool) -> Delta {
        let positive = match self {
            Self::Taken | Self::CameBack => true,
            Self::Refunded => false,
        };
        if positive == more { sum } else { sum.inverse() }
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
    let update = added(settlement, records, true)?;
    let mut items = vec![settlement.changed(tenant, update, now), listed(tenant, settlement, records, now)];
    items.extend(records.iter().map(|record| stamped(tenant, settlement, record)));
    Transaction::unkeyed(items)
}

/// Releases the records of the last transaction that added some. The caller reads them with [`read_batch`].
///
/// # Errors
/// [`BuildError`] if the sums do not fit, or there is nothing to release.
pub fn release_batch(
    tenant: &Tenant,
    settlement: &Settlement,
    records: &[Settleable],
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let update = added(settlement, records, false)?;
    let key = keys::settled(tenant, settlement.merchant, settlement.id, settlement.batches);
    let undone = Update::new().set("given_back_at", "now", Value::s(now));
    let there = Clause { condition: Condition::absent("given_back_at"), failure: Failure::StalePlan };
    let mut items =
        vec![settlement.changed(tenant, update, now), TransactItem::update(Role::Settlement, key, undone, vec![there])];
    items.extend(records.iter().map(|record| unstamped(tenant, settlement, record)));
    Transaction::unkeyed(items)
}

/// Reads the list of the records that one transaction added.
///
/// # Errors
/// [`ItemError`] if an attribute is missing or malformed.
pub fn read_batch(item: &Item) -> Result<Vec<Settleable>, ItemError> {
    item.maps("records", Settleable::read)
}

/// The change of the totals when records are added or released.
fn added(settlement: &Settlement, records: &[Settleable], more: bool) -> Result<Update, BuildError> {
    let parts = records.iter().flat_map(|record| record.deltas.iter().map(|delta| (record.part(delta), delta)));
    let sums = crate::account::net(parts.map(|(part, delta)| ((delta.asset().clone(), part), delta)))?;
    let by_name: BTreeMap<String, Delta> = sums
        .into_iter()
        .map(|((asset, part), sum): ((Asset, Part), Delta)| (part.attribute(&asset), part.change(sum, more)))
        .collect();
    let count = i64::try_from(records.len()).unwrap_or(i64::MAX);
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
    let guards = [Condition::exists(attr::PK), Condition::exists("credited_at"), Condition::absent("settlement_id")];
    let clauses = guards.map(|condition| Clause { condition, failure: Failure::WrongState });
    let update = Update::new()
        .set("settlement_id", "settlement", Value::s(settlement.id))
        .remove(attr::DUE_PK)
        .remove(attr::DUE_SK);
    TransactItem::update(record.role(), record.key(tenant, settlement.merchant), update, clauses.into())
}

fn unstamped(tenant: &Tenant, settlement: &Settlement, record: &Settleable) -> TransactItem {
    let mine = Clause {
        condition: Condition::compare("settlement_id", Cmp::Eq, "settlement", Value::s(settlement.id)),
        failure: Failure::WrongState,
    };
    let shard = keys::shard_of(record.id(), settlement.shards);
    let due = keys::due_partition(tenant, Work::Settle(settlement.merchant), shard);
    let update = Update::new()
        .set(attr::DUE_PK, "due_pk", Value::S(due))
        .set(attr::DUE_SK, "due_sk", Value::s(record.id()))
        .remove("settlement_id");
    TransactItem::update(record.role(), record.key(tenant, settlement.merchant), update, vec![mine])
}
