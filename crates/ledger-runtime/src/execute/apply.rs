//! Writes without an idempotency key: configuration, enrolment, job progress. They move no value,
//! and each is guarded so that a repetition does nothing.

use super::{Ledger, WriteOutcome};
use crate::problem::Problem;
use ledger_core::failure::Failure;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::transaction::{Rejection, Transaction};

/// Why an unkeyed transaction was not applied, or is not known to be.
#[derive(Clone, Debug, PartialEq)]
pub enum ApplyError {
    /// A guard does not hold.
    Rejected(Rejection),
    /// The problem to answer with; counted and logged.
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
    /// The guard's failure, if that is what it was.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        match self {
            Self::Rejected(rejection) => Some(rejection.failure),
            Self::Problem(_) => None,
        }
    }
}

impl Ledger {
    /// Executes a transaction that answers no keyed request, through conflicts. `operation` names it
    /// in metrics.
    ///
    /// # Errors
    /// [`ApplyError`]; after an unknown outcome, repeating it is safe.
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
                Err(ApplyError::Problem(self.broken(tenant, operation, "an unkeyed transaction met a marker")))
            }
        }
    }

    /// The same for a change of what was read before: `false` if another worker has changed it since.
    ///
    /// # Errors
    /// [`Problem`] for any other guard, and for an unknown outcome.
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
