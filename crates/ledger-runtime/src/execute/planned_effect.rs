//! What a plan returns: the effect of a request, and whose journal entry it is.

use ledger_core::idempotency::{Claim, MarkerKeys, NewAnswer};
use ledger_core::transaction::{BuildError, Planned, Provenance, Transaction};

/// A planned effect that is assembled with the marker of a request.
pub trait PlannedEffect {
    /// What the response is made of.
    type Receipt;

    /// What the response is made of.
    fn receipt(&self) -> &Self::Receipt;

    /// Builds the transaction, with the marker that stores `answer`, and gives the receipt back.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    fn assemble(
        self,
        claim: &Claim,
        answer: NewAnswer<'_>,
        keys: &MarkerKeys,
    ) -> Result<(Transaction, Self::Receipt), BuildError>;
}

/// The entry is that of the request.
impl<R> PlannedEffect for Planned<R> {
    type Receipt = R;

    fn receipt(&self) -> &R {
        &self.receipt
    }

    fn assemble(self, claim: &Claim, answer: NewAnswer<'_>, keys: &MarkerKeys) -> Result<(Transaction, R), BuildError> {
        Ok((Transaction::assemble(self.draft, claim, answer, keys)?, self.receipt))
    }
}

/// The request executes a command that was stored before: the entry is that of the command.
impl<R> PlannedEffect for (Planned<R>, Provenance) {
    type Receipt = R;

    fn receipt(&self) -> &R {
        &self.0.receipt
    }

    fn assemble(self, claim: &Claim, answer: NewAnswer<'_>, keys: &MarkerKeys) -> Result<(Transaction, R), BuildError> {
        let (Planned { draft, receipt }, from) = self;
        Ok((Transaction::assemble_as(draft, claim, answer, keys, &from)?, receipt))
    }
}
