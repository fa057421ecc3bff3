//! Trail records of PSP calls that are written without a transition.

use super::Desk;
use super::records::Records;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use crate::psp::Sighting;
use ledger_core::idempotency::Flight;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::time::Timestamp;
use ledger_core::trail::{Heard, Record};
use ledger_core::transaction::Transaction;

impl Desk {
    /// Records that a request is about to be sent again. `false` if the write failed: then it must not be sent.
    pub(super) async fn note_sending(
        &self,
        flight: &Flight,
        send: u32,
        heard: &mut Vec<Heard>,
        now: Timestamp,
    ) -> bool {
        let record = Record::sent_again(flight, send.saturating_add(1), heard, now);
        let noted = self.note(&flight.tenant, flight.operation, record).await;
        if noted.is_ok() {
            heard.clear();
        }
        noted.is_ok()
    }

    /// Records answers that lead to no transition. A failed write is ignored: the trail then has the attempt without an
    /// answer.
    pub(super) async fn note_unknown(&self, flight: &Flight, heard: &[Heard]) {
        if !heard.is_empty() {
            let record = Record::answered(flight, heard, self.ledger.clock().now());
            let _ = self.note(&flight.tenant, flight.operation, record).await;
        }
    }

    /// Writes a trail record alone. If it exists already, a concurrent request has written the same.
    pub(super) async fn note(&self, tenant: &Tenant, operation: Operation, record: Record) -> Result<(), Problem> {
        let broken = |what: &str| self.ledger.broken(tenant, operation, what);
        let transaction = Transaction::record(record).map_err(|error| broken(&error.to_string()))?;
        match self.ledger.attempt(tenant, operation, &transaction).await? {
            WriteOutcome::Applied | WriteOutcome::Rejected(_) => Ok(()),
            WriteOutcome::MarkerExists(_) => Err(broken("a record met a marker")),
        }
    }

    /// Looks up what a request has made, and adds the lookup to `heard`.
    pub(super) async fn look_for(
        &self,
        flight: &Flight,
        records: &Records,
        now: Timestamp,
        heard: &mut Vec<Heard>,
    ) -> Sighting {
        let seen = self.find(flight, records, now).await;
        heard.push(seen.heard());
        seen
    }
}
