//! Runs each worker once for a test's tenant, under its function's role.

use super::World;
use super::event_tap::EventTap;
use super::settling::RecordedSagas;
use crate::cloud::gate;
use jobs::Progress;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_runtime::app::App;
use ledger_runtime::migration::{self, Migrated};
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::{Published, Publisher};
use ledger_runtime::sealing::Sealed;
use ledger_runtime::settlement::Started;
use ledger_runtime::topups::Recovered;
use ledger_runtime::worker::Due;
use std::sync::Arc;
use std::time::Duration;

tokio::task_local! {
    /// The receiver of what a test publishes while it seals.
    static RECEIVER: EventTap;
}

/// Runs a part of a test whose seals publish to this receiver.
pub async fn receiving<T>(tap: &EventTap, part: impl Future<Output = T>) -> T {
    RECEIVER.scope(tap.clone(), part).await
}

/// Runs the worker that publishes and seals once for a tenant, into the receiver of [`receiving`] or another that takes
/// every event.
///
/// # Errors
/// The worker's errors.
pub async fn seal(app: &App, tenant: &Tenant) -> Result<Sealed, Problem> {
    let receiver = RECEIVER.try_with(EventTap::clone).unwrap_or_default();
    let publisher = Publisher::new(app, Arc::new(receiver));
    let passed = gate::as_function("outbox", outbox::pass_due(app, Some(&publisher), tenant)).await;
    passed.map(|passed| passed.sealed)
}

impl World {
    /// Runs the worker of jobs once.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn run_jobs(&self) -> Result<Progress, Problem> {
        gate::as_function("jobs", jobs::run_due(&self.app, &self.slug())).await
    }

    /// Announces changed addresses once; returns their number.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn announce_notices(&self, tap: &EventTap) -> Result<usize, Problem> {
        gate::as_function("jobs", jobs::announce_notices(&self.app, tap, &self.slug())).await
    }

    /// Credits everything that waits: runs the worker that publishes and seals once. Returns what it sealed.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn credit(&self) -> Result<Sealed, Problem> {
        self.seal().await
    }

    /// Runs the worker that starts settlements once.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn start_settlements(&self) -> Result<Started, Problem> {
        gate::as_function("jobs", jobs::start_settlements(&self.app, &RecordedSagas::default(), &self.slug())).await
    }

    /// Runs the worker that publishes and seals once, into a receiver that takes every event.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn seal(&self) -> Result<Sealed, Problem> {
        seal(&self.app, &self.slug()).await
    }

    /// Runs the migration worker once: a slice of the passes that are due.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn migrate(&self) -> Result<Migrated, Problem> {
        gate::as_function("migrate", migrate::run(&self.app, &Due::everything(self.slug()))).await
    }

    /// Runs the migration worker for this long.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn migrate_for(&self, slice: Duration) -> Result<Migrated, Problem> {
        gate::as_function("migrate", migration::run_due(&self.app, &self.slug(), slice)).await
    }

    /// Runs the recovery worker once.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn recover(&self) -> Result<Recovered, Problem> {
        gate::as_function("outbox", outbox::run_due(&self.app, &self.slug())).await
    }

    /// Runs the publishing worker once into a test's sink: for `changed` items, as the stream does, or for all that is
    /// due, which is then sealed.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn publish(&self, to: &EventTap, changed: Vec<Item>) -> Result<Published, Problem> {
        let publisher = Publisher::new(&self.app, Arc::new(to.clone()));
        let due = Due { changed, ..Due::everything(self.slug()) };
        gate::as_function("outbox", outbox::publish_due(&self.app, Some(&publisher), &due)).await
    }
}
