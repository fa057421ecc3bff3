//! The one loop that writes a transaction through conflicts.

use super::Ledger;
use crate::dynamo::WriteError;
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::retry;
use ledger_core::transaction::{Rejection, Transaction, Verdict};

/// What became of one transaction.
pub(crate) enum WriteOutcome {
    /// It was applied.
    Applied,
    /// Its marker exists: this is it.
    MarkerExists(Item),
    /// A guard does not hold.
    Rejected(Rejection),
}

/// Why it is not known what became of a transaction, or why it cannot be applied.
pub(super) enum NotWritten {
    /// It met conflicts as often as it may; not applied.
    Contended,
    /// DynamoDB asked for a pause; not applied.
    Throttled,
    /// No guard explains why it was cancelled: a fault of ours; not applied.
    Broken(String),
    /// The store refused it, or did not say.
    Store(WriteError),
}

/// How often a request has been tried again.
#[derive(Debug, Default)]
pub(super) struct Tries {
    pub(super) conflicts: u32,
    pub(super) replans: u32,
    /// The outcome of an attempt is not known: it may still be applied, unless the key gets an answer first.
    pub(super) after_unknown: bool,
}

impl Ledger {
    /// Writes a transaction, again after each conflict as long as tries are left.
    // INVARIANT: only conflicts are tried again.
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
                Verdict::MarkerStands(item) => return Ok(WriteOutcome::MarkerExists(item)),
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

    /// Counts a conflict and pauses; `false` when no try is left.
    pub(super) async fn wait_after_conflict(&self, tenant: &Tenant, operation: Operation, tries: &mut Tries) -> bool {
        // An alarm on money hangs on this metric: publishers of one entry move the same index entry, and that is none.
        if operation != Operation::Publish {
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

    /// Executes a transaction through conflicts.
    ///
    /// # Errors
    /// The problem to answer with; after an unknown outcome, repeating it is safe.
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
