//! The audit trail: what is on record of one resource, and the chain of seals.

use super::query::Query;
use super::range::SortRange;
use crate::ids::{PaymentId, Tenant, TopupId};
use crate::keys::{Partition, sk};
use crate::time::UtcDay;
use uuid::Uuid;

/// What does the payment's partition hold: the payment, its hold, its refunds and steps?
#[must_use]
pub fn payment_items(tenant: &Tenant, payment: PaymentId) -> Query {
    Query::partition(&Partition::payment(tenant, payment), SortRange::ALL)
}

/// What does the top-up's partition hold: the top-up, its refunds, clawbacks and steps?
#[must_use]
pub fn topup_items(tenant: &Tenant, topup: TopupId) -> Query {
    Query::partition(&Partition::topup(tenant, topup), SortRange::ALL)
}

/// Which refunds does the top-up have?
#[must_use]
pub fn topup_refunds(tenant: &Tenant, topup: TopupId) -> Query {
    Query::partition(&Partition::topup(tenant, topup), SortRange::prefix(sk::REFUND))
}

/// Which steps of a resource are on record in a partition?
#[must_use]
pub fn steps_of(partition: &Partition, resource: Uuid) -> Query {
    Query::partition(partition, SortRange::prefix(Partition::trail_of(resource)))
}

/// How far is each of these days sealed, both included?
#[must_use]
pub fn sealed_days(tenant: &Tenant, from: UtcDay, to: UtcDay) -> Query {
    let (low, high) = Partition::sealed_between(from, to);
    Query::partition(&Partition::tenant(tenant), SortRange::between(low, high))
}

/// Which segments of the chain belong to these days, both included?
#[must_use]
pub fn segments(tenant: &Tenant, from: UtcDay, to: UtcDay) -> Query {
    let (low, high) = Partition::seals_between(from, to);
    Query::partition(&Partition::tenant(tenant), SortRange::between(low, high))
}
