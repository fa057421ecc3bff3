//! `index`: adds the index [`INDEX_BY_OWNER_KEYS`] to a table of an earlier release, waits until DynamoDB has built it,
//! and compares it with the table.
//!
//! It may be stopped at any time and run again: DynamoDB goes on building, and the comparison only reads.

use crate::audit_command::Place;
use crate::engine::{Data, Engine, EngineConfig, EngineError};
use crate::operator::{self, CredentialsError};
use crate::table::{self, IndexState, TableError};
use ledger_core::dynamo::Item;
use ledger_core::ids::least_born_at;
use ledger_core::keys::{INDEX_BY_OWNER_KEYS, OwnerIndex};
use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use ledger_runtime::dynamo::{self, Dynamo, ListedPage, ReadError};
use ledger_runtime::entropy::Entropy;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;

const STATE_POLL: Duration = Duration::from_secs(2);
/// The interval between two lines of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// A record is written within this time of its id's birth: no function runs longer than 15 minutes.
const WRITTEN_WITHIN: Duration = Duration::from_secs(20 * 60);
/// How far an index is behind its table, with a margin.
const INDEX_LAG: Duration = Duration::from_secs(2);
/// The number of differing owners that are printed.
const DIFFERENCES_SHOWN_MAX: usize = 20;

/// The arguments of `index`.
#[derive(Debug, Clone)]
pub struct IndexCommand {
    /// The table.
    pub place: Place,
    /// The largest number of read units that the comparison consumes per second.
    pub units_per_second: u32,
}

/// Why the index could not be added or compared.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The data file does not exist.
    #[error("the data file {} does not exist: name the table with --table, or the file with --data", .0.display())]
    NoFile(PathBuf),
    /// The engine could not open the data file.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// No AWS credentials were found.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The index could not be added.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The table has another index of this name.
    #[error("table {0} has an index {INDEX_BY_OWNER_KEYS} with other keys or another projection: delete it first")]
    OtherShape(String),
    /// The index is being deleted.
    #[error("the index {INDEX_BY_OWNER_KEYS} of table {0} is being deleted: run this again when it is gone")]
    Deleting(String),
    /// The table could not be read.
    #[error("{0}; run the same command again")]
    Store(#[from] ReadError),
}

/// The number of records listed under each partition key of an index by owner.
type Counts = BTreeMap<String, u64>;

/// What the table or its index lists.
#[derive(Debug, Default)]
struct Listed {
    /// Records that were all written before the first page was read.
    counts: Counts,
    /// Hashes of younger ones. The index may have more of them: it is read later.
    younger: HashSet<u64>,
}

/// Adds the index if the table lacks it, waits until it is built, and compares it with the table. Returns the findings
/// as lines of text, and `true` if the index is complete.
///
/// # Errors
/// [`IndexError`], whose text says what to do.
pub async fn run(command: &IndexCommand, progress: impl Fn(&str)) -> Result<(String, bool), IndexError> {
    let until = Clock::system().now().minus(WRITTEN_WITHIN);
    match &command.place {
        Place::Table { name, endpoint_url } => {
            in_table(name, endpoint_url.as_deref(), command.units_per_second, until, &progress).await
        }
        Place::File { data, .. } if !data.exists() => Err(IndexError::NoFile(data.clone())),
        Place::File { data, table } => {
            let engine = Engine::start(&EngineConfig { data: Data::File(data.clone()), port: None })?;
            let done = in_table(table, Some(&engine.url()), command.units_per_second, until, &progress).await;
            engine.stop().await;
            done
        }
    }
}

/// Does the same. Records born before `until` have all been written.
///
/// # Errors
/// [`IndexError`].
pub async fn in_table(
    table: &str,
    endpoint_url: Option<&str>,
    units_per_second: u32,
    until: Timestamp,
    progress: &impl Fn(&str),
) -> Result<(String, bool), IndexError> {
    let sdk = operator::sdk_config(endpoint_url).await?;
    let client = dynamo::client(&sdk, endpoint_url);
    if table::add_owner_index(&client, table).await? {
        progress(&format!("{INDEX_BY_OWNER_KEYS} was added; DynamoDB fills it with what the table has"));
    }
    let mut reporting = Reporting::new(progress);
    loop {
        match table::owner_index_state(&client, table).await? {
            IndexState::Active => break,
            IndexState::Building => reporting.report(|seconds| {
                format!("{INDEX_BY_OWNER_KEYS} is being built, for {seconds} s since this command began")
            }),
            IndexState::OtherShape => return Err(IndexError::OtherShape(table.to_owned())),
            IndexState::Absent | IndexState::Deleting => return Err(IndexError::Deleting(table.to_owned())),
        }
        tokio::time::sleep(STATE_POLL).await;
    }
    let store = Dynamo::from_client(client, table, Entropy::system());
    // INVARIANT: the table is read first, so the index has whatever was read of the table.
    let of_table = list(&store, Source::Table, until, units_per_second, progress).await?;
    if !of_table.younger.is_empty() {
        tokio::time::sleep(INDEX_LAG).await;
    }
    let of_index = list(&store, Source::Index, until, units_per_second, progress).await?;
    Ok(verdict(&of_table, &of_index, until))
}

#[derive(Clone, Copy)]
enum Source {
    Table,
    Index,
}

impl Source {
    async fn page(self, store: &Dynamo, start: Option<Item>) -> Result<ListedPage, ReadError> {
        match self {
            Self::Table => store.listed_items(start).await,
            Self::Index => store.listed_entries(OwnerIndex::ByOwnerKeys, start).await,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Index => "index",
        }
    }
}

/// Reads what the table or the index lists, and counts the records born before `until`.
async fn list(
    store: &Dynamo,
    source: Source,
    until: Timestamp,
    units_per_second: u32,
    progress: &impl Fn(&str),
) -> Result<Listed, ReadError> {
    let (mut reporting, bound) = (Reporting::new(progress), least_born_at(until).to_string());
    let (mut listed, mut scanned, mut units, mut start) = (Listed::default(), 0_u64, 0_u64, None);
    loop {
        let page = source.page(store, start).await?;
        for (owner, id) in page.keys {
            listed.add(owner, &id, &bound);
        }
        scanned = scanned.saturating_add(page.scanned);
        units = units.saturating_add(page.units);
        reporting.report(|_| format!("comparing: {scanned} items of the {} were read", source.name()));
        start = page.next;
        if start.is_none() {
            return Ok(listed);
        }
        let due = reporting.began.checked_add(time_for(units, units_per_second));
        tokio::time::sleep_until(due.unwrap_or(reporting.began)).await;
    }
}

/// The time in which this number of units may be consumed.
fn time_for(units: u64, units_per_second: u32) -> Duration {
    let millis = units.saturating_mul(1000).checked_div(u64::from(units_per_second.max(1)));
    Duration::from_millis(millis.unwrap_or_default())
}

impl Listed {
    /// Adds a record, by its id in the index. One with an id of `bound` or above may be written while others are read. So
    /// may one of another list than those of merchants, whose sort keys are no ids, or whose entries move.
    fn add(&mut self, owner: String, id: &str, bound: &str) {
        let is_by_id = owner.split('#').nth(1).is_some_and(|kind| matches!(kind, "merchant" | "merchants"));
        if is_by_id && id < bound {
            let count = self.counts.entry(owner).or_default();
            *count = count.saturating_add(1);
        } else {
            let mut hasher = DefaultHasher::new();
            (owner, id).hash(&mut hasher);
            self.younger.insert(hasher.finish());
        }
    }

    fn records(&self) -> u64 {
        self.counts.values().sum()
    }
}

/// Compares owner by owner, so that what one has too much does not hide what another lacks, and younger records one by
/// one, because the index may have more of them.
fn verdict(of_table: &Listed, of_index: &Listed, until: Timestamp) -> (String, bool) {
    let owners: BTreeSet<&String> = of_table.counts.keys().chain(of_index.counts.keys()).collect();
    let count = |of: &Listed, owner: &String| of.counts.get(owner).copied().unwrap_or_default();
    let differing = owners.iter().map(|owner| (owner, count(of_table, owner), count(of_index, owner)));
    let differing: Vec<_> = differing.filter(|(_, in_table, in_index)| in_table != in_index).collect();
    let mut text = String::new();
    for (owner, in_table, in_index) in differing.iter().take(DIFFERENCES_SHOWN_MAX) {
        let _ = writeln!(text, "{owner}: {in_table} in the table, {in_index} in the index");
    }
    let missing = of_table.younger.difference(&of_index.younger).count();
    let _ = writeln!(
        text,
        "compared {} records of {} owners, born before {until}, and {} younger ones",
        of_table.records(),
        of_table.counts.len(),
        of_table.younger.len()
    );
    let is_complete = differing.is_empty() && missing == 0;
    let _ = if is_complete {
        write!(text, "{INDEX_BY_OWNER_KEYS} is complete")
    } else {
        write!(
            text,
            "{INDEX_BY_OWNER_KEYS} is NOT complete: {} owners differ, {missing} younger records are missing; run this \
             again, and keep by_owner until nothing differs",
            differing.len()
        )
    };
    (text, is_complete)
}

/// Reports progress at intervals.
struct Reporting<'a, F: Fn(&str)> {
    progress: &'a F,
    began: Instant,
    last: Instant,
}

impl<'a, F: Fn(&str)> Reporting<'a, F> {
    fn new(progress: &'a F) -> Self {
        let now = Instant::now();
        Self { progress, began: now, last: now }
    }

    /// Reports a line, made of the seconds since the beginning, unless the last one was less than ten seconds ago.
    fn report(&mut self, line: impl FnOnce(u64) -> String) {
        if self.last.elapsed() >= PROGRESS_EVERY {
            self.last = Instant::now();
            (self.progress)(&line(self.began.elapsed().as_secs()));
        }
    }
}

#[cfg(test)]
mod tests;
