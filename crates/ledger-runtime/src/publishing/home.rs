//! The due entries of one account.

use super::{Publisher, id_of, is_due, key_of, margin_before};
use crate::dynamo::Readable;
use crate::problem::Problem;
use ledger_core::dynamo::ItemError;
use ledger_core::events::{Event, Unpublishable};
use ledger_core::ids::{Tenant, least_born_at};
use ledger_core::keys::{Key, Partition};
use ledger_core::reads;
use std::collections::{BTreeSet, VecDeque};
use uuid::Uuid;

/// How many entries one query reads.
const PAGE_ITEMS: usize = 100;

/// An account, and how far its entries are published.
pub(super) struct Home {
    partition: Partition,
    /// No due entry has an id before this one.
    from: Uuid,
    /// The entries known to be due before the latest read began.
    due_entries: BTreeSet<Key>,
    /// The entries to send, in order.
    ready: VecDeque<DueEntry>,
    /// Whether there may be more entries to read.
    unread: bool,
    waits: bool,
}

/// A due entry, as it was read.
pub(super) struct DueEntry {
    pub(super) key: Key,
    pub(super) row: Readable,
    state: State,
}

enum State {
    Unsent(Event),
    /// It can never be published, for this reason.
    Unpublishable(String),
    /// It waits for the release that reads its form.
    LaterForm(ItemError),
    /// Its event was taken, or it was put aside.
    Sent,
}

impl Home {
    /// Creates the account of these due entries. Its other due entries in the index are not older than `floor`.
    pub(super) fn of(due_entries: BTreeSet<Key>, floor: Option<Uuid>) -> Option<Self> {
        let partition = due_entries.first()?.partition();
        let oldest = due_entries.iter().filter_map(id_of).map(|id| id.uuid()).chain(floor).min()?;
        let from = margin_before(oldest);
        Some(Self { partition, from, due_entries, ready: VecDeque::new(), unread: true, waits: false })
    }

    /// Reads the due entries, and makes ready those that may be sent: the known ones, up to the first unknown one.
    ///
    /// An entry known before a read was committed before it, so the read sees every entry that was committed earlier,
    /// and these are sent first. Unknown entries are sent after the next read. Entries that this process has sent need
    /// not be known.
    pub(super) async fn read(&mut self, publisher: &Publisher, tenant: &Tenant) -> Result<(), Problem> {
        let begins = publisher.ledger.clock().now();
        let (mut due, mut after, mut full) = (Vec::new(), None, true);
        while full && due.len() < PAGE_ITEMS {
            let entries = reads::account_entries_from(&self.partition, self.from);
            let page = entries.after(after.take()).limit(PAGE_ITEMS);
            let rows = publisher.ledger.dynamo().query_readable(&page).await?;
            full = rows.len() >= PAGE_ITEMS;
            let keyed = rows.into_iter().filter_map(|row| Some((key_of(tenant, &row.item)?, row)));
            for (key, row) in keyed {
                after = Some(key.sk().to_owned());
                if is_due(tenant, &row.item) {
                    due.push(DueEntry::of(publisher, tenant, key, row));
                }
            }
        }
        if self.waits {
            // Nothing more is sent, so their order does not matter.
            self.unread = full;
            self.from = due.last().and_then(|entry| id_of(&entry.key)).map_or(self.from, |id| id.uuid());
            self.ready = due.into();
            return Ok(());
        }
        let is_known = |entry: &DueEntry| entry.is_sent() || self.due_entries.contains(&entry.key);
        let news = due.iter().position(|entry| !is_known(entry)).unwrap_or(due.len());
        self.unread = full || news < due.len();
        // All entries before it are sent or known. An entry committed from now on has a later id.
        let next = due.get(news).or(due.last()).and_then(|entry| id_of(&entry.key));
        if let Some(next) = next {
            self.from = next.uuid().min(margin_before(least_born_at(begins)));
        }
        self.due_entries.extend(due.iter().map(|entry| entry.key.clone()));
        due.truncate(news);
        self.ready = due.into();
        Ok(())
    }

    /// Returns the next event; `None` if it cannot be made, or the account waits.
    pub(super) fn next(&self) -> Option<&Event> {
        match &self.ready.front().filter(|_| !self.waits)?.state {
            State::Unsent(event) => Some(event),
            State::Unpublishable(_) | State::LaterForm(_) | State::Sent => None,
        }
    }

    /// Returns the next entry with the reason, if it can never be published.
    pub(super) fn unpublishable(&self) -> Option<(Key, String)> {
        let entry = self.ready.front().filter(|_| !self.waits)?;
        match &entry.state {
            State::Unpublishable(why) => Some((entry.key.clone(), why.clone())),
            State::Unsent(_) | State::LaterForm(_) | State::Sent => None,
        }
    }

    /// Returns the error of the next entry, if a later release wrote it.
    pub(super) fn later_form(&self) -> Option<&ItemError> {
        match &self.ready.front().filter(|_| !self.waits)?.state {
            State::LaterForm(error) => Some(error),
            State::Unsent(_) | State::Unpublishable(_) | State::Sent => None,
        }
    }

    /// Removes the next entry if it was sent or put aside.
    pub(super) fn take_sent(&mut self) -> Option<DueEntry> {
        self.ready.pop_front_if(|entry| entry.is_sent())
    }

    /// Removes the entries that were read and not sent, if the account waits.
    pub(super) fn take_unsent(&mut self) -> VecDeque<DueEntry> {
        if self.waits { std::mem::take(&mut self.ready) } else { VecDeque::new() }
    }

    /// Marks the next entry as sent or put aside.
    pub(super) fn sent(&mut self) {
        self.next_is(State::Sent);
    }

    /// Marks the next entry as one that can never be published.
    pub(super) fn refuse(&mut self, why: String) {
        self.next_is(State::Unpublishable(why));
    }

    fn next_is(&mut self, state: State) {
        if let Some(entry) = self.ready.front_mut() {
            entry.state = state;
        }
    }

    /// Stops sending: the next event was not taken, or cannot be made.
    pub(super) fn wait(&mut self) {
        self.waits = true;
    }

    /// Whether this run has more to read and send.
    pub(super) fn has_more(&self) -> bool {
        self.unread && !self.waits
    }

    /// Whether this run has more to read.
    pub(super) fn has_unread(&self) -> bool {
        self.unread
    }
}

impl DueEntry {
    fn of(publisher: &Publisher, tenant: &Tenant, key: Key, row: Readable) -> Self {
        let state = if publisher.memory.was_sent(&key) {
            State::Sent
        } else {
            match publisher.event(tenant, &key, &row) {
                Ok(event) => State::Unsent(event),
                Err(Unpublishable::Unreadable(error)) if error.is_later_form() => State::LaterForm(error),
                Err(why) => State::Unpublishable(why.to_string()),
            }
        };
        Self { key, row, state }
    }

    /// Whether its event was taken, or it was put aside.
    pub(super) fn is_sent(&self) -> bool {
        matches!(self.state, State::Sent)
    }
}
