//! Moving the sums of a merchant's closed period to the merchant's balances.

use super::period::PeriodSums;
use super::{BalanceChange, BuildError, Role, TransactItem, Transaction};
use crate::account::Account;
use crate::ids::{MerchantId, Tenant};
use crate::keys::Partition;
use crate::money::Delta;
use crate::time::Timestamp;

impl Transaction {
    /// Moves the sums of a merchant's period in a lane to the merchant's balances. `beside` are the other actions, among
    /// them the one that removes these sums from the lane. A balance may become negative, because refunds may exceed it.
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
