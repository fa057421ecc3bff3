//! How a settlement changes a merchant's balance: what may be settled and what is put aside, in the
//! transaction of the postings. Every other change of it is a projection.

use crate::account::Account;
use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{Partition, attr};
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use crate::transaction::{BalanceChange, Clause, Role, TransactItem};

/// `ADD balance :available, held :held`, guarded on what is taken from `held`. What is available has no
/// guard: refunds that have been credited but not settled yet may have taken it below zero. `None` if
/// nothing changes.
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
