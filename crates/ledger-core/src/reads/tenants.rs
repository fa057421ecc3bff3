//! Queries of the tenant's own partition, and of what the tenant's staff does.

use super::accounts::newest;
use super::query::Query;
use super::range::SortRange;
use crate::ids::{
    ApprovalId, BankFileId, Employer, FindingId, JobId, RunId, SettlementId, StaffId, Tenant, least_born_at,
};
use crate::keys::{self, JobKind, Partition, sk};
use crate::time::{BusinessDate, Timestamp, UtcDay, UtcMonth};
use uuid::Uuid;

/// Audit records of the staff's acts of a day and a shard, newest first, after the act `after`.
#[must_use]
pub fn audit_records(tenant: &Tenant, (day, shard): (UtcDay, u32), after: Option<Uuid>) -> Query {
    newest(&Partition::audit(tenant, day, shard), sk::AUDIT, after)
}

/// Audit records of the staff's acts of a day and a shard whose id is of `from` or later.
#[must_use]
pub fn acts_from(tenant: &Tenant, (day, shard): (UtcDay, u32), from: Timestamp) -> Query {
    let (low, high) = Partition::audits_from(from);
    Query::partition(&Partition::audit(tenant, day, shard), SortRange::between(low, high))
}

/// The keys of the tenant's reconciliation runs, newest first, after the run `after`. One that was just requested may be
/// missing.
#[must_use]
pub fn reconciliations(tenant: &Tenant, after: Option<Uuid>) -> Query {
    Query::by_owner(keys::reconciliations_partition(tenant)).newest_first().after(after.map(|id| id.to_string()))
}

/// The breaks that a run found, after the finding `after`.
#[must_use]
pub fn breaks_of(tenant: &Tenant, run: RunId, after: Option<Uuid>) -> Query {
    let after = after.map(|id| format!("{}{id}", keys::BREAK));
    Query::partition(&Partition::reconciliation(tenant, run), SortRange::prefix(keys::BREAK)).after(after)
}

/// The keys of the breaks of all runs of `from` or later, newest first, after a finding of a run. One that was just found may
/// be missing.
#[must_use]
pub fn breaks(tenant: &Tenant, from: Option<Timestamp>, after: Option<(RunId, FindingId)>) -> Query {
    let after = after.map(|(run, finding)| keys::break_place(run, finding));
    let range = from.map_or(SortRange::ALL, |from| SortRange::ALL.at_least(&least_born_at(from).to_string()));
    Query::by_owner_within(keys::breaks_partition(tenant), range).newest_first().after(after)
}

/// The keys of the tenant's jobs of a kind, of `from` or later, newest first, after the job `after`. One that was just requested may
/// be missing.
#[must_use]
pub fn jobs(tenant: &Tenant, kind: JobKind, from: Option<Timestamp>, after: Option<Uuid>) -> Query {
    let range = from.map_or(SortRange::ALL, |from| SortRange::ALL.at_least(&least_born_at(from).to_string()));
    Query::by_owner_within(keys::jobs_partition(tenant, kind), range)
        .newest_first()
        .after(after.map(|id| id.to_string()))
}

/// A tenant's bank files, the latest day first, after the file `after`. One that was just begun may be missing.
#[must_use]
pub fn bank_files(tenant: &Tenant, after: Option<BankFileId>) -> Query {
    Query::by_owner(keys::bank_files_partition(tenant)).newest_first().after(after.map(|id| id.to_string()))
}

/// The bank file's partition: the file and its parts.
#[must_use]
pub fn bank_file_items(tenant: &Tenant, file: BankFileId) -> Query {
    Query::partition(&Partition::bank_file(tenant, file), SortRange::ALL)
}

/// The transfers that were booked for a day, by settlement, after that of a settlement.
#[must_use]
pub fn bank_transfers(tenant: &Tenant, day: BusinessDate, after: Option<SettlementId>) -> Query {
    let after = after.map(|id| format!("{}{id}", keys::TRANSFER));
    Query::partition(&Partition::bank_transfers(tenant, day), SortRange::prefix(keys::TRANSFER)).after(after)
}

/// The lines of a job, by subject, after that of a subject.
#[must_use]
pub fn job_lines(tenant: &Tenant, job: JobId, after: Option<&str>) -> Query {
    let after = after.map(|subject| format!("{}{subject}", keys::JOB_LINE));
    Query::partition(&Partition::job(tenant, job), SortRange::prefix(keys::JOB_LINE)).after(after)
}

/// The tenant's migration passes.
#[must_use]
pub fn migration_passes(tenant: &Tenant) -> Query {
    Query::partition(&Partition::tenant(tenant), SortRange::prefix(sk::MIGRATION))
}

/// The versions of a tenant's terms, the latest first.
#[must_use]
pub fn terms(tenant: &Tenant) -> Query {
    Query::partition(&Partition::tenant(tenant), SortRange::prefix(keys::TERMS)).newest_first()
}

/// The staff of an employer, largest id first, after the member `after`.
#[must_use]
pub fn staff_members(tenant: &Tenant, employer: Employer, after: Option<StaffId>) -> Query {
    newest(&Partition::employer(tenant, employer), sk::STAFF, after.map(StaffId::uuid))
}

/// The commands of a month that await approval or were decided on, newest first, after the command `after`: all of them,
/// or those that were requested at `from` or later.
#[must_use]
pub fn approvals(tenant: &Tenant, month: UtcMonth, from: Option<Timestamp>, after: Option<ApprovalId>) -> Query {
    let partition = Partition::approvals(tenant, month);
    let after = after.map(ApprovalId::uuid);
    match from.map(keys::approvals_from) {
        None => newest(&partition, keys::APPROVAL, after),
        Some((low, high)) => {
            let after = after.map(|id| format!("{}{id}", keys::APPROVAL));
            Query::partition(&partition, SortRange::between(low, high)).newest_first().after(after)
        }
    }
}
