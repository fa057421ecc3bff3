//! The migration of a tenant from God Records to split records.
//!
//! It consists of the operator's view and the passes over all customers. A pass runs in slices. What a slice leaves
//! unfinished, the next slice or the customer's next request does.

mod customer;
mod slice;

pub use slice::{Migrated, run_due};

use crate::app::App;
use crate::execute::PlanError;
use crate::problem::Problem;
use crate::views::MigrationView;
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::migration::{
    Layout, Migration, Pass, PassKind, PassRequest, Phase, Refused, evidence, pass_key, plan_pass,
};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::reads;
use ledger_core::transaction::Planned;

impl App {
    /// Returns the state of a tenant's migration, with its passes.
    ///
    /// # Errors
    /// 503 if the table did not answer.
    pub async fn migration_view(&self, tenant: &Tenant) -> Result<MigrationView, Problem> {
        let passes = self.passes(tenant).await?;
        Ok(match &*self.dynamo().reread_layout(tenant).await? {
            Layout::Migrating(migration) => MigrationView::of(migration, &passes, self.now()),
            Layout::Split => MigrationView::split(&passes),
        })
    }

    /// Reads a tenant's migration from the table.
    ///
    /// # Errors
    /// 404 if the tenant's layout is split records, 503 if the table did not answer.
    pub async fn migration(&self, tenant: &Tenant) -> Result<Migration, Problem> {
        match &*self.dynamo().reread_layout(tenant).await? {
            Layout::Migrating(migration) => Ok(migration.clone()),
            Layout::Split => Err(Problem::not_found()),
        }
    }

    /// Enters the next phase or the previous one. Does nothing if the tenant is in the phase already.
    ///
    /// # Errors
    /// 400 if the phase may not be entered, 404 without a migration, 503 if another request has just changed it.
    pub async fn enter_phase(&self, tenant: &Tenant, number: u8, actor: Actor) -> Result<MigrationView, Problem> {
        let migration = self.migration(tenant).await?;
        let to = Phase::new(migration.phase.model(), number);
        let to = to.map_err(|error| Problem::invalid_field("phase", error))?;
        if to != migration.phase {
            let known = evidence(&self.passes(tenant).await?);
            let moved = migration.moved(to, &known, self.now()).map_err(|refused| not_yet(&refused))?;
            let cx = self.ledger().context(self.now())?;
            let change = moved.replacing(&migration, tenant, actor, &cx).map_err(|_| Problem::internal())?;
            self.ledger().apply(tenant, Operation::Migration, &change).await?;
        }
        self.migration_view(tenant).await
    }

    /// Plans a pass that staff request. The first contracting pass also starts the contraction.
    ///
    /// # Errors
    /// [`PlanError`] if there is no migration, or it may not be contracted yet.
    pub async fn plan_pass(&self, request: &PassRequest<'_>, cx: &Context) -> Result<Planned<Pass>, PlanError> {
        let layout = self.dynamo().reread_layout(request.tenant).await?;
        let Layout::Migrating(read) = &*layout else { return Err(PlanError::Missing) };
        let setting = match request.kind {
            PassKind::Contract if !read.contracting => read.contracting(cx.now).map_err(|refused| not_yet(&refused))?,
            PassKind::Contract | PassKind::Backfill | PassKind::Verify => read.clone(),
        };
        let before = self.dynamo().get(&pass_key(request.tenant, request.kind)).await?;
        let before = before.as_ref().map(Pass::read).transpose()?;
        Ok(plan_pass(request, (read, &setting), before.as_ref(), cx)?)
    }

    /// Reads a tenant's last pass of each kind.
    async fn passes(&self, tenant: &Tenant) -> Result<Vec<Pass>, Problem> {
        let items = self.dynamo().query(&reads::migration_passes(tenant)).await?;
        Ok(items.iter().map(Pass::read).collect::<Result<_, ItemError>>()?)
    }
}

/// Turns a refused move into a problem, whose detail says what has to be done first.
fn not_yet(refused: &Refused) -> Problem {
    match refused {
        Refused::NotAdjacent { .. } => Problem::invalid_field("phase", refused),
        Refused::Unsettled { wait } => Problem::not_yet(refused).retry_after(*wait),
        Refused::NotBackfilled { .. }
        | Refused::NotVerified { .. }
        | Refused::Contracting
        | Refused::NotLast
        | Refused::NotContracted { .. } => Problem::not_yet(refused),
    }
}
