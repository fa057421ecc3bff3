//! What every job stores: who asked and why, the state, the counters, and the stop.

use super::Details;
use crate::dynamo::{Cmp, Condition, Item, ItemError, Update, Value, record, stored_words};
use crate::failure::Failure;
use crate::ids::{Actor, JobId, StaffId, Tenant};
use crate::keys::{self, JobKind, attr};
use crate::personal::FreeText;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};
use crate::words::words;

pub(super) const STATE: &str = "state";
pub(super) const DONE: &str = "done";
pub(super) const FAILED: &str = "failed";
pub(super) const SKIPPED: &str = "skipped";
pub(super) const VERSION: &str = "version";
pub(super) const ENDED_AT: &str = "ended_at";

words! {
    /// The state of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum JobState {
        /// No worker has begun it.
        Waiting = "waiting",
        /// A worker has begun it.
        Running = "running",
        /// A person asked that it stops, and what was in flight is not counted.
        Stopping = "stopping",
        /// A person stopped it.
        Stopped = "stopped",
        /// It has done what was asked. Of some subjects it may have failed lines.
        Done = "done",
        /// It has no result, and will have none.
        Failed = "failed",
    }
}

stored_words!(JobState, JobKind);

record! {
    /// The head of a job.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Head {
        /// Its id.
        pub id: JobId = "job_id",
        /// Its kind.
        pub kind: JobKind = "kind",
        /// Its state.
        pub state: JobState = STATE,
        /// The staff member who asked for it; `None`: the ledger started it.
        pub staff: Option<StaffId> = "staff_id",
        /// Why that staff member did. It may have been erased.
        pub reason: Option<FreeText> = "reason",
        /// How many subjects it has, if that is known.
        pub total: Option<u32> = "total",
        /// How many subjects it is done with; of an attempt, how much it has read or written.
        pub done: u32 = DONE,
        /// How many subjects it could not do, each with a line.
        pub failed: u32 = FAILED,
        /// How many subjects needed nothing, each with a line.
        pub skipped: u32 = SKIPPED,
        /// When it was asked for.
        pub created_at: Timestamp = attr::CREATED_AT,
        /// When it was last written.
        pub updated_at: Timestamp = attr::UPDATED_AT,
        /// When a person asked that it stops.
        pub stop_requested_at: Option<Timestamp> = "stop_requested_at",
        /// Who did.
        pub stop_requested_by: Option<StaffId> = "stop_requested_by",
        /// When it ended.
        pub ended_at: Option<Timestamp> = ENDED_AT,
        /// How often it was written, without an attempt's progress.
        pub version: u32 = VERSION,
    }
}

/// Who asks for a job, and why.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The id of the job.
    pub id: JobId,
    /// The staff member; `None`: the ledger starts it.
    pub staff: Option<StaffId>,
    /// The reason.
    pub reason: Option<&'a FreeText>,
    /// The number of subjects, if it is known.
    pub total: Option<u32>,
    /// When it is asked for.
    pub now: Timestamp,
}

impl JobState {
    /// Whether a job in this state has ended.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Waiting | Self::Running | Self::Stopping => false,
            Self::Stopped | Self::Done | Self::Failed => true,
        }
    }
}

impl Head {
    /// The head of a job that is asked for.
    pub(super) fn requested(kind: JobKind, request: Request<'_>) -> Self {
        let Request { id, staff, reason, total, now } = request;
        Self {
            id,
            kind,
            state: JobState::Waiting,
            staff,
            reason: reason.cloned(),
            total,
            done: 0,
            failed: 0,
            skipped: 0,
            created_at: now,
            updated_at: now,
            stop_requested_at: None,
            stop_requested_by: None,
            ended_at: None,
            version: 0,
        }
    }

    /// Reads the head of a job of a kind.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed, or the job is of another kind.
    pub(super) fn of<D: Details>(item: &Item) -> Result<Self, ItemError> {
        let head = Self::read(item)?;
        if head.kind == D::KIND { Ok(head) } else { Err(ItemError::invalid("kind")) }
    }

    /// Who acts when the job does.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.staff.map_or(Actor::System, Actor::Staff)
    }

    /// Stores the job, with further attributes, due from `due_at` on.
    pub(super) fn put(&self, tenant: &Tenant, more: Item, due_at: Timestamp) -> TransactItem {
        let mut item = self.attributes();
        item.extend(more);
        item.insert(attr::OWNER_PK.to_owned(), Value::S(keys::jobs_partition(tenant, self.kind)));
        item.insert(attr::OWNER_SK.to_owned(), Value::s(self.id));
        item.extend(self.kind.due(tenant, due_at, self.id).attributes());
        TransactItem::put_new(Role::Job, keys::job(tenant, self.id), item, Failure::AlreadyExists)
    }

    /// A change of the job, guarded on its version as read.
    pub(super) fn changed(&self, tenant: &Tenant, update: Update, now: Timestamp) -> TransactItem {
        let update = update.set(VERSION, VERSION, Value::int(self.version.saturating_add(1).into())).set(
            attr::UPDATED_AT,
            "ua",
            Value::s(now),
        );
        let version = Condition::compare(VERSION, Cmp::Eq, "seen_version", Value::int(self.version.into()));
        let as_read = Clause { condition: version, failure: Failure::StalePlan };
        TransactItem::update(Role::Job, keys::job(tenant, self.id), update, vec![as_read])
    }
}

/// Ends a job in a state: it is not due any more.
pub(super) fn ended(update: Update, state: JobState, now: Timestamp) -> Update {
    update
        .set(STATE, STATE, Value::s(state.name()))
        .set(ENDED_AT, "ua", Value::s(now))
        .remove(attr::DUE_PK)
        .remove(attr::DUE_SK)
}
