//! Runs reconciliations, reads their findings, and stores a break as a run would.

use super::event_tap::EventTap;
use super::world::new_id;
use super::{Call, World};
use crate::audit::{n, s};
use crate::cloud::gate;
use ledger_core::dynamo;
use ledger_core::reconcile::Limits;
use ledger_runtime::problem::Problem;
use ledger_runtime::reconcile::{Outlets, Reconciled, Settings};
use ledger_runtime::worker::Due;
use reconcile::Ran;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl World {
    /// Runs the reconciliation worker once, with short waits.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn reconcile(&self) -> Result<Reconciled, Problem> {
        self.reconcile_as(|_| {}).await
    }

    /// Runs the reconciliation worker once with changed settings.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn reconcile_as(&self, change: impl FnOnce(&mut Settings)) -> Result<Reconciled, Problem> {
        self.reconcile_with(&Outlets::default(), change).await
    }

    /// Runs the reconciliation worker once, with breaks announced to `tap`.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn reconcile_and_announce(&self, tap: &EventTap) -> Result<Reconciled, Problem> {
        let outlets = Outlets { announcer: Some(Arc::new(tap.clone())), ..Outlets::default() };
        self.reconcile_with(&outlets, |_| {}).await
    }

    /// Runs the previews of changes of terms that are due, and returns the number that ended.
    ///
    /// # Errors
    /// The worker's errors.
    pub async fn run_previews(&self) -> Result<usize, Problem> {
        Ok(self.ran(&Outlets::default(), |_| {}).await?.previews)
    }

    async fn reconcile_with(
        &self,
        outlets: &Outlets,
        change: impl FnOnce(&mut Settings),
    ) -> Result<Reconciled, Problem> {
        Ok(self.ran(outlets, change).await?.reconciled)
    }

    async fn ran(&self, outlets: &Outlets, change: impl FnOnce(&mut Settings)) -> Result<Ran, Problem> {
        let mut settings = Settings {
            units_per_second: 1_000_000,
            patience: Duration::from_millis(50),
            index_lag: Duration::from_millis(50),
            limits: Limits::default(),
            nightly: false,
            ..Settings::of(&self.app)
        };
        change(&mut settings);
        let due = Due::everything(self.slug());
        gate::as_function("reconcile", reconcile::run_as((&self.app, outlets), &due, &settings)).await
    }

    /// Requests a run, runs it to its end, and returns its report.
    ///
    /// # Panics
    /// When the run does not end.
    pub async fn reconciled(&self) -> Value {
        let id = self.operator("/v1/admin/reconciliation/runs", &json!({})).await.text("/run_id");
        for _ in 0..50 {
            let _ = self.reconcile().await.expect("the run succeeds");
            let path = format!("/v1/admin/reconciliation/runs/{id}?limit=100");
            let report = self.api.send(&Call::get(&path, &self.operator.who)).await.good().json();
            if !["requested", "running"].contains(&report["status"].as_str().expect("a status")) {
                return report;
            }
        }
        panic!("{id} did not end within 50 runs of the worker")
    }
}

/// Stores a break of one yen too much in a wallet; returns the path that requests its adjustment.
pub(super) async fn adjustment_path(world: &World) -> String {
    let (run, id, customer) = (new_id(), new_id(), world.customer_with("1").await);
    let partition = s(format!("{}#reconciliation#{run}", world.tenant));
    // A break's id has the time of its run, and this run is dated in the future.
    let at = s("2099-01-01T00:00:00.000Z");
    let of_run = [
        ("uuid", partition.clone()),
        ("type", s("RECONCILIATION")),
        ("run_id", s(&run)),
        ("state", s("breaks")),
        ("fence", n(1)),
        ("lease_until", at.clone()),
        ("created_at", at.clone()),
        ("began_at", at),
        ("stored", n(1)),
    ];
    let row = [
        ("uuid", partition),
        ("type", s(format!("BREAK#{id}"))),
        ("finding_id", s(&id)),
        ("kind", s("balance_differs")),
        ("subject", s(format!("customer:{}", customer.id))),
        ("asset", s("ECOPAY")),
        ("expected", s("0")),
        ("found", s("1")),
        ("evidence", dynamo::Value::L(Vec::new())),
        ("proposed", n(-1)),
        ("seen_corrections", n(0)),
    ];
    world.plant(of_run.map(|(name, value)| (name.to_owned(), value)).into()).await;
    world.plant(row.map(|(name, value)| (name.to_owned(), value)).into()).await;
    format!("/v1/admin/reconciliation/runs/{run}/findings/{id}/adjustment")
}
