//! A customer's aggregates: estimates for display, without money and without guards.

use crate::dynamo::{Update, Value};
use crate::ids::{CustomerId, Tenant};
use crate::keys::{self, attr};
use crate::money::{Amount, Co2Kg};
use crate::time::Timestamp;
use crate::transaction::{Role, TransactItem};

/// The change that a payment or refund makes to the aggregates.
#[derive(Clone, Copy, Debug)]
pub enum MetricsChange<'a> {
    /// The amount of a payment, with its CO2 estimate.
    Paid(&'a Amount, Co2Kg),
    /// The amount of a refund, with the CO2 estimate to subtract.
    Refunded(&'a Amount, Co2Kg),
}

/// `ADD` to the `METRICS` item, which need not exist.
#[must_use]
pub fn metrics(tenant: &Tenant, customer: CustomerId, change: MetricsChange<'_>, now: Timestamp) -> TransactItem {
    let (count, sum, amount, co2) = match change {
        MetricsChange::Paid(amount, co2) => ("payments", "paid_total", amount, co2),
        MetricsChange::Refunded(amount, co2) => ("refunds", "refunded_total", amount, co2.inverse()),
    };
    let update = Update::new()
        .add("co2_total", "co2", Value::N(co2.text()))
        .add(count, "one", Value::int(1))
        .add(sum, "amount", Value::N(amount.text()))
        .set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::Metrics, keys::metrics(tenant, customer), update, Vec::new())
}
