//! A request that calls the PSP: claims its key, calls, completes; or waits for the lease holder of the key.

use super::PspExecutor;
use super::drive::DriveOutcome;
use crate::execute::{Executed, MarkerOutcome, Outcome, PlanError, Reply};
use crate::metrics::Metric;
use crate::problem::Problem;
use http::StatusCode;
use ledger_core::idempotency::{Admission, Claim, Flight, MarkerKeys, Phase, PlannedCall};
use ledger_core::lease::Leased;
use ledger_core::plan::Context;
use ledger_core::trail::Record;
use ledger_core::transaction::Transaction;
use std::time::Duration;
use tokio::time::Instant;

/// The longest time of a request, answered or not: API Gateway would end it at 30 s. What it leaves unfinished is
/// completed by a retry with its key or by the recovery worker.
const INLINE_TIME_MAX: Duration = Duration::from_secs(20);
/// How long a request waits for another request with its key.
const IN_FLIGHT_WAIT_MAX: Duration = Duration::from_secs(5);
/// The interval at which it reads the marker.
const POLL: Duration = Duration::from_millis(50);
const POLL_JITTER_MS: u32 = 25;
/// The `Retry-After` of a request that has waited in vain.
const ASK_AGAIN: Duration = Duration::from_secs(2);

impl PspExecutor {
    /// Answers a request under its key, by sending to the PSP what `plan` makes.
    ///
    /// It may be dropped at any point, as by a crash: a retry with the key, an event or the recovery worker completes
    /// the operation.
    pub async fn perform<P, F>(&self, claim: Claim, admission: Admission, plan: P) -> Outcome
    where
        P: Fn(Context) -> F,
        F: Future<Output = Result<PlannedCall, PlanError>>,
    {
        let reply = match tokio::time::timeout(INLINE_TIME_MAX, self.reply(&claim, admission, plan)).await {
            Ok(reply) => reply,
            Err(_) => Err(Problem::outcome_unknown()),
        };
        self.ledger.outcome(&claim, reply)
    }

    async fn reply<P, F>(&self, claim: &Claim, admission: Admission, plan: P) -> Result<Reply, Problem>
    where
        P: Fn(Context) -> F,
        F: Future<Output = Result<PlannedCall, PlanError>>,
    {
        let assemble = |call: PlannedCall, keys: &MarkerKeys| {
            let flight = Flight::begin(claim, &call, keys)?;
            let claimed = Transaction::claimed(call.draft, claim, &flight)?;
            Ok((claimed.recorded(Record::claimed(&flight, claim.actor))?, flight))
        };
        let executed = match admission {
            Admission::Execute => self.ledger.execute(claim, plan, assemble).await?,
            Admission::LookUpOnly => match self.ledger.marker_or_none(claim).await? {
                Some(marker) => Executed::Marker(marker),
                None => {
                    let count = self.ledger.metrics();
                    count.count(Metric::IdempotencyKeyExpired, &claim.tenant, claim.operation);
                    return Err(Problem::key_expired(None));
                }
            },
            Admission::RefuseUnlessStored(error) => match self.ledger.marker_or_none(claim).await? {
                Some(marker) => Executed::Marker(marker),
                None => return Err(Problem::key(error)),
            },
        };
        match executed {
            Executed::Marker(MarkerOutcome::Stored(reply)) => Ok(reply),
            Executed::Done(flight) => match self.drive(&flight).await.map_err(claimed)? {
                DriveOutcome::Landed(answer) => Ok(Reply::fresh(answer)),
                DriveOutcome::Unknown | DriveOutcome::Waiting | DriveOutcome::Lost => Err(Problem::outcome_unknown()),
            },
            Executed::Marker(MarkerOutcome::InFlight(flight)) => self.join(claim, *flight).await,
        }
    }

    /// Waits for the lease holder, or takes over if its lease has ended.
    async fn join(&self, claim: &Claim, flight: Flight) -> Result<Reply, Problem> {
        let began = Instant::now();
        let reply = self.wait(claim, flight, began).await;
        self.ledger.metrics().measure(Metric::InFlightWait, &claim.tenant, claim.operation, began.elapsed());
        reply
    }

    async fn wait(&self, claim: &Claim, mut flight: Flight, began: Instant) -> Result<Reply, Problem> {
        loop {
            if let Some(held) = self.take_over(&flight).await? {
                return match self.drive(&held).await.map_err(claimed)? {
                    DriveOutcome::Landed(answer) => Ok(Reply::replayed(answer)),
                    DriveOutcome::Unknown | DriveOutcome::Waiting | DriveOutcome::Lost => {
                        Err(Problem::outcome_unknown())
                    }
                };
            }
            // No worker holds a parked operation, so waiting cannot help.
            if flight.phase == Phase::Parked || began.elapsed() >= IN_FLIGHT_WAIT_MAX {
                return Err(Problem::key_in_use(ASK_AGAIN));
            }
            let jitter = u64::from(self.ledger.entropy().jitter() % POLL_JITTER_MS);
            tokio::time::sleep(POLL.saturating_add(Duration::from_millis(jitter))).await;
            match self.ledger.marker_or_none(claim).await? {
                Some(MarkerOutcome::Stored(reply)) => return Ok(reply),
                Some(MarkerOutcome::InFlight(held)) => flight = *held,
                None => return Err(Problem::busy()),
            }
        }
    }

    /// Takes over the claim with the next fencing token. `None` if its lease is held or another request was faster.
    pub(super) async fn take_over(&self, flight: &Flight) -> Result<Option<Leased<Flight>>, Problem> {
        let now = self.ledger.clock().now();
        let Some((held, transaction)) = flight.take_over(now).map_err(|error| self.unbuilt(flight, &error))? else {
            return Ok(None);
        };
        let recorded = transaction.recorded(Record::taken_over(flight, &held, now));
        let transaction = recorded.map_err(|error| self.unbuilt(flight, &error))?;
        Ok(self.transition(flight, &transaction).await?.then_some(held))
    }
}

/// Once a key is claimed, the PSP may have been called: errors that would say that nothing was done become an unknown
/// outcome.
fn claimed(problem: Problem) -> Problem {
    let unknown = problem.status() == StatusCode::SERVICE_UNAVAILABLE || problem.status().is_client_error();
    if unknown { Problem::outcome_unknown() } else { problem }
}
