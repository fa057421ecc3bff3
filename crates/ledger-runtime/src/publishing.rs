//! Publishes the event of each journal entry: at least once, only after the commit, and in order per account.
//!
//! An entry has a due index entry until its event is sent; after that, it is due to be sealed.
//!
//! There is no lock. For each account, a run reads the due entries of the partition consistently, sends them in the
//! order of their ids, and sends each only after the one before it was taken. Every publisher of an event has therefore
//! seen each older event of its account as sent or due, and has sent the due ones first.

mod home;
mod sink;
mod sweep;
#[cfg(test)]
mod tests;

pub use sink::{BATCH_ITEMS, EventSink, Sent, SinkError};
pub use sweep::any_waits;

use crate::app::App;
use crate::dynamo::Readable;
use crate::execute::{Ledger, WriteOutcome};
use crate::metrics::Metric;
use crate::problem::Problem;
use futures::stream::{self, StreamExt};
use home::Home;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::events::{DeadLetter, Event, MARKS_MAX, Unpublishable, published};
use ledger_core::ids::{Tenant, TransactionId, least_born_at};
use ledger_core::keys::{self, Key, Shards, attr};
use ledger_core::operation::Operation;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use sweep::Marks;
use tokio::time::Instant;
use uuid::Uuid;

/// A run begins no work after this, because a function's time is limited. A later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(60);
/// The longest time from an entry's id to its commit, and to its place in the index.
const MARGIN: Duration = Duration::from_secs(10 * 60);
/// How many batches are sent concurrently.
const CONCURRENCY: usize = 4;

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
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Publisher")
    }
}

/// A tenant, and the number of shards of its due index entries.
type Of<'a> = (&'a Tenant, Shards);

/// The entries known to be due, by the partition of their account.
type DueEntries = BTreeMap<String, BTreeSet<Key>>;

impl Publisher {
    /// Creates a publisher of the deployment's events into a sink.
    #[must_use]
    pub fn new(app: &App, sink: Arc<dyn EventSink>) -> Self {
        Self { ledger: app.ledger().clone(), name: Arc::from(app.config().ledger.as_str()), sink }
    }

    /// Publishes the due entries of the accounts whose items were added or changed.
    ///
    /// # Errors
    /// 503 if the table did not answer, or the end of a publication was not written; the run can be repeated.
    pub async fn changed(&self, tenant: &Tenant, shards: Shards, changed: &[Item]) -> Result<Published, Problem> {
        let mut due_entries = DueEntries::new();
        for key in changed.iter().filter_map(|item| key_of(tenant, item)).filter(|key| key.entry().is_some()) {
            due_entries.entry(key.pk().to_owned()).or_default().insert(key);
        }
        if due_entries.is_empty() {
            return Ok(Published::default());
        }
        // Entries that an earlier run left due in these accounts are sent first.
        let mut marks = Marks::of(tenant, shards);
        for key in marks.next(self.ledger.dynamo()).await?.iter().filter_map(|row| key_of(tenant, &row.item)) {
            if let Some(known) = due_entries.get_mut(key.pk()) {
                known.insert(key);
            }
        }
        self.publish((tenant, shards), due_entries, marks.floor(), Instant::now()).await
    }

    /// Publishes all due entries of a tenant, oldest first, including those that the stream missed.
    ///
    /// # Errors
    /// 503 if the table did not answer, or the end of a publication was not written; the run can be repeated.
    pub async fn sweep(&self, tenant: &Tenant, shards: Shards) -> Result<Published, Problem> {
        let began = Instant::now();
        let (mut done, mut seen) = (Published::default(), BTreeSet::new());
        let mut marks = Marks::of(tenant, shards);
        let mut first = true;
        while let Some(rows) = marks.more(self.ledger.dynamo()).await? {
            if std::mem::take(&mut first) {
                self.measure_oldest(tenant, &rows);
            }
            if began.elapsed() >= RUN_TIME_MAX {
                break;
            }
            let mut due_entries = DueEntries::new();
            for key in rows.iter().filter_map(|row| key_of(tenant, &row.item)) {
                if key.entry().is_none() {
                    done.add(self.put_aside((tenant, shards), &key).await?);
                } else if !seen.contains(key.pk()) {
                    due_entries.entry(key.pk().to_owned()).or_default().insert(key);
                }
            }
            seen.extend(due_entries.keys().cloned());
            done.add(self.publish((tenant, shards), due_entries, marks.floor(), began).await?);
        }
        Ok(done)
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
            return self.changed(tenant, shards, std::slice::from_ref(&row.item)).await;
        }
        let why = match self.event(tenant, key, &row) {
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

    /// Publishes the due entries of accounts, in several concurrent batches. A failed batch does not delay the others.
    async fn publish(
        &self,
        of: Of<'_>,
        due_entries: DueEntries,
        floor: Option<Uuid>,
        began: Instant,
    ) -> Result<Published, Problem> {
        let homes: Vec<Home> = due_entries.into_values().filter_map(|keys| Home::of(keys, floor)).collect();
        let mut homes = homes.into_iter().peekable();
        let batches = std::iter::from_fn(|| {
            homes.peek()?;
            Some(homes.by_ref().take(BATCH_ITEMS).collect::<Vec<Home>>())
        });
        let batches = batches.map(|batch| self.drain(of, batch, began));
        let ended: Vec<Result<Published, Problem>> =
            stream::iter(batches).buffer_unordered(CONCURRENCY).collect().await;
        let mut done = Published::default();
        for ended in ended {
            done.add(ended?);
        }
        Ok(done)
    }

    /// Publishes the due entries of at most [`BATCH_ITEMS`] accounts, until none is due or the time is over.
    async fn drain(&self, of: Of<'_>, mut homes: Vec<Home>, began: Instant) -> Result<Published, Problem> {
        let mut done = Published::default();
        while !homes.is_empty() && began.elapsed() < RUN_TIME_MAX {
            let passes = homes.iter_mut().map(|home| home.read(self, of.0));
            futures::future::try_join_all(passes).await?;
            self.send_ready(of, &mut homes, &mut done).await?;
            homes.retain(Home::has_more);
        }
        Ok(done)
    }

    /// Sends the ready events, one of each account at a time.
    ///
    /// Of two events of one account in a batch, the second might be taken without the first.
    async fn send_ready(&self, of: Of<'_>, homes: &mut [Home], done: &mut Published) -> Result<(), Problem> {
        let (tenant, _) = of;
        let mut sent = Vec::new();
        loop {
            for home in homes.iter_mut() {
                while let Some((key, why)) = home.unpublishable() {
                    match self.keep(tenant, &key, why).await {
                        Ok(()) => {
                            home.take_next();
                            sent.push(key);
                            done.dead_letters = done.dead_letters.saturating_add(1);
                        }
                        Err(SinkError(code)) => self.wait(tenant, home, &code, done),
                    }
                }
            }
            let (mut next, mut events) = (Vec::new(), Vec::new());
            for home in homes.iter_mut() {
                if let Some(event) = home.next().cloned() {
                    events.push(event);
                    next.push(home);
                }
            }
            if events.is_empty() {
                return self.move_marks(of, &sent).await;
            }
            let mut fates = self.sink.send(&events).await.into_iter();
            for (home, event) in next.into_iter().zip(&events) {
                match fates.next().unwrap_or_else(|| Sent::Later("no answer".to_owned())) {
                    Sent::Taken => {
                        sent.extend(home.take_next());
                        done.published = done.published.saturating_add(1);
                        let lag = self.ledger.clock().now().since(event.created_at);
                        self.ledger.metrics().measure(Metric::OutboxLag, tenant, Operation::Publish, lag);
                    }
                    Sent::Never(code) => home.refuse(code),
                    Sent::Later(code) => self.wait(tenant, home, &code, done),
                }
            }
            if sent.len() >= MARKS_MAX {
                self.move_marks(of, &std::mem::take(&mut sent)).await?;
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
    async fn put_aside(&self, of: Of<'_>, key: &Key) -> Result<Published, Problem> {
        let (tenant, _) = of;
        // The index may be behind: the item may have been put aside already.
        if !self.read_entry(key).await?.is_some_and(|row| is_due(tenant, &row.item)) {
            return Ok(Published::default());
        }
        match self.keep(tenant, key, Unpublishable::NoEntry.to_string()).await {
            Ok(()) => self.move_marks(of, std::slice::from_ref(key)).await?,
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

    async fn move_marks(&self, of: Of<'_>, entries: &[Key]) -> Result<(), Problem> {
        for entries in entries.chunks(MARKS_MAX) {
            self.move_some(of, entries).await?;
        }
        Ok(())
    }

    async fn move_some(&self, (tenant, shards): Of<'_>, entries: &[Key]) -> Result<(), Problem> {
        let broken = |what: &str| self.ledger.broken(tenant, Operation::Publish, what);
        let transaction = published(tenant, entries, shards).map_err(|error| broken(&error.to_string()))?;
        match self.ledger.attempt(tenant, Operation::Publish, &transaction).await? {
            WriteOutcome::Applied => Ok(()),
            WriteOutcome::Rejected(_) => Err(broken("an entry no longer exists")),
            WriteOutcome::MarkerExists(_) => Err(broken("an update of an index entry found a marker")),
        }
    }
}

/// Returns the key of a tenant's item.
fn key_of(tenant: &Tenant, item: &Item) -> Option<Key> {
    let text = |name: &str| item.key_text(name);
    Key::stored(tenant, text(attr::PK)?, text(attr::SK)?)
}

/// Whether an item has a due index entry for publishing.
fn is_due(tenant: &Tenant, item: &Item) -> bool {
    item.key_text(attr::DUE_PK).is_some_and(|mark| keys::publish_mark(tenant, mark))
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
