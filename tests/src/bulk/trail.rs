//! The sealed trail of books, and their posting days.

use super::Ledger;
use super::ledger::REFUND_ROOM;
use ledger_core::crediting::LaneCredits;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::figures::{close, next_to_close};
use ledger_core::keys::{self, Key, attr, sk};
use ledger_core::sealing::Sealable;
use ledger_core::sealing::lanes::Heads;
use ledger_core::time::BusinessDate;
use std::collections::BTreeSet;

/// How far a trail is sealed, and its days are closed.
#[derive(Debug, Default)]
pub(super) struct Sealed {
    heads: Option<Heads>,
    closed: Option<BusinessDate>,
}

impl Ledger {
    /// Seals all records that are not sealed, in one lane and in full segments but for the last one. The seals credit the
    /// merchants.
    ///
    /// # Panics
    /// When a segment is refused, which is a bug of a builder or of this module.
    pub fn seal(&mut self) {
        let now = self.now;
        let mut heads = self.sealed.heads.take().unwrap_or_else(|| {
            let (heads, opening) = Heads::open(&self.tenant, now).expect("a trail");
            self.execute(&opening);
            heads
        });
        let record = |item: &Item| Sealable::read(&self.tenant, item).expect("as it is written");
        let mut waiting: Vec<Sealable> = self.model.iter().filter_map(|(_, item)| record(item)).collect();
        waiting.sort_by_key(|record| (record.at(), record.key().clone()));
        let mut rest = waiting.as_slice();
        let mut credits = LaneCredits::new(0);
        let credited = waiting.iter().filter_map(Sealable::credit).map(|credit| credit.merchant);
        for (merchant, key) in credits.unread(&self.tenant, credited) {
            credits.read(merchant, self.model.get(&key)).expect("as it is written");
        }
        while let Some(batch) = heads.lanes[0].batch(&self.tenant, rest, &credits, None, now).expect("a segment") {
            self.execute(batch.transaction());
            rest = &rest[batch.records()..];
            heads.lanes[0] = batch.into_next();
        }
        self.sealed.heads = Some(heads);
    }

    /// Whether a posting day is to be closed by this instant.
    #[must_use]
    pub fn has_day_to_close(&self) -> bool {
        next_to_close(self.sealed.closed, self.now).is_some()
    }

    /// Closes the posting days that are to be closed by this instant, after what is sealed. Before the first closing, all
    /// earlier days are closed by one.
    ///
    /// # Panics
    /// If nothing was sealed, or as [`Ledger::seal`].
    pub fn close_days(&mut self) {
        while let Some(date) = next_to_close(self.sealed.closed, self.now) {
            let heads = self.sealed.heads.as_ref().expect("a trail");
            let closing = close(&self.tenant, date, heads, self.now).expect("a closing");
            self.execute(&closing);
            self.sealed.closed = Some(date);
        }
    }

    /// Removes and returns the rows that are not read again when customers pay and days are closed: all but balances,
    /// metrics, what merchants are credited with, and the heads of the trail.
    pub fn take_sealed(&mut self) -> Vec<Item> {
        let heads = self.heads();
        let is_read_again = |sk: &str| {
            ["METRICS", REFUND_ROOM].contains(&sk) || sk.starts_with("BALANCE#") || sk.starts_with(sk::CREDITED)
        };
        self.model.take(|(_, sk)| !is_read_again(sk) && !heads.contains(sk))
    }

    /// The sort keys of the heads of the trail.
    pub(super) fn heads(&self) -> BTreeSet<String> {
        let heads = [keys::lanes(&self.tenant), keys::lane_head(&self.tenant, 0)];
        heads.into_iter().map(|head| head.sk().to_owned()).collect()
    }

    /// Whether figures are made of a row: a record of the trail, a segment or a closed day.
    ///
    /// # Panics
    /// If the row has no key.
    #[must_use]
    pub fn is_of_figures(&self, row: &Item) -> bool {
        let text = |name| row.text(name).expect("a key");
        let (from, to) = keys::closed_days_between(None, None);
        let is_of_days = |sk: &str| (from.as_str()..to.as_str()).contains(&sk);
        Key::stored(&self.tenant, text(attr::PK), text(attr::SK))
            .is_some_and(|key| key.recorded().is_some() || key.sk().starts_with(sk::SEGMENT) || is_of_days(key.sk()))
    }
}
