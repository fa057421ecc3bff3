//! Trail records of PSP calls that are written without a transition.

use super::PspExecutor;
use super::records::Records;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use crate::psp::LookupResult;
use ledger_core::idempotency::Flight;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::time::Timestamp;
use ledger_core::trail::{ProviderAnswer, Record};
use ledger_core::transaction::Transaction;

impl PspExecutor {
    /// Records that a request is about to be sent again. `false` if the write failed: then it must not be sent.
    pub(super) async fn note_sending(
        &self,
        flight: &Flight,
        send: u32,
        answers: &mut Vec<ProviderAnswer>,
        now: Timestamp,
    ) -> bool {
        let record = Record::sent_again(flight, send.saturating_add(1), answers, now);
        let noted = self.note(&flight.tenant, flight.operation, record).await;
        if noted.is_ok() {
            answers.clear();
        }
        noted.is_ok()
    }

    /// Records answers that lead to no transition. A failed write is ignored: the trail then has the attempt without an
    /// answer.
    pub(super) async fn note_unknown(&self, flight: &Flight, answers: &[ProviderAnswer]) {
        if !answers.is_empty() {
            let record = Record::answered(flight, answers, self.ledger.clock().now());
            let _ = self.note(&flight.tenant, flight.operation, record).await;
        }
    }

    /// Writes a trail record alone. If it exists already, a concurrent request has written the same.
    pub(super) async fn note(&self, tenant: &Tenant, operation: Operation, record: Record) -> Result<(), Problem> {
        let broken = |what: &str| self.ledger.broken(tenant, operation, what);
        let transaction = Transaction::record(record).map_err(|error| broken(&error.to_string()))?;
        match self.ledger.attempt(tenant, operation, &transaction).await? {
            WriteOutcome::Applied | WriteOutcome::Rejected(_) => Ok(()),
            WriteOutcome::MarkerExists(_) => Err(broken("a record found a marker")),
        }
    }

    /// Looks up what a request has made, and adds the lookup to `answers`.
    pub(super) async fn look_up_request(
        &self,
        flight: &Flight,
        records: &Records,
        now: Timestamp,
        answers: &mut Vec<ProviderAnswer>,
    ) -> LookupResult {
        let seen = self.find(flight, records, now).await;
        answers.push(seen.answers());
        seen
    }
}
