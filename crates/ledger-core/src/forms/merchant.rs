//! How a settlement changes a merchant's balance: what may be settled and what is put aside, in the
//! transaction of the postings. Every other change of it is a projection.

use crate::account::{Account, Posting};
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{Partition, attr};
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};

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
    let mut update = Update::new();
    let mut clauses = Vec::new();
    let mut moves = Vec::new();
    let account = Account::Merchant(merchant);
    if let Some(delta) = available {
        update = update.add(attr::BALANCE, "available", Value::N(delta.text()));
        moves.push(Posting::new(account, delta.clone()));
    }
    if let Some(delta) = held {
        update = update.add(attr::HELD, "held", Value::N(delta.text()));
        moves.push(Posting::held(account, delta.clone()));
        if let (true, Some(out)) = (delta.is_debit(), delta.size()) {
            clauses.push(Clause {
                condition: Condition::compare(attr::HELD, Cmp::Ge, "set_aside", Value::N(out.text())),
                failure: Failure::WrongState,
            });
        }
    }
    if moves.is_empty() {
        return None;
    }
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
    let key = Partition::merchant(tenant, merchant).balance(asset);
    let item = TransactItem::update(Role::MerchantBalance, key, update, clauses);
    Some(moves.into_iter().fold(item, TransactItem::moving))
}
