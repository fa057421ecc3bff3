//! Publishes the event of each journal entry: at least once, only after the commit, and in order per account.
//!
//! An entry has a due index entry until its event is sent and the entry is sealed. The table's stream brings new
//! entries, which are sent and left as they are. A tick sends every entry that is still due, and hands it to the worker
//! that seals it and removes its due index entry in one write ([`Sweep`]). What the stream has sent already is sent
//! again by that; the queue drops the repetition.
//!
//! There is no lock. For each account, a run reads the due entries of the partition consistently, sends them in the
//! order of their ids, and sends each only after the one before it was taken. Every publisher of an event has therefore
//! seen each older event of its account as sent or due, and has sent the due ones first.

mod home;
mod memory;
mod sink;
mod sweep;
#[cfg(test)]
mod tests;

pub use sink::{BATCH_ITEMS, EventSink, Sent, SinkError};
pub(crate) use sweep::Due;
pub use sweep::{Sweep, SweptEntry, any_waits};

use crate::app::App;
use crate::dynamo::Readable;
use crate::execute::{Ledger, WriteOutcome};
use crate::metrics::Metric;
use crate::problem::Problem;
use futures::future::try_join_all;
use futures::stream::{self, StreamExt};
use home::{DueEntry, Home};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::events::{DeadLetter, Event, MARKS_MAX, Unpublishable, published};
use ledger_core::ids::{Tenant, TransactionId, least_born_at};
use ledger_core::keys::{Key, Shards, Unpublished, attr};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::sealing::is_to_publish;
use memory::Memory;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use uuid::Uuid;

/// A run begins no work after this, because a function's time is limited. A later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(60);
/// The longest time from an entry's id to its commit, and to its place in the index.
const MARGIN: Duration = Duration::from_secs(10 * 60);
/// How many batches are sent concurrently.
const CONCURRENCY: usize = 16;

/// What a run published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Published {
    /// Events that the sink took.
    pub published: usize,
    /// Entries that can never be published and were put aside for review.
    pub dead_letters: usize,
    /// Accounts whose next event was not taken, so that their later events wait.
    pub waiting: usize,
}

impl Published {
    /// Adds the result of another run.
    pub fn add(&mut self, other: Self) {
        self.published = self.published.saturating_add(other.published);
        self.dead_letters = self.dead_letters.saturating_add(other.dead_letters);
        self.waiting = self.waiting.saturating_add(other.waiting);
    }
}

/// Publishes journal entries. Cheap to clone.
#[derive(Clone)]
pub struct Publisher {
    ledger: Ledger,
    name: Arc<str>,
    sink: Arc<dyn EventSink>,
    memory: Arc<Memory>,
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Publisher")
    }
}

/// The entries known to be due, by the partition of their account.
type DueEntries = BTreeMap<String, BTreeSet<Key>>;

/// The result of one read of each of some accounts, and of sending what it made ready.
#[derive(Default)]
struct Round {
    /// The accounts that have more.
    homes: Vec<Home>,
    /// The entries that were sent or put aside.
    sent: Vec<DueEntry>,
    /// The entries that wait, of accounts whose next event was not taken.
    unsent: Vec<DueEntry>,
    done: Published,
    /// The problem of accounts, or of entries, that could not be read.
    fault: Option<Problem>,
}

/// Whether a round sends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// New entries, which the stream has brought.
    New,
    /// All that is due.
    Due,
    /// Nothing: no event is taken at present.
    Nothing,
}

impl Publisher {
    /// Creates a publisher of the deployment's events into a sink.
    #[must_use]
    pub fn new(app: &App, sink: Arc<dyn EventSink>) -> Self {
        Self {
            ledger: app.ledger().clone(),
            name: Arc::from(app.config().ledger.as_str()),
            sink,
            memory: Arc::default(),
        }
    }

    /// Publishes the due entries of the accounts whose items were added or changed. Writes nothing.
    ///
    /// # Errors
    /// 503 if the table did not answer; the run can be repeated.
    pub async fn changed(&self, tenant: &Tenant, shards: Shards, changed: &[Item]) -> Result<Published, Problem> {
        let began = Instant::now();
        let mut due_entries = DueEntries::new();
        for key in changed.iter().filter_map(|item| key_of(tenant, item)).filter(|key| key.entry().is_some()) {
            due_entries.entry(key.pk().to_owned()).or_default().insert(key);
        }
        if due_entries.is_empty() {
            return Ok(Published::default());
        }
        // Entries that an earlier run left due in these accounts are sent first.
        let floor = self.floor(tenant, shards).await?;
        let mut homes: Vec<Home> = due_entries.into_values().filter_map(|keys| Home::of(keys, Some(floor))).collect();
        let mut done = Published::default();
        while !homes.is_empty() && began.elapsed() < RUN_TIME_MAX {
            let round = self.round(tenant, homes, Sending::New).await;
            done.add(round.done);
            if let Some(fault) = round.fault {
                return Err(fault);
            }
            homes = round.homes;
            homes.retain(Home::has_more);
        }
        Ok(done)
    }

    /// Returns an id that no due entry of the tenant precedes, but those of the last ten minutes: an entry's id is
    /// made at most that long before its commit.
    async fn floor(&self, tenant: &Tenant, shards: Shards) -> Result<Uuid, Problem> {
        if let Some(floor) = self.memory.floor(tenant) {
            return Ok(floor);
        }
        // An entry that is committed after this read has a later id than this, less the margin.
        let read_at = least_born_at(self.ledger.clock().now());
        let firsts = (0..shards.count()).flat_map(|shard| {
            let works = [reads::entries_to_publish_late(tenant, shard), reads::records_unsealed(tenant, shard)];
            works.map(|query| async move { self.ledger.dynamo().query_readable(&query.limit(1)).await })
        });
        let firsts = try_join_all(firsts).await?;
        let id = |row: &Readable| row.item.key_text(attr::DUE_SK).and_then(Unpublished::parse).map(|due| due.id);
        // An index entry without an id gives no bound.
        let oldest = firsts.iter().flatten().map(|row| id(row).unwrap_or(Uuid::nil())).min();
        let floor = oldest.map_or(read_at, |oldest| oldest.min(read_at));
        self.memory.set_floor(tenant, floor);
        Ok(floor)
    }

    /// Begins to publish all due entries of a tenant, oldest first, including those that the stream missed.
    #[must_use]
    pub fn sweep(&self, tenant: &Tenant, shards: Shards) -> Sweep {
        Sweep::new(self.clone(), tenant.clone(), shards)
    }

    /// Publishes one entry again: one that was put aside, or whose event a receiver lost.
    ///
    /// The event is out of order, unless the entry is still due.
    ///
    /// # Errors
    /// 404 if the entry does not exist; 503 if its event was not taken.
    pub async fn again(&self, tenant: &Tenant, shards: Shards, key: &Key) -> Result<Published, Problem> {
        let row = self.read_entry(key).await?.ok_or_else(Problem::not_found)?;
        if is_due(tenant, &row.item) && key.entry().is_some() {
            self.memory.forget(key);
            return self.changed(tenant, shards, std::slice::from_ref(&row.item)).await;
        }
        let why = match self.event(tenant, key, &row) {
            Err(Unpublishable::Unreadable(error)) if error.is_later_form() => return Err(Problem::later_form(&error)),
            Err(why) => why.to_string(),
            Ok(event) => match self.sink.send(std::slice::from_ref(&event)).await.into_iter().next() {
                Some(Sent::Taken) => return Ok(Published { published: 1, ..Published::default() }),
                Some(Sent::Never(code)) => code,
                Some(Sent::Later(code)) => return Err(self.not_taken(tenant, &code)),
                None => return Err(self.not_taken(tenant, "no answer")),
            },
        };
        self.keep(tenant, key, why).await.map_err(|SinkError(code)| self.not_taken(tenant, &code))?;
        Ok(Published { dead_letters: 1, ..Published::default() })
    }

    /// Reads each account once and sends what is ready, in several concurrent batches. A failed batch does not delay
    /// the others.
    async fn round(&self, tenant: &Tenant, homes: Vec<Home>, sending: Sending) -> Round {
        let mut homes = homes.into_iter().peekable();
        let batches = std::iter::from_fn(|| {
            homes.peek()?;
            Some(homes.by_ref().take(BATCH_ITEMS).collect::<Vec<Home>>())
        });
        let batches = batches.map(|batch| self.send_batch(tenant, batch, sending));
        let ended: Vec<Result<Round, Problem>> = stream::iter(batches).buffer_unordered(CONCURRENCY).collect().await;
        let mut whole = Round::default();
        for ended in ended {
            match ended {
                Ok(round) => whole.add(round),
                Err(problem) => whole.fault = Some(problem),
            }
        }
        whole
    }

    /// Reads at most [`BATCH_ITEMS`] accounts and sends the ready events, one of each account at a time.
    ///
    /// Of two events of one account in a batch, the second might be taken without the first.
    async fn send_batch(&self, tenant: &Tenant, mut homes: Vec<Home>, sending: Sending) -> Result<Round, Problem> {
        try_join_all(homes.iter_mut().map(|home| home.read(self, tenant))).await?;
        let mut round = Round::default();
        if sending == Sending::Nothing {
            homes.iter_mut().for_each(Home::wait);
        }
        loop {
            for home in &mut homes {
                self.end_sent(tenant, home, sending, &mut round).await;
            }
            let (mut next, mut events) = (Vec::new(), Vec::new());
            for home in &mut homes {
                if let Some(event) = home.next().cloned() {
                    events.push(event);
                    next.push(home);
                }
            }
            if events.is_empty() {
                break;
            }
            let mut fates = self.sink.send(&events).await.into_iter();
            for (home, event) in next.into_iter().zip(&events) {
                match fates.next().unwrap_or_else(|| Sent::Later("no answer".to_owned())) {
                    Sent::Taken => {
                        home.sent();
                        round.done.published = round.done.published.saturating_add(1);
                        // What a tick sends is mostly a repetition, which says nothing of the time until the first.
                        if sending == Sending::New {
                            let lag = self.ledger.clock().now().since(event.created_at);
                            self.ledger.metrics().measure(Metric::OutboxLag, tenant, Operation::Publish, lag);
                        }
                    }
                    Sent::Never(code) => home.refuse(code),
                    Sent::Later(code) => self.wait(tenant, home, &code, &mut round.done),
                }
            }
        }
        for home in &mut homes {
            round.unsent.extend(home.take_unsent());
        }
        round.homes = homes;
        Ok(round)
    }

    /// Moves the entries that an account has sent to the round's, and puts aside those that can never be published. An entry of
    /// a later form, and what follows it in its account, waits.
    async fn end_sent(&self, tenant: &Tenant, home: &mut Home, sending: Sending, round: &mut Round) {
        loop {
            if let Some(entry) = home.take_sent() {
                self.memory.remember(&entry.key);
                round.sent.push(entry);
            } else if let Some((key, why)) = home.unpublishable() {
                match self.keep(tenant, &key, why).await {
                    Ok(()) => {
                        home.sent();
                        round.done.dead_letters = round.done.dead_letters.saturating_add(1);
                    }
                    Err(SinkError(code)) => self.wait(tenant, home, &code, &mut round.done),
                }
            } else if let Some(error) = home.later_form() {
                let problem = Problem::later_form(error);
                match sending {
                    // A failure would stop the stream. The next tick reports it.
                    Sending::New => round.done.waiting = round.done.waiting.saturating_add(1),
                    Sending::Due | Sending::Nothing => round.fault = round.fault.take().or(Some(problem)),
                }
                home.wait();
            } else {
                return;
            }
        }
    }

    fn wait(&self, tenant: &Tenant, home: &mut Home, code: &str, done: &mut Published) {
        let _ = self.not_taken(tenant, code);
        home.wait();
        done.waiting = done.waiting.saturating_add(1);
    }

    fn not_taken(&self, tenant: &Tenant, code: &str) -> Problem {
        tracing::warn!(%tenant, code, "event not accepted: it and later events of its account wait");
        Problem::unavailable()
    }

    /// Puts aside an item that has a due index entry but is no journal entry. No later entry waits for it.
    async fn put_aside(&self, tenant: &Tenant, shards: Shards, key: &Key) -> Result<Published, Problem> {
        // The index may be behind: the item may have been put aside already.
        let row = self.read_entry(key).await?.filter(|row| is_due(tenant, &row.item));
        let Some(row) = row else { return Ok(Published::default()) };
        if let Err(error) = row.whole()
            && error.is_later_form()
        {
            return Err(Problem::later_form(&error));
        }
        match self.keep(tenant, key, Unpublishable::NoEntry.to_string()).await {
            // It is no entry: its due index entry is removed.
            Ok(()) => mark_published(&self.ledger, tenant, shards, std::slice::from_ref(key)).await?,
            Err(SinkError(code)) => {
                let _ = self.not_taken(tenant, &code);
                return Ok(Published { waiting: 1, ..Published::default() });
            }
        }
        Ok(Published { dead_letters: 1, ..Published::default() })
    }

    /// Stores a reference to an entry that can never be published.
    async fn keep(&self, tenant: &Tenant, key: &Key, why: String) -> Result<(), SinkError> {
        tracing::error!(%tenant, entry = key.sk(), why, "an entry cannot be published and is put aside");
        self.sink.keep(&DeadLetter { tenant: tenant.clone(), key: key.clone(), why }).await?;
        self.ledger.metrics().count(Metric::EntryPutAside, tenant, Operation::Publish);
        Ok(())
    }

    async fn read_entry(&self, key: &Key) -> Result<Option<Readable>, Problem> {
        Ok(self.ledger.dynamo().get_readable(key).await?)
    }

    fn event(&self, tenant: &Tenant, key: &Key, row: &Readable) -> Result<Event, Unpublishable> {
        Event::of_entry(&self.name, tenant, key, row.whole()?)
    }
}

impl Round {
    fn add(&mut self, other: Self) {
        self.homes.extend(other.homes);
        self.sent.extend(other.sent);
        self.unsent.extend(other.unsent);
        self.done.add(other.done);
        self.fault = self.fault.take().or(other.fault);
    }
}

/// Records in the due index entries of published entries that they are only to be sealed: of those that the run which
/// published them could not seal. They are not published again.
pub(crate) async fn mark_published(
    ledger: &Ledger,
    tenant: &Tenant,
    shards: Shards,
    entries: &[Key],
) -> Result<(), Problem> {
    let broken = |what: &str| ledger.broken(tenant, Operation::Publish, what);
    for entries in entries.chunks(MARKS_MAX) {
        let transaction = published(tenant, entries, shards).map_err(|error| broken(&error.to_string()))?;
        match ledger.attempt(tenant, Operation::Publish, &transaction).await? {
            WriteOutcome::Applied => {}
            WriteOutcome::Rejected(_) => return Err(broken("an entry no longer exists")),
            WriteOutcome::MarkerExists(_) => return Err(broken("an update of an index entry found a marker")),
        }
    }
    Ok(())
}

/// Returns the key of a tenant's item.
fn key_of(tenant: &Tenant, item: &Item) -> Option<Key> {
    let text = |name: &str| item.key_text(name);
    Key::stored(tenant, text(attr::PK)?, text(attr::SK)?)
}

/// Whether an item is an entry whose event is due.
fn is_due(tenant: &Tenant, item: &Item) -> bool {
    is_to_publish(tenant, item)
}

/// Returns the id from which an account is read whose oldest known entry has this id.
fn margin_before(id: Uuid) -> Uuid {
    let born = ledger_core::ids::born_at(id);
    born.map_or(Uuid::nil(), |born| least_born_at(born.minus(MARGIN)))
}

/// Returns the id in an entry's key.
fn id_of(key: &Key) -> Option<TransactionId> {
    key.entry().map(|(_, id)| id)
}
