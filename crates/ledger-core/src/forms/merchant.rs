//! Changes of a merchant's balance by a settlement, in the transaction of its postings. All other changes of it are
//! projections.

use crate::account::Account;
use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{Partition, attr};
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use crate::transaction::{BalanceChange, Clause, Role, TransactItem};

/// `ADD balance :available, held :held`, guarded on what is subtracted from `held`; `None` if nothing changes.
///
/// The available part has no guard: refunds that are credited and not settled may have made it negative.
#[must_use]
pub fn settle_merchant(
    tenant: &Tenant,
    merchant: MerchantId,
    asset: &Asset,
    (available, held): (Option<&Delta>, Option<&Delta>),
    now: Timestamp,
) -> Option<TransactItem> {
    if available.is_none() && held.is_none() {
        return None;
    }
    let mut change = BalanceChange::of(Account::Merchant(merchant));
    let mut clauses = Vec::new();
    if let Some(delta) = available {
        change = change.available("available", delta.clone());
    }
    if let Some(delta) = held {
        change = change.held("held", delta.clone());
        if let (true, Some(out)) = (delta.is_debit(), delta.size()) {
            clauses.push(Clause {
                condition: Condition::compare(attr::HELD, Cmp::Ge, "set_aside", Value::N(out.text())),
                failure: Failure::WrongState,
            });
        }
    }
    let key = Partition::merchant(tenant, merchant).balance(asset);
    TransactItem::balance(Role::MerchantBalance, key, change, clauses, now)
}
