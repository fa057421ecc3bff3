//! What is put on record of the provider's calls where no transition is written that could take it along.

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
    /// A request is about to be sent once more. Not if that cannot be put on record: then it is not sent.
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

    /// What was heard decides nothing. Should it not get on record, the attempt stands there without an answer.
    pub(super) async fn note_unknown(&self, flight: &Flight, heard: &[Heard]) {
        if !heard.is_empty() {
            let record = Record::answered(flight, heard, self.ledger.clock().now());
            let _ = self.note(&flight.tenant, flight.operation, record).await;
        }
    }

    /// Puts a record down, alone. Whoever has the same one has put it down.
    pub(super) async fn note(&self, tenant: &Tenant, operation: Operation, record: Record) -> Result<(), Problem> {
        let broken = |what: &str| self.ledger.broken(tenant, operation, what);
        let transaction = Transaction::record(record).map_err(|error| broken(&error.to_string()))?;
        match self.ledger.attempt(tenant, operation, &transaction).await? {
            WriteOutcome::Applied | WriteOutcome::Rejected(_) => Ok(()),
            WriteOutcome::MarkerExists(_) => Err(broken("a record met a marker")),
        }
    }

    /// Looks for what a request has made, and takes down what it sees.
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
