//! Reading the whole table in segments, no faster than it may cost.

use super::Settings;
use super::spill::Spill;
use crate::dynamo::{Dynamo, ReadError, Segment};
use crate::problem::Problem;
use futures::stream::{FuturesUnordered, StreamExt};
use ledger_core::dynamo::ItemError;
use ledger_core::ids::Tenant;
use ledger_core::ops::reconciliation::Tally;
use ledger_core::reconcile::{Finding, Said, of_item};
use ledger_core::retry;
use ledger_core::time::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// How often a page is asked for again that the store did not give.
const TRIES: u32 = 6;

/// What a whole read gave beside the facts.
pub(super) struct Read<'a> {
    pub(super) dynamo: &'a Dynamo,
    pub(super) tenant: &'a Tenant,
    pub(super) settings: &'a Settings,
    pub(super) now: Timestamp,
    pub(super) until: Instant,
    pub(super) jitter: u32,
}

impl Read<'_> {
    /// Reads everything of the tenant, and tells after each page how far it has come. Facts go to `spill`; what
    /// is wrong with single items is returned.
    pub(super) async fn all(
        &self,
        spill: &mut Spill,
        tally: &mut Tally,
        mut told: impl AsyncFnMut(&Tally) -> Result<(), Problem>,
    ) -> Result<Vec<Finding>, Problem> {
        let began = Instant::now();
        let mut findings = Vec::new();
        let segments = Segment::all(self.settings.segments).into_iter();
        let mut pages: FuturesUnordered<_> = segments.map(|segment| self.page(segment)).collect();
        while let Some(page) = pages.next().await {
            let page = page?;
            if Instant::now() >= self.until {
                tracing::error!(tenant = %self.tenant, "the table is too large for one run: reconcile its export");
                return Err(Problem::internal());
            }
            tally.units = tally.units.saturating_add(i64::try_from(page.units).unwrap_or(i64::MAX));
            for readable in &page.items {
                tally.items = tally.items.saturating_add(1);
                let said = match readable.whole() {
                    Ok(item) => of_item(item, self.now, self.settings.limits),
                    Err(odd) => unreadable(&readable.item, &odd, self.now, self.settings),
                };
                for said in said {
                    match said {
                        Said::Fact(group, fact) => spill.add(&group, &fact).map_err(|error| unkept(&error))?,
                        Said::Break(finding) => findings.push(finding),
                    }
                }
            }
            told(tally).await?;
            self.pace(began, tally).await;
            pages.extend(page.next.map(|segment| self.page(segment)));
        }
        Ok(findings)
    }

    async fn page(&self, segment: Segment) -> Result<crate::dynamo::Scanned, Problem> {
        let mut tries = 0;
        loop {
            match self.dynamo.scan_page(&segment, self.tenant).await {
                Ok(page) => return Ok(page),
                Err(ReadError::Throttled | ReadError::Unavailable(_)) if tries < TRIES => {
                    tries = tries.saturating_add(1);
                    tokio::time::sleep(retry::backoff(tries, self.jitter)).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits until what was read may have been read.
    async fn pace(&self, began: Instant, tally: &Tally) {
        let units = u64::try_from(tally.units).unwrap_or_default();
        let due_ms = units.saturating_mul(1000).checked_div(self.settings.units_per_second.max(1)).unwrap_or_default();
        let due = began.checked_add(Duration::from_millis(due_ms)).unwrap_or(began);
        tokio::time::sleep_until(due).await;
    }
}

/// An attribute of a kind that we never write: nothing else of the item is believed.
fn unreadable(item: &ledger_core::dynamo::Item, odd: &ItemError, now: Timestamp, settings: &Settings) -> Vec<Said> {
    let mut item = item.clone();
    item.insert(odd.attribute.clone(), ledger_core::dynamo::Value::Bool(false));
    of_item(&item, now, settings.limits)
}

pub(super) fn unkept(error: &std::io::Error) -> Problem {
    tracing::error!(%error, "facts of a reconciliation cannot be kept");
    Problem::internal()
}
