//! Writes a transaction, retrying conflicts.

use super::Ledger;
use crate::dynamo::WriteError;
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::retry;
use ledger_core::transaction::{Rejection, Transaction, Verdict};

/// Workers of which several may write the same item at once.
const OF_WORKERS: [Operation; 3] = [Operation::Publish, Operation::Crediting, Operation::Sealing];

/// The result of writing a transaction.
pub(crate) enum WriteOutcome {
    /// The transaction was applied.
    Applied,
    /// The marker of its key exists.
    MarkerExists(Item),
    /// A guard failed.
    Rejected(Rejection),
}

/// Why a transaction was not applied, or why its outcome is unknown.
pub(super) enum NotWritten {
    /// Not applied: every retry conflicted with another transaction.
    Contended,
    /// Not applied: DynamoDB throttled it.
    Throttled,
    /// Not applied: cancelled for a reason that no guard explains, which is a fault of the service.
    Broken(String),
    /// DynamoDB refused the request, or the outcome is unknown.
    Store(WriteError),
}

/// The retries that a request has used.
#[derive(Debug, Default)]
pub(super) struct Tries {
    pub(super) conflicts: u32,
    pub(super) replans: u32,
    /// Whether an attempt has an unknown outcome. It may still be applied, unless the key gets a marker first.
    pub(super) after_unknown: bool,
}

impl Ledger {
    /// Writes a transaction, again after each conflict while retries are left.
    // INVARIANT: only conflicts are retried.
    pub(super) async fn write_through(
        &self,
        tenant: &Tenant,
        operation: Operation,
        transaction: &Transaction,
        tries: &mut Tries,
    ) -> Result<WriteOutcome, NotWritten> {
        loop {
            let reasons = match self.dynamo.write(transaction).await {
                Ok(()) => return Ok(WriteOutcome::Applied),
                Err(WriteError::Cancelled(cancellation)) => {
                    tries.after_unknown |= cancellation.after_unknown;
                    cancellation.reasons
                }
                Err(error) => return Err(NotWritten::Store(error)),
            };
            match transaction.classify(&reasons) {
                Verdict::Rejected(rejection) => return Ok(WriteOutcome::Rejected(rejection)),
                Verdict::MarkerExists(item) => return Ok(WriteOutcome::MarkerExists(item)),
                Verdict::Broken(broken) => return Err(NotWritten::Broken(broken.to_string())),
                Verdict::Throttled => {
                    self.metrics.count(Metric::Throttled, tenant, operation);
                    return Err(NotWritten::Throttled);
                }
                Verdict::Conflict => {}
            }
            if !self.wait_after_conflict(tenant, operation, tries).await {
                return Err(NotWritten::Contended);
            }
        }
    }

    /// Counts a conflict and pauses. Returns `false` if no retry is left.
    pub(super) async fn wait_after_conflict(&self, tenant: &Tenant, operation: Operation, tries: &mut Tries) -> bool {
        // An alarm watches this metric. That workers meet on an index entry or a lease is no fault.
        if !OF_WORKERS.contains(&operation) {
            self.metrics.count(Metric::TransactionConflict, tenant, operation);
        }
        if tries.conflicts >= retry::CONFLICT_RETRIES {
            return false;
        }
        let pause = retry::backoff(tries.conflicts, self.entropy.jitter());
        tries.conflicts = tries.conflicts.saturating_add(1);
        tokio::time::sleep(pause).await;
        true
    }

    /// Writes a transaction, retrying conflicts, and turns failures into problems.
    ///
    /// # Errors
    /// The problem to answer with; after an unknown outcome, the call can be repeated.
    pub(crate) async fn attempt(
        &self,
        tenant: &Tenant,
        operation: Operation,
        transaction: &Transaction,
    ) -> Result<WriteOutcome, Problem> {
        let written = self.write_through(tenant, operation, transaction, &mut Tries::default()).await;
        written.map_err(|error| match error {
            NotWritten::Contended | NotWritten::Throttled => Problem::busy(),
            NotWritten::Broken(what) => self.broken(tenant, operation, &what),
            NotWritten::Store(error) => self.not_written(tenant, operation, &error),
        })
    }
}
