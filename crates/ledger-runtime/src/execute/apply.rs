//! Writes without an idempotency key: configuration, enrolment, job progress. They move no value,
//! and each is guarded so that a repetition does nothing.

use super::Ledger;
use crate::dynamo::WriteError;
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::retry;
use ledger_core::transaction::{Rejection, Transaction, Verdict};

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

/// What became of one transaction.
pub(crate) enum Attempt {
    /// It was applied.
    Applied,
    /// Its marker stands: this is it.
    MarkerStands(Item),
    /// A guard does not hold.
    Rejected(Rejection),
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
            Attempt::Applied => Ok(()),
            Attempt::Rejected(rejection) => Err(ApplyError::Rejected(rejection)),
            Attempt::MarkerStands(_) => {
                Err(ApplyError::Problem(self.broken(tenant, operation, "an unkeyed transaction met a marker")))
            }
        }
    }

    /// Executes a transaction through conflicts, and says what stood in its way.
    ///
    /// # Errors
    /// The problem to answer with; after an unknown outcome, repeating it is safe.
    pub(crate) async fn attempt(
        &self,
        tenant: &Tenant,
        operation: Operation,
        transaction: &Transaction,
    ) -> Result<Attempt, Problem> {
        let mut conflicts = 0;
        loop {
            let reasons = match self.dynamo.write(transaction).await {
                Ok(()) => return Ok(Attempt::Applied),
                Err(WriteError::Cancelled(cancellation)) => cancellation.reasons,
                Err(error) => return Err(self.not_written(tenant, operation, &error)),
            };
            match transaction.classify(&reasons) {
                Verdict::Rejected(rejection) => return Ok(Attempt::Rejected(rejection)),
                Verdict::MarkerStands(item) => return Ok(Attempt::MarkerStands(item)),
                Verdict::Broken(broken) => return Err(self.broken(tenant, operation, &broken.to_string())),
                Verdict::Throttled => {
                    self.metrics.count(Metric::Throttled, tenant, operation);
                    return Err(Problem::busy());
                }
                Verdict::Conflict => self.metrics.count(Metric::TransactionConflict, tenant, operation),
            }
            if conflicts >= retry::CONFLICT_RETRIES {
                return Err(Problem::busy());
            }
            tokio::time::sleep(retry::backoff(conflicts, self.entropy.jitter())).await;
            conflicts = conflicts.saturating_add(1);
        }
    }
}
