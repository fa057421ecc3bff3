//! Runs the tasks of settlements. Each reads its settlement's state, does what remains, and returns what follows. A
//! task may run any number of times and concurrently.

mod collect;
mod kyc;
mod payout;
mod runs;
mod task;
mod walk;

pub use collect::free_records;
pub use kyc::{HttpKyc, Kyc, KycAnswer, KycError};
pub use runs::{Sagas, Started, start_due};
pub use task::task_answer;
pub use walk::Ended;

use crate::app::App;
use crate::execute::{Ledger, WriteOutcome};
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::topups::ProviderAccess;
use ledger_core::failure::Failure;
use ledger_core::ids::{MerchantId, SettlementId, Tenant};
use ledger_core::operation::Operation;
use ledger_core::settlements::{Move, Outcome, Settlement, Step, Task, UndoReason};
use ledger_core::trail::{ProviderAnswer, Record};
use ledger_core::transaction::{BuildError, Rejection, Transaction};
use ledger_core::{keys, settlements as rules};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The number of transactions that one task writes before it returns that there is more.
const BATCHES_MAX: u32 = 20;
/// The task that makes payouts.
const PAYOUT: Task = Task::Do(Step::Payout);
/// The number of times that one task reads its settlement: it writes batches, is overtaken by other workers, or drops
/// records that other settlements took.
const MOVES_MAX: u32 = 200;

/// Identifies a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlementRef {
    /// The tenant.
    pub tenant: Tenant,
    /// The merchant that is paid out.
    pub merchant: MerchantId,
    /// The settlement's id.
    pub id: SettlementId,
}

/// The input that a state machine gives to a task. The tenant is trusted: only our own function starts the state
/// machine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskInput {
    tenant: String,
    merchant_id: String,
    settlement_id: String,
    task: String,
}

/// The result of a task, by which the state machine chooses the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TaskAnswer {
    /// `next`, `again`, `wait`, `undo` or `over`.
    pub outcome: &'static str,
}

/// The error name for the state machine: [`rules::UNAVAILABLE`] if a retry may succeed, else [`rules::BROKEN`].
#[must_use]
pub fn error_name(problem: &Problem) -> &'static str {
    if problem.status() == http::StatusCode::SERVICE_UNAVAILABLE { rules::UNAVAILABLE } else { rules::BROKEN }
}

impl TaskInput {
    /// Parses the input: the settlement and the task. `None` if it is malformed.
    #[must_use]
    pub fn read(&self) -> Option<(SettlementRef, Task)> {
        let at = SettlementRef {
            tenant: Tenant::parse(&self.tenant).ok()?,
            merchant: MerchantId::parse(&self.merchant_id).ok()?,
            id: SettlementId::parse(&self.settlement_id).ok()?,
        };
        Some((at, Task::parse(&self.task)?))
    }
}

/// Runs settlements: the ledger, the KYC check and the PSP. Cheap to clone.
#[derive(Clone)]
pub struct Settler {
    ledger: Ledger,
    kyc: Option<Arc<dyn Kyc>>,
    provider: ProviderAccess,
}

impl Settler {
    /// Creates a settler over the ledger and its PSP. A task that needs a KYC check that is absent fails.
    #[must_use]
    pub fn new(app: &App, kyc: Option<Arc<dyn Kyc>>) -> Self {
        Self { ledger: app.ledger().clone(), kyc, provider: app.provider_access().clone() }
    }

    /// Runs a task to its end.
    ///
    /// # Errors
    /// 503 if the store, the KYC check or the PSP did not answer: running the task again is safe. 500
    /// for a failure that no retry fixes.
    pub async fn run(&self, at: &SettlementRef, task: Task) -> Result<Outcome, Problem> {
        let mut batches = 0_u32;
        for _ in 0..MOVES_MAX {
            let settlement = self.read(at).await?;
            let now = self.ledger.clock().now();
            let postponed = rules::postponed(&at.tenant, &settlement, task, now);
            if let Some(postponed) = postponed.map_err(|error| self.broken(at, &error.to_string()))? {
                if self.write(at, &postponed).await? {
                    return Ok(Outcome::Over);
                }
                continue;
            }
            let next = rules::next_move(&at.tenant, &settlement, task, now);
            match next.map_err(|error| self.broken(at, &error.to_string()))? {
                Move::Ended(outcome) => return Ok(outcome),
                Move::Write(transaction) => {
                    let what = if task == Task::Stop { "stopped" } else { "advanced" };
                    if self.write_recorded((at, &settlement, task), what, *transaction, &[]).await?
                        && task == Task::Stop
                    {
                        self.ledger.metrics().count(Metric::CompensationStuck, &at.tenant, Operation::SettlementRun);
                        tracing::error!(tenant = %at.tenant, settlement = %at.id, state = %settlement.state,
                            "settlement stopped: needs review");
                    }
                }
                Move::Collect | Move::GiveBack if batches >= BATCHES_MAX => return Ok(Outcome::Again),
                Move::Collect => {
                    if !self.collect(at, &settlement).await? && !self.close_period(at, &settlement).await? {
                        return Ok(Outcome::Next);
                    }
                    batches = batches.saturating_add(1);
                }
                Move::GiveBack => {
                    self.release_batch(at, &settlement).await?;
                    batches = batches.saturating_add(1);
                }
                Move::Check => {
                    if !self.check(at, &settlement).await? {
                        return Ok(Outcome::Wait);
                    }
                }
                Move::Pay => {
                    if !self.pay_out(at, &settlement).await? {
                        return Ok(Outcome::Wait);
                    }
                }
            }
        }
        Err(self.broken(at, "a task did not end"))
    }

    async fn read(&self, at: &SettlementRef) -> Result<Settlement, Problem> {
        self.read_if_any(at).await?.ok_or_else(Problem::not_found)
    }

    async fn read_if_any(&self, at: &SettlementRef) -> Result<Option<Settlement>, Problem> {
        let key = keys::settlement(&at.tenant, at.merchant, at.id);
        Ok(self.ledger.dynamo().get(&key).await?.as_ref().map(Settlement::read).transpose()?)
    }

    /// Asks whether the merchant may be paid, and records the answer. `false` if there is no answer yet.
    async fn check(&self, at: &SettlementRef, settlement: &Settlement) -> Result<bool, Problem> {
        let kyc = self.kyc.as_ref().ok_or_else(|| self.broken(at, "the KYC service is not configured: set KYC_URL"))?;
        let (task, tenant) = (Task::Do(Step::Kyc), &at.tenant);
        let record = Record::of_task(tenant, settlement, task, "sent", &[], self.ledger.clock().now());
        let record = self.built(at, Transaction::record(record))?;
        // A concurrent task may have written the same record.
        let _ = self.ledger.attempt(tenant, Operation::SettlementRun, &record).await?;
        let answer = kyc.check(at).await;
        let now = self.ledger.clock().now();
        let start_undo = |why| rules::start_undo(tenant, settlement, why, now);
        let (transaction, answers) = match answer {
            KycAnswer::Passed { reference } => {
                (rules::verified(tenant, settlement, &reference, now), ProviderAnswer::Passed(reference))
            }
            KycAnswer::Refused => (start_undo(UndoReason::KycRefused), ProviderAnswer::Refused("kyc".to_owned())),
            KycAnswer::Unknown => {
                let since = settlement.held_at.unwrap_or(settlement.created_at);
                if now.since(since) < rules::saga::KYC_WITHIN {
                    return Ok(false);
                }
                (start_undo(UndoReason::KycUnanswered), ProviderAnswer::Unknown("no_answer".to_owned()))
            }
        };
        let transaction = self.built(at, transaction)?;
        self.write_recorded((at, settlement, task), "advanced", transaction, &[answers]).await.map(|_| true)
    }

    /// Writes a transition with its trail record: the task, the transition, and the answers that led to it.
    async fn write_recorded(
        &self,
        (at, settlement, task): (&SettlementRef, &Settlement, Task),
        what: &'static str,
        transaction: Transaction,
        answers: &[ProviderAnswer],
    ) -> Result<bool, Problem> {
        let record = Record::of_task(&at.tenant, settlement, task, what, answers, self.ledger.clock().now());
        self.write(at, &self.built(at, transaction.recorded(record))?).await
    }

    /// Writes a task's transaction. `false` if another worker wrote first.
    async fn write(&self, at: &SettlementRef, transaction: &Transaction) -> Result<bool, Problem> {
        match self.ledger.attempt(&at.tenant, Operation::SettlementRun, transaction).await? {
            WriteOutcome::Applied => Ok(true),
            WriteOutcome::MarkerExists(_) => Ok(false),
            WriteOutcome::Rejected(rejection) if rejection.failure == Failure::StalePlan => Ok(false),
            WriteOutcome::Rejected(rejection) => Err(self.rejected(at, &rejection)),
        }
    }

    fn built(&self, at: &SettlementRef, built: Result<Transaction, BuildError>) -> Result<Transaction, Problem> {
        built.map_err(|error| self.broken(at, &error.to_string()))
    }

    fn rejected(&self, at: &SettlementRef, rejection: &Rejection) -> Problem {
        self.broken(at, &format!("{:?}: {}", rejection.role, rejection.failure.code()))
    }

    fn broken(&self, at: &SettlementRef, what: &str) -> Problem {
        self.ledger.broken(&at.tenant, Operation::SettlementRun, what)
    }
}

impl fmt::Debug for Settler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Settler")
    }
}
