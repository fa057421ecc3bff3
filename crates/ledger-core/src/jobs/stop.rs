//! A person's stop of a job.

use super::head::{ENDED_AT, Head, JobState, STATE, ended};
use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, CustomerId, StaffId, Tenant};
use crate::keys::JobKind;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::transaction::{Clause, Draft, Planned};

/// The stop of a job.
#[derive(Clone, Copy, Debug)]
pub struct JobStop<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who stops it.
    pub staff: StaffId,
    /// The customer whose data it is about.
    pub customer: Option<CustomerId>,
    /// Why.
    pub reason: &'a FreeText,
}

/// Whether jobs of a kind can be stopped. An erasure cannot: two people decided on it, and half of it is worse than either. A bank file
/// is withdrawn when it is written.
#[must_use]
const fn is_stoppable(kind: JobKind) -> bool {
    match kind {
        JobKind::BankFile | JobKind::Erasure => false,
        JobKind::Grant
        | JobKind::CardBatch
        | JobKind::WindDown
        | JobKind::SettlementRun
        | JobKind::File
        | JobKind::TermsPreview => true,
    }
}

/// Whether a job of a kind has no effect but its own item, so that its stop ends it at once.
const fn is_attempt(kind: JobKind) -> bool {
    match kind {
        JobKind::File | JobKind::TermsPreview => true,
        JobKind::Grant
        | JobKind::CardBatch
        | JobKind::WindDown
        | JobKind::SettlementRun
        | JobKind::BankFile
        | JobKind::Erasure => false,
    }
}

/// Stops a job. What it has done stays done. A job with subjects in flight ends when a worker has counted them.
///
/// # Errors
/// `WrongState` if it has ended, was stopped before, or is of a kind that cannot be stopped.
pub fn plan_stop(stop: &JobStop<'_>, job: &Head, cx: &Context) -> Result<Planned<Head>, PlanRefusal> {
    let JobStop { tenant, staff, customer, reason } = *stop;
    let can_stop = match job.state {
        JobState::Waiting | JobState::Running => is_stoppable(job.kind),
        JobState::Stopping | JobState::Stopped | JobState::Done | JobState::Failed => false,
    };
    if !can_stop {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let update =
        Update::new().set("stop_requested_at", "ua", Value::s(cx.now)).set("stop_requested_by", "by", Value::s(staff));
    let (state, update) = if is_attempt(job.kind) {
        (JobState::Stopped, super::attempt::kept(ended(update, JobState::Stopped, cx.now), cx.now))
    } else {
        let due = job.kind.due(tenant, cx.now, job.id);
        (JobState::Stopping, due.set(update.set(STATE, STATE, Value::s(JobState::Stopping.name()))))
    };
    let stopped = Head {
        state,
        updated_at: cx.now,
        stop_requested_at: Some(cx.now),
        stop_requested_by: Some(staff),
        ended_at: state.is_over().then_some(cx.now),
        version: job.version.saturating_add(1),
        ..job.clone()
    };
    // An attempt's progress has another guard than the version.
    let not_over = Clause { condition: Condition::absent(ENDED_AT), failure: Failure::StalePlan };
    let item = job.changed(tenant, update, cx.now).also(not_over, |update| update);
    // An erasure finds the act, and so the reason, by the customer.
    let subject = customer.map_or_else(|| format!("job:{}", job.id), |id| Account::Customer(id).to_string());
    let act = Act::new(Actor::Staff(staff), Operation::JobStop, subject).because(Some(reason));
    let items = vec![item, act.with("job_id", job.id).with("kind", job.kind.name()).record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: stopped })
}
