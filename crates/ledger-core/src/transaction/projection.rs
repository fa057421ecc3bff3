//! A merchant's balance is a projection: it follows from the records of its payments and refunds, whose
//! postings stand in the journal. Here a transaction is made from the records themselves, so that what a
//! balance gains and what is flagged as credited cannot differ.

use super::{BalanceChange, BuildError, Clause, Role, TransactItem, Transaction, exists};
use crate::account::{self, Account};
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{self, Key, Partition, Work, attr};
use crate::money::Delta;
use crate::time::Timestamp;

/// A record whose amounts are added to its merchant's balances once.
pub trait ProjectedRecord {
    /// Whose table.
    fn tenant(&self) -> &Tenant;

    /// Whose balances.
    fn merchant(&self) -> MerchantId;

    /// What it changes, by asset: a refund takes.
    fn delta(&self) -> &[Delta];

    /// Its key.
    fn key(&self) -> Key;

    /// The shard that its due index entry is on.
    fn shard(&self) -> u32;

    /// Which kind of record it is.
    fn role(&self) -> Role;
}

impl Transaction {
    /// Adds what `records` owe to their merchant's balances and flags each of them, under the item of
    /// whoever holds the merchant. A balance may fall below zero by it, for a refund may exceed what is there.
    ///
    /// # Errors
    /// [`BuildError`] if nobody's token guards it, if a record is another merchant's or there twice, and
    /// if there are none or too many.
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

/// `ADD balance :delta`, unguarded: the first of an asset makes the item.
fn added(tenant: &Tenant, merchant: MerchantId, delta: Delta, now: Timestamp) -> Option<TransactItem> {
    let key = Partition::merchant(tenant, merchant).balance(delta.asset());
    let change = BalanceChange::of(Account::Merchant(merchant)).available("delta", delta);
    TransactItem::balance(Role::MerchantBalance, key, change, Vec::new(), now)
}

/// A record counts once: its flag is set on condition that it is not. Its work is to be settled from then on,
/// on the shard that it was on.
fn flagged(record: &impl ProjectedRecord, now: Timestamp) -> TransactItem {
    let due = keys::due_partition(record.tenant(), Work::Settle(record.merchant()), record.shard());
    let update = Update::new().set("credited_at", "now", Value::s(now)).set(attr::DUE_PK, "due_pk", Value::S(due));
    let once = Clause { condition: Condition::absent("credited_at"), failure: Failure::AlreadyExists };
    TransactItem::update(record.role(), record.key(), update, vec![exists(), once])
}
