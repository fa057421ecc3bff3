//! When a worker of the local stack runs: at its ticks, but not while it has nothing to do.

use crate::engine::Activity;
use ledger_core::ids::Tenant;
use ledger_core::keys::DueKind;
use ledger_core::time::Timestamp;
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::problem::Problem;
use std::time::{Duration, Instant};
use tokio::time::Interval;

/// The longest time between two runs of a worker, as with its schedule on AWS.
const RUN_AT_LEAST_EVERY: Duration = Duration::from_secs(60);

/// The state of a worker's schedule.
///
/// The worker runs at each tick if its last run failed, wrote something or found something due. Otherwise it rests
/// until the store is written to, until its next work becomes due, or for a minute.
#[derive(Debug)]
pub(crate) struct Pace {
    ticks: Interval,
    /// The counts of the embedded engine's requests; `None` for another store, whose writes are not known.
    activity: Option<Activity>,
    /// The value of [`Activity::work`] when the current run began.
    began: u64,
    rest: Option<Rest>,
}

#[derive(Debug)]
struct Rest {
    /// The value of [`Activity::work`] when the run began that found nothing to do.
    work: u64,
    since: Instant,
    /// The time at which the first of its work becomes due.
    next_due: Option<Timestamp>,
}

impl Pace {
    /// The pace of a worker that has not run yet.
    pub(crate) fn of(every: Duration, activity: Option<Activity>) -> Self {
        Self { ticks: tokio::time::interval(every), activity, began: 0, rest: None }
    }

    /// Waits for the next tick at which there may be something to do.
    pub(crate) async fn wait(&mut self, app: &App) {
        loop {
            self.ticks.tick().await;
            // INVARIANT: read before the run reads the store, so that no write is missed.
            self.began = self.work();
            let rests = self.rest.as_ref().is_some_and(|rest| rest.still_holds(self.began, app.now()));
            if !rests {
                return;
            }
        }
    }

    /// Records the end of a run. If it was clean and found nothing, `looks_for` finds the time of the work that ends
    /// the rest.
    pub(crate) async fn ended(&mut self, is_clean: bool, app: &App, tenant: &Tenant, looks_for: &[DueKind]) {
        self.rest = None;
        if self.activity.is_none() || !is_clean || self.work() != self.began {
            return;
        }
        if let Ok(next_due) = next_due(app, tenant, looks_for).await {
            self.rest = Some(Rest { work: self.began, since: Instant::now(), next_due });
        }
    }

    fn work(&self) -> u64 {
        self.activity.as_ref().map_or(0, Activity::work)
    }
}

impl Rest {
    fn still_holds(&self, work: u64, now: Timestamp) -> bool {
        self.work == work && self.since.elapsed() < RUN_AT_LEAST_EVERY && self.next_due.is_none_or(|due| now < due)
    }
}

/// The time at which the first of some work becomes due.
async fn next_due(app: &App, tenant: &Tenant, kinds: &[DueKind]) -> Result<Option<Timestamp>, Problem> {
    if kinds.is_empty() {
        return Ok(None);
    }
    let shards = app.terms(tenant).await?.due_shards;
    let waiting = DueList::read(app.dynamo(), (tenant, shards), Timestamp::from_millis(i64::MAX), kinds).await?;
    Ok(waiting.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_ends_with_a_write_with_due_work_or_after_a_minute() {
        let now = Timestamp::parse("2026-11-21T09:30:00Z").unwrap();
        let due = now.plus(Duration::from_millis(1));
        let rest = |since: Instant| Rest { work: 7, since, next_due: Some(due) };
        assert!(rest(Instant::now()).still_holds(7, now));
        assert!(!rest(Instant::now()).still_holds(8, now), "a write");
        assert!(!rest(Instant::now()).still_holds(7, due), "work that has become due");
        let long_ago = Instant::now().checked_sub(RUN_AT_LEAST_EVERY).unwrap();
        assert!(!rest(long_ago).still_holds(7, now), "a minute");
    }
}
