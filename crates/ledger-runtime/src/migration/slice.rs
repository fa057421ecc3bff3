//! A slice of a pass: as many customers as fit into a function's time, at the requested rate.

use super::customer::{CustomerPass, Passing};
use crate::app::App;
use crate::dynamo::CustomerMoveError;
use crate::problem::Problem;
use futures::StreamExt;
use futures::stream;
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::{Actor, CustomerId, Tenant};
use ledger_core::keys::Partition;
use ledger_core::lease::Leased;
use ledger_core::migration::{CustomerRef, Layout, Migration, Pass, PassKind, PassState, evidence};
use ledger_core::operation::Operation;
use ledger_core::transaction::{BuildError, Transaction};
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// How many customers are processed concurrently.
const CUSTOMERS_IN_PARALLEL: usize = 8;

/// What a slice processed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// Customers that were processed.
    pub customers: i64,
    /// Passes that were finished.
    pub passes: usize,
}

/// Continues the due passes of a tenant for at most about `slice`.
///
/// # Errors
/// 503 if the table did not answer; a later call continues.
pub async fn run_due(app: &App, tenant: &Tenant, slice: Duration) -> Result<Migrated, Problem> {
    let mut done = Migrated::default();
    let layout = app.dynamo().reread_layout(tenant).await?;
    let Layout::Migrating(migration) = &*layout else { return Ok(done) };
    if migration.has_settled(app.now()).is_err() {
        return Ok(done);
    }
    let until = Instant::now().checked_add(slice);
    for seen in app.passes(tenant).await? {
        let slice = Slice { app, tenant, migration, until };
        slice.continue_pass(seen, &mut done).await?;
    }
    Ok(done)
}

struct Slice<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    migration: &'a Migration,
    until: Option<Instant>,
}

impl Slice<'_> {
    async fn continue_pass(&self, seen: Pass, done: &mut Migrated) -> Result<(), Problem> {
        let now = self.app.now();
        let Some((mut pass, taken)) = seen.take(self.tenant, now).map_err(|error| unbuilt(&error))? else {
            return self.end(&seen).await;
        };
        if !self.write(&taken).await? {
            return Ok(());
        }
        let lookups = match pass.kind {
            PassKind::Backfill | PassKind::Verify => None,
            PassKind::Contract => Some(self.app.ledger().marker_keys().await?),
        };
        while !self.is_over() && pass.state == PassState::Running {
            if pass.fence != self.migration.fence.number() {
                pass.state = PassState::Superseded;
            } else if !self.page(&mut pass, lookups.as_deref(), done).await? {
                return Ok(());
            }
        }
        if pass.state == PassState::Done {
            done.passes = done.passes.saturating_add(1);
        }
        let released = pass.release(self.app.now()).map_err(|error| unbuilt(&error))?;
        self.write(&released).await?;
        self.end(&pass).await
    }

    fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    /// Processes a page of the table, or the part of it that time allows. Returns `false` if another worker has the
    /// pass.
    async fn page(
        &self,
        pass: &mut Leased<Pass>,
        lookups: Option<&MarkerKeys>,
        done: &mut Migrated,
    ) -> Result<bool, Problem> {
        let page = self.app.dynamo().scan_customers(self.tenant, pass.after.as_ref()).await?;
        let at_a_time = usize::try_from(pass.per_second.max(1)).unwrap_or(usize::MAX);
        for customers in page.customers.chunks(at_a_time) {
            if self.is_over() {
                return Ok(true);
            }
            let began = Instant::now();
            match self.customers(pass, lookups, customers).await {
                Ok(()) => {}
                Err(CustomerMoveError::Fenced) => {
                    pass.state = PassState::Superseded;
                    return Ok(true);
                }
                Err(error) => return Err(self.stopped(&error)),
            }
            let seen = i64::try_from(customers.len()).unwrap_or(i64::MAX);
            pass.tally.customers = pass.tally.customers.saturating_add(seen);
            done.customers = done.customers.saturating_add(seen);
            // INVARIANT: tally and position are one write, so that a slice that crashes counts no customer twice.
            pass.after = customers.last().map(|last| Partition::customer(self.tenant, *last).god_record());
            let progress = pass.progress(self.app.now()).map_err(|error| unbuilt(&error))?;
            if !self.write(&progress).await? {
                return Ok(false);
            }
            if let Some(paced) = began.checked_add(least(customers.len(), pass.per_second)) {
                tokio::time::sleep_until(paced).await;
            }
        }
        pass.after = page.next;
        if pass.after.is_none() {
            pass.state = PassState::Done;
            pass.finished_at = Some(self.app.now());
        }
        Ok(true)
    }

    async fn customers(
        &self,
        pass: &mut Pass,
        lookups: Option<&MarkerKeys>,
        customers: &[CustomerId],
    ) -> Result<(), CustomerMoveError> {
        let passing = Passing { app: self.app, migration: self.migration, kind: pass.kind, lookups };
        let one = |customer: CustomerId| async move {
            let customer_ref = CustomerRef { tenant: self.tenant.clone(), customer };
            (customer, passing.customer(&customer_ref).await)
        };
        let mut looked = stream::iter(customers.iter().copied().map(one)).buffer_unordered(CUSTOMERS_IN_PARALLEL);
        while let Some((customer, looked)) = looked.next().await {
            let CustomerPass { changed, left } = looked?;
            pass.tally.changed = pass.tally.changed.saturating_add(i64::from(changed));
            if let Some(left) = left {
                pass.tally.add_finding(customer, left.concerns, left.what);
            }
        }
        Ok(())
    }

    /// Ends the migration if this pass was a contraction that left no customer unfinished.
    async fn end(&self, pass: &Pass) -> Result<(), Problem> {
        let now = self.app.now();
        let is_last = pass.kind == PassKind::Contract && pass.state == PassState::Done;
        if !is_last || self.migration.may_end(&evidence(std::slice::from_ref(pass)), now).is_err() {
            return Ok(());
        }
        let cx = self.app.ledger().context(now)?;
        let actor = Actor::Staff(pass.requested_by);
        let ended = self.migration.ended(self.tenant, actor, &cx).map_err(|error| unbuilt(&error))?;
        self.write(&ended).await?;
        self.app.dynamo().reread_layout(self.tenant).await?;
        self.app.records().forget_tenant(self.tenant);
        Ok(())
    }

    async fn write(&self, transaction: &Transaction) -> Result<bool, Problem> {
        self.app.ledger().apply_as_read(self.tenant, Operation::Migration, transaction).await
    }

    fn stopped(&self, error: &CustomerMoveError) -> Problem {
        tracing::warn!(tenant = %self.tenant, %error, "a pass of the migration stopped: the next tick continues it");
        Problem::unavailable()
    }
}

/// Returns the least time that this many customers must take, so that several small pages do not exceed the rate.
fn least(customers: usize, per_second: u32) -> Duration {
    let at_one_a_second = Duration::from_secs(u64::try_from(customers).unwrap_or(u64::MAX));
    at_one_a_second.checked_div(per_second).unwrap_or(at_one_a_second)
}

fn unbuilt(error: &BuildError) -> Problem {
    tracing::error!(%error, "a change of a pass could not be built");
    Problem::internal()
}
