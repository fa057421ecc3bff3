//! Recovers claims whose lease has ended, top-ups that were not paid, and refunds whose events were lost. An event or
//! the client's retry may do the same at the same time.

use super::PspExecutor;
use super::drive::DriveOutcome;
use super::facts::Applied;
use super::records::TopupRecordIds;
use crate::due::{DueList, ListedWork};
use crate::execute::WriteOutcome;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::psp::{LookupResult, PspLookup, PspObject, Sent};
use http::StatusCode;
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::{Flight, Marker, MarkerState};
use ledger_core::ids::{RefundId, Tenant, TopupId};
use ledger_core::keys::{Work, sk};
use ledger_core::lease::Leased;
use ledger_core::operation::Operation;
use ledger_core::psp::Tags;
use ledger_core::reads;
use ledger_core::time::Timestamp;
use ledger_core::topups::{RefundState, TopupRecord, TopupState, check};
use ledger_core::trail::{ProviderAnswer, Record};
use ledger_core::transaction::{BuildError, Transaction};
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// The interval at which a lease holder extends its lease.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// A claim is stuck if it is not taken over for this long after its lease has ended.
const STUCK_AFTER: Duration = Duration::from_secs(60);
/// The time after which a run starts nothing more: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(240);

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recovered {
    /// The number of claims that it completed.
    pub completed: usize,
    /// The number of claims that it tried and that are not completed.
    pub waiting: usize,
    /// The number of top-ups and refunds that it looked up at the PSP.
    pub checked: usize,
    /// The number of operations and events that need review.
    pub attention: usize,
}

/// What became of a claim.
#[derive(Clone, Copy)]
enum ClaimEnd {
    Completed,
    /// It was claimed at this time.
    Waits(Timestamp),
}

impl PspExecutor {
    /// Recovers what is due for a tenant. Two concurrent runs have the effect of one.
    ///
    /// # Errors
    /// 503 if the store cannot be read or written; a later run continues. 500 if a record could not be recovered, after
    /// all others.
    pub async fn recover(&self, tenant: &Tenant, due: &mut DueList) -> Result<Recovered, Problem> {
        let (mut done, mut fault) = (Recovered::default(), None);
        let began = Instant::now();
        let over = || began.elapsed() >= RUN_TIME_MAX;
        let mut oldest = Duration::ZERO;
        for listed in due.next(Work::Flight).await? {
            if over() {
                break;
            }
            match skip_fault(self.recover_claim(&listed).await, &mut fault)?.flatten() {
                Some(ClaimEnd::Completed) => done.completed = done.completed.saturating_add(1),
                Some(ClaimEnd::Waits(claimed_at)) => {
                    done.waiting = done.waiting.saturating_add(1);
                    oldest = oldest.max(self.ledger.clock().now().since(claimed_at));
                }
                None => {}
            }
        }
        // An age of 0 is reported too: without it the alarm would not clear.
        self.ledger.metrics().measure(Metric::OldestInFlight, tenant, Operation::Recovery, oldest);
        for listed in due.next(Work::PspCheck).await? {
            if over() {
                break;
            }
            let was_due = skip_fault(self.check(tenant, &listed).await, &mut fault)?;
            done.checked = done.checked.saturating_add(usize::from(was_due.unwrap_or(true)));
        }
        done.attention = self.ledger.dynamo().count(&reads::attention(tenant)).await?;
        for _ in 0..done.attention {
            // Counted in each run until it is reviewed, so that the alarm stays on.
            self.ledger.metrics().count(Metric::NeedsAttention, tenant, Operation::Recovery);
        }
        fault.map_or(Ok(done), Err)
    }

    /// What became of a claim; `None` if there was nothing to do.
    async fn recover_claim(&self, listed: &ListedWork) -> Result<Option<ClaimEnd>, Problem> {
        let Some(item) = self.ledger.dynamo().get(&listed.key).await? else { return Ok(None) };
        let MarkerState::InFlight(flight) = Marker::read(&item)?.state else { return Ok(None) };
        if self.ledger.clock().now() > flight.lease_until.plus(STUCK_AFTER) {
            self.count(Metric::StuckInFlight, &flight);
        }
        let Some(held) = self.take_over(&flight).await? else { return Ok(None) };
        let waits = ClaimEnd::Waits(flight.claimed_at);
        match self.drive_alive(&held).await {
            Ok(DriveOutcome::Landed(_)) => Ok(Some(ClaimEnd::Completed)),
            Ok(DriveOutcome::Waiting | DriveOutcome::Lost) => Ok(Some(waits)),
            Ok(DriveOutcome::Unknown) => {
                self.release(&held).await?;
                Ok(Some(waits))
            }
            Err(problem) => {
                tracing::warn!(tenant = %held.tenant, operation = %held.operation, resource = %held.resource,
                    code = problem.code(), "claim not recovered");
                self.release(&held).await?;
                Ok(Some(waits))
            }
        }
    }

    /// Drives a claim and extends its lease meanwhile, up to the longest time of one lease holder.
    async fn drive_alive(&self, flight: &Leased<Flight>) -> Result<DriveOutcome, Problem> {
        let mut driving = std::pin::pin!(self.drive(flight));
        loop {
            tokio::select! {
                driven = &mut driving => return driven,
                () = tokio::time::sleep(HEARTBEAT) => {}
            }
            let now = self.ledger.clock().now();
            let beat = flight.heartbeat(now).map_err(|error| self.unbuilt(flight, &error))?;
            let Some((_, transaction)) = beat else { return Ok(DriveOutcome::Unknown) };
            if !self.transition(flight, &transaction).await? {
                return Ok(DriveOutcome::Lost);
            }
        }
    }

    async fn release(&self, flight: &Leased<Flight>) -> Result<(), Problem> {
        let (_, transaction) =
            flight.release(self.ledger.clock().now()).map_err(|error| self.unbuilt(flight, &error))?;
        // A rejection means that another lease holder has the claim, and continues.
        self.transition(flight, &transaction).await.map(|_| ())
    }

    /// Looks a top-up or refund up; `false` if another worker has done so.
    async fn check(&self, tenant: &Tenant, listed: &ListedWork) -> Result<bool, Problem> {
        let item = self.ledger.dynamo().get(&listed.key).await?;
        let Some(item) = item.filter(|item| listed.is_still_due(item)) else { return Ok(false) };
        let topup = item.parsed("topup_id", TopupId::parse)?;
        let is_refund = listed.key.sk().starts_with(sk::REFUND);
        let refund = if is_refund { Some(item.parsed("refund_id", RefundId::parse)?) } else { None };
        self.check_record(tenant, topup, refund).await.map(|()| true)
    }

    async fn check_record(&self, tenant: &Tenant, topup: TopupId, refund: Option<RefundId>) -> Result<(), Problem> {
        let wanted = TopupRecordIds { topup, refund, clawback: None };
        let Some(records) = self.records(tenant, &wanted).await? else { return Ok(()) };
        let tags = Tags { tenant: tenant.clone(), topup, refund };
        match &records.refund {
            Some(refund) if refund.state == RefundState::Pending => {
                let Some(id) = &refund.psp_refund else { return Ok(()) };
                let seen = self.psp.look(PspLookup::Refund(id), records.topup.account.as_deref()).await;
                let settled = self.apply_lookup(tenant, &tags, seen).await?;
                let again = check::refund_again(tenant, refund, self.ledger.clock().now());
                self.schedule_check(tenant, settled, again).await
            }
            Some(_) => Ok(()),
            None if records.topup.state == TopupState::Pending => {
                self.cancel_unpaid(tenant, &tags, &records.topup).await
            }
            // Its claim is in flight or parked: the check is put off, so that it does not delay the others.
            None if records.topup.state == TopupState::Requested => {
                let again = check::topup_again(tenant, &records.topup, false, self.ledger.clock().now());
                self.schedule_check(tenant, false, again).await
            }
            // It needs no check: the index lags.
            None => Ok(()),
        }
    }

    /// Asks the PSP to cancel a top-up that was not paid. Only the PSP's confirmation releases the headroom; if the
    /// top-up was paid after all, it is credited.
    async fn cancel_unpaid(&self, tenant: &Tenant, tags: &Tags, topup: &TopupRecord) -> Result<(), Problem> {
        let Some((request, key)) = topup.cancellation() else { return Ok(()) };
        let account = topup.account.as_deref();
        let record = Record::canceling(tenant, topup, self.ledger.clock().now());
        self.note(tenant, Operation::Recovery, record).await?;
        let (seen, burnt, answers) = match self.psp.send(&request, &key).await {
            Sent::Done(object) => {
                let answers = ProviderAnswer::Done(object.id().clone());
                (LookupResult::Found(object), false, answers)
            }
            Sent::Refused(refusal) => {
                let answers = ProviderAnswer::Refused(refusal.code);
                match (refusal.object, &topup.intent) {
                    (Some(object), _) => (LookupResult::Found(object), true, answers),
                    (None, Some(intent)) => (self.psp.look(PspLookup::Intent(intent), account).await, true, answers),
                    (None, None) => (LookupResult::Unknown, true, answers),
                }
            }
            Sent::Unknown(unknown) => {
                (LookupResult::Unknown, !unknown.resend, ProviderAnswer::Unknown(unknown.why.to_owned()))
            }
        };
        let settled = self.apply_lookup(tenant, tags, seen).await?;
        let now = self.ledger.clock().now();
        let again = check::topup_again(tenant, topup, burnt, now);
        let again = again.and_then(|again| again.recorded(Record::not_canceled(tenant, topup, &[answers], now)));
        self.schedule_check(tenant, settled, again).await
    }

    /// Applies the result of a lookup. Whether that has ended the matter.
    async fn apply_lookup(&self, tenant: &Tenant, tags: &Tags, seen: LookupResult) -> Result<bool, Problem> {
        let object: PspObject = match seen {
            LookupResult::Found(object) => object,
            LookupResult::Absent | LookupResult::Unknown => return Ok(false),
        };
        match self.apply_seen(tenant, tags, object).await? {
            Applied::Done | Applied::Repeated => Ok(true),
            Applied::Behind => Ok(false),
            Applied::NoRecord | Applied::Contradiction(_) => {
                tracing::error!(%tenant, topup = %tags.topup, "the provider's object contradicts our record");
                Ok(false)
            }
        }
    }

    async fn schedule_check(
        &self,
        tenant: &Tenant,
        settled: bool,
        again: Result<Transaction, BuildError>,
    ) -> Result<(), Problem> {
        if settled {
            return Ok(());
        }
        let broken = |what: &str| self.ledger.broken(tenant, Operation::Recovery, what);
        let again = again.map_err(|error| broken(&error.to_string()))?;
        match self.ledger.attempt(tenant, Operation::Recovery, &again).await? {
            // Rejected: the record's state has changed, and with it its due index entry.
            WriteOutcome::Applied | WriteOutcome::Rejected(_) => Ok(()),
            WriteOutcome::MarkerExists(_) => Err(broken("an update of a due index entry found a marker")),
        }
    }
}

/// Passes over a record that fails with a 500, which was logged where it occurred: the others are still recovered.
/// Other errors end the run, because the store is unavailable.
fn skip_fault<T>(done: Result<T, Problem>, fault: &mut Option<Problem>) -> Result<Option<T>, Problem> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(problem) if problem.status() == StatusCode::INTERNAL_SERVER_ERROR => {
            *fault = Some(problem);
            Ok(None)
        }
        Err(problem) => Err(problem),
    }
}
