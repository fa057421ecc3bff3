//! Changes of a customer's aggregates: estimates and counts for display, without money and without guards.

use crate::aggregates::MetricsChange;
use crate::dynamo::Value;
use crate::ids::{CustomerId, Tenant};
use crate::keys;
use crate::time::Timestamp;
use crate::transaction::TransactItem;

/// `ADD` to the `METRICS` item, which need not exist.
#[must_use]
pub fn metrics(tenant: &Tenant, customer: CustomerId, change: MetricsChange, now: Timestamp) -> TransactItem {
    TransactItem::metrics(keys::metrics(tenant, customer), change, Value::s(now))
}
