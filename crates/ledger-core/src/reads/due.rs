//! Queries of the index `due`.
//!
//! An item that was just written may be missing, and one whose work was just done may be included. So each worker reads
//! the item itself before it acts.

use super::query::Query;
use super::range::SortRange;
use crate::ids::{MerchantId, Tenant, least_born_at};
use crate::keys::{self, Work};
use crate::time::{CLOCK_SKEW, Timestamp};

fn all(tenant: &Tenant, work: Work, shard: u32) -> Query {
    Query::due(keys::due_partition(tenant, work, shard), SortRange::ALL)
}

fn until(tenant: &Tenant, work: Work, shard: u32, now: Timestamp) -> Query {
    Query::due(keys::due_partition(tenant, work, shard), SortRange::up_to(keys::due_until(now)))
}

/// Journal entries of a shard whose event was not taken, or that are not sealed.
#[must_use]
pub fn entries_to_publish(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Publish, shard)
}

/// Sealed journal entries of a shard that are not published.
#[must_use]
pub fn entries_to_publish_late(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::PublishLate, shard)
}

/// Batches of cards that are not finished. They are few, so they have one shard.
#[must_use]
pub fn card_batches_to_continue(tenant: &Tenant) -> Query {
    all(tenant, Work::CardBatch, 0)
}

/// Jobs that wind the tenant down and are not finished. They are few, so they have one shard.
#[must_use]
pub fn wind_downs_to_continue(tenant: &Tenant) -> Query {
    all(tenant, Work::WindDown, 0)
}

/// Runs that close merchants' periods and are not finished. They are few, so they have one shard.
#[must_use]
pub fn settlement_runs_to_continue(tenant: &Tenant) -> Query {
    all(tenant, Work::SettlementRun, 0)
}

/// Files that are to be made. They are few, so they have one shard.
#[must_use]
pub fn files_to_make(tenant: &Tenant) -> Query {
    all(tenant, Work::File, 0)
}

/// Returned payouts of a merchant that are in no settlement.
#[must_use]
pub fn returned_to_settle(tenant: &Tenant, merchant: MerchantId, shard: u32) -> Query {
    all(tenant, Work::Settle(merchant), shard)
}

/// Closed periods of a merchant that settlements gave back. There are few, so they have one shard.
#[must_use]
pub fn periods_to_settle(tenant: &Tenant, merchant: MerchantId) -> Query {
    all(tenant, Work::SettlePeriod(merchant), 0)
}

/// Bulk grants that are not finished.
#[must_use]
pub fn grant_jobs_to_continue(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Job, shard)
}

/// Operations in flight whose lease may have ended by `now`.
#[must_use]
pub fn claims_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::Flight, shard, now)
}

/// All operations in flight.
#[must_use]
pub fn claims_waiting(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Flight, shard)
}

/// Top-ups and refunds to look up at the PSP by `now`.
#[must_use]
pub fn provider_checks_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::PspCheck, shard, now)
}

/// Operations and events that need review.
#[must_use]
pub fn needs_review(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Attention, shard)
}

/// Holds that have expired by `now`.
#[must_use]
pub fn holds_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::Hold, shard, now)
}

/// All open holds, the one that expires first first.
#[must_use]
pub fn open_holds(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Hold, shard)
}

/// Settlements to start or restart by `now`.
#[must_use]
pub fn settlements_due(tenant: &Tenant, shard: u32, now: Timestamp) -> Query {
    until(tenant, Work::Settlement, shard, now)
}

/// Records of the audit trail of a shard that are not sealed; of entries those that are published.
#[must_use]
pub fn records_to_seal(tenant: &Tenant, shard: u32) -> Query {
    all(tenant, Work::Seal, shard)
}

/// Notices that are not announced.
#[must_use]
pub fn notices_to_announce(tenant: &Tenant) -> Query {
    all(tenant, Work::Notice, 0)
}

/// Merchants with a paid settlement, on whose cash bonuses may be due, as their `SETTLING` items.
#[must_use]
pub fn covered_cash(tenant: &Tenant) -> Query {
    all(tenant, Work::CoveredCash, 0)
}

/// Bonuses on cash of a merchant that are not granted, of top-ups that began by `until`.
#[must_use]
pub fn cash_bonuses_due(tenant: &Tenant, merchant: MerchantId, until: Timestamp) -> Query {
    let last = least_born_at(until.plus(CLOCK_SKEW)).to_string();
    Query::due(keys::due_partition(tenant, Work::CashBonus(merchant), 0), SortRange::up_to(last))
}

/// Reconciliations that are requested and unfinished, or whose breaks are not announced.
#[must_use]
pub fn reconciliations_to_run(tenant: &Tenant) -> Query {
    all(tenant, Work::Reconciliation, 0)
}

/// Previews of changes of terms that are requested and unfinished.
#[must_use]
pub fn terms_previews_to_run(tenant: &Tenant) -> Query {
    all(tenant, Work::TermsPreview, 0)
}
