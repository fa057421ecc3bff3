//! Executes a keyed request: plan, one transaction, and whatever its outcome calls for. Only
//! conflicts and stale plans are tried again; everything else is answered at once.

mod apply;
mod outcome;
mod plan;
mod standing;

pub use apply::ApplyError;
pub use outcome::{Outcome, accepted, created, ok};
pub use plan::{PlanError, Refusal};

use crate::clock::Clock;
use crate::dynamo::{Dynamo, WriteError};
use crate::entropy::{Entropy, EntropyError};
use crate::metrics::{Metric, Metrics};
use crate::problem::Problem;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Admission, Answer, Claim};
use ledger_core::ids::{AuditId, Tenant, TransactionId};
use ledger_core::operation::Operation;
use ledger_core::ops::Context;
use ledger_core::retry;
use ledger_core::transaction::{Planned, Transaction, Verdict};
use outcome::Reply;
use std::time::Duration;

/// A plan that keeps going stale pauses for a random part of this.
const REPLAN_PAUSE_MS_MAX: u32 = 25;

/// The ledger: the store together with what a transaction needs besides. Cheap to clone.
// INVARIANT: nothing but this writes a keyed request's effect.
#[derive(Clone, Debug)]
pub struct Ledger {
    dynamo: Dynamo,
    clock: Clock,
    entropy: Entropy,
    metrics: Metrics,
}

impl Ledger {
    /// Over a store.
    #[must_use]
    pub fn new(dynamo: Dynamo, clock: Clock, entropy: Entropy, metrics: Metrics) -> Self {
        Self { dynamo, clock, entropy, metrics }
    }

    /// The store, for reads.
    #[must_use]
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The time.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Randomness.
    #[must_use]
    pub fn entropy(&self) -> &Entropy {
        &self.entropy
    }

    /// The counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Answers a request under its key: with the stored answer if there is one, else by executing
    /// what `plan` builds and storing what `render` makes of its receipt.
    ///
    /// `plan` is called again after a stale plan, always with the same context, so it must read again
    /// whatever it decides on ([`Ledger::read_for`]).
    pub async fn perform<R, P, F>(
        &self,
        claim: Claim,
        admission: Admission,
        plan: P,
        render: impl Fn(&R) -> Answer,
    ) -> Outcome
    where
        P: Fn(Context) -> F,
        F: Future<Output = Result<Planned<R>, PlanError>>,
    {
        let reply = match admission {
            Admission::LookUpOnly => self.look_up(&claim).await,
            Admission::Execute => self.execute(&claim, plan, render).await,
        };
        if let Err(problem) = &reply {
            self.count_fault(problem, &claim);
        }
        Outcome::new(claim.operation, reply)
    }

    /// Time, ids and randomness for one request that came at `claim.now`.
    ///
    /// # Errors
    /// [`EntropyError`] if there is no randomness to be had.
    pub fn context(&self, now: ledger_core::time::Timestamp) -> Result<Context, EntropyError> {
        Ok(Context {
            now,
            transaction_id: TransactionId::new(self.entropy.uuid_v7(now)?),
            resource_id: self.entropy.uuid_v7(now)?,
            audit_id: AuditId::new(self.entropy.uuid_v7(now)?),
            secret: self.entropy.bytes()?,
        })
    }

    async fn execute<R, P, F>(&self, claim: &Claim, plan: P, render: impl Fn(&R) -> Answer) -> Result<Reply, Problem>
    where
        P: Fn(Context) -> F,
        F: Future<Output = Result<Planned<R>, PlanError>>,
    {
        let context = self.context(claim.now)?;
        let mut budget = Budget::default();
        loop {
            let planned = match plan(context).await {
                Ok(planned) => planned,
                Err(PlanError::Refused(refusal)) if refusal.failure() == Failure::StalePlan => {
                    self.wait_to_replan(&mut budget, claim).await?;
                    continue;
                }
                Err(PlanError::Refused(refusal)) if refusal.failure().is_terminal() => {
                    return self.refuse(claim, &refusal).await;
                }
                Err(PlanError::MarkerStands(item)) => match self.standing(claim, &item)? {
                    Some(reply) => return Ok(reply),
                    None => match self.wait_or_look(&mut budget, claim).await? {
                        Some(reply) => return Ok(reply),
                        None => continue,
                    },
                },
                Err(error) => return self.unplanned(claim, error).await,
            };
            let answer = render(&planned.receipt);
            let transaction = Transaction::seal(&planned.draft, claim, &answer)
                .map_err(|error| self.broken(&claim.tenant, claim.operation, &error.to_string()))?;
            match self.write(claim, &transaction, &mut budget).await? {
                Written::Done => return Ok(Reply::fresh(answer)),
                Written::Answered(reply) => return Ok(reply),
                Written::Refused(refusal) if refusal.failure() == Failure::StalePlan => {
                    self.wait_to_replan(&mut budget, claim).await?;
                }
                Written::Refused(refusal) => return self.refuse(claim, &refusal).await,
            }
        }
    }

    /// A request that cannot be planned may have been answered before: what it is planned from (a
    /// merchant, the tenant's terms) has changed since, its answer has not.
    async fn unplanned(&self, claim: &Claim, error: PlanError) -> Result<Reply, Problem> {
        if let Some(item) = self.dynamo.get(&claim.marker_key()).await?
            && let Some(reply) = self.standing(claim, &item)?
        {
            return Ok(reply);
        }
        Err(error.into_problem())
    }

    /// Answers with a refusal. A terminal one is stored first, so that every retry gets the same:
    /// whoever loses the race for the key gets what the winner's marker says.
    async fn refuse(&self, claim: &Claim, refusal: &Refusal) -> Result<Reply, Problem> {
        let problem = refusal.problem();
        if !refusal.failure().is_terminal() {
            return Err(problem);
        }
        let answer = problem.answer();
        let transaction = Transaction::refusal(claim, &answer)
            .map_err(|error| self.broken(&claim.tenant, claim.operation, &error.to_string()))?;
        match self.write(claim, &transaction, &mut Budget::default()).await? {
            Written::Done => Ok(Reply::refused(answer, problem.code())),
            Written::Answered(reply) => Ok(reply),
            Written::Refused(_) => Err(self.broken(&claim.tenant, claim.operation, "a lone marker was rejected")),
        }
    }

    /// Writes a transaction that has a marker, through conflicts.
    async fn write(&self, claim: &Claim, transaction: &Transaction, budget: &mut Budget) -> Result<Written, Problem> {
        loop {
            let reasons = match self.dynamo.write(transaction).await {
                Ok(()) => return Ok(Written::Done),
                Err(WriteError::Cancelled(reasons)) => reasons,
                Err(error) => return Err(self.not_written(&claim.tenant, claim.operation, &error)),
            };
            match transaction.classify(&reasons) {
                Verdict::MarkerStands(item) => {
                    if let Some(reply) = self.standing(claim, &item)? {
                        return Ok(Written::Answered(reply));
                    }
                    // It lapsed between the store's look at it and ours: take it again.
                }
                Verdict::Rejected(rejection) => {
                    return Ok(Written::Refused(Refusal::from_rejection(transaction, &rejection)));
                }
                Verdict::Broken(broken) => {
                    return Err(self.broken(&claim.tenant, claim.operation, &broken.to_string()));
                }
                Verdict::Throttled => {
                    self.metrics.count(Metric::Throttled, &claim.tenant, claim.operation);
                    return Err(Problem::busy());
                }
                Verdict::Conflict => {}
            }
            if let Some(reply) = self.wait_or_look(budget, claim).await? {
                return Ok(Written::Answered(reply));
            }
        }
    }

    /// Pauses before the next try, or, when there is none left, looks once whether somebody else has
    /// answered the key meanwhile.
    async fn wait_or_look(&self, budget: &mut Budget, claim: &Claim) -> Result<Option<Reply>, Problem> {
        self.metrics.count(Metric::TransactionConflict, &claim.tenant, claim.operation);
        if budget.conflicts < retry::CONFLICT_RETRIES {
            let pause = retry::backoff(budget.conflicts, self.entropy.jitter());
            budget.conflicts = budget.conflicts.saturating_add(1);
            tokio::time::sleep(pause).await;
            return Ok(None);
        }
        match self.dynamo.get(&claim.marker_key()).await? {
            Some(item) => match self.standing(claim, &item)? {
                Some(reply) => Ok(Some(reply)),
                None => Err(Problem::busy()),
            },
            None => Err(Problem::busy()),
        }
    }

    /// The first re-plans follow at once: whoever got ahead is done. Later ones wait a little, so
    /// that many requests on one record do not keep overtaking each other.
    async fn wait_to_replan(&self, budget: &mut Budget, claim: &Claim) -> Result<(), Problem> {
        if budget.replans >= retry::REPLANS {
            tracing::warn!(tenant = %claim.tenant, operation = %claim.operation, "gave up a plan that kept going stale");
            return Err(Problem::busy());
        }
        budget.replans = budget.replans.saturating_add(1);
        if budget.replans > 2 {
            let jitter_ms = u64::from(self.entropy.jitter() % REPLAN_PAUSE_MS_MAX);
            tokio::time::sleep(Duration::from_millis(jitter_ms)).await;
        }
        Ok(())
    }

    /// A write that the store did not acknowledge and did not cancel either.
    fn not_written(&self, tenant: &Tenant, operation: Operation, error: &WriteError) -> Problem {
        match error {
            WriteError::Throttled => {
                self.metrics.count(Metric::Throttled, tenant, operation);
                Problem::busy()
            }
            WriteError::Indeterminate(code) => {
                self.metrics.count(Metric::OutcomeUnknown, tenant, operation);
                tracing::warn!(%tenant, %operation, code, "the outcome of a write is not known");
                Problem::outcome_unknown()
            }
            WriteError::Determinate(_) | WriteError::Cancelled(_) => self.broken(tenant, operation, &error.to_string()),
        }
    }

    fn count_fault(&self, problem: &Problem, claim: &Claim) {
        if let Some(metric) = Metric::of_fault(problem.status()) {
            self.metrics.count(metric, &claim.tenant, claim.operation);
        }
    }

    /// A fault of ours: logged, and answered without detail. Whoever answers with it counts it.
    fn broken(&self, tenant: &Tenant, operation: Operation, what: &str) -> Problem {
        tracing::error!(%tenant, %operation, what, "a transaction failed in a way that no request explains");
        Problem::internal()
    }
}

/// How often a request has been tried again.
#[derive(Debug, Default)]
struct Budget {
    conflicts: u32,
    replans: u32,
}

enum Written {
    Done,
    Answered(Reply),
    Refused(Refusal),
}

#[cfg(test)]
mod tests;
