//! Looking at the provider's object again later: a cancellation that it has not confirmed, a refund on
//! its way.

use super::record::TopupRecord;
use super::refund_record::TopupRefund;
use super::seen;
use crate::dynamo::{Update, Value};
use crate::ids::Tenant;
use crate::keys;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Role, TransactItem, Transaction};
use std::time::Duration;

/// The pause before the next look.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// A top-up whose cancellation is not certain is looked at again. `burnt` says that the provider has
/// refused under the cancellation's key, and keeps the refusal: the next has another.
///
/// # Errors
/// [`BuildError`], which this form never gives.
pub fn topup_again(
    tenant: &Tenant,
    topup: &TopupRecord,
    burnt: bool,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let epoch = if burnt { topup.cancel_epoch.saturating_add(1) } else { topup.cancel_epoch };
    let update = Update::new().set("cancel_epoch", "cancel_epoch", Value::int(epoch.into()));
    let update = topup.due_again(tenant, update, now.plus(AGAIN));
    let clauses = vec![seen("state", "seen_state", Value::s(topup.state))];
    Transaction::unkeyed(vec![TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses)])
}

/// A refund that is still on its way is looked at again.
///
/// # Errors
/// [`BuildError`], which this form never gives.
pub fn refund_again(tenant: &Tenant, refund: &TopupRefund, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = refund.due_again(tenant, Update::new(), now.plus(AGAIN));
    let clauses = vec![seen("state", "seen_state", Value::s(refund.state))];
    let key = keys::topup_refund(tenant, refund.topup, refund.id);
    Transaction::unkeyed(vec![TransactItem::update(Role::Refund, key, update, clauses)])
}
