//! Tells the world of every journal entry: at least once, never of one that was not committed, and each
//! account's in order. An entry carries a mark until its event has been taken; afterwards it is due to be sealed.
//!
//! Nobody holds a lock. For each account a run reads what is due in its partition, consistently, sends it in
//! the order of ids, and goes on to the next only once the one before has been taken. So whoever sends an
//! event has seen every older one of its account either taken or still due, and has sent those first.

mod home;
mod sink;
mod sweep;
#[cfg(test)]
mod tests;

pub use sink::{BATCH, EventSink, Sent, SinkError};
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

/// A run begins nothing after this: a function's time is bounded, and a later run goes on.
const RUN: Duration = Duration::from_secs(60);
/// An entry's id is at most so much older than its commit, and than its place in the index of marks.
const MARGIN: Duration = Duration::from_secs(10 * 60);
/// How many batches are on their way at once.
const AT_ONCE: usize = 4;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Published {
    /// Events that were taken.
    pub published: usize,
    /// Entries that cannot be told, and were put aside for a person.
    pub dead_letters: usize,
    /// Accounts whose next event was not taken: their later ones wait with it.
    pub waiting: usize,
}

impl Published {
    /// Adds what another run did.
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

/// A tenant, and over how many shards its work is spread.
type Of<'a> = (&'a Tenant, Shards);

/// The entries that a run has heard of, by the partitions of their accounts.
type Heard = BTreeMap<String, BTreeSet<Key>>;

impl Publisher {
    /// Events of the ledger, under its deployment's name, into a sink.
    #[must_use]
    pub fn new(app: &App, sink: Arc<dyn EventSink>) -> Self {
        Self { ledger: app.ledger().clone(), name: Arc::from(app.config().ledger.as_str()), sink }
    }

    /// Publishes what is due of the accounts whose items have come or changed.
    ///
    /// # Errors
    /// 503 if the store did not tell, or did not take the end of a publication: it is done again.
    pub async fn changed(&self, tenant: &Tenant, shards: Shards, changed: &[Item]) -> Result<Published, Problem> {
        let mut heard = Heard::new();
        for key in changed.iter().filter_map(|item| key_of(tenant, item)).filter(|key| key.entry().is_some()) {
            heard.entry(key.pk().to_owned()).or_default().insert(key);
        }
        if heard.is_empty() {
            return Ok(Published::default());
        }
        // What an earlier run left of these accounts goes first.
        let mut marks = Marks::of(tenant, shards);
        for key in marks.next(self.ledger.dynamo()).await?.iter().filter_map(|row| key_of(tenant, &row.item)) {
            if let Some(known) = heard.get_mut(key.pk()) {
                known.insert(key);
            }
        }
        self.publish((tenant, shards), heard, marks.floor(), Instant::now()).await
    }

    /// Publishes everything that is due of a tenant, oldest first: what the stream missed is among it.
    ///
    /// # Errors
    /// 503 if the store did not tell, or did not take the end of a publication: it is done again.
    pub async fn sweep(&self, tenant: &Tenant, shards: Shards) -> Result<Published, Problem> {
        let began = Instant::now();
        let (mut done, mut seen) = (Published::default(), BTreeSet::new());
        let mut marks = Marks::of(tenant, shards);
        let mut first = true;
        while let Some(rows) = marks.more(self.ledger.dynamo()).await? {
            if std::mem::take(&mut first) {
                self.measure_oldest(tenant, &rows);
            }
            if began.elapsed() >= RUN {
                break;
            }
            let mut heard = Heard::new();
            for key in rows.iter().filter_map(|row| key_of(tenant, &row.item)) {
                if key.entry().is_none() {
                    done.add(self.put_aside((tenant, shards), &key).await?);
                } else if !seen.contains(key.pk()) {
                    heard.entry(key.pk().to_owned()).or_default().insert(key);
                }
            }
            seen.extend(heard.keys().cloned());
            done.add(self.publish((tenant, shards), heard, marks.floor(), began).await?);
        }
        Ok(done)
    }

    /// Publishes one entry once more: one that was put aside, or whose event got lost on the other side.
    /// It does not come in order, unless it is still due.
    ///
    /// # Errors
    /// 404 if there is no such entry; 503 if its event was not taken.
    pub async fn again(&self, tenant: &Tenant, shards: Shards, key: &Key) -> Result<Published, Problem> {
        let row = self.look(key).await?.ok_or_else(Problem::not_found)?;
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

    /// Publishes what is due of accounts, several batches at once. A batch that fails does not hold the others.
    async fn publish(
        &self,
        of: Of<'_>,
        heard: Heard,
        floor: Option<Uuid>,
        began: Instant,
    ) -> Result<Published, Problem> {
        let homes: Vec<Home> = heard.into_values().filter_map(|keys| Home::of(keys, floor)).collect();
        let mut homes = homes.into_iter().peekable();
        let batches = std::iter::from_fn(|| {
            homes.peek()?;
            Some(homes.by_ref().take(BATCH).collect::<Vec<Home>>())
        });
        let batches = batches.map(|batch| self.drain(of, batch, began));
        let ended: Vec<Result<Published, Problem>> = stream::iter(batches).buffer_unordered(AT_ONCE).collect().await;
        let mut done = Published::default();
        for ended in ended {
            done.add(ended?);
        }
        Ok(done)
    }

    /// Publishes what is due of at most [`BATCH`] accounts, until nothing is or time is over.
    async fn drain(&self, of: Of<'_>, mut homes: Vec<Home>, began: Instant) -> Result<Published, Problem> {
        let mut done = Published::default();
        while !homes.is_empty() && began.elapsed() < RUN {
            let passes = homes.iter_mut().map(|home| home.read(self, of.0));
            futures::future::try_join_all(passes).await?;
            self.send_ready(of, &mut homes, &mut done).await?;
            homes.retain(Home::goes_on);
        }
        Ok(done)
    }

    /// Sends what is ready, one event of each account at a time: of two in one batch the second might be
    /// taken without the first.
    async fn send_ready(&self, of: Of<'_>, homes: &mut [Home], done: &mut Published) -> Result<(), Problem> {
        let (tenant, _) = of;
        let mut sent = Vec::new();
        loop {
            for home in homes.iter_mut() {
                while let Some((key, why)) = home.untold() {
                    match self.keep(tenant, &key, why).await {
                        Ok(()) => {
                            home.pass_on();
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
                        sent.extend(home.pass_on());
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
        tracing::warn!(%tenant, code, "an event was not taken: it and its account's later ones wait");
        Problem::unavailable()
    }

    /// A mark on what is no entry of an account's: nothing waits for it.
    async fn put_aside(&self, of: Of<'_>, key: &Key) -> Result<Published, Problem> {
        let (tenant, _) = of;
        // The index may be behind: it may have been put aside already.
        if !self.look(key).await?.is_some_and(|row| is_due(tenant, &row.item)) {
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

    /// Stores a reference to what cannot be told.
    async fn keep(&self, tenant: &Tenant, key: &Key, why: String) -> Result<(), SinkError> {
        tracing::error!(%tenant, entry = key.sk(), why, "an entry cannot be told, and is put aside");
        self.sink.keep(&DeadLetter { tenant: tenant.clone(), key: key.clone(), why }).await?;
        self.ledger.metrics().count(Metric::EntryPutAside, tenant, Operation::Publish);
        Ok(())
    }

    async fn look(&self, key: &Key) -> Result<Option<Readable>, Problem> {
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
            WriteOutcome::Rejected(_) => Err(broken("an entry has gone")),
            WriteOutcome::MarkerExists(_) => Err(broken("an index entry met a marker")),
        }
    }
}

/// The key of an item of a tenant's.
fn key_of(tenant: &Tenant, item: &Item) -> Option<Key> {
    let text = |name: &str| item.key_text(name);
    Key::stored(tenant, text(attr::PK)?, text(attr::SK)?)
}

/// Whether an item carries the mark of what is to be published.
fn is_due(tenant: &Tenant, item: &Item) -> bool {
    item.key_text(attr::DUE_PK).is_some_and(|mark| keys::publish_mark(tenant, mark))
}

/// From which id on an account is read, whose oldest known entry is this one.
fn margin_before(id: Uuid) -> Uuid {
    let born = ledger_core::ids::born_at(id);
    born.map_or(Uuid::nil(), |born| least_born_at(born.minus(MARGIN)))
}

/// The id in an entry's key.
fn id_of(key: &Key) -> Option<TransactionId> {
    key.entry().map(|(_, id)| id)
}
