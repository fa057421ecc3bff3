//! Reads the whole table in segments, within the limit of read units per second.

use super::Settings;
use super::spill::Spill;
use crate::dynamo::{Dynamo, ReadError, Readable, Scanned};
use crate::problem::Problem;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use ledger_core::dynamo::Value;
use ledger_core::ids::Tenant;
use ledger_core::reads::Segment;
use ledger_core::reconcile::run::Tally;
use ledger_core::reconcile::{Finding, Observation, of_item};
use ledger_core::retry;
use ledger_core::time::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// The number of retries for one page.
const TRIES: u32 = 6;

/// A read of the whole table, with several pages in flight.
pub(super) struct Reading<'a> {
    dynamo: &'a Dynamo,
    tenant: &'a Tenant,
    settings: &'a Settings,
    now: Timestamp,
    began: Instant,
    jitter: u32,
    pages: FuturesUnordered<BoxFuture<'static, Result<Scanned, Problem>>>,
    /// The findings about single items.
    pub(super) findings: Vec<Finding>,
}

impl<'a> Reading<'a> {
    /// Starts to read every segment.
    pub(super) fn new(
        (dynamo, tenant): (&'a Dynamo, &'a Tenant),
        settings: &'a Settings,
        now: Timestamp,
        jitter: u32,
    ) -> Self {
        let (pages, findings) = (FuturesUnordered::new(), Vec::new());
        let this = Self { dynamo, tenant, settings, now, began: Instant::now(), jitter, pages, findings };
        for segment in Segment::all(settings.segments) {
            this.pages.push(this.page(segment));
        }
        this
    }

    /// Reads the next page of the tenant's items and adds their facts to `spill`. `false` after the last page.
    pub(super) async fn next(&mut self, spill: &mut Spill, tally: &mut Tally) -> Result<bool, Problem> {
        let Some(page) = self.pages.next().await else { return Ok(false) };
        let page = page?;
        if self.began.elapsed() >= self.settings.longest {
            tracing::error!(tenant = %self.tenant, "the table is too large for one run: reconcile its export");
            return Err(Problem::internal());
        }
        tally.units = tally.units.saturating_add(i64::try_from(page.units).unwrap_or(i64::MAX));
        for readable in &page.items {
            tally.items = tally.items.saturating_add(1);
            for observation in of_item(&with_unsupported_marked(readable), self.now, self.settings.limits) {
                match observation {
                    Observation::Fact(fact) => spill.add(&fact).map_err(|error| unkept(&error))?,
                    Observation::Break(finding) => self.findings.push(finding),
                    Observation::Newer(newer) => {
                        let count = tally.newer.entry(newer.name.to_owned()).or_default();
                        *count = count.saturating_add(1);
                    }
                }
            }
        }
        tokio::time::sleep_until(self.due(tally)).await;
        if let Some(next) = page.next {
            self.pages.push(self.page(next));
        }
        Ok(true)
    }

    fn page(&self, segment: Segment) -> BoxFuture<'static, Result<Scanned, Problem>> {
        let (dynamo, tenant, jitter) = (self.dynamo.clone(), self.tenant.clone(), self.jitter);
        Box::pin(async move {
            let mut tries = 0;
            loop {
                match dynamo.scan_page(&segment, &tenant).await {
                    Ok(page) => return Ok(page),
                    Err(ReadError::Throttled | ReadError::Unavailable(_)) if tries < TRIES => {
                        tries = tries.saturating_add(1);
                        tokio::time::sleep(retry::backoff(tries, jitter)).await;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        })
    }

    /// The earliest time at which the units read so far are within the limit.
    fn due(&self, tally: &Tally) -> Instant {
        let units = u64::try_from(tally.units).unwrap_or_default();
        let due_ms = units.saturating_mul(1000).checked_div(self.settings.units_per_second.max(1)).unwrap_or_default();
        self.began.checked_add(Duration::from_millis(due_ms)).unwrap_or(self.began)
    }
}

/// The item, with attributes of types that we never write marked as unreadable: a reader that needs one then fails.
pub(super) fn with_unsupported_marked(readable: &Readable) -> ledger_core::dynamo::Item {
    let mut item = readable.item.clone();
    for unsupported in &readable.unsupported {
        item.insert(unsupported.clone(), Value::of_unknown_type());
    }
    item
}

pub(super) fn unkept(error: &std::io::Error) -> Problem {
    tracing::error!(%error, "facts of a reconciliation cannot be stored");
    Problem::internal()
}
