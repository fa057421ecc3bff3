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
pub(crate) use apply::Attempt;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Admission, Answer, Claim, Flight};
use ledger_core::ids::{AuditId, Principal, Tenant, TransactionId};
use ledger_core::operation::Operation;
use ledger_core::ops::Context;
use ledger_core::retry;
use ledger_core::transaction::{BuildError, Planned, Transaction, Verdict};
pub(crate) use outcome::Reply;
use standing::ASK_AGAIN;
pub(crate) use standing::{Standing, Stood};
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
        Self { dynamo: dynamo.with_clock(clock.clone()), clock, entropy, metrics }
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
        let seal = |planned: Planned<R>| {
            let answer = render(&planned.receipt);
            Ok((Transaction::seal(&planned.draft, &claim, &answer)?, answer))
        };
        let reply = match admission {
            Admission::LookUpOnly => self.look_up(&claim).await,
            Admission::TooEarly { now } => self.look_up_early(&claim, now).await,
            Admission::Execute => self.execute(&claim, plan, seal).await.and_then(|executed| match executed {
                Executed::Done(answer) => Ok(Reply::fresh(answer)),
                Executed::Answered(reply) => Ok(reply),
                Executed::InFlight(_) => Err(Problem::key_in_use(ASK_AGAIN)),
            }),
        };
        self.outcome(&claim, reply)
    }

    /// What a request is answered with; an answer by which we are at fault is counted.
    pub(crate) fn outcome(&self, claim: &Claim, reply: Result<Reply, Problem>) -> Outcome {
        if let Err(problem) = &reply {
            problem.count(&self.metrics, &claim.tenant, Some(claim.operation));
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

    /// Takes a key with whatever `plan` makes and `seal` turns into a transaction.
    pub(crate) async fn execute<T, D, P, F>(
        &self,
        claim: &Claim,
        plan: P,
        seal: impl Fn(T) -> Result<(Transaction, D), BuildError>,
    ) -> Result<Executed<D>, Problem>
    where
        P: Fn(Context) -> F,
        F: Future<Output = Result<T, PlanError>>,
    {
        let context = self.context(claim.now)?;
        let mut budget = Budget::default();
        loop {
            let planned = match plan(context).await {
                Ok(planned) => planned,
                Err(PlanError::Refused(refusal)) if refusal.failure() == Failure::StalePlan => {
                    match self.wait_to_replan(&mut budget, claim).await? {
                        Some(stood) => return Ok(stood.into()),
                        None => continue,
                    }
                }
                Err(PlanError::Refused(refusal)) if refusal.failure().is_terminal() => {
                    return self.refuse(claim, &refusal, &budget).await;
                }
                Err(PlanError::MarkerStands(item)) => match self.standing(claim, &item)? {
                    Standing::Answered(reply) => return Ok(Executed::Answered(reply)),
                    Standing::InFlight(flight) => return Ok(Executed::InFlight(flight)),
                    Standing::Free => match self.wait_or_look(&mut budget, claim).await? {
                        Some(stood) => return Ok(stood.into()),
                        None => continue,
                    },
                },
                Err(error) => return self.stored_or(claim, &budget, error.into_problem()).await.map(Into::into),
            };
            let (transaction, done) = match seal(planned) {
                Ok(sealed) => sealed,
                Err(error) => {
                    return self.stored_or(claim, &budget, self.unsealed(claim, &error)).await.map(Into::into);
                }
            };
            match self.write(claim, &transaction, &mut budget).await? {
                Written::Done => return Ok(Executed::Done(done)),
                Written::Stood(standing) => return Ok(standing.into()),
                Written::Refused(refusal) if refusal.failure() == Failure::StalePlan => {
                    if let Some(stood) = self.wait_to_replan(&mut budget, claim).await? {
                        return Ok(stood.into());
                    }
                }
                Written::Refused(refusal) => return self.refuse(claim, &refusal, &budget).await,
            }
        }
    }

    /// Answers a request that cannot be executed: with its stored response if there is one, else with the
    /// problem. For a caller that lacks what the request's plan is made with.
    pub async fn answer_unplanned(&self, claim: &Claim, admission: Admission, problem: Problem) -> Outcome {
        let reply = match admission {
            Admission::LookUpOnly => self.look_up(claim).await,
            Admission::TooEarly { now } => self.look_up_early(claim, now).await,
            Admission::Execute => match self.stored_or(claim, &Budget::default(), problem).await {
                Ok(Stood::Answered(reply)) => Ok(reply),
                Ok(Stood::InFlight(_)) => Err(Problem::key_in_use(ASK_AGAIN)),
                Err(problem) => Err(problem),
            },
        };
        self.outcome(claim, reply)
    }

    /// What the key's marker holds, or the problem if there is none.
    // INVARIANT: nothing that a plan is made from (terms, a merchant, a record) comes before the stored response.
    async fn stored_or(&self, claim: &Claim, budget: &Budget, problem: Problem) -> Result<Stood, Problem> {
        self.stands(claim).await?.ok_or_else(|| self.unless_unknown(claim, budget, problem))
    }

    /// Answers with a refusal. A terminal one is stored first, so that every retry gets the same:
    /// whoever loses the race for the key gets what the winner's marker says.
    async fn refuse<D>(&self, claim: &Claim, refusal: &Refusal, budget: &Budget) -> Result<Executed<D>, Problem> {
        let problem = refusal.problem();
        if !refusal.failure().is_terminal() {
            return Err(self.unless_unknown(claim, budget, problem));
        }
        let answer = problem.answer();
        let transaction = Transaction::refusal(claim, &answer).map_err(|error| self.unsealed(claim, &error))?;
        match self.write(claim, &transaction, &mut Budget::default()).await? {
            Written::Done => Ok(Executed::Answered(Reply::refused(answer, problem.code()))),
            Written::Stood(standing) => Ok(standing.into()),
            Written::Refused(_) => Err(self.broken(&claim.tenant, claim.operation, "a lone marker was rejected")),
        }
    }

    /// Writes a transaction that has a marker, through conflicts.
    async fn write(&self, claim: &Claim, transaction: &Transaction, budget: &mut Budget) -> Result<Written, Problem> {
        loop {
            let reasons = match self.dynamo.write(transaction).await {
                Ok(()) => return Ok(Written::Done),
                Err(WriteError::Cancelled(cancellation)) => {
                    budget.after_unknown |= cancellation.after_unknown;
                    cancellation.reasons
                }
                // Not applied, and the reason may be newer than the stored response.
                Err(WriteError::Unadoptable(error)) if matches!(claim.principal, Principal::Staff(_)) => {
                    let problem = Problem::legacy_record_attribute(&error);
                    return self.stored_or(claim, budget, problem).await.map(Written::Stood);
                }
                Err(error @ (WriteError::Unadoptable(_) | WriteError::Determinate(_))) => {
                    let problem = self.not_written(&claim.tenant, claim.operation, &error);
                    return self.stored_or(claim, budget, problem).await.map(Written::Stood);
                }
                Err(error @ (WriteError::Throttled | WriteError::Indeterminate(_))) => {
                    return Err(self.not_written(&claim.tenant, claim.operation, &error));
                }
            };
            match transaction.classify(&reasons) {
                Verdict::MarkerStands(item) => {
                    if let Some(stood) = self.standing(claim, &item)?.stood() {
                        return Ok(Written::Stood(stood));
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
                    return Err(self.unless_unknown(claim, budget, Problem::busy()));
                }
                Verdict::Conflict => {}
            }
            if let Some(stood) = self.wait_or_look(budget, claim).await? {
                return Ok(Written::Stood(stood));
            }
        }
    }

    /// Pauses before the next try, or, when there is none left, looks once whether somebody else has
    /// answered the key meanwhile.
    async fn wait_or_look(&self, budget: &mut Budget, claim: &Claim) -> Result<Option<Stood>, Problem> {
        self.metrics.count(Metric::TransactionConflict, &claim.tenant, claim.operation);
        if budget.conflicts < retry::CONFLICT_RETRIES {
            let pause = retry::backoff(budget.conflicts, self.entropy.jitter());
            budget.conflicts = budget.conflicts.saturating_add(1);
            tokio::time::sleep(pause).await;
            return Ok(None);
        }
        self.stands(claim).await?.map(Some).ok_or_else(|| self.unless_unknown(claim, budget, Problem::busy()))
    }

    /// What is answered where nothing is stored: not that, if an attempt of this request may still be applied.
    fn unless_unknown(&self, claim: &Claim, budget: &Budget, problem: Problem) -> Problem {
        if !budget.after_unknown {
            return problem;
        }
        self.metrics.count(Metric::OutcomeUnknown, &claim.tenant, claim.operation);
        Problem::outcome_unknown()
    }

    fn unsealed(&self, claim: &Claim, error: &BuildError) -> Problem {
        self.broken(&claim.tenant, claim.operation, &error.to_string())
    }

    /// The first re-plans follow at once: whoever got ahead is done. Later ones wait a little, so
    /// that many requests on one record do not keep overtaking each other.
    async fn wait_to_replan(&self, budget: &mut Budget, claim: &Claim) -> Result<Option<Stood>, Problem> {
        if budget.replans >= retry::REPLANS {
            tracing::warn!(tenant = %claim.tenant, operation = %claim.operation, "gave up a plan that kept going stale");
            return self.stored_or(claim, budget, Problem::busy()).await.map(Some);
        }
        budget.replans = budget.replans.saturating_add(1);
        if budget.replans > 2 {
            let jitter_ms = u64::from(self.entropy.jitter() % REPLAN_PAUSE_MS_MAX);
            tokio::time::sleep(Duration::from_millis(jitter_ms)).await;
        }
        Ok(None)
    }

    /// A write that the store did not acknowledge and did not cancel either.
    pub(crate) fn not_written(&self, tenant: &Tenant, operation: Operation, error: &WriteError) -> Problem {
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
            WriteError::Determinate(code) => {
                let _ = self.broken(tenant, operation, &error.to_string());
                Problem::store_refused(code)
            }
            WriteError::Unadoptable(error) => {
                tracing::warn!(%tenant, %operation, %error, "a customer's legacy record cannot be taken over");
                Problem::legacy_record_unreadable()
            }
            WriteError::Cancelled(_) => self.broken(tenant, operation, &error.to_string()),
        }
    }

    /// A fault of ours: logged, and answered without detail. Whoever answers with it counts it.
    pub(crate) fn broken(&self, tenant: &Tenant, operation: Operation, what: &str) -> Problem {
        tracing::error!(%tenant, %operation, what, "a transaction failed in a way that no request explains");
        Problem::internal()
    }
}

/// How often a request has been tried again.
#[derive(Debug, Default)]
struct Budget {
    conflicts: u32,
    replans: u32,
    /// The outcome of an attempt is not known: it may still be applied, unless the key gets an answer first.
    after_unknown: bool,
}

enum Written {
    Done,
    Stood(Stood),
    Refused(Refusal),
}

/// What became of a claim.
pub(crate) enum Executed<D> {
    /// The transaction was applied.
    Done(D),
    /// The key has an answer.
    Answered(Reply),
    /// The key is in flight, claimed by this request's own like.
    InFlight(Box<Flight>),
}

impl<D> From<Stood> for Executed<D> {
    fn from(stood: Stood) -> Self {
        match stood {
            Stood::Answered(reply) => Self::Answered(reply),
            Stood::InFlight(flight) => Self::InFlight(flight),
        }
    }
}

#[cfg(test)]
mod tests;
