//! Keys of jobs: work in the background that goes on until it has seen everything, or has made one result. A partition for each,
//! with its lines.

use super::{Key, Partition};
use crate::ids::{JobId, Tenant};
use crate::words::words;
use std::fmt;

/// The kind of the partitions of jobs.
const JOB: &str = "job";
/// The prefix of the sort keys of lines.
pub(crate) const LINE: &str = "LINE#";

words! {
    /// The kinds of jobs.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum JobKind {
        /// A grant to many customers.
        Grant = "grant",
        /// A batch of cards.
        CardBatch = "card_batch",
        /// The winding down of a tenant.
        WindDown = "wind_down",
        /// A run that closes merchants' periods.
        SettlementRun = "settlement_run",
        /// A bank file that takes booked transfers.
        BankFile = "bank_file",
        /// The erasure of a customer's texts.
        Erasure = "erasure",
        /// A file that staff asked for.
        File = "file",
        /// A preview of a change of terms.
        TermsPreview = "terms_preview",
    }
}

impl Partition {
    /// A job and its lines.
    #[must_use]
    pub fn job(tenant: &Tenant, id: JobId) -> Self {
        Self::of(tenant, JOB, id)
    }
}

/// A job.
#[must_use]
pub fn job(tenant: &Tenant, id: JobId) -> Key {
    Partition::job(tenant, id).item("JOB")
}

/// The customers of a bulk grant.
#[must_use]
pub fn job_customers(tenant: &Tenant, id: JobId) -> Key {
    Partition::job(tenant, id).item("CUSTOMERS")
}

/// The line of a job about a subject, for example `customer:<id>`.
#[must_use]
pub fn job_line(tenant: &Tenant, id: JobId, subject: impl fmt::Display) -> Key {
    Partition::job(tenant, id).item(format!("{LINE}{subject}"))
}

/// The partition of the index by owner that lists a tenant's jobs of a kind by id: one shard, because they are rarely written.
#[must_use]
pub fn jobs_partition(tenant: &Tenant, kind: JobKind) -> String {
    format!("{tenant}#jobs#{}#0", kind.name())
}
