//! Decides what a task has to do, from its settlement's state. The runtime asks again after every write, so a task
//! that another worker has done already finds nothing left to do.

use super::destination::Destination;
use super::record::{Settlement, SettlementState, UndoReason};
use super::saga::{Compensation, Outcome, Step, Task};
use super::steps;
use crate::dynamo::{Update, Value};
use crate::ids::Tenant;
use crate::keys::{Work, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Transaction};
use std::time::Duration;

/// After how long an unfinished settlement is run again: its saga may have been stopped by hand.
const RUN_AGAIN: Duration = Duration::from_secs(25 * 60 * 60);

/// What a task has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Nothing: the task has this outcome.
    Ended(Outcome),
    /// Write this, then read the settlement and decide again.
    Write(Box<Transaction>),
    /// Collect due records, or find that none are left.
    Collect,
    /// Release the records of the last batch.
    GiveBack,
    /// Ask the KYC provider whether the merchant may be paid.
    Check,
    /// Send the payout, or look up its result.
    Pay,
}

/// Why a task has no move.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// The task is not possible in the settlement's state.
    #[error("the task {task} does not follow the state {state}")]
    OutOfOrder {
        /// The task's name.
        task: String,
        /// The settlement's state.
        state: SettlementState,
    },
    /// The transaction breaks a rule of the builder.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The move of a task.
///
/// # Errors
/// [`MoveError`], which means a defect in our code.
pub fn next_move(tenant: &Tenant, settlement: &Settlement, task: Task, now: Timestamp) -> Result<Move, MoveError> {
    let write = |transaction: Result<Transaction, BuildError>| Ok(Move::Write(Box::new(transaction?)));
    let out_of_order = || Err(MoveError::OutOfOrder { task: task.name(), state: settlement.state });
    let state = settlement.state;
    if state.is_over() {
        return Ok(Move::Ended(Outcome::Over));
    }
    match task {
        Task::Do(_) if settlement.undo_reason.is_some() => Ok(Move::Ended(Outcome::Undo)),
        Task::Do(step) => match (step, state) {
            (Step::Collect, SettlementState::Collecting) => Ok(Move::Collect),
            (Step::Hold, SettlementState::Collecting) => write(steps::hold(tenant, settlement, now)),
            (Step::Kyc, SettlementState::Held) => Ok(Move::Check),
            (Step::Release, SettlementState::Verified) => write(steps::release(tenant, settlement, now)),
            (Step::Fee, SettlementState::Released) => write(steps::fee(tenant, settlement, now)),
            (Step::Payout, SettlementState::Charged) => write(match &settlement.destination {
                Destination::Stripe { .. } => steps::pay(tenant, settlement, now),
                Destination::Bank(_) => match steps::transfer(settlement, now) {
                    Some(transfer) => steps::booked(tenant, settlement, &transfer, now),
                    None => steps::start_undo(tenant, settlement, UndoReason::PayoutRefused, now),
                },
            }),
            (Step::Payout, SettlementState::Paying) => Ok(Move::Pay),
            (step, state) if state > left_by(step) => Ok(Move::Ended(Outcome::Next)),
            (Step::Collect | Step::Hold | Step::Kyc | Step::Release | Step::Fee | Step::Payout, _) => out_of_order(),
        },
        // Another run has reached the payout: this run leaves the settlement to it.
        Task::Undo(_) if state == SettlementState::Paying => Ok(Move::Ended(Outcome::Over)),
        Task::Undo(_) if settlement.undo_reason.is_none() => {
            write(steps::start_undo(tenant, settlement, UndoReason::StepFailed, now))
        }
        Task::Undo(compensation) => match (compensation, state) {
            (Compensation::Fee, SettlementState::Charged) => write(steps::undo_fee(tenant, settlement, now)),
            (Compensation::Release, SettlementState::Released) => write(steps::undo_release(tenant, settlement, now)),
            (Compensation::Hold, SettlementState::Held | SettlementState::Verified) => {
                write(steps::undo_hold(tenant, settlement, now))
            }
            (Compensation::Collect, SettlementState::Collecting) if settlement.batches > 0 => Ok(Move::GiveBack),
            (Compensation::Collect, SettlementState::Collecting) => write(steps::undone(tenant, settlement, now)),
            (compensation, state) if state <= undone_to(compensation) => Ok(Move::Ended(Outcome::Next)),
            (Compensation::Fee | Compensation::Release | Compensation::Hold | Compensation::Collect, _) => {
                out_of_order()
            }
        },
        Task::Stop if settlement.stuck_at.is_some() => Ok(Move::Ended(Outcome::Next)),
        Task::Stop => write(stopped(tenant, settlement, now)),
    }
}

/// The write of a task that comes before the payment day of a settlement that the payment provider pays: the settlement is due
/// at the beginning of that day, and the run ends with [`Outcome::Over`]. `None` if the task has its [`next_move`] now. A transfer by
/// bank file is booked at once: the file names the day.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn postponed(
    tenant: &Tenant,
    settlement: &Settlement,
    task: Task,
    now: Timestamp,
) -> Result<Option<Transaction>, BuildError> {
    let is_payout = task == Task::Do(Step::Payout) && settlement.state == SettlementState::Charged;
    let goes_on = settlement.undo_reason.is_none() && settlement.payable.is_some();
    match pays_from(settlement).filter(|from| is_payout && goes_on && now < *from) {
        Some(from) => run_again(tenant, settlement, from, now).map(Some),
        None => Ok(None),
    }
}

/// Records that a settlement's saga was started. If it is not over, it is due again in 25 hours, or before then when the
/// payment provider may be asked for its payout.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn started(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let again = now.plus(RUN_AGAIN);
    let from = pays_from(settlement).filter(|from| now < *from && settlement.state < SettlementState::Paying);
    run_again(tenant, settlement, from.map_or(again, |from| from.min(again)), now)
}

/// The beginning of the payment day, if the payment provider pays.
fn pays_from(settlement: &Settlement) -> Option<Timestamp> {
    match &settlement.destination {
        Destination::Stripe { .. } => Some(settlement.pay_on.bounds().0),
        Destination::Bank(_) => None,
    }
}

/// Makes the settlement due at an instant, under another run number: a state machine accepts each run's name once only.
fn run_again(
    tenant: &Tenant,
    settlement: &Settlement,
    at: Timestamp,
    now: Timestamp,
) -> Result<Transaction, BuildError> {
    let due = Value::S(Work::Settlement.sort_key(at, settlement.id));
    let update = Update::new().add("runs", "one", Value::int(1)).set(attr::DUE_SK, "due_sk", due);
    Transaction::unkeyed(vec![settlement.changed(tenant, update, now)])
}

/// Records that the settlement needs review. It is not run again by itself.
fn stopped(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = Update::new().set("stuck_at", "ua", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
    Transaction::unkeyed(vec![settlement.changed(tenant, update, now)])
}

/// The state in which a step runs, and which it leaves.
const fn left_by(step: Step) -> SettlementState {
    match step {
        Step::Collect | Step::Hold => SettlementState::Collecting,
        Step::Kyc => SettlementState::Held,
        Step::Release => SettlementState::Verified,
        Step::Fee => SettlementState::Released,
        Step::Payout => SettlementState::Paying,
    }
}

/// The state after a compensation.
const fn undone_to(compensation: Compensation) -> SettlementState {
    match compensation {
        Compensation::Fee => SettlementState::Released,
        Compensation::Release => SettlementState::Verified,
        Compensation::Hold | Compensation::Collect => SettlementState::Collecting,
    }
}
