//! The place where a tenant's next sweep over its merchants begins. A sweep's time is bounded; the next one continues
//! with the merchants that it did not reach. It affects no money: two sweeps at once may both visit a merchant.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{self, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};

const AFTER: &str = "after";

/// The merchant after which the next sweep begins; `None`: at the first one.
///
/// # Errors
/// [`ItemError`] if the item was not written by [`move_sweep`].
pub fn sweep_after(item: Option<&Item>) -> Result<Option<MerchantId>, ItemError> {
    item.map_or(Ok(None), |item| item.opt_parsed(AFTER, MerchantId::parse))
}

/// Moves the place where the next sweep begins, from where it was read. `None` if it does not change. Fails with
/// `StalePlan` if another sweep has moved it since.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn move_sweep(
    tenant: &Tenant,
    seen: Option<MerchantId>,
    to: Option<MerchantId>,
    now: Timestamp,
) -> Result<Option<Transaction>, BuildError> {
    if seen == to {
        return Ok(None);
    }
    let update = match to {
        Some(to) => Update::new().set(AFTER, "after", Value::s(to)),
        None => Update::new().remove(AFTER),
    };
    let condition = match seen {
        Some(seen) => Condition::compare(AFTER, Cmp::Eq, "seen", Value::s(seen)),
        None => Condition::absent(AFTER),
    };
    let clause = Clause { condition, failure: Failure::StalePlan };
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
    let item = TransactItem::update(Role::Crediting, keys::crediting_sweep(tenant), update, vec![clause]);
    Transaction::unkeyed(vec![item]).map(Some)
}
