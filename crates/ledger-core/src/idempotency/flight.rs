//! A key whose operation calls the payment provider: claimed, held under a lease, and completed with a response. Each
//! transition is pure and returns the conditional write that makes it.

mod stored;

use super::marker::{COMPLETED, FAILED_TERMINAL};
use super::{Claim, ClaimKey, Fingerprint, MarkerError, MarkerKeys, NewAnswer, PlannedCall, StoredAnswer, Window};
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{Principal, Tenant, TopupId};
use crate::keys::{self, DueKeys, Key, Shards, Work, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::operation::Operation;
use crate::psp::{PspKey, PspRequest};
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use crate::words::words;
use std::time::Duration;
use uuid::Uuid;

/// The lease of one holder, renewed by heartbeats.
pub const CLAIM_LEASE: Duration = Duration::from_secs(30);
/// The longest time that one holder may go on, even if it renews its lease.
const HOLDER_TIME_MAX: Duration = Duration::from_secs(180);
/// After so many refusals by the provider the operation is parked and needs review.
pub const MAX_ATTEMPTS: u32 = 5;
/// How long after the first sending the request may be sent again. The provider deletes keys after 24 hours.
pub const RESEND_WITHIN: Duration = Duration::from_secs(23 * 60 * 60);
/// How long after the last sending the provider's lists are sure to show what it made. Includes the clock skew
/// between two of our machines.
pub const PSP_ABSENCE_CONFIRMED_AFTER: Duration = CLOCK_SKEW.saturating_add(Duration::from_secs(10 * 60));
/// The pause before the first retry. It doubles with each retry.
const RETRY_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause before a retry.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(15 * 60);

words! {
    /// The phase of an operation that has no response yet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Phase {
        /// A worker or request holds it, or was the last to hold it.
        InFlight = "IN_FLIGHT",
        /// The provider refused for a temporary reason. It is retried.
        FailedRetry = "FAILED_RETRY",
        /// Needs review: not retried until an operator decides.
        Parked = "PARKED",
    }
}

words! {
    /// Why an operation was parked.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Parked {
        /// The provider refused [`MAX_ATTEMPTS`] times.
        Attempts = "attempts",
        /// Too old to be sent again, and not found at the provider.
        NotFound = "not_found",
        /// The provider's object and our record contradict each other.
        Contradiction = "contradiction",
    }
}

/// An operation in flight, as read from its marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The tenant.
    pub tenant: Tenant,
    /// The principal that the key belongs to.
    pub principal: Principal,
    /// The operation.
    pub operation: Operation,
    /// The idempotency key.
    pub key: ClaimKey,
    /// The fingerprint that the key is bound to.
    pub fingerprint: Fingerprint,
    /// The id of what it creates: a top-up or a refund.
    pub resource: Uuid,
    /// The top-up that it belongs to.
    pub topup: TopupId,
    /// The request to the provider.
    pub request: PspRequest,
    /// The phase.
    pub phase: Phase,
    /// The fencing token. It grows by one with each holder.
    pub fence: u32,
    /// The end of the lease. Before it no other holder may take the operation.
    pub lease_until: Timestamp,
    /// When the present holder took it.
    pub leased_at: Timestamp,
    /// The epoch of the PSP key.
    pub epoch: u32,
    /// When the request was first sent in this epoch, at the earliest.
    pub first_sent_at: Timestamp,
    /// How often the provider has refused.
    pub attempts: u32,
    /// When the key was claimed.
    pub claimed_at: Timestamp,
    /// Why it needs review, if it is parked.
    pub parked: Option<Parked>,
    shards: Shards,
}

impl Leasable for Flight {
    const LEASE_DURATION: Duration = CLAIM_LEASE;
    const ROLE: Role = Role::Flight;
}

impl Flight {
    /// Claims the key: `none -> IN_FLIGHT(1)`. The claim stores everything that is generated once.
    ///
    /// # Errors
    /// [`BuildError`] if the request has no fingerprint, which does not happen.
    pub fn begin(claim: &Claim, call: &PlannedCall, keys: &MarkerKeys) -> Result<Leased<Self>, BuildError> {
        let flight = Self {
            tenant: claim.tenant.clone(),
            principal: claim.principal,
            operation: claim.operation,
            key: claim.key.clone(),
            fingerprint: claim.fingerprint(keys)?,
            resource: call.resource,
            topup: call.topup,
            request: call.request.clone(),
            phase: Phase::InFlight,
            fence: 1,
            lease_until: claim.now.plus(CLAIM_LEASE),
            leased_at: claim.now,
            epoch: 1,
            first_sent_at: claim.now,
            attempts: 0,
            claimed_at: claim.now,
            parked: None,
            shards: call.shards,
        };
        let key = flight.marker_key();
        Ok(Leased::begun(flight, key))
    }

    /// The number of shards of its due index entry.
    pub(crate) fn shards(&self) -> Shards {
        self.shards
    }

    /// The key of its marker.
    #[must_use]
    pub fn marker_key(&self) -> Key {
        keys::marker(&self.tenant, self.principal, self.operation, &self.key)
    }

    /// The provider's idempotency key. It depends on the resource, the step and the epoch alone.
    #[must_use]
    pub fn psp_key(&self) -> PspKey {
        PspKey::new(self.resource, self.request.step, self.epoch)
    }

    /// Whether the request may be sent again. After that, the worker only looks its object up.
    #[must_use]
    pub fn may_send(&self, now: Timestamp) -> bool {
        now < self.first_sent_at.plus(RESEND_WITHIN) && now.plus(RESEND_WITHIN) > self.first_sent_at
    }

    /// Whether an object of this epoch that the provider does not list was never created.
    #[must_use]
    pub fn is_absence_confirmed(&self, now: Timestamp) -> bool {
        now >= self.first_sent_at.plus(PSP_ABSENCE_CONFIRMED_AFTER)
    }

    /// Whether no earlier sending can still create an object that the provider does not list yet.
    #[must_use]
    pub fn is_settled(&self, now: Timestamp) -> bool {
        now >= self.leased_at.plus(PSP_ABSENCE_CONFIRMED_AFTER)
    }

    /// Whether the holder is below its time limit. A holder that was suspended past it must not send: another holder
    /// may have had the claim since, or an operator may have decided on it.
    #[must_use]
    pub fn may_hold(&self, now: Timestamp) -> bool {
        now < self.leased_at.plus(HOLDER_TIME_MAX)
    }

    /// Takes the operation over for the next holder; `None` if it may not be taken yet, or is parked.
    /// `IN_FLIGHT(n) -> IN_FLIGHT(n+1)` after the lease, or `FAILED_RETRY -> IN_FLIGHT(n+1)` after the pause.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn take_over(&self, now: Timestamp) -> Result<Option<(Leased<Self>, Transaction)>, BuildError> {
        if self.phase == Phase::Parked {
            return Ok(None);
        }
        let in_phase = vec![in_phase(self.phase, Failure::StalePlan)];
        Leased::take(self.marker_key(), self.holder(), in_phase, now, |holder| {
            let next = Self {
                phase: Phase::InFlight,
                fence: u32::try_from(holder.fence).unwrap_or(u32::MAX),
                lease_until: holder.lease_until,
                leased_at: now,
                ..self.clone()
            };
            let update = next.due(next.written(Update::new()));
            (next, update)
        })
    }

    /// An operator resumes it: `PARKED -> FAILED_RETRY`, after the effect was proven absent. Due at once, under the
    /// next epoch and with the attempts reset.
    pub(crate) fn unpark(&self, now: Timestamp) -> TransactItem {
        let next = Self {
            phase: Phase::FailedRetry,
            attempts: 0,
            epoch: self.epoch.saturating_add(1),
            first_sent_at: now,
            lease_until: now,
            parked: None,
            ..self.clone()
        };
        let update = next.due_at(next.written(Update::new()), now);
        let update = update.remove("parked").remove(attr::OWNER_PK).remove(attr::OWNER_SK);
        TransactItem::update(Role::Flight, self.marker_key(), update, self.seen_clauses())
    }

    /// The response as its marker stores it: see [`StoredAnswer::new`].
    ///
    /// # Errors
    /// As [`StoredAnswer::new`].
    pub fn stored<'a>(
        &self,
        answer: impl Into<NewAnswer<'a>>,
        keys: Option<&MarkerKeys>,
    ) -> Result<StoredAnswer, MarkerError> {
        StoredAnswer::new(answer.into(), &self.marker_key(), &self.fingerprint, keys)
    }

    /// Completes the operation with an outcome learned otherwise: from an event, a lookup, or an operator's decision.
    /// Needs no fencing token, because the outcome is the same for every writer. Requires that no response is stored.
    #[must_use]
    pub fn land_from_outside(&self, answer: impl Into<StoredAnswer>, refused: bool, now: Timestamp) -> TransactItem {
        let open = vec![Clause { condition: Condition::exists("lease_until"), failure: Failure::StalePlan }];
        self.answered(Role::Flight, &answer.into(), refused, now, open)
    }

    fn answered(
        &self,
        role: Role,
        answer: &StoredAnswer,
        refused: bool,
        now: Timestamp,
        clauses: Vec<Clause>,
    ) -> TransactItem {
        let ttl = Window::of(self.operation).ttl(now, self.key.born());
        let mut update = Update::new()
            .set("state", "landed", Value::s(if refused { FAILED_TERMINAL } else { COMPLETED }))
            .set("processed_at", "now", Value::s(now))
            .set(attr::TTL, "ttl", Value::int(ttl));
        update = answer.set(update);
        for attribute in [attr::DUE_PK, attr::DUE_SK, attr::OWNER_PK, attr::OWNER_SK, "lease_until", "parked"] {
            update = update.remove(attribute);
        }
        TransactItem::update(role, self.marker_key(), update, clauses)
    }

    /// Sets all attributes that can change to the values of `self`.
    fn written(&self, update: Update) -> Update {
        update
            .set("state", "to", Value::s(self.phase.name()))
            .set("fence", "to_fence", Value::int(self.fence.into()))
            .set("lease_until", "lease_until", Value::s(self.lease_until))
            .set("leased_at", "leased_at", Value::s(self.leased_at))
            .set("epoch", "epoch", Value::int(self.epoch.into()))
            .set("first_sent_at", "first_sent_at", Value::s(self.first_sent_at))
            .set("attempts", "attempts", Value::int(self.attempts.into()))
    }

    fn due(&self, update: Update) -> Update {
        self.due_at(update, self.lease_until)
    }

    fn due_at(&self, update: Update, at: Timestamp) -> Update {
        self.due_keys(at).set(update)
    }

    fn due_keys(&self, at: Timestamp) -> DueKeys {
        Work::Flight.due(&self.tenant, keys::shard_of(self.resource, self.shards), at, self.resource)
    }

    fn holder(&self) -> Holder {
        Holder { fence: self.fence.into(), lease_until: self.lease_until }
    }

    /// The marker is unchanged since it was read: same token, same phase, same end of the lease.
    fn seen_clauses(&self) -> Vec<Clause> {
        let [fence, lease] = self.holder().as_seen();
        vec![fence, in_phase(self.phase, Failure::StalePlan), lease]
    }
}

impl Leased<Flight> {
    /// Renews the lease. `None` once the holder has reached its time limit.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn heartbeat(&self, now: Timestamp) -> Result<Option<(Self, Transaction)>, BuildError> {
        if !self.may_hold(now) {
            return Ok(None);
        }
        let next = Flight { lease_until: now.plus(CLAIM_LEASE), ..(**self).clone() };
        let update = next.due(Self::renewed(now));
        let (next, transaction) = self.step(next, update)?;
        Ok(Some((self.with(next), transaction)))
    }

    /// The holder gives up for now, without a response. Any request may take over at once. A worker does after a
    /// pause that grows with each holder.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn release(&self, now: Timestamp) -> Result<(Flight, Transaction), BuildError> {
        let next = Flight { lease_until: now, ..(**self).clone() };
        let again = now.plus(pause((**self).fence));
        let update = next.due_at(Self::released(now), again);
        self.step(next, update)
    }

    /// Records a temporary refusal: `IN_FLIGHT(n) -> FAILED_RETRY`, or `PARKED` after the last attempt. `burnt` means
    /// that the provider keeps the refusal under its key, or that the key's effect is proven absent: only then does
    /// the epoch advance.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn fail_retryably(&self, burnt: bool, now: Timestamp) -> Result<(Flight, Transaction), BuildError> {
        let attempts = self.attempts.saturating_add(1);
        if attempts >= MAX_ATTEMPTS {
            return self.parked(Flight { attempts, ..(**self).clone() }, Parked::Attempts, now);
        }
        let (epoch, first_sent_at) =
            if burnt { (self.epoch.saturating_add(1), now) } else { (self.epoch, self.first_sent_at) };
        let (phase, lease_until) = (Phase::FailedRetry, now.plus(pause(attempts)));
        let next = Flight { phase, attempts, epoch, first_sent_at, lease_until, ..(**self).clone() };
        let update = next.due(next.written(Update::new()));
        self.step(next, update)
    }

    /// Parks the operation: `IN_FLIGHT(n) -> PARKED`.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn park(&self, why: Parked, now: Timestamp) -> Result<(Flight, Transaction), BuildError> {
        self.parked((**self).clone(), why, now)
    }

    /// Stores the response: `IN_FLIGHT(n) -> COMPLETED`, or `FAILED_TERMINAL` for a refusal. Only the holder of the
    /// token can. For a holder that lost the token the failed condition returns the stored marker.
    #[must_use]
    pub fn land(&self, answer: impl Into<StoredAnswer>, refused: bool, now: Timestamp) -> TransactItem {
        let mine = vec![self.held(Failure::AlreadyExists), in_phase(Phase::InFlight, Failure::AlreadyExists)];
        self.answered(Role::Marker, &answer.into(), refused, now, mine)
    }

    fn parked(&self, flight: Flight, why: Parked, now: Timestamp) -> Result<(Flight, Transaction), BuildError> {
        let next = Flight { phase: Phase::Parked, parked: Some(why), lease_until: now, ..flight };
        let update = next
            .written(Update::new())
            .set("parked", "parked", Value::s(why.name()))
            .set(attr::OWNER_PK, attr::OWNER_PK, Value::S(keys::attention_partition(&next.tenant)))
            .set(attr::OWNER_SK, attr::OWNER_SK, Value::S(keys::listed_from(now, next.resource)))
            .remove(attr::DUE_PK)
            .remove(attr::DUE_SK);
        self.step(next, update)
    }

    /// A transition of a claim that this holder still holds and that has no response.
    fn step(&self, next: Flight, update: Update) -> Result<(Flight, Transaction), BuildError> {
        let item = self.change_if(update, vec![in_phase(Phase::InFlight, Failure::StalePlan)]);
        Ok((next, Transaction::unkeyed(vec![item])?))
    }
}

fn in_phase(phase: Phase, failure: Failure) -> Clause {
    Clause { condition: Condition::compare("state", Cmp::Eq, "phase", Value::s(phase.name())), failure }
}

/// The pause after `times` failures: `30 s x 2^(times - 1)`, at most 15 minutes.
fn pause(times: u32) -> Duration {
    let doublings = times.saturating_sub(1).min(10);
    RETRY_PAUSE.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(1)).min(RETRY_PAUSE_MAX)
}

#[cfg(test)]
mod tests;
