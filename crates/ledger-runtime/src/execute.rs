//! Executes keyed requests: plans, writes one transaction, and handles its outcome.
//!
//! Only conflicts and stale plans are retried.

mod apply;
mod attempt;
mod keys;
mod marker;
mod outcome;
mod plan;
mod planned_effect;

pub use apply::ApplyError;
pub use outcome::{Outcome, accepted, created, created_without_path, ok, with_secret};
pub use plan::{PlanError, Refusal};
pub use planned_effect::PlannedEffect;

use crate::clock::Clock;
use crate::dynamo::{Dynamo, WriteError};
use crate::entropy::{Entropy, EntropyError};
use crate::metrics::{Metric, Metrics};
use crate::problem::Problem;
pub(crate) use attempt::WriteOutcome;
use attempt::{NotWritten, Tries};
use keys::KeptMarkerKeys;
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Admission, AnyAnswer, Claim, MarkerKeys};
use ledger_core::ids::{AuditId, Principal, Tenant, TransactionId};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::retry;
use ledger_core::transaction::{BuildError, Rejection, Transaction};
use marker::ASK_AGAIN;
pub(crate) use marker::MarkerOutcome;
pub(crate) use outcome::Reply;
use std::sync::Arc;
use std::time::Duration;

/// The longest pause before a re-plan, in milliseconds; the pause is random.
const REPLAN_PAUSE_MS_MAX: u32 = 25;

/// The table, with the clock, the randomness and the counters that transactions need. Cheap to clone.
// INVARIANT: only this type writes the effects of keyed requests.
#[derive(Clone, Debug)]
pub struct Ledger {
    dynamo: Dynamo,
    clock: Clock,
    entropy: Entropy,
    metrics: Metrics,
    marker_keys: Option<Arc<KeptMarkerKeys>>,
}

impl Ledger {
    /// Creates the ledger over a table, which then uses the same clock.
    #[must_use]
    pub fn new(dynamo: Dynamo, clock: Clock, entropy: Entropy, metrics: Metrics) -> Self {
        Self { dynamo: dynamo.with_clock(clock.clone()), clock, entropy, metrics, marker_keys: None }
    }

    /// The table, for reads.
    #[must_use]
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The source of randomness.
    #[must_use]
    pub fn entropy(&self) -> &Entropy {
        &self.entropy
    }

    /// The counters.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Answers a request under its key: with the stored response, or by executing what `plan` builds.
    ///
    /// The response that `render` makes of the receipt is stored with the effect. `plan` is called again after a stale
    /// plan, always with the same context, so it must read everything it decides on each time, with
    /// [`Ledger::read_for`].
    pub async fn perform<T, A, P, F>(
        &self,
        claim: Claim,
        admission: Admission,
        plan: P,
        render: impl Fn(&T::Receipt) -> A,
    ) -> Outcome
    where
        T: PlannedEffect,
        A: Into<AnyAnswer>,
        P: Fn(Context) -> F,
        F: Future<Output = Result<T, PlanError>>,
    {
        self.perform_with_receipt(claim, admission, plan, render).await.0
    }

    /// As [`Ledger::perform`], and returns the receipt if this call has executed the plan: `None` for a replay, a refusal
    /// and an unknown outcome.
    pub async fn perform_with_receipt<T, A, P, F>(
        &self,
        claim: Claim,
        admission: Admission,
        plan: P,
        render: impl Fn(&T::Receipt) -> A,
    ) -> (Outcome, Option<T::Receipt>)
    where
        T: PlannedEffect,
        A: Into<AnyAnswer>,
        P: Fn(Context) -> F,
        F: Future<Output = Result<T, PlanError>>,
    {
        let claim = &claim;
        let assemble = |planned: T, keys: &MarkerKeys| {
            let answer = render(planned.receipt()).into();
            let (transaction, receipt) = planned.assemble(claim, (&answer).into(), keys)?;
            Ok((transaction, (answer, receipt)))
        };
        let mut executed = None;
        let reply = match admission {
            Admission::LookUpOnly => self.look_up(claim).await,
            Admission::RefuseUnlessStored(error) => self.look_up_or_refuse(claim, error).await,
            Admission::Execute => match self.execute(claim, plan, assemble).await {
                Ok(Executed::Done((answer, receipt))) => {
                    executed = Some(receipt);
                    Ok(Reply::fresh(answer.into_exposed()))
                }
                Ok(Executed::Marker(MarkerOutcome::Stored(reply))) => Ok(reply),
                Ok(Executed::Marker(MarkerOutcome::InFlight(_))) => Err(Problem::key_in_use(ASK_AGAIN)),
                Err(problem) => Err(problem),
            },
        };
        (self.outcome(claim, reply), executed)
    }

    /// Builds the response to a request, and counts it if the service is at fault.
    pub(crate) fn outcome(&self, claim: &Claim, reply: Result<Reply, Problem>) -> Outcome {
        if let Err(problem) = &reply {
            problem.count(&self.metrics, &claim.tenant, Some(claim.operation));
        }
        Outcome::new(claim.operation, reply)
    }

    /// Makes the time, ids and randomness of a request that arrived at `now`.
    ///
    /// # Errors
    /// [`EntropyError`] if the operating system gives no randomness.
    pub fn context(&self, now: ledger_core::time::Timestamp) -> Result<Context, EntropyError> {
        Ok(Context {
            now,
            transaction_id: TransactionId::new(self.entropy.uuid_v7(now)?),
            resource_id: self.entropy.uuid_v7(now)?,
            audit_id: AuditId::new(self.entropy.uuid_v7(now)?),
            secret: self.entropy.bytes()?,
            salt: self.entropy.bytes()?,
        })
    }

    /// Claims a key with the transaction that `assemble` makes of what `plan` returns.
    pub(crate) async fn execute<T, D, P, F>(
        &self,
        claim: &Claim,
        plan: P,
        assemble: impl Fn(T, &MarkerKeys) -> Result<(Transaction, D), BuildError>,
    ) -> Result<Executed<D>, Problem>
    where
        P: Fn(Context) -> F,
        F: Future<Output = Result<T, PlanError>>,
    {
        let context = self.context(claim.now)?;
        let mut tries = Tries::default();
        // INVARIANT: without keys nothing is planned or written. A stored response is returned.
        let keys = match self.marker_keys().await {
            Ok(keys) => keys,
            Err(problem) => return self.stored_or(claim, &tries, problem).await.map(Executed::Marker),
        };
        loop {
            let planned = match plan(context).await {
                Ok(planned) => planned,
                Err(PlanError::Refused(refusal)) if refusal.failure() == Failure::StalePlan => {
                    match self.wait_to_replan(&mut tries, claim).await? {
                        Some(marker) => return Ok(Executed::Marker(marker)),
                        None => continue,
                    }
                }
                Err(PlanError::Refused(refusal)) if refusal.failure().is_terminal() => {
                    return self.refuse((claim, &keys), &refusal, &tries).await;
                }
                Err(PlanError::MarkerExists(item)) => match self.marker_or_wait(claim, &item, &mut tries).await? {
                    Some(marker) => return Ok(Executed::Marker(marker)),
                    None => continue,
                },
                Err(error) => {
                    let problem = error.into_problem_to(claim.principal);
                    return self.stored_or(claim, &tries, problem).await.map(Executed::Marker);
                }
            };
            let (transaction, done) = match assemble(planned, &keys) {
                Ok(assembled) => assembled,
                Err(error) => {
                    return self
                        .stored_or(claim, &tries, self.not_assembled(claim, &error))
                        .await
                        .map(Executed::Marker);
                }
            };
            let refusal = match self.write(claim, &transaction, &mut tries).await? {
                Written::Applied => return Ok(Executed::Done(done)),
                Written::Marker(marker) => return Ok(Executed::Marker(marker)),
                Written::Rejected(rejection) => Refusal::from_rejection(&transaction, &rejection, claim),
            };
            if refusal.failure() != Failure::StalePlan {
                return self.refuse((claim, &keys), &refusal, &tries).await;
            }
            if let Some(marker) = self.wait_to_replan(&mut tries, claim).await? {
                return Ok(Executed::Marker(marker));
            }
        }
    }

    /// Answers a request that cannot be planned: with its stored response, or with the problem.
    ///
    /// For callers that lack something the plan is made with.
    pub async fn answer_unplanned(&self, claim: &Claim, admission: Admission, problem: Problem) -> Outcome {
        let reply = match admission {
            Admission::LookUpOnly => self.look_up(claim).await,
            Admission::RefuseUnlessStored(error) => self.look_up_or_refuse(claim, error).await,
            Admission::Execute => match self.stored_or(claim, &Tries::default(), problem).await {
                Ok(MarkerOutcome::Stored(reply)) => Ok(reply),
                Ok(MarkerOutcome::InFlight(_)) => Err(Problem::key_in_use(ASK_AGAIN)),
                Err(problem) => Err(problem),
            },
        };
        self.outcome(claim, reply)
    }

    /// Returns the outcome of the key's marker, or the problem if there is no marker.
    // INVARIANT: a stored response is returned even if the terms, the merchant or a record has changed since.
    async fn stored_or(&self, claim: &Claim, tries: &Tries, problem: Problem) -> Result<MarkerOutcome, Problem> {
        self.marker_or_none(claim).await?.ok_or_else(|| self.unless_unknown(claim, tries, problem))
    }

    /// Answers with a refusal. A terminal refusal is stored first, so that every retry gets the same response.
    ///
    /// If another request with the same key stored its response first, that response is returned.
    async fn refuse<D>(
        &self,
        (claim, keys): (&Claim, &MarkerKeys),
        refusal: &Refusal,
        tries: &Tries,
    ) -> Result<Executed<D>, Problem> {
        let problem = refusal.problem_to(claim.principal);
        if !refusal.failure().is_terminal() {
            return Err(self.unless_unknown(claim, tries, problem));
        }
        let answer = problem.answer();
        let payment = refusal.payment().map(|payment| (payment, refusal.failure().code()));
        let transaction = Transaction::refusal(claim, &answer, keys, payment);
        let transaction = transaction.map_err(|error| self.not_assembled(claim, &error))?;
        let marker = match self.write(claim, &transaction, &mut Tries::default()).await? {
            Written::Applied => {
                problem.count(&self.metrics, &claim.tenant, Some(claim.operation));
                MarkerOutcome::Stored(Reply::refused(answer, problem.code()))
            }
            Written::Marker(marker) => marker,
            Written::Rejected(_) => {
                return Err(self.broken(&claim.tenant, claim.operation, "a lone marker was rejected"));
            }
        };
        Ok(Executed::Marker(marker))
    }

    /// Writes a transaction with a marker, retrying conflicts and lapsed markers.
    async fn write(&self, claim: &Claim, transaction: &Transaction, tries: &mut Tries) -> Result<Written, Problem> {
        let (tenant, operation) = (&claim.tenant, claim.operation);
        loop {
            let error = match self.write_through(tenant, operation, transaction, tries).await {
                Ok(WriteOutcome::Applied) => return Ok(Written::Applied),
                Ok(WriteOutcome::Rejected(rejection)) => return Ok(Written::Rejected(rejection)),
                Ok(WriteOutcome::MarkerExists(item)) => match self.marker_or_wait(claim, &item, tries).await? {
                    Some(marker) => return Ok(Written::Marker(marker)),
                    None => continue,
                },
                Err(error) => error,
            };
            let problem = match error {
                NotWritten::Contended => Problem::busy(),
                // Nothing was applied. The reason may be newer than a stored response, which is therefore looked up
                // first.
                NotWritten::Store(WriteError::Unadoptable(error)) if matches!(claim.principal, Principal::Staff(_)) => {
                    Problem::legacy_record_attribute(&error)
                }
                NotWritten::Store(
                    error @ (WriteError::Unadoptable(_) | WriteError::Determinate(_) | WriteError::LaterForm(_)),
                ) => self.not_written(tenant, operation, &error),
                NotWritten::Throttled => return Err(self.unless_unknown(claim, tries, Problem::busy())),
                NotWritten::Broken(what) => return Err(self.broken(tenant, operation, &what)),
                NotWritten::Store(
                    error @ (WriteError::Throttled | WriteError::Indeterminate(_) | WriteError::Cancelled(_)),
                ) => return Err(self.not_written(tenant, operation, &error)),
            };
            return self.stored_or(claim, tries, problem).await.map(Written::Marker);
        }
    }

    /// Returns the outcome of a marker; `None` if it has lapsed meanwhile and the caller must retry.
    ///
    /// Pauses before such a retry. When no retry is left, returns the outcome of the marker that the key has by then,
    /// or `busy`.
    async fn marker_or_wait(
        &self,
        claim: &Claim,
        item: &Item,
        tries: &mut Tries,
    ) -> Result<Option<MarkerOutcome>, Problem> {
        if let Some(marker) = self.marker_outcome(claim, item).await? {
            return Ok(Some(marker));
        }
        if self.wait_after_conflict(&claim.tenant, claim.operation, tries).await {
            return Ok(None);
        }
        self.stored_or(claim, tries, Problem::busy()).await.map(Some)
    }

    /// Returns the problem, or `outcome_unknown` if an earlier attempt of this request may still be applied.
    fn unless_unknown(&self, claim: &Claim, tries: &Tries, problem: Problem) -> Problem {
        if !tries.after_unknown {
            return problem;
        }
        self.metrics.count(Metric::OutcomeUnknown, &claim.tenant, claim.operation);
        Problem::outcome_unknown()
    }

    fn not_assembled(&self, claim: &Claim, error: &BuildError) -> Problem {
        self.broken(&claim.tenant, claim.operation, &error.to_string())
    }

    /// Pauses before a re-plan; the first two are made at once, because the conflicting write is already applied.
    ///
    /// The later pauses are random, so that many requests on one record do not keep making each other's plans stale.
    async fn wait_to_replan(&self, tries: &mut Tries, claim: &Claim) -> Result<Option<MarkerOutcome>, Problem> {
        if tries.replans >= retry::REPLANS {
            tracing::warn!(tenant = %claim.tenant, operation = %claim.operation, "plan given up: it is always stale");
            return self.stored_or(claim, tries, Problem::busy()).await.map(Some);
        }
        tries.replans = tries.replans.saturating_add(1);
        if tries.replans > 2 {
            let jitter_ms = u64::from(self.entropy.jitter() % REPLAN_PAUSE_MS_MAX);
            tokio::time::sleep(Duration::from_millis(jitter_ms)).await;
        }
        Ok(None)
    }

    /// Counts and logs a failed write that DynamoDB did not cancel, and returns the problem.
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
                tracing::warn!(%tenant, %operation, %error, "a customer's legacy record cannot be adopted");
                Problem::legacy_record_unreadable()
            }
            WriteError::LaterForm(error) => Problem::later_form(error),
            WriteError::Cancelled(_) => self.broken(tenant, operation, &error.to_string()),
        }
    }

    /// Logs a fault of the service and returns `internal`. The caller that answers with it counts it.
    pub(crate) fn broken(&self, tenant: &Tenant, operation: Operation, what: &str) -> Problem {
        tracing::error!(%tenant, %operation, what, "a transaction failed for a reason that no request causes");
        Problem::internal()
    }
}

/// The result of writing a transaction with a marker.
enum Written {
    Applied,
    Marker(MarkerOutcome),
    Rejected(Rejection),
}

/// The result of executing a claim.
pub(crate) enum Executed<D> {
    /// The transaction was applied.
    Done(D),
    /// The key has a marker.
    Marker(MarkerOutcome),
}

#[cfg(test)]
mod tests;
