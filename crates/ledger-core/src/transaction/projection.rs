//! A merchant's balance as a projection of its payments and refunds, whose postings are in the journal.
//!
//! The transaction is made from the records themselves, so that the change of a balance, and that of the sums of a
//! period, equal the sum of the records that it flags as credited.

use super::period::{CREDITED_AT, CreditKind, PERIOD, PeriodSums, is_open};
use super::{BalanceChange, BuildError, Clause, Role, TransactItem, Transaction, exists};
use crate::account::{self, Account};
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{self, Key, Partition, Work, attr};
use crate::money::Delta;
use crate::time::Timestamp;

/// A record whose amounts are added to its merchant's balances exactly once.
pub trait ProjectedRecord {
    /// The tenant of the record.
    fn tenant(&self) -> &Tenant;

    /// The merchant whose balances it changes.
    fn merchant(&self) -> MerchantId;

    /// The changes, by asset. Those of a refund are negative.
    fn delta(&self) -> &[Delta];

    /// Its key.
    fn key(&self) -> Key;

    /// The shard of its due index entry.
    fn shard(&self) -> u32;

    /// The role of its item.
    fn role(&self) -> Role;
}

impl Transaction {
    /// Adds the changes of `records` to their merchant's balances and flags each record as credited.
    ///
    /// `holder` is the action on the item of the merchant's lease; its guard is the fencing token. A balance may become
    /// negative, because a refund may exceed it.
    ///
    /// With a `period`, which must still be the open one, the records name it and its sums grow by theirs. Without one,
    /// each record is due for the merchant's next settlement.
    ///
    /// # Errors
    /// [`BuildError`] if `holder` has no guard, if a record is another merchant's or occurs twice, or if there are no
    /// records or too many.
    pub(crate) fn projected<R: ProjectedRecord>(
        holder: TransactItem,
        (tenant, merchant): (&Tenant, MerchantId),
        records: &[R],
        period: Option<u32>,
        now: Timestamp,
    ) -> Result<Self, BuildError> {
        if holder.role() != Role::Crediting
            || holder.clauses().is_empty()
            || holder.unposted_sum().is_some()
            || holder.is_posted()
        {
            return Err(BuildError::Unfenced(holder.role()));
        }
        if records.is_empty() {
            return Err(BuildError::Empty);
        }
        if let Some(stranger) = records.iter().find(|record| record.merchant() != merchant || record.tenant() != tenant)
        {
            return Err(BuildError::Stranger(stranger.role()));
        }
        let holder = match period {
            Some(number) => summed(holder, number, records, now)?,
            None => holder,
        };
        let mut items = vec![holder];
        let owed = records.iter().flat_map(R::delta);
        for delta in account::net(owed.map(|delta| (delta.asset().clone(), delta)))?.into_values() {
            items.extend(added(tenant, merchant, delta, now));
        }
        items.extend(records.iter().map(|record| flagged(record, period, now)));
        Self::checked(items)
    }
}

impl Transaction {
    /// Moves the sums of a merchant's period in a lane to the merchant's balances. `beside` are the other actions, among
    /// them the one that removes these sums from the lane.
    ///
    /// # Errors
    /// [`BuildError`] if a sum does not fit, or `beside` changes a balance.
    pub(crate) fn sums_moved(
        beside: Vec<TransactItem>,
        (tenant, merchant): (&Tenant, MerchantId),
        sums: &PeriodSums,
        now: Timestamp,
    ) -> Result<Self, BuildError> {
        let mut items = Self::unkeyed(beside)?.items;
        for delta in sums.net()? {
            items.extend(added(tenant, merchant, delta, now));
        }
        Self::checked(items)
    }
}

/// `ADD balance :delta`, unguarded: the first change of an asset creates the item.
fn added(tenant: &Tenant, merchant: MerchantId, delta: Delta, now: Timestamp) -> Option<TransactItem> {
    let key = Partition::merchant(tenant, merchant).balance(delta.asset());
    let change = BalanceChange::of(Account::Merchant(merchant)).available("delta", delta);
    TransactItem::balance(Role::MerchantBalance, key, change, Vec::new(), now)
}

/// Adds the records to the sums of the merchant's open period, which `number` must be.
// INVARIANT: no record is added to a closed period. Closing it increases the number, on the same item.
fn summed<R: ProjectedRecord>(
    holder: TransactItem,
    number: u32,
    records: &[R],
    now: Timestamp,
) -> Result<TransactItem, BuildError> {
    let sums = PeriodSums::of(records.iter().map(|record| (CreditKind::Trade, record.delta())))?;
    Ok(holder.also(is_open(number, Failure::WrongState), |update| {
        let update = sums.add_to(update).set(PERIOD, PERIOD, Value::int(number.into()));
        update.set(attr::UPDATED_AT, "ua", Value::s(now))
    }))
}

/// Flags a record as credited, on condition that it is not. It names its period, or its due index entry becomes one to
/// settle, on the same shard.
fn flagged(record: &impl ProjectedRecord, period: Option<u32>, now: Timestamp) -> TransactItem {
    let update = Update::new().set(CREDITED_AT, "now", Value::s(now));
    let update = match period {
        Some(number) => update.set(PERIOD, PERIOD, Value::int(number.into())).remove(attr::DUE_PK).remove(attr::DUE_SK),
        None => {
            let due = keys::due_partition(record.tenant(), Work::Settle(record.merchant()), record.shard());
            update.set(attr::DUE_PK, "due_pk", Value::S(due))
        }
    };
    let once = Clause { condition: Condition::absent(CREDITED_AT), failure: Failure::AlreadyExists };
    TransactItem::update(record.role(), record.key(), update, vec![exists(), once])
}
