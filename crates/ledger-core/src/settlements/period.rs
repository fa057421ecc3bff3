//! Closing a merchant's open period: the settlement takes all records that were credited in it, by one write.
//!
//! A closed period is an item with its sums and the settlement that has it, so each record's period leads to its
//! settlement. It is a batch of the settlement, as lists of records are. A settlement that turns back gives it back in
//! its turn; the period is then due for the next settlement, which takes it like a record.

use super::collect::{Settleable, added};
use super::record::Settlement;
use crate::crediting::OpenPeriod;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::keys::{self, Work, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, PERIOD, PeriodSums, Role, TransactItem, Transaction};

/// The attribute with the number of the period that a settlement closed.
const CLOSED_PERIOD: &str = "closed_period";
/// The attribute with the number of the batch in which it did.
const CLOSED_BATCH: &str = "closed_batch";

/// The period that a settlement closed, and the batch of the settlement that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodBatch {
    /// The number of the period.
    pub period: u32,
    /// The number of the batch.
    pub batch: u32,
}

impl PeriodBatch {
    pub(super) fn read(settlement: &Item) -> Result<Option<Self>, ItemError> {
        match (settlement.opt_int(CLOSED_PERIOD)?, settlement.opt_int(CLOSED_BATCH)?) {
            (Some(period), Some(batch)) => Ok(Some(Self { period, batch })),
            (None, None) => Ok(None),
            (Some(_), None) => Err(ItemError::missing(CLOSED_BATCH)),
            (None, Some(_)) => Err(ItemError::missing(CLOSED_PERIOD)),
        }
    }

    fn set(self, settlement: Update) -> Update {
        let settlement = settlement.set(CLOSED_PERIOD, CLOSED_PERIOD, Value::int(self.period.into()));
        settlement.set(CLOSED_BATCH, CLOSED_BATCH, Value::int(self.batch.into()))
    }

    pub(super) fn removed(settlement: Update) -> Update {
        settlement.remove(CLOSED_PERIOD).remove(CLOSED_BATCH)
    }
}

/// A closed period of a merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedPeriod {
    /// Its merchant.
    pub merchant: MerchantId,
    /// Its number.
    pub number: u32,
    /// The sums of its records.
    pub sums: PeriodSums,
    /// The settlement that has it; `None` while it is due for the next one.
    pub settlement: Option<SettlementId>,
}

impl ClosedPeriod {
    /// Reads a stored period.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        if !PeriodSums::are_in(item) {
            return Err(ItemError::missing("period_records"));
        }
        Ok(Self {
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            number: item.int(PERIOD)?,
            sums: PeriodSums::read(item)?,
            settlement: item.opt_parsed("settlement_id", SettlementId::parse)?,
        })
    }
}

/// Closes the merchant's open period and takes it into the settlement: `None` if no record was credited in it.
///
/// A settlement closes one period. Fails with `StalePlan` if it has closed one, if it has changed, or if the merchant
/// was credited since. Fails with `AlreadyExists` if the open period was closed before, which no worker does.
///
/// # Errors
/// [`BuildError`] if the sums do not fit.
pub fn close_period(
    tenant: &Tenant,
    settlement: &Settlement,
    open: &OpenPeriod,
    now: Timestamp,
) -> Result<Option<Transaction>, BuildError> {
    if open.sums.is_empty() {
        return Ok(None);
    }
    let period = [Settleable::period(open.number, open.sums.clone())];
    let closed = PeriodBatch { period: open.number, batch: settlement.batches.saturating_add(1) };
    let update = closed.set(added(settlement, &period)?);
    let first = Clause { condition: Condition::absent(CLOSED_PERIOD), failure: Failure::StalePlan };
    let mut item = open.sums.item();
    item.extend([
        ("merchant_id".to_owned(), Value::s(settlement.merchant)),
        (PERIOD.to_owned(), Value::int(open.number.into())),
        ("settlement_id".to_owned(), Value::s(settlement.id)),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
    ]);
    let key = keys::period(tenant, settlement.merchant, open.number);
    Transaction::unkeyed(vec![
        settlement.changed(tenant, update, now).guarded_also(vec![first]),
        // Another run that closes it changes the settlement first: a period that exists alone is a fault of the table.
        TransactItem::put_new(Role::Period, key, item, Failure::AlreadyExists),
        open.closed(tenant, settlement.merchant),
    ])
    .map(Some)
}

/// The due index entry of a period that a settlement gave back: partition and sort key.
pub(super) fn due(tenant: &Tenant, merchant: MerchantId, number: u32) -> (String, String) {
    (keys::due_partition(tenant, Work::SettlePeriod(merchant), 0), format!("{number:08}"))
}
