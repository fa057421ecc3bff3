//! Later lookups of the provider's object: for an unconfirmed cancellation, or a refund in progress.

use super::record::TopupRecord;
use super::refund_record::TopupRefund;
use super::seen;
use crate::dynamo::{Update, Value};
use crate::ids::Tenant;
use crate::keys;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Role, TransactItem, Transaction};
use std::time::Duration;

/// The pause before the next lookup.
const LOOKUP_PAUSE: Duration = Duration::from_secs(10 * 60);

/// Schedules another lookup of a top-up whose cancellation is not certain. `burnt` means that the provider keeps a
/// refusal under the cancellation's key: the next attempt uses the next epoch's key.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn topup_again(
    tenant: &Tenant,
    topup: &TopupRecord,
    burnt: bool,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let epoch = if burnt { topup.cancel_epoch.saturating_add(1) } else { topup.cancel_epoch };
    let update = Update::new().set("cancel_epoch", "cancel_epoch", Value::int(epoch.into()));
    let update = topup.due_again(tenant, update, now.plus(LOOKUP_PAUSE));
    let clauses = vec![seen("state", "seen_state", Value::s(topup.state))];
    Transaction::unkeyed(vec![TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses)])
}

/// Schedules another lookup of a refund that is in progress.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn refund_again(tenant: &Tenant, refund: &TopupRefund, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = refund.due_again(tenant, Update::new(), now.plus(LOOKUP_PAUSE));
    let clauses = vec![seen("state", "seen_state", Value::s(refund.state))];
    let key = keys::topup_refund(tenant, refund.topup, refund.id);
    Transaction::unkeyed(vec![TransactItem::update(Role::Refund, key, update, clauses)])
}
