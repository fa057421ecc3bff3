//! Decides what a task has to do, from its settlement's state. The runtime asks again after every write, so a task
//! that another worker has done already finds nothing left to do.

use super::record::{Settlement, SettlementState, UndoReason};
use super::saga::{Compensation, Outcome, Step, Task};
use super::steps;
use crate::account::TenantAccount;
use crate::dynamo::{Update, Value};
use crate::ids::{PayoutRequestId, Tenant};
use crate::keys::{self, attr};
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
    /// Write the bank file again, for this request.
    Resend(PayoutRequestId),
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
        return match (settlement.resend, task) {
            (None, _) => Ok(Move::Ended(Outcome::Over)),
            // Any step or compensation does it: the saga was run again for the resend only.
            (Some(id), Task::Do(_) | Task::Undo(_)) => Ok(Move::Resend(id)),
            (Some(_), Task::Stop) if settlement.stuck_at.is_some() => Ok(Move::Ended(Outcome::Next)),
            (Some(_), Task::Stop) => write(stopped(tenant, settlement, now)),
        };
    }
    match task {
        Task::Do(_) if settlement.turned_back.is_some() => Ok(Move::Ended(Outcome::Undo)),
        Task::Do(step) => match (step, state) {
            (Step::Collect, SettlementState::Collecting) => Ok(Move::Collect),
            (Step::Hold, SettlementState::Collecting) => write(steps::hold(tenant, settlement, now)),
            (Step::Kyc, SettlementState::Held) => Ok(Move::Check),
            (Step::Release, SettlementState::Verified) => write(steps::release(tenant, settlement, now)),
            (Step::Fee, SettlementState::Released) => write(steps::fee(tenant, settlement, now)),
            (Step::Payout, SettlementState::Charged) if settlement.payable.is_none() => {
                write(steps::paid(tenant, settlement, (TenantAccount::BankClearing, None), now))
            }
            (Step::Payout, SettlementState::Charged) => write(steps::pay(tenant, settlement, now)),
            (Step::Payout, SettlementState::Paying) => Ok(Move::Pay),
            (step, state) if state > left_by(step) => Ok(Move::Ended(Outcome::Next)),
            (Step::Collect | Step::Hold | Step::Kyc | Step::Release | Step::Fee | Step::Payout, _) => out_of_order(),
        },
        // Another run has reached the payout: this run leaves the settlement to it.
        Task::Undo(_) if state == SettlementState::Paying => Ok(Move::Ended(Outcome::Over)),
        Task::Undo(_) if settlement.turned_back.is_none() => {
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

/// Records that a settlement's saga was started. It is due again in 25 hours if it is not over.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn started(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let update = Update::new().add("runs", "one", Value::int(1)).set(
        attr::DUE_SK,
        "due_sk",
        Value::S(keys::due_from(now.plus(RUN_AGAIN), settlement.id)),
    );
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
