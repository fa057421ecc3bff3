//! A merchant's balance as a projection of its payments and refunds, whose postings are in the journal.
//!
//! The transaction is made from the records themselves, so that the change of a balance equals the sum of the records
//! that it flags as credited.

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
    /// # Errors
    /// [`BuildError`] if `holder` has no guard, if a record is another merchant's or occurs twice, or if there are no
    /// records or too many.
    pub(crate) fn projected<R: ProjectedRecord>(
        holder: TransactItem,
        (tenant, merchant): (&Tenant, MerchantId),
        records: &[R],
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
        let mut items = vec![holder];
        let owed = records.iter().flat_map(R::delta);
        for delta in account::net(owed.map(|delta| (delta.asset().clone(), delta)))?.into_values() {
            items.extend(added(tenant, merchant, delta, now));
        }
        items.extend(records.iter().map(|record| flagged(record, now)));
        Self::checked(items)
    }
}

/// `ADD balance :delta`, unguarded: the first change of an asset creates the item.
fn added(tenant: &Tenant, merchant: MerchantId, delta: Delta, now: Timestamp) -> Option<TransactItem> {
    let key = Partition::merchant(tenant, merchant).balance(delta.asset());
    let change = BalanceChange::of(Account::Merchant(merchant)).available("delta", delta);
    TransactItem::balance(Role::MerchantBalance, key, change, Vec::new(), now)
}

/// Flags a record as credited, on condition that it is not. Its due index entry becomes one to settle, on the same
/// shard.
fn flagged(record: &impl ProjectedRecord, now: Timestamp) -> TransactItem {
    let due = keys::due_partition(record.tenant(), Work::Settle(record.merchant()), record.shard());
    let update = Update::new().set("credited_at", "now", Value::s(now)).set(attr::DUE_PK, "due_pk", Value::S(due));
    let once = Clause { condition: Condition::absent("credited_at"), failure: Failure::AlreadyExists };
    TransactItem::update(record.role(), record.key(), update, vec![exists(), once])
}
