//! Work to be done, from the index `due`. What was just written may be missing, and what was just done may be listed:
//! each worker reads the item itself before it acts.

use super::query::Query;
use super::range::SortRange;
use crate::ids::{MerchantId, Tenant};
use crate::keys::{self, Work};
use crate::time::Timestamp;

fn all(tenant: &Tenant, work: Work, shard: u32) -> Query {
    Query::due(keys::due_partition(tenant, work, shard), SortRange::ALL)
}

fn until(tenant: &Tenant, work: Work, shard: u32, now: Timestamp) -> Query {
    Query::due(keys::due_partition(tenant, work, shard), SortRange::up_to(keys::due_until(now)))
}

/// Which journal entries of a shard have not been published?
#[must_use]
pub fn entries_to_publish(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Publish, shard)
}

/// Which records of a merchant have not been added to its balance?
#[must_use]
pub fn records_to_credit(tenant: &Tenant, merchant: MerchantId, shard: u32) -> Query {
    all(tenant, Work::Credit(merchant), shard)
}

/// Which credited records of a merchant are in no settlement?
#[must_use]
pub fn records_to_settle(tenant: &Tenant, merchant: MerchantId, shard: u32) -> Query {
    all(tenant, Work::Settle(merchant), shard)
}

/// Which bulk grants are unfinished?
#[must_use]
pub fn grant_jobs_to_continue(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Job, shard)
}

/// Which claims on a payment provider may have lost their holder by `now`?
#[must_use]
pub fn claims_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::Flight, shard, now)
}

/// Which claims on a payment provider are in flight?
#[must_use]
pub fn claims_waiting(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Flight, shard)
}

/// Which top-ups and refunds are to be compared with the payment provider by `now`?
#[must_use]
pub fn provider_checks_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::PspCheck, shard, now)
}

/// Which operations and events wait for an operator's decision?
#[must_use]
pub fn needs_review(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Attention, shard)
}

/// Which holds have expired by `now`?
#[must_use]
pub fn holds_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::Hold, shard, now)
}

/// Which settlements are to be started, or started again, by `now`?
#[must_use]
pub fn settlements_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::Settlement, shard, now)
}

/// Which records of the audit trail are not sealed?
#[must_use]
pub fn records_to_seal(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Seal, shard)
}

/// Which reconciliations are requested and unfinished, or found breaks that are not announced?
#[must_use]
pub fn reconciliations_to_run(tenant: &Tenant) -> Query {
    all(tenant, Work::Reconciliation, 0)
}
