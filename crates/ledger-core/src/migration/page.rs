//! One page of a history in both formats: what to read of the legacy format, and when enough has been read.
//!
//! Lines are in the order of their ids. A legacy item that the ledger did not write has the id of the reference that it
//! would make: its instant is that of the sort key, but items of one instant have no order among their sort keys. So
//! the legacy format is read from just above the last instant of the page before, until every instant that the page may
//! need has been read.

use super::history::{merged, millis_of};
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{TransactionId, born_at, parse_uuid};
use crate::keys::sk;
use uuid::Uuid;

/// The smallest sort key above all legacy items that may follow a line, newest first; `None` if all may follow.
#[must_use]
pub fn legacy_after(line: Uuid) -> Option<String> {
    born_at(line).map(|at| instant(at.millis().saturating_add(1)))
}

/// The range of sort keys that contains the legacy item with a line's id; `None` if the id has no instant.
#[must_use]
pub fn legacy_of(line: TransactionId) -> Option<(String, String)> {
    let at = born_at(line.uuid())?.millis();
    Some((format!("{}#", instant(at)), instant(at.saturating_add(1))))
}

/// The newest lines of a history, newest first: `wanted` of them, or fewer if there are no more.
///
/// `items` must hold the newest `wanted` entries and the newest `wanted` references, and all legacy items down to
/// `read_to` (all legacy items if it is `None`). Returns `None` if a line of the page may still be unread.
///
/// # Errors
/// [`ItemError`] if an entry or a reference does not have the expected format.
pub fn newest(
    items: Vec<Item>,
    after: Option<Uuid>,
    wanted: usize,
    read_to: Option<&str>,
) -> Result<Option<Vec<Item>>, ItemError> {
    let mut lines = Vec::new();
    for item in merged(items)? {
        lines.push((item.parsed("transaction_id", parse_uuid)?, item));
    }
    lines.retain(|(id, _)| after.is_none_or(|after| *id < after));
    lines.sort_by(|(a, _), (b, _)| b.cmp(a));
    lines.truncate(wanted);
    let all = match (lines.last(), read_to) {
        (_, None) => true,
        (Some((last, _)), Some(read_to)) if lines.len() == wanted => {
            // Unread legacy items are of this instant or of an earlier one.
            millis_of(read_to).is_some_and(|to| born_at(*last).is_some_and(|at| at.millis() > to))
        }
        (_, Some(_)) => wanted == 0,
    };
    Ok(all.then(|| lines.into_iter().map(|(_, item)| item).collect()))
}

/// A sort key up to its instant. Instants from 2001 to 2286 have thirteen digits, so the texts sort by time.
fn instant(millis: i64) -> String {
    format!("{}{millis:013}", sk::HISTORY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use crate::dynamo::Value;
    use crate::ids::{CustomerId, Tenant};
    use crate::journal::HistoryLine;
    use crate::journal::{expand, expanded};
    use crate::keys::{Partition, attr};
    use crate::migration::{LEGACY_SK, reference, reference_keys, refers_to};
    use crate::time::Timestamp;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
    const FIRST: i64 = 1_700_000_000_000;

    fn at(later: i64) -> i64 {
        FIRST.saturating_add(later)
    }

    /// A partition's items by their sort keys.
    type Rows = BTreeMap<String, Item>;

    fn partition() -> Partition {
        Partition::customer(&Tenant::parse("demo").unwrap(), CustomerId::parse(ID).unwrap())
    }

    fn put(rows: &mut Rows, name: &str, more: &[(&str, Value)]) -> Item {
        let keys = [(attr::PK, Value::s(partition().as_str())), (attr::SK, Value::s(name))];
        let item: Item = keys.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        rows.insert(name.to_owned(), item.clone());
        item
    }

    /// Adds an item that the legacy system wrote.
    fn foreign(rows: &mut Rows, millis: i64, operation: &str) -> Item {
        put(rows, &format!("history#{millis}#{operation}"), &[("amount", Value::int(-5))])
    }

    /// Adds an entry or reference that the ledger wrote and, if `is_in_both`, its legacy item.
    fn ours(rows: &mut Rows, prefix: &str, (born, at): (i64, i64), number: usize, is_in_both: bool) {
        let id = TransactionId::of_step(uuid::Uuid::nil(), &number.to_string(), Timestamp::from_millis(born));
        let legacy_sk = format!("history#{at}#pay#{id}");
        let created_at = Value::s(Timestamp::from_millis(at));
        let attributes = [
            ("transaction_id", Value::s(id)),
            ("operation", Value::s("pay")),
            ("created_at", created_at),
            ("changes", Value::M(Item::new())),
        ];
        let legacy = (LEGACY_SK, Value::s(&legacy_sk));
        if is_in_both {
            put(rows, &legacy_sk, &attributes);
            put(rows, &format!("{prefix}{id}"), &[&attributes[..], &[legacy]].concat());
        } else {
            put(rows, &format!("{prefix}{id}"), &attributes);
        }
    }

    fn refer(rows: &mut Rows, legacy: &Item) {
        let (key, item) = reference(legacy).unwrap();
        // Readers take the expanded form.
        rows.insert(key.sk().to_owned(), expanded(item).unwrap());
    }

    /// The newest `limit` items under a prefix, below a sort key.
    fn query(rows: &Rows, prefix: &str, below: Option<&str>, limit: usize) -> Vec<Item> {
        let of = rows.iter().rev().filter(|(name, _)| name.starts_with(prefix));
        of.filter(|(name, _)| below.is_none_or(|below| name.as_str() < below))
            .map(|(_, row)| row.clone())
            .take(limit)
            .collect()
    }

    /// One page, with `step` legacy items per query.
    fn page(rows: &Rows, after: Option<Uuid>, wanted: usize, step: usize) -> Vec<Item> {
        let native = |prefix| query(rows, prefix, after.map(|id| format!("{prefix}{id}")).as_deref(), wanted);
        let mut items = [native(sk::TXN), native(sk::TXNREF)].concat();
        let mut below = after.and_then(legacy_after);
        loop {
            let some = query(rows, sk::HISTORY, below.as_deref(), step);
            let read_to = (some.len() == step).then(|| some.last().unwrap()[attr::SK].clone());
            let Some(Value::S(read_to)) = read_to else {
                items.extend(some);
                return newest(items, after, wanted, None).unwrap().unwrap();
            };
            items.extend(some);
            if let Some(newest) = newest(items.clone(), after, wanted, Some(&read_to)).unwrap() {
                return newest;
            }
            below = Some(read_to);
        }
    }

    fn id(item: &Item) -> Uuid {
        expand(item).unwrap().parsed("transaction_id", parse_uuid).unwrap()
    }

    fn paged(rows: &Rows, limit: usize, step: usize) -> Vec<Uuid> {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let mut lines = page(rows, after, limit.saturating_add(1), step);
            let more = lines.len() > limit;
            lines.truncate(limit);
            let party = Account::Customer(CustomerId::parse(ID).unwrap());
            lines.iter().for_each(|line| drop(HistoryLine::read(line, Some(party)).unwrap()));
            all.extend(lines.iter().map(id));
            if !more {
                return all;
            }
            after = all.last().copied();
        }
    }

    /// The sort keys of legacy items that no entry or reference names.
    fn unreferenced(rows: &Rows) -> Vec<String> {
        let legacy = rows.iter().filter(|(name, _)| name.starts_with("history#"));
        let is_referenced = |row: &Item| {
            reference_keys(row).iter().any(|key| rows.get(key.sk()).is_some_and(|found| refers_to(found, row)))
        };
        legacy.filter(|(_, row)| !is_referenced(row)).map(|(name, _)| name.clone()).collect()
    }

    /// Every expected line once: entries, references, and legacy items that no entry or reference names.
    fn expected(rows: &Rows) -> Vec<Uuid> {
        let native = rows.iter().filter(|(name, _)| name.starts_with("TXN")).map(|(_, row)| id(row));
        let alone = unreferenced(rows);
        let alone = alone.iter().filter_map(|name| Some(id(&reference(&rows[name])?.1)));
        let mut all: Vec<Uuid> = native.chain(alone).collect();
        all.sort();
        all.reverse();
        all
    }

    #[test]
    fn lines_of_one_instant_are_in_the_order_of_their_ids_over_pages() {
        let mut rows = Rows::new();
        for operation in ["a", "b", "c", "d", "e", "f", "g"] {
            foreign(&mut rows, FIRST, operation);
        }
        foreign(&mut rows, at(-1), "pay");
        ours(&mut rows, sk::TXN, (FIRST, FIRST), 0, true);
        let expected = expected(&rows);
        assert_eq!(expected.len(), 9);
        for limit in 1..10 {
            for step in 1..10 {
                assert_eq!(paged(&rows, limit, step), expected, "{limit} {step}");
            }
        }
    }

    #[test]
    fn line_with_id_later_than_its_instant_hides_no_other_line() {
        let mut rows = Rows::new();
        ours(&mut rows, sk::TXN, (at(5), at(2)), 0, true);
        foreign(&mut rows, at(1), "pay");
        for (limit, step) in [(1, 1), (1, 2), (2, 1)] {
            assert_eq!(paged(&rows, limit, step), expected(&rows), "{limit} {step}");
        }
        assert_eq!(expected(&rows).len(), 2);
    }

    #[test]
    fn legacy_item_without_instant_is_left_out_and_reported() {
        let mut rows = Rows::new();
        let own = [("transaction_id", Value::s(ID)), ("operation", Value::int(1))];
        put(&mut rows, "history#yesterday#pay", &own);
        foreign(&mut rows, FIRST, "pay");
        assert_eq!(paged(&rows, 1, 1).len(), 1);
        assert_eq!(unreferenced(&rows).len(), 2);
    }

    #[test]
    fn line_of_legacy_system_is_found_by_its_id() {
        let mut rows = Rows::new();
        for operation in ["pay", "pay#again", "grant"] {
            foreign(&mut rows, FIRST, operation);
        }
        foreign(&mut rows, at(1), "pay");
        for row in rows.values() {
            let (low, high) = legacy_of(TransactionId::new(id(&reference(row).unwrap().1))).unwrap();
            let Value::S(name) = &row[attr::SK] else { panic!() };
            assert!(low <= *name && *name <= high, "{name}");
            let between = rows.keys().filter(|name| (low.as_str()..=high.as_str()).contains(&name.as_str())).count();
            assert!(between <= 3, "{low} to {high}");
        }
        assert_eq!(legacy_of(TransactionId::new(Uuid::nil())), None);
    }

    proptest! {
        /// INVARIANT: for any mix of formats and any query size, pages give each line once, in order.
        #[test]
        fn pages_give_each_line_once_in_order(
            theirs in prop::collection::btree_map((0_i64..6, 0_u8..5), any::<bool>(), 0..16),
            own in prop::collection::vec((0_i64..6, -3_i64..4, any::<bool>(), any::<bool>()), 0..12),
            limit in 1_usize..12,
            step in 1_usize..8,
        ) {
            let mut rows = Rows::new();
            for ((millis, operation), is_referred) in theirs {
                let legacy = foreign(&mut rows, at(millis), &format!("pay{operation}"));
                if is_referred {
                    refer(&mut rows, &legacy);
                }
            }
            for (number, (born, later, is_reference, is_in_both)) in own.into_iter().enumerate() {
                let prefix = if is_reference { sk::TXNREF } else { sk::TXN };
                // The instant of an entry in the history need not be the instant in its id.
                ours(&mut rows, prefix, (at(born), at(born.saturating_add(later))), number, is_in_both);
            }
            prop_assert_eq!(paged(&rows, limit, step), expected(&rows));
        }
    }
}
