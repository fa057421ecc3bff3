//! A page of a history that is in both formats: what is read of the legacy one, and when enough of it has been.
//!
//! Lines are in the order of their ids. A legacy item that the ledger has not written has the id that its reference
//! would have: of the same instant as its sort key, but in no order within that. So the legacy format is read from
//! above the last instant of the page before, and on until its instants are all over that the page may need.

use super::history::{merged, millis_of};
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{TransactionId, born_at, parse_uuid};
use crate::keys::sk;
use uuid::Uuid;

/// The least sort key above all legacy items that may come after a line, newest first; `None` if all may.
#[must_use]
pub fn legacy_after(line: Uuid) -> Option<String> {
    born_at(line).map(|at| instant(at.millis().saturating_add(1)))
}

/// Between which sort keys the legacy item stands that has a line's id; `None` if there is none.
#[must_use]
pub fn legacy_of(line: TransactionId) -> Option<(String, String)> {
    let at = born_at(line.uuid())?.millis();
    Some((format!("{}#", instant(at)), instant(at.saturating_add(1))))
}

/// The newest lines of a history, newest first: `wanted` of them, fewer if there are no more. `items` are in both
/// formats: of entries and of references as many of the newest as are wanted, of legacy items all down to `read_to`, or
/// all if there are no more. `None` if what has not been read may be among them.
///
/// # Errors
/// [`ItemError`] if an entry or a reference does not look as we write it.
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
            // What has not been read is of this instant or of an earlier one.
            millis_of(read_to).is_some_and(|to| born_at(*last).is_some_and(|at| at.millis() > to))
        }
        (_, Some(_)) => wanted == 0,
    };
    Ok(all.then(|| lines.into_iter().map(|(_, item)| item).collect()))
}

/// A sort key up to its instant: thirteen digits from 2001 to 2286, so that texts are in the order of instants.
fn instant(millis: i64) -> String {
    format!("{}{millis:013}", sk::HISTORY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Account;
    use crate::dynamo::Value;
    use crate::ids::{CustomerId, Tenant};
    use crate::keys::{Partition, attr};
    use crate::migration::{LEGACY_SK, reference, tells, told_by};
    use crate::ops::journal::HistoryLine;
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

    /// What the legacy system has written.
    fn foreign(rows: &mut Rows, millis: i64, operation: &str) -> Item {
        put(rows, &format!("history#{millis}#{operation}"), &[("amount", Value::int(-5))])
    }

    /// What the ledger has written: an entry or a reference, and the legacy item beside it while that is written.
    fn ours(rows: &mut Rows, prefix: &str, (born, at): (i64, i64), number: usize, is_in_both: bool) {
        let id = TransactionId::of_step(uuid::Uuid::nil(), &number.to_string(), Timestamp::from_millis(born));
        let legacy_sk = format!("history#{at}#pay#{id}");
        let created_at = Value::s(Timestamp::from_millis(at));
        let said = [
            ("transaction_id", Value::s(id)),
            ("operation", Value::s("pay")),
            ("created_at", created_at),
            ("changes", Value::M(Item::new())),
        ];
        let legacy = (LEGACY_SK, Value::s(&legacy_sk));
        if is_in_both {
            put(rows, &legacy_sk, &said);
            put(rows, &format!("{prefix}{id}"), &[&said[..], &[legacy]].concat());
        } else {
            put(rows, &format!("{prefix}{id}"), &said);
        }
    }

    fn refer(rows: &mut Rows, legacy: &Item) {
        let (key, item) = reference(legacy).unwrap();
        rows.insert(key.sk().to_owned(), item);
    }

    /// As many of the newest under a prefix as are wanted, below a sort key.
    fn query(rows: &Rows, prefix: &str, below: Option<&str>, limit: usize) -> Vec<Item> {
        let of = rows.iter().rev().filter(|(name, _)| name.starts_with(prefix));
        of.filter(|(name, _)| below.is_none_or(|below| name.as_str() < below))
            .map(|(_, row)| row.clone())
            .take(limit)
            .collect()
    }

    /// One page, read like a store's, `step` legacy items at a time.
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
        item.parsed("transaction_id", parse_uuid).unwrap()
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

    /// Names of legacy items that nothing stands for.
    fn untold(rows: &Rows) -> Vec<String> {
        let legacy = rows.iter().filter(|(name, _)| name.starts_with("history#"));
        let stands =
            |row: &Item| told_by(row).iter().any(|key| rows.get(key.sk()).is_some_and(|found| tells(found, row)));
        legacy.filter(|(_, row)| !stands(row)).map(|(name, _)| name.clone()).collect()
    }

    /// Every line once, by what stands: entries, references, and legacy items of others without one.
    fn expected(rows: &Rows) -> Vec<Uuid> {
        let native = rows.iter().filter(|(name, _)| name.starts_with("TXN")).map(|(_, row)| id(row));
        let alone = untold(rows);
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
    fn a_line_that_stands_later_than_it_was_written_hides_no_other() {
        let mut rows = Rows::new();
        ours(&mut rows, sk::TXN, (at(5), at(2)), 0, true);
        foreign(&mut rows, at(1), "pay");
        for (limit, step) in [(1, 1), (1, 2), (2, 1)] {
            assert_eq!(paged(&rows, limit, step), expected(&rows), "{limit} {step}");
        }
        assert_eq!(expected(&rows).len(), 2);
    }

    #[test]
    fn what_is_under_no_instant_is_left_out_and_told_of() {
        let mut rows = Rows::new();
        let own = [("transaction_id", Value::s(ID)), ("operation", Value::int(1))];
        put(&mut rows, "history#yesterday#pay", &own);
        foreign(&mut rows, FIRST, "pay");
        assert_eq!(paged(&rows, 1, 1).len(), 1);
        assert_eq!(untold(&rows).len(), 2);
    }

    #[test]
    fn a_foreign_line_is_found_by_its_id() {
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
        /// Whatever stands in which format, and however much is read at a time: pages give each line once, in order.
        #[test]
        fn pages_lose_nothing_and_double_nothing(
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
                // An entry need not stand in a history at the instant at which it was written.
                ours(&mut rows, prefix, (at(born), at(born.saturating_add(later))), number, is_in_both);
            }
            prop_assert_eq!(paged(&rows, limit, step), expected(&rows));
        }
    }
}
