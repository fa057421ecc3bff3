//! Moving sums of one item to an account's balances.

use super::{BalanceChange, BuildError, Role, TransactItem, Transaction};
use crate::account::Account;
use crate::keys::Key;
use crate::money::Delta;
use crate::time::Timestamp;

impl Transaction {
    /// Moves sums to an account's balance items, unguarded: the first change of an asset creates the item. `beside` are the other
    /// actions, among them the one that removes these sums from where they are. A balance may become negative.
    ///
    /// # Errors
    /// [`BuildError`] if a sum does not fit, or `beside` changes a balance.
    pub(crate) fn sums_moved(
        beside: Vec<TransactItem>,
        (role, account): (Role, Account),
        sums: impl IntoIterator<Item = (Key, Delta)>,
        now: Timestamp,
    ) -> Result<Self, BuildError> {
        let mut items = Self::unkeyed(beside)?.items;
        for (key, delta) in sums {
            let change = BalanceChange::of(account).available("delta", delta);
            items.extend(TransactItem::balance(role, key, change, Vec::new(), now));
        }
        Self::checked(items)
    }
}
