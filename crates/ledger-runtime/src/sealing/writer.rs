//! Writes the transactions of a tenant's trail.

use crate::app::App;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::transaction::{BuildError, Transaction};

/// Writes a tenant's trail.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) app: &'a App,
    pub(super) tenant: &'a Tenant,
}

impl Writer<'_> {
    pub(super) async fn write(self, transaction: &Transaction) -> Result<WriteOutcome, Problem> {
        self.app.ledger().attempt(self.tenant, Operation::Sealing, transaction).await
    }

    pub(super) fn built<T>(self, built: Result<T, BuildError>) -> Result<T, Problem> {
        built.map_err(|error| self.broken(&error.to_string()))
    }

    pub(super) fn broken(self, what: &str) -> Problem {
        self.app.ledger().broken(self.tenant, Operation::Sealing, what)
    }
}
