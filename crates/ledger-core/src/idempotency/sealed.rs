//! Transactions under a marker: what moves value is executed at most once for its key or event.

use super::{Answer, Claim, EventClaim, Flight};
use crate::transaction::{BuildError, Draft, Entry, Provenance, TransactItem, Transaction};

impl From<&Claim> for Provenance {
    fn from(claim: &Claim) -> Self {
        Self {
            tenant: claim.tenant.clone(),
            operation: claim.operation,
            principal: claim.principal,
            actor: claim.actor,
            key: claim.key.as_str().to_owned(),
            now: claim.now,
        }
    }
}

impl Transaction {
    /// A draft with its marker, which stores `answer`, and its journal entry.
    ///
    /// # Errors
    /// [`BuildError`] if it can never be right.
    pub fn seal(draft: &Draft, claim: &Claim, answer: &Answer) -> Result<Self, BuildError> {
        let link = draft.entry.as_ref().map(Entry::link);
        Self::marked(claim.marker(answer, link), draft, &claim.into())
    }

    /// A draft with its marker in flight: the claim of an operation that calls the payment provider.
    /// The outflow or inflow is reserved here, before the provider hears of it.
    ///
    /// # Errors
    /// [`BuildError`] if it can never be right.
    pub fn claimed(draft: &Draft, claim: &Claim, flight: &Flight) -> Result<Self, BuildError> {
        let link = draft.entry.as_ref().map(Entry::link);
        Self::marked(flight.marker(claim, link), draft, &claim.into())
    }

    /// What the payment provider's answer means in our books, under the marker that it ends. Only
    /// the holder of the claim can write it: the marker is guarded on its fencing token.
    ///
    /// # Errors
    /// [`BuildError`] if it can never be right.
    pub fn landed(draft: &Draft, landing: TransactItem, from: &Provenance) -> Result<Self, BuildError> {
        Self::marked(landing, draft, from)
    }

    /// What an event of the payment provider means in our books, under the event's own marker.
    ///
    /// # Errors
    /// [`BuildError`] if it can never be right.
    pub fn of_event(draft: &Draft, event: &EventClaim, from: &Provenance) -> Result<Self, BuildError> {
        let link = draft.entry.as_ref().map(Entry::link);
        Self::marked(event.marker(link), draft, from)
    }

    /// Only a marker that stores a refusal.
    ///
    /// # Errors
    /// [`BuildError`] if it can never be right.
    pub fn refusal(claim: &Claim, answer: &Answer) -> Result<Self, BuildError> {
        Self::without_effect(vec![claim.marker(answer, None)])
    }
}
