//! Where a payment or refund counts in its customer's aggregates.

use crate::account::Account;
use crate::aggregates::MetricsChange;
use crate::time::Timestamp;
use crate::transaction::TransactItem;

/// Counts a payment or refund in its customer's aggregates. A card has none, because it may have no owner.
///
/// The change joins the first action that changes a balance item of the customer: the debited one, the one of the hold, the
/// credited one. A refund whose value is kept for spent points changes none, and the change joins the action that checks
/// the points.
// INVARIANT: there is such an action. A payment and a capture take at least one amount from the customer, and a refund
// credits or checks at least one balance. Without one the transaction is not assembled: `BuildError::AggregatesOfEntry`.
pub(super) fn count(account: Account, items: &mut [TransactItem], change: MetricsChange, now: Timestamp) {
    let customer = match account {
        Account::Customer(customer) => customer,
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => return,
    };
    let is_own = |item: &TransactItem| item.is_on_balance_of(customer);
    let changed = items.iter().position(|item| is_own(item) && item.is_update());
    let at = changed.or_else(|| items.iter().position(is_own));
    if let Some(item) = at.and_then(|at| items.get_mut(at)) {
        *item = item.clone().with_aggregates(change, now);
    }
}
