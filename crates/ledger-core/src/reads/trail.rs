//! Queries of the audit trail: the records of one resource, and the lanes of seals.

use super::query::Query;
use super::range::SortRange;
use crate::ids::{PaymentId, Tenant, TopupId};
use crate::keys::{Partition, sk};
use crate::time::UtcDay;
use uuid::Uuid;

/// The payment's partition: the payment, its hold, refunds and trail records.
#[must_use]
pub fn payment_items(tenant: &Tenant, payment: PaymentId) -> Query {
    Query::partition(&Partition::payment(tenant, payment), SortRange::ALL)
}

/// The top-up's partition: the top-up, its refunds, clawbacks and trail records.
#[must_use]
pub fn topup_items(tenant: &Tenant, topup: TopupId) -> Query {
    Query::partition(&Partition::topup(tenant, topup), SortRange::ALL)
}

/// The top-up's refunds.
#[must_use]
pub fn topup_refunds(tenant: &Tenant, topup: TopupId) -> Query {
    Query::partition(&Partition::topup(tenant, topup), SortRange::prefix(sk::REFUND))
}

/// The trail records of a resource in a partition.
#[must_use]
pub fn steps_of(partition: &Partition, resource: Uuid) -> Query {
    Query::partition(partition, SortRange::prefix(Partition::trail_of(resource)))
}

/// The segments of a lane.
#[must_use]
pub fn lane_segments(tenant: &Tenant, lane: u32) -> Query {
    Query::partition(&Partition::lane(tenant, lane), SortRange::prefix(sk::SEGMENT))
}

/// The bindings of the lanes of these days, inclusive.
#[must_use]
pub fn bindings(tenant: &Tenant, from: UtcDay, to: UtcDay) -> Query {
    let (low, high) = Partition::bindings_between(from, to);
    Query::partition(&Partition::bindings(tenant), SortRange::between(low, high))
}
