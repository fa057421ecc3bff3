//! The lease holder of a claim calls the PSP and applies the answer to the books.
//!
//! If it stops at any point, a due index entry leads another worker to the claim. A late write of its own fails on the
//! fencing token.

use super::PspExecutor;
use super::records::{Records, TopupRecordIds};
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::psp::{LookupResult, Outlook, PspObject, PspRefusal, Sent};
use crate::views;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Answer, AnyAnswer, Flight, Marker, MarkerState, Parked};
use ledger_core::lease::Leased;
use ledger_core::retry;
use ledger_core::time::Timestamp;
use ledger_core::topups::{Effect, Routed, refused, route};
use ledger_core::trail::{ProviderAnswer, Record};
use ledger_core::transaction::{BuildError, Draft, Transaction};
use std::time::Duration;

/// The pause before a request is sent again under its PSP key.
const RESEND_PAUSE: Duration = Duration::from_millis(500);
/// The number of times that one lease holder sends a request.
const SENDS_MAX: u32 = 2;

/// The result of a lease holder's work.
#[derive(Debug)]
pub(super) enum DriveOutcome {
    /// The operation is completed, by this lease holder or another.
    Landed(Answer),
    /// Not completed: the outcome at the PSP is unknown.
    Unknown,
    /// Not completed: it will be retried, or it is parked and needs review.
    Waiting,
    /// Another request or worker holds the claim.
    Lost,
}

/// The result of the request at the PSP.
enum CallOutcome {
    Done(PspObject),
    Refused(PspRefusal),
    /// The PSP's object does not exist, and this PSP key cannot make it any more.
    Absent,
    /// No object is found, and the PSP key is too old to send again.
    TooOld,
    Unknown,
}

impl PspExecutor {
    /// Calls the PSP, and writes the result.
    pub(super) async fn drive(&self, flight: &Leased<Flight>) -> Result<DriveOutcome, Problem> {
        let records = self.records_of(flight).await?;
        let mut answers = Vec::new();
        match self.ask(flight, &records, &mut answers).await {
            CallOutcome::Done(object) => self.land(flight, records, &object, &answers).await,
            CallOutcome::Refused(refusal) => match refusal.outlook {
                Outlook::Final => self.land_refused(flight, records, &refusal.code, &answers).await,
                Outlook::MayPass { burnt } => self.retry_later(flight, burnt, &answers).await,
            },
            CallOutcome::Absent => self.retry_later(flight, true, &answers).await,
            CallOutcome::TooOld => self.park(flight, Parked::NotFound, &answers).await,
            CallOutcome::Unknown => {
                self.count(Metric::PspUnknown, flight);
                self.note_unknown(flight, &answers).await;
                Ok(DriveOutcome::Unknown)
            }
        }
    }

    async fn records_of(&self, flight: &Flight) -> Result<Records, Problem> {
        let records = self.records(&flight.tenant, &TopupRecordIds::of(flight)).await?;
        records.ok_or_else(|| self.broken(flight, "a claim has no record"))
    }

    /// Sends the request, and adds the answers to `answers`.
    ///
    /// INVARIANT: a send is recorded before it leaves: the first with the claim or its takeover.
    async fn ask(&self, flight: &Leased<Flight>, records: &Records, answers: &mut Vec<ProviderAnswer>) -> CallOutcome {
        for send in 0..SENDS_MAX {
            if send > 0 {
                tokio::time::sleep(RESEND_PAUSE).await;
            }
            // The clock is read before each send: the process may have been suspended since the last.
            let now = self.ledger.clock().now();
            if !flight.may_send(now) {
                return self.look_up_before_absence(flight, records, CallOutcome::TooOld, answers).await;
            }
            if !flight.may_hold(now) {
                return CallOutcome::Unknown;
            }
            if send > 0 && !self.note_sending(flight, send, answers, now).await {
                return CallOutcome::Unknown;
            }
            match self.psp.send(&flight.request, &flight.psp_key()).await {
                Sent::Done(object) => {
                    answers.push(ProviderAnswer::Done(object.id().clone()));
                    return CallOutcome::Done(object);
                }
                Sent::Refused(refusal) => {
                    answers.push(ProviderAnswer::Refused(refusal.code.clone()));
                    self.count(Metric::PspRefused, flight);
                    // A refusal of the first send proves that no object was made. After a send with an unknown outcome,
                    // the object is looked up before anything is given back.
                    if send == 0 && flight.fence == 1 {
                        return CallOutcome::Refused(refusal);
                    }
                    return self.look_up_before_refusal(flight, records, refusal, answers).await;
                }
                Sent::Unknown(unknown) => {
                    answers.push(ProviderAnswer::Unknown(unknown.why.to_owned()));
                    // The PSP replays its failure under this key, so only a lookup shows whether the object was made.
                    if !unknown.resend {
                        return self.look_up_before_absence(flight, records, CallOutcome::Absent, answers).await;
                    }
                }
            }
        }
        CallOutcome::Unknown
    }

    /// Looks the object up before a refusal counts: the object if found, else the refusal.
    async fn look_up_before_refusal(
        &self,
        flight: &Leased<Flight>,
        records: &Records,
        refusal: PspRefusal,
        answers: &mut Vec<ProviderAnswer>,
    ) -> CallOutcome {
        match self.look_up_request(flight, records, self.ledger.clock().now(), answers).await {
            LookupResult::Found(object) => CallOutcome::Done(object),
            LookupResult::Absent => CallOutcome::Refused(refusal),
            // An API key that the PSP refuses fails in the lookup too. Such a refusal gives nothing back and does not
            // change the PSP key, so it may count without a lookup.
            LookupResult::Unknown if refusal.outlook == (Outlook::MayPass { burnt: false }) => {
                CallOutcome::Refused(refusal)
            }
            LookupResult::Unknown => CallOutcome::Unknown,
        }
    }

    /// Looks the object up: `missing` if it is absent and enough time has passed for it to be visible.
    async fn look_up_before_absence(
        &self,
        flight: &Leased<Flight>,
        records: &Records,
        missing: CallOutcome,
        answers: &mut Vec<ProviderAnswer>,
    ) -> CallOutcome {
        let now = self.ledger.clock().now();
        match self.look_up_request(flight, records, now, answers).await {
            LookupResult::Found(object) => CallOutcome::Done(object),
            LookupResult::Absent if flight.is_absence_confirmed(now) => missing,
            LookupResult::Absent | LookupResult::Unknown => CallOutcome::Unknown,
        }
    }

    /// Writes the answer, the state and the postings in one transaction, guarded by the fencing token and our record's
    /// state.
    async fn land(
        &self,
        flight: &Leased<Flight>,
        mut records: Records,
        object: &PspObject,
        answers: &[ProviderAnswer],
    ) -> Result<DriveOutcome, Problem> {
        let Some(fact) = object.clone().fact() else {
            return Err(self.broken(flight, "the provider's object is a payout, not a top-up"));
        };
        for _ in 0..=retry::REPLANS {
            let now = self.ledger.clock().now();
            let Some(answer) = views::topup_answer(&records.topup, records.refund.as_ref(), object) else {
                return Err(self.broken(flight, "the provider's object lacks a field of the response"));
            };
            let effect = match route::route(&fact, &records.view(&flight.tenant), now)? {
                Routed::Apply(effect) => Some(*effect),
                Routed::Behind => None,
                Routed::Contradiction(contradiction) => {
                    tracing::error!(operation = %flight.operation, resource = %flight.resource,
                        why = contradiction.name(), "the provider's object contradicts our record");
                    return self.park(flight, Parked::Contradiction, answers).await;
                }
                Routed::Ahead => return Err(self.broken(flight, "an object that we created is ahead of our record")),
            };
            if let Some(driven) = self.write_landing(flight, effect, (&answer, false), answers, now).await? {
                return Ok(driven);
            }
            records = self.records_of(flight).await?;
        }
        Err(Problem::busy())
    }

    /// Completes the operation with the PSP's refusal, and releases what was reserved.
    async fn land_refused(
        &self,
        flight: &Leased<Flight>,
        mut records: Records,
        code: &str,
        answers: &[ProviderAnswer],
    ) -> Result<DriveOutcome, Problem> {
        let answer = Problem::psp_refused(code).answer().into();
        for _ in 0..=retry::REPLANS {
            let now = self.ledger.clock().now();
            let effect = match &records.refund {
                Some(refund) => refused::refund(&flight.tenant, (&records.topup, refund), &records.wallet, now)?,
                None => refused::topup(&flight.tenant, &records.topup, now)?,
            };
            // An event has shown that the PSP has the object, although it refuses the request.
            let Some(effect) = effect else { return self.park(flight, Parked::Contradiction, answers).await };
            if let Some(driven) = self.write_landing(flight, Some(effect), (&answer, true), answers, now).await? {
                return Ok(driven);
            }
            records = self.records_of(flight).await?;
        }
        Err(Problem::busy())
    }

    /// Writes the end of an operation. `None` if our record has changed since it was read.
    async fn write_landing(
        &self,
        flight: &Leased<Flight>,
        effect: Option<Effect>,
        (answer, refused): (&AnyAnswer, bool),
        answers: &[ProviderAnswer],
        now: Timestamp,
    ) -> Result<Option<DriveOutcome>, Problem> {
        let effect = effect.unwrap_or_else(|| Effect {
            draft: Draft::default(),
            operation: flight.operation,
            principal: flight.principal,
            key: flight.key.clone(),
            lands: true,
        });
        let from = effect.provenance(&flight.tenant, now);
        let stored = self.ledger.stored(flight, answer).await?;
        let transaction = Transaction::landed(effect.draft, flight.land(stored, refused, now), &from);
        let transaction = transaction.and_then(|landed| landed.recorded(Record::answered(flight, answers, now)));
        let transaction = transaction.map_err(|error| self.unbuilt(flight, &error))?;
        match self.ledger.attempt(&flight.tenant, flight.operation, &transaction).await? {
            WriteOutcome::Applied => Ok(Some(DriveOutcome::Landed(answer.clone().into_exposed()))),
            WriteOutcome::MarkerExists(item) => Ok(Some(match Marker::read(&item)?.state {
                MarkerState::Completed { answer, fingerprint, .. } => {
                    DriveOutcome::Landed(self.ledger.open(&answer, &flight.marker_key(), fingerprint.as_ref()).await?)
                }
                MarkerState::InFlight(_) | MarkerState::Reversed => DriveOutcome::Lost,
            })),
            WriteOutcome::Rejected(rejection) if rejection.failure == Failure::StalePlan => Ok(None),
            WriteOutcome::Rejected(rejection) => Err(self.broken(flight, rejection.failure.code())),
        }
    }

    async fn retry_later(
        &self,
        flight: &Leased<Flight>,
        burnt: bool,
        answers: &[ProviderAnswer],
    ) -> Result<DriveOutcome, Problem> {
        let now = self.ledger.clock().now();
        let failed = flight.fail_retryably(burnt, now);
        self.give_up_for_now(flight, failed, answers, now).await
    }

    async fn park(
        &self,
        flight: &Leased<Flight>,
        why: Parked,
        answers: &[ProviderAnswer],
    ) -> Result<DriveOutcome, Problem> {
        let now = self.ledger.clock().now();
        self.give_up_for_now(flight, flight.park(why, now), answers, now).await
    }

    async fn give_up_for_now(
        &self,
        flight: &Leased<Flight>,
        failed: Result<(Flight, Transaction), BuildError>,
        answers: &[ProviderAnswer],
        now: Timestamp,
    ) -> Result<DriveOutcome, Problem> {
        let failed = failed.and_then(|(next, transaction)| {
            let transaction = transaction.recorded(Record::answered(flight, answers, now))?;
            Ok((next, transaction))
        });
        let (next, transaction) = failed.map_err(|error| self.unbuilt(flight, &error))?;
        if next.parked.is_some() {
            self.parked(&next);
        }
        Ok(if self.transition(flight, &transaction).await? { DriveOutcome::Waiting } else { DriveOutcome::Lost })
    }

    fn parked(&self, flight: &Flight) {
        self.count(Metric::OperationParked, flight);
        let why = flight.parked.map(Parked::name);
        tracing::error!(tenant = %flight.tenant, operation = %flight.operation, resource = %flight.resource, why,
            "operation parked: needs review");
    }

    /// Writes a transition of a claim. `false` if another request or worker has changed the claim.
    pub(super) async fn transition(&self, flight: &Flight, transaction: &Transaction) -> Result<bool, Problem> {
        match self.ledger.attempt(&flight.tenant, flight.operation, transaction).await? {
            WriteOutcome::Applied => Ok(true),
            WriteOutcome::Rejected(_) => Ok(false),
            WriteOutcome::MarkerExists(_) => Err(self.broken(flight, "a transition found a marker")),
        }
    }

    pub(super) fn count(&self, metric: Metric, flight: &Flight) {
        self.ledger.metrics().count(metric, &flight.tenant, flight.operation);
    }

    pub(super) fn broken(&self, flight: &Flight, what: &str) -> Problem {
        self.ledger.broken(&flight.tenant, flight.operation, what)
    }

    pub(super) fn unbuilt(&self, flight: &Flight, error: &BuildError) -> Problem {
        self.broken(flight, &error.to_string())
    }
}
