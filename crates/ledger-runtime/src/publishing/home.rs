//! The due entries of one account.

use super::{Publisher, id_of, is_due, key_of, margin_before};
use crate::problem::Problem;
use ledger_core::events::Event;
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
    /// The entries to send, in order; an error if one can never be published.
    ready: VecDeque<(Key, Result<Event, String>)>,
    /// Whether there may be more entries to read.
    unread: bool,
    waits: bool,
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
    /// and these are sent first. Unknown entries are sent after the next read.
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
                    let event = publisher.event(tenant, &key, &row).map_err(|why| why.to_string());
                    due.push((key, event));
                }
            }
        }
        let news = due.iter().position(|(key, _)| !self.due_entries.contains(key)).unwrap_or(due.len());
        self.unread = full || news < due.len();
        // All entries before it are sent or known. An entry committed from now on has a later id.
        let next = due.get(news).or(due.last()).and_then(|(key, _)| id_of(key));
        if let Some(next) = next {
            self.from = next.uuid().min(margin_before(least_born_at(begins)));
        }
        self.due_entries.extend(due.iter().map(|(key, _)| key.clone()));
        due.truncate(news);
        self.ready = due.into();
        Ok(())
    }

    /// Returns the next event; `None` if it can never be published, or the account waits.
    pub(super) fn next(&self) -> Option<&Event> {
        let (_, event) = self.ready.front().filter(|_| !self.waits)?;
        event.as_ref().ok()
    }

    /// Returns the next entry with the reason, if it can never be published.
    pub(super) fn unpublishable(&self) -> Option<(Key, String)> {
        let (key, event) = self.ready.front().filter(|_| !self.waits)?;
        event.as_ref().err().map(|why| (key.clone(), why.clone()))
    }

    /// Removes the next entry, which was sent or put aside.
    pub(super) fn take_next(&mut self) -> Option<Key> {
        self.ready.pop_front().map(|(key, _)| key)
    }

    /// Marks the next entry as one that can never be published.
    pub(super) fn refuse(&mut self, why: String) {
        if let Some((_, event)) = self.ready.front_mut() {
            *event = Err(why);
        }
    }

    /// Stops sending: the next event was not taken.
    pub(super) fn wait(&mut self) {
        self.waits = true;
    }

    /// Whether this run has more to read and send.
    pub(super) fn has_more(&self) -> bool {
        self.unread && !self.waits
    }
}
