//! A job that makes one result. A worker takes it for a while, renews that with each write, and another may begin again when it ends.

use super::Details;
use super::head::{DONE, ENDED_AT, Head, JobState, Request, STATE, ended};
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use std::time::Duration;

/// How long a worker has a job after each of its writes.
const LEASE: Duration = Duration::from_secs(120);
/// How often a job is begun before it fails.
pub const ATTEMPTS_MAX: i64 = 5;
/// How long a job is kept after its end.
const KEPT: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// The code of a job that was begun too often.
const BEGUN_TOO_OFTEN: &str = "begun_too_often";
const CODE: &str = "code";

/// A job that makes one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt<D> {
    /// The head.
    pub head: Head,
    /// What is its kind's own.
    pub details: D,
    /// Why it failed.
    pub code: Option<String>,
    /// The lease holder. Its token is the number of times that the job was begun.
    pub holder: Holder,
}

/// A job that a worker takes.
#[derive(Debug)]
pub enum Taken<D> {
    /// The worker has it, once this is written.
    Begun(Box<Leased<Attempt<D>>>, Transaction),
    /// It was begun too often, and fails.
    TooOften(Transaction),
}

impl<D> Leasable for Attempt<D> {
    const LEASE_DURATION: Duration = LEASE;
    const ROLE: Role = Role::Job;
}

impl<D: Details + Clone> Attempt<D> {
    /// A job that is asked for.
    pub(crate) fn requested(request: Request<'_>, details: D) -> Self {
        let holder = Holder { fence: 0, lease_until: request.now };
        Self { head: Head::requested(D::KIND, request), details, code: None, holder }
    }

    /// Stores the job, due at once.
    pub(crate) fn put(&self, tenant: &Tenant) -> TransactItem {
        let mut more = self.details.attributes();
        more.extend(self.holder.attributes());
        self.head.put(tenant, more, self.head.created_at)
    }

    /// Reads a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed, or the job is of another kind.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            head: Head::of::<D>(item)?,
            details: D::read(item)?,
            code: item.opt_string(CODE)?,
            holder: Holder::read(item)?,
        })
    }

    /// Takes the job for a worker; `None` if it is over, or another worker has it.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn take(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<Taken<D>>, BuildError> {
        if self.head.state.is_over() {
            return Ok(None);
        }
        let key = keys::job(tenant, self.head.id);
        if self.holder.fence >= ATTEMPTS_MAX {
            if now < self.holder.lease_until {
                return Ok(None);
            }
            let [fence, lease] = self.holder.as_seen();
            let guards = vec![fence, not_over(), lease];
            let item = TransactItem::update(Role::Job, key, failed(BEGUN_TOO_OFTEN, now), guards);
            return Ok(Some(Taken::TooOften(Transaction::unkeyed(vec![item])?)));
        }
        let taken = Leased::take(key, self.holder, vec![not_over()], now, |holder| {
            let head = Head { state: JobState::Running, done: 0, updated_at: now, ..self.head.clone() };
            let update = holder
                .taken(Update::new())
                .set(STATE, STATE, Value::s(head.state.name()))
                .set(DONE, DONE, Value::int(0))
                .set(attr::UPDATED_AT, "ua", Value::s(now));
            (Self { head, holder, ..self.clone() }, update)
        })?;
        Ok(taken.map(|(leased, transaction)| Taken::Begun(Box::new(leased), transaction)))
    }
}

impl<D: Details> Leased<Attempt<D>> {
    /// Records how much is read or written, and keeps the job.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn progress(&self, done: u32, now: Timestamp) -> Result<Transaction, BuildError> {
        let update = Self::renewed(now).set(DONE, DONE, Value::int(done.into()));
        self.written(update.set(attr::UPDATED_AT, "ua", Value::s(now)))
    }

    /// Leaves the job to another try, after a minute, then two, four and eight.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn give_back(&self, tenant: &Tenant, now: Timestamp) -> Result<Transaction, BuildError> {
        let tries = u32::try_from(self.fence()).unwrap_or(u32::MAX);
        let due = D::KIND.due(tenant, now.plus(super::cursor::delay(tries)), self.head.id);
        self.written(due.set(Self::released(now)).set(attr::UPDATED_AT, "ua", Value::s(now)))
    }

    /// Ends the job with its result.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn finish(&self, (done, result): (u32, Item), now: Timestamp) -> Result<Transaction, BuildError> {
        let update = Update::new().set(DONE, DONE, Value::int(done.into()));
        let update = result.into_iter().fold(update, |update, (name, value)| update.set(name.clone(), name, value));
        self.written(kept(over(update, JobState::Done, now), now))
    }

    /// Ends the job without a result.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn fail(&self, code: &str, now: Timestamp) -> Result<Transaction, BuildError> {
        self.written(failed(code, now))
    }

    fn written(&self, update: Update) -> Result<Transaction, BuildError> {
        Transaction::unkeyed(vec![self.change_if(update, vec![not_over()])])
    }
}

fn failed(code: &str, now: Timestamp) -> Update {
    let update = Update::new().set(CODE, CODE, Value::s(code));
    kept(over(update, JobState::Failed, now), now)
}

fn over(update: Update, state: JobState, now: Timestamp) -> Update {
    ended(update, state, now).set(attr::UPDATED_AT, "ua", Value::s(now))
}

/// Keeps an ended job for a while.
pub(super) fn kept(update: Update, now: Timestamp) -> Update {
    update.set(attr::TTL, attr::TTL, Value::int(now.plus(KEPT).seconds()))
}

/// Requires that a person has not stopped the job, and that no other worker has ended it.
fn not_over() -> Clause {
    Clause { condition: Condition::absent(ENDED_AT), failure: Failure::StalePlan }
}
