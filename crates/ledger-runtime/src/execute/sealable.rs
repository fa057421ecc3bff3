//! What a plan returns: the effect of a request, and whose journal entry it is.

use ledger_core::idempotency::{Claim, NewAnswer};
use ledger_core::transaction::{BuildError, Planned, Provenance, Transaction};

/// A planned effect that is sealed with the marker of a request.
pub trait Sealable {
    /// What the response is made of.
    type Receipt;

    /// What the response is made of.
    fn receipt(&self) -> &Self::Receipt;

    /// Builds the transaction, with the marker that stores `answer`.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction breaks a rule of the builder.
    fn seal(self, claim: &Claim, answer: NewAnswer<'_>) -> Result<Transaction, BuildError>;
}

/// The entry is that of the request.
impl<R> Sealable for Planned<R> {
    type Receipt = R;

    fn receipt(&self) -> &R {
        &self.receipt
    }

    fn seal(self, claim: &Claim, answer: NewAnswer<'_>) -> Result<Transaction, BuildError> {
        Transaction::seal(self.draft, claim, answer)
    }
}

/// The request executes a command that was stored before: the entry is that of the command.
impl<R> Sealable for (Planned<R>, Provenance) {
    type Receipt = R;

    fn receipt(&self) -> &R {
        &self.0.receipt
    }

    fn seal(self, claim: &Claim, answer: NewAnswer<'_>) -> Result<Transaction, BuildError> {
        Transaction::seal_as(self.0.draft, claim, answer, &self.1)
    }
}
