//! Counts the embedded engine's requests, so that workers pause while there is nothing to do.

use dynoxide::{AttributeValue, Item};
use ledger_core::keys::attr;
use ledger_core::time::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of the engine's requests. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Activity(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    writes: AtomicU64,
    work: AtomicU64,
}

impl Activity {
    /// The number of requests received.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::SeqCst)
    }

    /// The number of writes that were applied.
    #[must_use]
    pub fn writes(&self) -> u64 {
        self.0.writes.load(Ordering::SeqCst)
    }

    /// Grows with each write, and with each query that finds work that is due now.
    ///
    /// While it does not change, a worker that has found nothing to do finds nothing, except work that becomes due with
    /// time.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.0.work.load(Ordering::SeqCst)
    }

    pub(super) fn count_request(&self) {
        self.0.requests.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a write.
    pub(super) fn count_write(&self) {
        self.0.writes.fetch_add(1, Ordering::SeqCst);
        self.0.work.fetch_add(1, Ordering::SeqCst);
    }

    /// Counts a query of the index `due` that found these rows.
    pub(super) fn count_due(&self, rows: &[Item], now: Timestamp) {
        if rows.iter().any(|row| is_due(row, now)) {
            self.0.work.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Whether a row of the index `due` is due now: its sort key begins with no time, or with one that has passed.
fn is_due(row: &Item, now: Timestamp) -> bool {
    let begins = text(row, attr::DUE_SK).split('#').next().unwrap_or_default();
    Timestamp::parse(begins).map_or(true, |at| at <= now)
}

fn text<'a>(row: &'a Item, name: &str) -> &'a str {
    match row.get(name) {
        Some(AttributeValue::S(text)) => text,
        Some(_) | None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_due_work_and_writes_count_as_work() {
        let now = Timestamp::parse("2026-11-21T09:30:00Z").unwrap();
        let row = |sort_key: &str| Item::from([(attr::DUE_SK.to_owned(), AttributeValue::S(sort_key.to_owned()))]);
        let cases = [
            ("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e", true),
            ("2026-11-21T09:29:59.999Z#hold#x", true),
            ("2026-11-21T09:30:00.000Z#hold#x", true),
            ("2026-11-21T09:30:00.001Z#hold#x", false),
            ("", true),
        ];
        for (sort_key, is_work) in cases {
            let activity = Activity::default();
            activity.count_due(&[row(sort_key)], now);
            assert_eq!(activity.work(), u64::from(is_work), "{sort_key}");
        }
        let activity = Activity::default();
        activity.count_due(&[], now);
        activity.count_request();
        assert_eq!((activity.work(), activity.requests()), (0, 1));
    }
}
