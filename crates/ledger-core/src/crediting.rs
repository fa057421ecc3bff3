//! Crediting a merchant: payments and refunds are added to its balances, each exactly once. One worker at a time does
//! it, under a lease.

mod lane;
mod open_period;
mod sweep;
mod volume;

pub use lane::{EntryCredit, LaneCredit, LaneCredits};
pub use open_period::OpenPeriod;
pub use sweep::{move_sweep, sweep_after};
pub use volume::{VolumeExceeded, VolumeLimits};

use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, PaymentId, RefundId, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::money::{Asset, Delta};
use crate::terms::RecordVersion;
use crate::time::Timestamp;
use crate::transaction::{
    BuildError, CREDITED_AT, FIRST_PERIOD, MAX_ITEMS, PERIOD, ProjectedRecord, Rejection, Role, Transaction,
};
use std::collections::BTreeSet;
use std::ops::Deref;
use std::time::Duration;

/// The lease on a merchant.
pub const CREDITING_LEASE: Duration = Duration::from_secs(30);

/// The attribute that holds what a record changes in its merchant's balances.
const DELTA: &str = "merchant_delta";

/// A payment's or refund's record that its merchant has not been credited with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncredited {
    tenant: Tenant,
    merchant: MerchantId,
    payment: PaymentId,
    refund: Option<RefundId>,
    delta: Vec<Delta>,
    shard: u32,
    since: Timestamp,
}

impl Uncredited {
    /// Reads a record from an index, the stream or the table. `None` if it is not due to be credited.
    ///
    /// # Errors
    /// [`ItemError`] if it is due and an attribute is missing or malformed.
    pub fn read(tenant: &Tenant, item: &Item) -> Result<Option<Self>, ItemError> {
        let mark = item.opt_text(attr::DUE_PK)?.and_then(|mark| keys::credit_mark(tenant, mark));
        let Some((merchant, shard)) = mark else { return Ok(None) };
        if item.parsed("merchant_id", MerchantId::parse)? != merchant {
            return Err(ItemError::invalid("merchant_id"));
        }
        let since = if item.contains_key(attr::UPDATED_AT) { attr::UPDATED_AT } else { attr::CREATED_AT };
        let record = Self {
            tenant: tenant.clone(),
            merchant,
            payment: item.parsed("payment_id", PaymentId::parse)?,
            refund: item.opt_parsed("refund_id", RefundId::parse)?,
            delta: merchant_delta(item)?,
            shard,
            since: item.timestamp(since)?,
        };
        // The item that is flagged must be the one that was read.
        let key = record.key();
        if item.text(attr::PK)? != key.pk() || item.text(attr::SK)? != key.sk() {
            return Err(ItemError::invalid(attr::PK));
        }
        Ok(Some(record))
    }

    /// Since when it is due.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        self.since
    }
}

impl ProjectedRecord for Uncredited {
    fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    fn merchant(&self) -> MerchantId {
        self.merchant
    }

    fn delta(&self) -> &[Delta] {
        &self.delta
    }

    fn key(&self) -> Key {
        match self.refund {
            Some(refund) => keys::refund(&self.tenant, self.payment, refund),
            None => keys::payment(&self.tenant, self.payment),
        }
    }

    fn shard(&self) -> u32 {
        self.shard
    }

    fn role(&self) -> Role {
        match self.refund {
            Some(_) => Role::Refund,
            None => Role::Payment,
        }
    }
}

/// What a record changes in its merchant's balances, by asset.
///
/// # Errors
/// [`ItemError`] if an attribute is missing or malformed.
pub fn merchant_delta(item: &Item) -> Result<Vec<Delta>, ItemError> {
    // Every record that is credited has the attribute.
    item.map(DELTA)?;
    item.numbers(DELTA, |asset, number| {
        let asset = Asset::parse(asset).map_err(|_| ItemError::invalid(DELTA))?;
        Delta::from_stored(asset, number).map_err(|_| ItemError::invalid(DELTA))
    })
}

/// Whether a record's amounts are in its merchant's balances.
#[must_use]
pub fn is_credited(item: &Item) -> bool {
    item.contains_key(CREDITED_AT)
}

/// The stored lease on a merchant, and how often it was credited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crediting {
    /// The last lease holder.
    pub holder: Holder,
    /// How often balances were credited. While it is unchanged, crediting has not changed them.
    pub version: i64,
    /// The number of the merchant's open period.
    pub period: u32,
}

impl Crediting {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let period = item.opt_int(PERIOD)?.unwrap_or(FIRST_PERIOD);
        Ok(Self { holder: Holder::read(item)?, version: item.int("version")?, period })
    }
}

/// A merchant whose records a worker credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreditedMerchant {
    tenant: Tenant,
    merchant: MerchantId,
    /// The open period, as it was read last.
    period: u32,
}

impl Leasable for CreditedMerchant {
    const LEASE_DURATION: Duration = CREDITING_LEASE;
    const ROLE: Role = Role::Crediting;
}

impl CreditedMerchant {
    /// The merchant's id.
    #[must_use]
    pub fn id(&self) -> MerchantId {
        self.merchant
    }

    /// Takes a merchant whose item is `seen`, or has none yet. `None` while another worker holds it.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn take(
        tenant: &Tenant,
        merchant: MerchantId,
        seen: Option<&Crediting>,
        now: Timestamp,
    ) -> Result<Option<(Leased<Self>, Transaction)>, BuildError> {
        let key = Partition::merchant(tenant, merchant).crediting();
        let period = seen.map_or(FIRST_PERIOD, |seen| seen.period);
        let this = Self { tenant: tenant.clone(), merchant, period };
        match seen {
            None => {
                let attributes = Item::from([("version".to_owned(), Value::int(0))]);
                Leased::create(this, key, attributes, now).map(Some)
            }
            Some(seen) => Leased::take(key, seen.holder, Vec::new(), now, |next| (this, next.taken(Update::new()))),
        }
    }
}

impl Leased<CreditedMerchant> {
    /// Releases the merchant: any worker may take it at once.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn release(&self, now: Timestamp) -> Result<Transaction, BuildError> {
        Transaction::unkeyed(vec![self.change(Self::released(now))])
    }

    /// The same lease with the merchant's open period as it was read again.
    #[must_use]
    pub fn in_period(&self, period: u32) -> Self {
        self.with(CreditedMerchant { period, ..self.deref().clone() })
    }

    /// Builds the credit of as many of the first records as fit into one transaction, and renews the lease. `None` if
    /// there are none.
    ///
    /// # Errors
    /// [`BuildError`] if a record belongs to another merchant or is given twice.
    pub fn batch(
        &self,
        waiting: &[Uncredited],
        version: RecordVersion,
        now: Timestamp,
    ) -> Result<Option<Batch>, BuildError> {
        let records = fitting(waiting);
        if records.is_empty() {
            return Ok(None);
        }
        let counted = self.change(Self::renewed(now).add("version", "one", Value::int(1)));
        let period = version.has_periods().then_some(self.period);
        let transaction = Transaction::projected(counted, (&self.tenant, self.merchant), records, period, now)?;
        Ok(Some(Batch { transaction, records: records.len() }))
    }
}

/// The longest prefix that fits: one action for each record, one for each asset, and the lease's.
fn fitting(waiting: &[Uncredited]) -> &[Uncredited] {
    let mut assets = BTreeSet::<&Asset>::new();
    let mut fit = 0_usize;
    for record in waiting {
        assets.extend(record.delta.iter().map(Delta::asset));
        if fit.saturating_add(assets.len()).saturating_add(2) > MAX_ITEMS {
            break;
        }
        fit = fit.saturating_add(1);
    }
    waiting.get(..fit).unwrap_or_default()
}

/// Records that are credited together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    transaction: Transaction,
    records: usize,
}

/// Why a batch was rejected. Nothing of it was written. Records are named by their position in the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchRejection {
    /// Another worker has taken the merchant: this one stops.
    LeaseLost,
    /// A settlement has closed the period. The batch can be built again once the open period is read again.
    PeriodClosed,
    /// These records do not exist. No request can cause that.
    Missing(Vec<usize>),
    /// These records have been credited before. The batch can be built again without them.
    Credited(Vec<usize>),
}

impl Batch {
    /// The transaction to write.
    #[must_use]
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// The number of records in it.
    #[must_use]
    pub fn records(&self) -> usize {
        self.records
    }

    /// What a failed guard means; `None` for a failure that no batch has.
    #[must_use]
    pub fn explain(&self, rejection: &Rejection) -> Option<BatchRejection> {
        let before = self.transaction.items().len().saturating_sub(self.records);
        let records = || rejection.positions_behind(before);
        match rejection.failure {
            Failure::StalePlan => Some(BatchRejection::LeaseLost),
            Failure::WrongState => Some(BatchRejection::PeriodClosed),
            Failure::AccountMissing => Some(BatchRejection::Missing(records())),
            Failure::AlreadyExists => Some(BatchRejection::Credited(records())),
            Failure::FourEyes
            | Failure::AccountFrozen
            | Failure::CashRoomExceeded
            | Failure::CashNotOutstanding
            | Failure::RefundRoomExceeded
            | Failure::BudgetExceeded
            | Failure::ApprovalExpired
            | Failure::ReversalTooLate
            | Failure::PinRequired
            | Failure::PinLocked
            | Failure::PinWrong
            | Failure::OverRefund
            | Failure::CapExceeded
            | Failure::LimitExceeded
            | Failure::Insufficient
            | Failure::RecipientUnavailable => None,
        }
    }
}

#[cfg(test)]
mod tests;
