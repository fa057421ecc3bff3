//! Writes a transaction, retrying conflicts.

use super::Ledger;
use crate::dynamo::{ReadError, WriteError};
use crate::metrics::Metric;
use crate::problem::Problem;
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::ids::Tenant;
use ledger_core::keys::Key;
use ledger_core::migration::Layout;
use ledger_core::operation::Operation;
use ledger_core::retry;
use ledger_core::transaction::{Rejection, Transaction, Verdict};
use std::collections::BTreeMap;

/// How often one transaction is built again because another one has opened or frozen an account that it would open.
const OPENINGS_MAX: u32 = 8;
/// Workers of which several may write the same item at once.
const OF_WORKERS: [Operation; 3] = [Operation::Publish, Operation::Sealing, Operation::Figures];

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
    /// Writes a transaction, again after each conflict while retries are left. An account that it credits and that does
    /// not exist opens itself, if its holder's profile is open.
    // INVARIANT: only conflicts are retried, and a transaction that was rejected.
    pub(super) async fn write_through(
        &self,
        tenant: &Tenant,
        operation: Operation,
        transaction: &Transaction,
        tries: &mut Tries,
    ) -> Result<WriteOutcome, NotWritten> {
        for _ in 0..OPENINGS_MAX {
            let outcome = self.write_as_built(tenant, operation, transaction, tries).await?;
            let WriteOutcome::Rejected(rejection) = &outcome else { return Ok(outcome) };
            let profiles = transaction.profiles_to_open(rejection);
            if profiles.is_empty() {
                return Ok(outcome);
            }
            // Boxed, because this rare future is large and would be part of every write's.
            let opening = Box::pin(self.opening(tenant, transaction, rejection, &profiles)).await?;
            let Some(opening) = opening else { return Ok(outcome) };
            match self.write_as_built(tenant, operation, &opening, tries).await? {
                // The account was opened, or its holder's profile has changed. If it is a guard of the transaction itself
                // that fails, it fails again when the transaction is written as it was built.
                WriteOutcome::Rejected(rejection) if rejection.failure == Failure::StalePlan => {}
                outcome @ (WriteOutcome::Applied | WriteOutcome::MarkerExists(_) | WriteOutcome::Rejected(_)) => {
                    return Ok(outcome);
                }
            }
        }
        Err(NotWritten::Contended)
    }

    /// The transaction that opens the accounts which a rejection reports as missing; `None` if they do not open.
    async fn opening(
        &self,
        tenant: &Tenant,
        transaction: &Transaction,
        rejection: &Rejection,
        profiles: &[Key],
    ) -> Result<Option<Transaction>, NotWritten> {
        // In a legacy model, what is missing was not brought from there.
        let Layout::Split = *self.dynamo.layout(tenant).await.map_err(not_read)? else { return Ok(None) };
        let mut found = BTreeMap::new();
        for key in profiles {
            let Some(profile) = self.dynamo.get(key).await.map_err(not_read)? else { return Ok(None) };
            found.insert(key.clone(), profile);
        }
        transaction.opening(rejection, &found).map_err(|error| NotWritten::Broken(error.to_string()))
    }

    async fn write_as_built(
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
            if let Some(error) = transaction.later_form(&reasons) {
                return Err(NotWritten::Store(WriteError::LaterForm(error)));
            }
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

/// Nothing was written: the transaction was rejected before the read.
fn not_read(error: ReadError) -> NotWritten {
    match error {
        ReadError::Throttled | ReadError::Unavailable(_) => NotWritten::Throttled,
        ReadError::Unreadable(error) if error.is_later_form() => NotWritten::Store(WriteError::LaterForm(error)),
        ReadError::Refused(_) | ReadError::Unreadable(_) | ReadError::Unadoptable(_) => {
            NotWritten::Broken(error.to_string())
        }
    }
}
