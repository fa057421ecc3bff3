//! One account's entries on their way out.

use super::{Publisher, id_of, is_due, key_of, margin_before};
use crate::problem::Problem;
use ledger_core::events::Event;
use ledger_core::ids::{Tenant, least_born_at};
use ledger_core::keys::{Key, Partition};
use ledger_core::reads;
use std::collections::{BTreeSet, VecDeque};
use uuid::Uuid;

/// How many entries are read at once.
const PAGE: usize = 100;

/// An account, and how far its entries have got.
pub(super) struct Home {
    partition: Partition,
    /// Nothing that is due stands before it.
    from: Uuid,
    /// What was known to be due before the latest read began.
    heard: BTreeSet<Key>,
    /// What is to be sent, in order; where nothing can be told, why.
    ready: VecDeque<(Key, Result<Event, String>)>,
    /// There may be more.
    unread: bool,
    waits: bool,
}

impl Home {
    /// The account of some entries that are due. Of those that are not known none is older than `floor`.
    pub(super) fn of(heard: BTreeSet<Key>, floor: Option<Uuid>) -> Option<Self> {
        let partition = heard.first()?.partition();
        let oldest = heard.iter().filter_map(id_of).map(|id| id.uuid()).chain(floor).min()?;
        let from = margin_before(oldest);
        Some(Self { partition, from, heard, ready: VecDeque::new(), unread: true, waits: false })
    }

    /// Reads what is due and makes ready what may be sent: all that was known before, and nothing behind an
    /// entry that was not. What is known before a read was committed before it; so whatever was committed
    /// even earlier is seen by it, and goes first. What is news is sent by the next read.
    pub(super) async fn read(&mut self, publisher: &Publisher, tenant: &Tenant) -> Result<(), Problem> {
        let begins = publisher.ledger.clock().now();
        let (mut due, mut after, mut full) = (Vec::new(), None, true);
        while full && due.len() < PAGE {
            let entries = reads::account_entries_from(&self.partition, self.from);
            let page = entries.after(after.take()).limit(PAGE);
            let rows = publisher.ledger.dynamo().query_readable(&page).await?;
            full = rows.len() >= PAGE;
            let keyed = rows.into_iter().filter_map(|row| Some((key_of(tenant, &row.item)?, row)));
            for (key, row) in keyed {
                after = Some(key.sk().to_owned());
                if is_due(tenant, &row.item) {
                    let event = publisher.event(tenant, &key, &row).map_err(|why| why.to_string());
                    due.push((key, event));
                }
            }
        }
        let news = due.iter().position(|(key, _)| !self.heard.contains(key)).unwrap_or(due.len());
        self.unread = full || news < due.len();
        // All before is sent or seen. What is committed from now on has a young id.
        let next = due.get(news).or(due.last()).and_then(|(key, _)| id_of(key));
        if let Some(next) = next {
            self.from = next.uuid().min(margin_before(least_born_at(begins)));
        }
        self.heard.extend(due.iter().map(|(key, _)| key.clone()));
        due.truncate(news);
        self.ready = due.into();
        Ok(())
    }

    /// The event that is to be sent next, unless it cannot be told or its account waits.
    pub(super) fn next(&self) -> Option<&Event> {
        let (_, event) = self.ready.front().filter(|_| !self.waits)?;
        event.as_ref().ok()
    }

    /// What is next and cannot be told, and why.
    pub(super) fn untold(&self) -> Option<(Key, String)> {
        let (key, event) = self.ready.front().filter(|_| !self.waits)?;
        event.as_ref().err().map(|why| (key.clone(), why.clone()))
    }

    /// What was next is done with.
    pub(super) fn pass_on(&mut self) -> Option<Key> {
        self.ready.pop_front().map(|(key, _)| key)
    }

    /// What is next will never be taken.
    pub(super) fn refuse(&mut self, why: String) {
        if let Some((_, event)) = self.ready.front_mut() {
            *event = Err(why);
        }
    }

    /// What is next was not taken, so nothing is sent behind it.
    pub(super) fn wait(&mut self) {
        self.waits = true;
    }

    /// Whether this run has more to do for it.
    pub(super) fn goes_on(&self) -> bool {
        self.unread && !self.waits
    }
}
