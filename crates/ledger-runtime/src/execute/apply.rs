//! Writes without an idempotency key: configuration, enrolment, job progress.
//!
//! They move no value, and each is guarded so that a repetition has no effect.

use super::{Ledger, WriteOutcome};
use crate::problem::Problem;
use ledger_core::failure::Failure;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::transaction::{Rejection, Transaction};

/// Why an unkeyed transaction was not applied, or why its outcome is unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyError {
    /// A guard failed.
    Rejected(Rejection),
    /// The problem to answer with, already counted and logged.
    Problem(Problem),
}

impl From<ApplyError> for Problem {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Rejected(rejection) => Self::refused(rejection.failure),
            ApplyError::Problem(problem) => problem,
        }
    }
}

impl ApplyError {
    /// Returns the failure of the guard; `None` for a problem.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        match self {
            Self::Rejected(rejection) => Some(rejection.failure),
            Self::Problem(_) => None,
        }
    }
}

impl Ledger {
    /// Executes a transaction without an idempotency key, retrying conflicts. `operation` names it in the metrics.
    ///
    /// # Errors
    /// [`ApplyError`]; after an unknown outcome, the call can be repeated.
    pub async fn apply(
        &self,
        tenant: &Tenant,
        operation: Operation,
        transaction: &Transaction,
    ) -> Result<(), ApplyError> {
        match self.attempt(tenant, operation, transaction).await.map_err(ApplyError::Problem)? {
            WriteOutcome::Applied => Ok(()),
            WriteOutcome::Rejected(rejection) => Err(ApplyError::Rejected(rejection)),
            WriteOutcome::MarkerExists(_) => {
                Err(ApplyError::Problem(self.broken(tenant, operation, "an unkeyed transaction found a marker")))
            }
        }
    }

    /// Applies a change of items that were read before. Returns `false` if another writer has changed them since.
    ///
    /// # Errors
    /// [`Problem`] if any other guard fails, or the outcome is unknown.
    pub async fn apply_as_read(
        &self,
        tenant: &Tenant,
        operation: Operation,
        transaction: &Transaction,
    ) -> Result<bool, Problem> {
        match self.apply(tenant, operation, transaction).await {
            Ok(()) => Ok(true),
            Err(error) if error.failure() == Some(Failure::StalePlan) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
