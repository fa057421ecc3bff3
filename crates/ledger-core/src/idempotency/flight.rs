//! A key whose operation calls the payment provider: claimed, held under a lease, and ended by an answer. Each
//! transition is pure and comes with the conditional write that makes it.

mod stored;

use super::marker::{COMPLETED, FAILED_TERMINAL};
use super::{Answer, CURRENT_FINGERPRINT, Claim, Fingerprint, IdempotencyKey, PlannedCall, Window};
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{Principal, Tenant, TopupId};
use crate::keys::{self, Key, Shards, Work, attr};
use crate::lease::{Holder, Leasable, Leased};
use crate::operation::Operation;
use crate::psp::{PspKey, PspRequest};
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use std::time::Duration;
use uuid::Uuid;

/// A claim's lease.
pub const LEASE: Duration = Duration::from_secs(30);
/// How long one holder may go on at all, whatever it says.
const CEILING: Duration = Duration::from_secs(180);
/// How often the provider may refuse before a person must look.
pub const MAX_ATTEMPTS: u32 = 5;
/// The provider forgets keys after 24 hours: past this age of the first sending nothing is sent again.
pub const RESEND_WITHIN: Duration = Duration::from_secs(23 * 60 * 60);
/// How long after the last sending may have begun the provider's lists have what it made, by the clocks of two of our
/// machines.
pub const PSP_ABSENCE_CONFIRMED_AFTER: Duration = CLOCK_SKEW.saturating_add(Duration::from_secs(10 * 60));
/// The pause before the first retry; it doubles.
const RETRY_PAUSE: Duration = Duration::from_secs(30);
/// The longest pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(15 * 60);

/// Where an operation without an answer stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Somebody holds it, or held it last.
    InFlight,
    /// The provider refused for a reason that may go away: it is tried again.
    FailedRetry,
    /// Nobody tries it again: a person must look.
    Parked,
}

/// Why an operation was parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// Refused as often as it may be.
    Attempts,
    /// Too old to be sent again, and not found at the provider.
    NotFound,
    /// The provider's object and our record contradict each other.
    Contradiction,
}

/// An operation in flight, as its marker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Whose table.
    pub tenant: Tenant,
    /// Whose key.
    pub principal: Principal,
    /// What it does.
    pub operation: Operation,
    /// The key.
    pub key: IdempotencyKey,
    /// What the key is bound to.
    pub fingerprint: Fingerprint,
    /// What it makes: the id of a top-up or of a refund.
    pub resource: Uuid,
    /// Which top-up it is about.
    pub topup: TopupId,
    /// What the provider is asked.
    pub request: PspRequest,
    /// Where it stands.
    pub phase: Phase,
    /// The fencing token: one more with each holder.
    pub fence: u32,
    /// Until when its holder is taken to be alive; before then nobody else may take it.
    pub lease_until: Timestamp,
    /// When its holder took it.
    pub taken_at: Timestamp,
    /// Part of the provider's idempotency key.
    pub epoch: u32,
    /// When the request was first sent in this epoch, at the earliest.
    pub first_sent_at: Timestamp,
    /// How often the provider has refused.
    pub attempts: u32,
    /// When the key was claimed.
    pub claimed_at: Timestamp,
    /// Why a person must look at it.
    pub parked: Option<Parked>,
    shards: Shards,
}

impl Leasable for Flight {
    const LEASE: Duration = LEASE;
    const ROLE: Role = Role::Flight;
}

impl Phase {
    const ALL: [Self; 3] = [Self::InFlight, Self::FailedRetry, Self::Parked];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InFlight => "IN_FLIGHT",
            Self::FailedRetry => "FAILED_RETRY",
            Self::Parked => "PARKED",
        }
    }

    /// Reads a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

impl Parked {
    const ALL: [Self; 3] = [Self::Attempts, Self::NotFound, Self::Contradiction];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::NotFound => "not_found",
            Self::Contradiction => "contradiction",
        }
    }
}

impl Flight {
    /// `none -> IN_FLIGHT(1)`: the claim, with everything that is minted once.
    ///
    /// # Errors
    /// [`BuildError`] if the request has no fingerprint, which it always has.
    pub fn begin(claim: &Claim, call: &PlannedCall) -> Result<Leased<Self>, BuildError> {
        let fingerprint = claim.request.fingerprint(CURRENT_FINGERPRINT, &claim.tenant, claim.principal);
        let flight = Self {
            tenant: claim.tenant.clone(),
            principal: claim.principal,
            operation: claim.operation,
            key: claim.key.clone(),
            fingerprint: fingerprint.ok_or(BuildError::Empty)?,
            resource: call.resource,
            topup: call.topup,
            request: call.request.clone(),
            phase: Phase::InFlight,
            fence: 1,
            lease_until: claim.now.plus(LEASE),
            taken_at: claim.now,
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

    /// Over how many shards its work is spread.
    pub(crate) fn shards(&self) -> Shards {
        self.shards
    }

    /// The key of its marker.
    #[must_use]
    pub fn marker_key(&self) -> Key {
        keys::marker(&self.tenant, self.principal, self.operation, self.key.as_str())
    }

    /// The provider's idempotency key: from the operation, the step and the epoch alone.
    #[must_use]
    pub fn psp_key(&self) -> PspKey {
        PspKey::new(self.resource, self.request.step, self.epoch)
    }

    /// Whether the request may be sent once more. After that it is only looked for.
    #[must_use]
    pub fn may_send(&self, now: Timestamp) -> bool {
        now < self.first_sent_at.plus(RESEND_WITHIN) && now.plus(RESEND_WITHIN) > self.first_sent_at
    }

    /// Whether an object of this epoch that the provider does not show was never made.
    #[must_use]
    pub fn is_absence_confirmed(&self, now: Timestamp) -> bool {
        now >= self.first_sent_at.plus(PSP_ABSENCE_CONFIRMED_AFTER)
    }

    /// Whether no holder can have a sending under way whose object the provider does not show yet.
    #[must_use]
    pub fn is_settled(&self, now: Timestamp) -> bool {
        now >= self.taken_at.plus(PSP_ABSENCE_CONFIRMED_AFTER)
    }

    /// Whether its holder has time left. Whoever slept through it must not send anything: others have
    /// had the claim since, and a person may have decided on it.
    #[must_use]
    pub fn may_hold(&self, now: Timestamp) -> bool {
        now < self.taken_at.plus(CEILING)
    }

    /// `IN_FLIGHT(n) -> IN_FLIGHT(n+1)` once the lease is over, or `FAILED_RETRY -> IN_FLIGHT(n+1)` once
    /// its pause is. `None` before that, or when only a person may.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
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
                taken_at: now,
                ..self.clone()
            };
            let update = next.due(next.written(Update::new()));
            (next, update)
        })
    }

    /// `PARKED -> FAILED_RETRY`, by a person, after the effect was proven absent: due at once, under
    /// the next epoch and with all attempts before it.
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
        let update = next.due_at(next.written(Update::new()), now).remove("parked");
        TransactItem::update(Role::Flight, self.marker_key(), update, self.seen_clauses())
    }

    /// `... -> COMPLETED` by whoever learnt the outcome otherwise: an event, a look at the object, a
    /// person. It needs no token, for the outcome is the same for all; it needs that none has landed.
    #[must_use]
    pub fn land_from_outside(&self, answer: &Answer, refused: bool, now: Timestamp) -> TransactItem {
        let open = vec![Clause { condition: Condition::exists("lease_until"), failure: Failure::StalePlan }];
        self.answered(Role::Flight, answer, refused, now, open)
    }

    fn answered(
        &self,
        role: Role,
        answer: &Answer,
        refused: bool,
        now: Timestamp,
        clauses: Vec<Clause>,
    ) -> TransactItem {
        let ttl = Window::of(self.operation).ttl(now, self.key.born());
        let mut update = Update::new()
            .set("state", "landed", Value::s(if refused { FAILED_TERMINAL } else { COMPLETED }))
            .set("processed_at", "now", Value::s(now))
            .set(attr::TTL, "ttl", Value::int(ttl))
            .set("status", "status", Value::int(answer.status.into()))
            .set("content_type", "content_type", Value::s(&answer.content_type))
            .set("body", "body", Value::s(&answer.body));
        if let Some(location) = &answer.location {
            update = update.set("location", "location", Value::s(location));
        }
        for gone in [attr::DUE_PK, attr::DUE_SK, "lease_until", "parked"] {
            update = update.remove(gone);
        }
        TransactItem::update(role, self.marker_key(), update, clauses)
    }

    /// Everything that can change, as it stands in `self`.
    fn written(&self, update: Update) -> Update {
        update
            .set("state", "to", Value::s(self.phase.name()))
            .set("fence", "to_fence", Value::int(self.fence.into()))
            .set("lease_until", "lease_until", Value::s(self.lease_until))
            .set("taken_at", "taken_at", Value::s(self.taken_at))
            .set("epoch", "epoch", Value::int(self.epoch.into()))
            .set("first_sent_at", "first_sent_at", Value::s(self.first_sent_at))
            .set("attempts", "attempts", Value::int(self.attempts.into()))
    }

    fn due(&self, update: Update) -> Update {
        self.due_at(update, self.lease_until)
    }

    fn due_at(&self, update: Update, at: Timestamp) -> Update {
        update.set(attr::DUE_PK, "due_pk", Value::S(self.due_partition(Work::Flight))).set(
            attr::DUE_SK,
            "due_sk",
            Value::S(keys::due_from(at, self.resource)),
        )
    }

    fn due_partition(&self, work: Work) -> String {
        keys::due_partition(&self.tenant, work, keys::shard_of(self.resource, self.shards))
    }

    fn holder(&self) -> Holder {
        Holder { fence: self.fence.into(), lease_until: self.lease_until }
    }

    /// It is as it was seen: the same token, in the same phase, and its lease not renewed.
    fn seen_clauses(&self) -> Vec<Clause> {
        let [fence, lease] = self.holder().as_seen();
        vec![fence, in_phase(self.phase, Failure::StalePlan), lease]
    }
}

impl Leased<Flight> {
    /// Renews the lease. `None` once it has had all the time that one holder gets.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn heartbeat(&self, now: Timestamp) -> Result<Option<(Self, Transaction)>, BuildError> {
        if !self.may_hold(now) {
            return Ok(None);
        }
        let next = Flight { lease_until: now.plus(LEASE), ..(**self).clone() };
        let update = next.due(Self::renewed(now));
        let (next, transaction) = self.step(next, update)?;
        Ok(Some((self.with(next), transaction)))
    }

    /// The holder gives up for a while without an answer: anybody may take over at once, a worker
    /// will after a pause that grows with each holder.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn let_go(&self, now: Timestamp) -> Result<(Flight, Transaction), BuildError> {
        let next = Flight { lease_until: now, ..(**self).clone() };
        let again = now.plus(pause((**self).fence));
        let update = next.due_at(Self::released(now), again);
        self.step(next, update)
    }

    /// `IN_FLIGHT(n) -> FAILED_RETRY`, or `PARKED` after the last attempt. `burnt` says that the
    /// provider keeps the refusal under the key, or that the key's effect is proven absent: only then
    /// may the epoch advance.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
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

    /// `IN_FLIGHT(n) -> PARKED`.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn park(&self, why: Parked, now: Timestamp) -> Result<(Flight, Transaction), BuildError> {
        self.parked((**self).clone(), why, now)
    }

    /// `IN_FLIGHT(n) -> COMPLETED`, or `FAILED_TERMINAL` for a refusal, by the holder of the token.
    /// The marker's condition tells whoever lost the token what stands.
    #[must_use]
    pub fn land(&self, answer: &Answer, refused: bool, now: Timestamp) -> TransactItem {
        let mine = vec![self.held(Failure::AlreadyExists), in_phase(Phase::InFlight, Failure::AlreadyExists)];
        self.answered(Role::Marker, answer, refused, now, mine)
    }

    fn parked(&self, flight: Flight, why: Parked, now: Timestamp) -> Result<(Flight, Transaction), BuildError> {
        let next = Flight { phase: Phase::Parked, parked: Some(why), lease_until: now, ..flight };
        let update = next
            .written(Update::new())
            .set("parked", "parked", Value::s(why.name()))
            .set(attr::DUE_PK, "due_pk", Value::S(next.due_partition(Work::Attention)))
            .set(attr::DUE_SK, "due_sk", Value::S(keys::due_from(now, next.resource)));
        self.step(next, update)
    }

    /// A transition of a claim that is still held, and that no answer has ended.
    fn step(&self, next: Flight, update: Update) -> Result<(Flight, Transaction), BuildError> {
        let item = self.change_if(update, vec![in_phase(Phase::InFlight, Failure::StalePlan)]);
        Ok((next, Transaction::unkeyed(vec![item])?))
    }
}

fn in_phase(phase: Phase, failure: Failure) -> Clause {
    Clause { condition: Condition::compare("state", Cmp::Eq, "phase", Value::s(phase.name())), failure }
}

/// `30 s x 2^(times - 1)`, at most a quarter of an hour.
fn pause(times: u32) -> Duration {
    let doublings = times.saturating_sub(1).min(10);
    RETRY_PAUSE.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(1)).min(RETRY_PAUSE_MAX)
}

#[cfg(test)]
mod tests;
