//! Transactions with a marker: an effect takes place at most once for its key or event.

use super::{Answer, Claim, EventClaim, Flight, MarkerKeys, NewAnswer};
use crate::dynamo::Item;
use crate::refused_payment::RefusedPayment;
use crate::transaction::{BuildError, Draft, Entry, Provenance, TransactItem, Transaction};

impl From<&Claim> for Provenance {
    fn from(claim: &Claim) -> Self {
        Self {
            tenant: claim.tenant.clone(),
            operation: claim.operation,
            principal: claim.principal,
            actor: claim.actor,
            key: (&claim.key).into(),
            now: claim.now,
        }
    }
}

impl Transaction {
    /// Builds a draft's transaction with its marker, which stores `answer`, and its journal entry.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    pub fn assemble<'a>(
        draft: Draft,
        claim: &Claim,
        answer: impl Into<NewAnswer<'a>>,
        keys: &MarkerKeys,
    ) -> Result<Self, BuildError> {
        Self::assemble_as(draft, claim, answer, keys, &claim.into())
    }

    /// Builds the transaction of a step that no request carries, with a marker that stores `done`, and its journal entry.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    pub fn assemble_step(draft: Draft, step: &Provenance, done: &Answer) -> Result<Self, BuildError> {
        let link = draft.entry.as_ref().map(Entry::link);
        Self::marked(step.step_marker(done, link), draft, step)
    }

    /// Builds a draft's transaction as [`Transaction::assemble`], with an entry that is under another operation and key than
    /// the marker: that of a command which was stored before, and which the claim's request executes.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    pub fn assemble_as<'a>(
        draft: Draft,
        claim: &Claim,
        answer: impl Into<NewAnswer<'a>>,
        keys: &MarkerKeys,
        from: &Provenance,
    ) -> Result<Self, BuildError> {
        let link = draft.entry.as_ref().map(Entry::link);
        Self::marked(claim.marker(answer.into(), keys, link)?, draft, from)
    }

    /// Builds a draft's transaction with a marker in flight: the claim of an operation that calls the payment
    /// provider. The outflow or inflow is reserved here, before the provider is called.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    pub fn claimed(draft: Draft, claim: &Claim, flight: &Flight) -> Result<Self, BuildError> {
        let link = draft.entry.as_ref().map(Entry::link);
        Self::marked(flight.marker(claim, link), draft, &claim.into())
    }

    /// Books the payment provider's answer, and completes the claim's marker. Only the holder of the claim can write
    /// it: the marker is guarded on the fencing token.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    pub fn landed(draft: Draft, landing: TransactItem, from: &Provenance) -> Result<Self, BuildError> {
        Self::marked(landing, draft, from)
    }

    /// Books an event of the payment provider, under the event's own marker.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    pub fn of_event(draft: Draft, event: &EventClaim, from: &Provenance) -> Result<Self, BuildError> {
        let link = draft.entry.as_ref().map(Entry::link);
        Self::marked(event.marker(link), draft, from)
    }

    /// Builds a transaction of only a marker, which stores a refusal. `payment` is the payment that it refuses, with the
    /// code.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    pub fn refusal<'a>(
        claim: &Claim,
        answer: impl Into<NewAnswer<'a>>,
        keys: &MarkerKeys,
        payment: Option<(&RefusedPayment, &str)>,
    ) -> Result<Self, BuildError> {
        let marker = claim.marker(answer.into(), keys, None)?;
        let of_payment = |item: &mut Item| {
            item.extend(payment.into_iter().flat_map(|(payment, code)| payment.attributes(&claim.tenant, code)));
        };
        Self::without_effect(vec![marker.putting(of_payment)])
    }
}
