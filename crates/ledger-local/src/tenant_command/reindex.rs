//! `tenant reindex`: writes what lists and searches find a tenant's records by, where it is missing or was made with an
//! earlier key. It may be stopped at any time and run again: what is as it must be is not written.

use super::TenantError;
use crate::marker_keys;
use crate::operator::ledger;
use futures::future::try_join_all;
use ledger_core::dynamo::Item;
use ledger_core::finding::{Indexing, IndexingError, KINDS, Kept};
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key};
use ledger_core::operation::Operation;
use ledger_core::reads::{self, Request, Segment};
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::execute::Ledger;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

/// The number of segments of the table, one read after the other.
const SEGMENTS: u16 = 16;
/// The parts of a run: the segments for cards, and for everything else.
const PARTS: u16 = 2 * SEGMENTS;
/// The records that are read and written at the same time.
const RECORDS_AT_ONCE: usize = 16;
/// How often a record is compared again that was changed meanwhile.
const ROUNDS_MAX: usize = 5;
/// The interval between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

/// The arguments of `tenant reindex`.
#[derive(Debug, Clone)]
pub struct ReindexCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The file with the keys of markers.
    pub marker_keys: PathBuf,
    /// Whether differences are only reported.
    pub verify: bool,
    /// The largest number of read units that the scan consumes per second.
    pub units_per_second: u32,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why a tenant's records were not all added to the lists.
#[derive(Debug, thiserror::Error)]
pub enum ReindexError {
    /// The table could not be read.
    #[error("{0}; run the same command again")]
    Read(#[from] ReadError),
    /// A record changed in every round.
    #[error("a record of the {0} was changed in every attempt: run the same command again")]
    Busy(&'static str),
}

/// What was found of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// The records that were compared.
    records: u64,
    /// Those that did not have all that they must have.
    differing: u64,
    /// Those that cannot be read.
    unreadable: u64,
}

/// What was found, by the kind's name.
type Found = BTreeMap<&'static str, Counts>;

/// Adds what lists and searches find the tenant's records by, or reports what is missing. Returns the findings as lines of
/// text, and `false` if records differ and were not written, or cannot be read.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn reindex(command: &ReindexCommand, progress: impl Fn(&str)) -> Result<(String, bool), TenantError> {
    let slug = Tenant::parse(&command.slug).map_err(|error| TenantError::Slug(command.slug.clone(), error))?;
    let keys = marker_keys::from_file(&command.marker_keys)?;
    let ledger = ledger(&command.table, command.endpoint_url.as_deref()).await?;
    let config = ledger.dynamo().get(&keys::config(&slug)).await.map_err(|error| TenantError::Store(error.into()))?;
    if config.is_none() {
        return Err(TenantError::NotOpen(slug.to_string()));
    }
    let run = Run { ledger: &ledger, tenant: &slug, keys: &keys, writes: !command.verify };
    let mut found: Found = KINDS.iter().map(|kind| (kind.name, Counts::default())).collect();
    let (began, mut units, mut last) = (Instant::now(), 0_u64, Instant::now());
    let reads: [fn(&Tenant, &Segment) -> Request; 2] = [reads::found_records, reads::stored_cards];
    let passes =
        reads.into_iter().flat_map(|read| Segment::all(SEGMENTS).into_iter().map(move |segment| (read, segment)));
    for (number, (read, segment)) in (1_u16..).zip(passes) {
        let mut next = Some(segment);
        while let Some(segment) = next.take() {
            let page = ledger.dynamo().found_records(read, &segment, &slug).await.map_err(ReindexError::Read)?;
            run.compare(&page.keys, &mut found).await?;
            units = units.saturating_add(page.units);
            next = page.next;
            if last.elapsed() >= PROGRESS_EVERY {
                last = Instant::now();
                progress(&format!("part {number} of {PARTS}: {}", text(&found, command.verify)));
            }
            let due = began.checked_add(time_for(units, command.units_per_second));
            tokio::time::sleep_until(due.unwrap_or(began)).await;
        }
    }
    let is_whole = |counts: &Counts| counts.unreadable == 0 && (counts.differing == 0 || !command.verify);
    Ok((text(&found, command.verify), found.values().all(is_whole)))
}

/// The time in which this number of units may be consumed.
fn time_for(units: u64, units_per_second: u32) -> Duration {
    let millis = units.saturating_mul(1000).checked_div(u64::from(units_per_second.max(1)));
    Duration::from_millis(millis.unwrap_or_default())
}

fn text(found: &Found, verify: bool) -> String {
    let mut text = String::new();
    for (name, Counts { records, differing, unreadable }) in found {
        let done = if verify { "differ" } else { "were written" };
        let separator = if text.is_empty() { "" } else { "; " };
        let _ = write!(text, "{separator}{name}: {records} read, {differing} {done}");
        if *unreadable > 0 {
            let _ = write!(text, ", {unreadable} cannot be read");
        }
    }
    text
}

/// What a run needs.
#[derive(Clone, Copy)]
struct Run<'a> {
    ledger: &'a Ledger,
    tenant: &'a Tenant,
    keys: &'a MarkerKeys,
    writes: bool,
}

impl Run<'_> {
    /// Compares the records of a page, some at a time.
    async fn compare(&self, keys: &[Key], found: &mut Found) -> Result<(), TenantError> {
        let records: Vec<Indexing<'_>> = keys.iter().filter_map(Indexing::of).collect();
        for records in records.chunks(RECORDS_AT_ONCE) {
            for (name, counts) in try_join_all(records.iter().map(|record| self.record(*record))).await? {
                let all = found.entry(name).or_default();
                all.records = all.records.saturating_add(counts.records);
                all.differing = all.differing.saturating_add(counts.differing);
                all.unreadable = all.unreadable.saturating_add(counts.unreadable);
            }
        }
        Ok(())
    }

    async fn record(&self, record: Indexing<'_>) -> Result<(&'static str, Counts), TenantError> {
        let name = record.kind().name;
        let mut counts = Counts { records: 1, ..Counts::default() };
        for _ in 0..ROUNDS_MAX {
            let items: Vec<Option<Item>> =
                self.ledger.dynamo().get_many(&record.keys()).await.map_err(ReindexError::Read)?;
            let transaction = match record.compare(self.tenant, &items, self.keys) {
                Ok(Kept::Whole) => return Ok((name, counts)),
                Ok(Kept::Differs(_, transaction)) => transaction,
                Err(IndexingError::Stored(_)) => {
                    counts.unreadable = 1;
                    return Ok((name, counts));
                }
                Err(IndexingError::Build(error)) => return Err(error.into()),
            };
            counts.differing = 1;
            let write = self.ledger.apply_as_read(self.tenant, Operation::Reindex, &transaction);
            if !self.writes || write.await.map_err(TenantError::Store)? {
                return Ok((name, counts));
            }
        }
        Err(ReindexError::Busy(name).into())
    }
}
