use super::query::Query;
use super::range::{Bounds, SortRange};
use super::{Request, items, snapshot, work_due};
use crate::dynamo::Value;
use crate::ids::{CustomerId, Tenant};
use crate::keys::{Key, Partition};
use crate::time::Timestamp;

fn partition() -> Partition {
    let id = CustomerId::parse("019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
    Partition::customer(&Tenant::parse("demo").unwrap(), id)
}

fn key(number: usize) -> Key {
    Key::stored(&Tenant::parse("demo").unwrap(), partition().as_str(), &format!("TXN#{number:03}")).unwrap()
}

/// Every range that the constructors make of these bounds, also narrowed in both directions.
fn ranges() -> Vec<SortRange> {
    let texts = ["", "A", "B#", "B#1", "B#2", "C", "\u{10ffff}"];
    let mut ranges = vec![SortRange::ALL];
    for low in texts {
        ranges.push(SortRange::prefix(low));
        ranges.push(SortRange::up_to(low));
        ranges.extend(texts.map(|high| SortRange::between(low, high)));
    }
    let narrow = |range: &SortRange| {
        texts.into_iter().flat_map(|text| [range.clone().at_least(text), range.clone().at_most(text)]).collect()
    };
    let narrowed: Vec<SortRange> = ranges.iter().flat_map(|range| -> Vec<SortRange> { narrow(range) }).collect();
    ranges.extend(narrowed);
    ranges
}

#[test]
fn range_never_has_an_empty_or_inverted_bound() {
    for range in ranges() {
        match range.bounds() {
            Bounds::All | Bounds::Nothing => {}
            Bounds::Prefix(bound) | Bounds::From(bound) | Bounds::UpTo(bound) => assert!(!bound.is_empty()),
            Bounds::Between(low, high) => assert!(!low.is_empty() && low <= high, "{low} {high}"),
        }
    }
}

/// Whether a range contains a sort key, by the definition of its form.
fn contains(range: &SortRange, key: &str) -> bool {
    match range.bounds() {
        Bounds::All => true,
        Bounds::Prefix(prefix) => key.starts_with(prefix.as_str()),
        Bounds::From(low) => low.as_str() <= key,
        Bounds::UpTo(high) => key <= high.as_str(),
        Bounds::Between(low, high) => low.as_str() <= key && key <= high.as_str(),
        Bounds::Nothing => false,
    }
}

#[test]
fn narrowed_range_contains_keys_of_both_conditions() {
    let keys = ["A", "B", "B#", "B#1", "B#1x", "B#2", "B#\u{ffff}", "C", "D"];
    let bounds = ["", "A", "B#", "B#1", "B#2", "C"];
    for range in ranges() {
        for bound in bounds {
            for key in keys {
                let whole = contains(&range, key);
                assert_eq!(contains(&range.clone().at_least(bound), key), whole && bound <= key, "{range:?} {bound}");
                assert_eq!(contains(&range.clone().at_most(bound), key), whole && key <= bound, "{range:?} {bound}");
            }
        }
    }
}

#[test]
fn due_query_has_no_lower_bound() {
    let query = work_due(&Tenant::parse("demo").unwrap(), 3, Timestamp::from_millis(0));
    let Some(Request::Query(request)) = query.limit(50).request(0, None) else { panic!() };
    assert_eq!(request.index, Some("due"));
    assert_eq!(request.key_condition, "#pk = :pk AND #sk <= :high");
    assert_eq!(request.values[":pk"], Value::s("demo#due#3"));
    assert_eq!(request.values[":high"], Value::s("1970-01-01T00:00:00.000Z#~"));
    assert_eq!(request.limit, Some(50));
}

#[test]
fn empty_range_makes_no_request() {
    let query = Query::partition(&partition(), SortRange::prefix("TXN#"));
    assert!(query.clone().newest_first().after(Some("BALANCE#".to_owned())).request(0, None).is_none());
    assert!(query.after(Some("ZZZ".to_owned())).request(0, None).is_none());
}

#[test]
fn limit_counts_missing_items_and_the_excluded_bound() {
    let limit = |query: &Query, found| match query.request(found, None) {
        Some(Request::Query(request)) => request.limit,
        other => panic!("{other:?}"),
    };
    let query = Query::partition(&partition(), SortRange::prefix("TXN#"));
    assert_eq!(limit(&query, 0), None);
    let query = query.limit(10);
    assert_eq!((limit(&query, 0), limit(&query, 7), limit(&query, 10)), (Some(10), Some(3), Some(1)));
    let query = query.after(Some("TXN#5".to_owned()));
    assert_eq!((limit(&query, 0), limit(&query, 10)), (Some(11), Some(1)));
    assert!(!query.includes("TXN#5"));
    assert!(query.includes("TXN#6"));
}

#[test]
fn items_are_read_once_each_in_batches_of_100() {
    let keys: Vec<Key> = (0..150).chain(0..150).map(key).collect();
    let sizes: Vec<usize> = items(&keys)
        .iter()
        .map(|request| {
            let Request::BatchGetItem(keys) = request else { panic!("{request:?}") };
            keys.len()
        })
        .collect();
    assert_eq!(sizes, [100, 50]);
    assert!(items(&[]).is_empty());
}

#[test]
fn snapshot_without_1_to_100_distinct_keys_is_refused() {
    let keys: Vec<Key> = (0..100).map(key).collect();
    assert_eq!(snapshot(&keys), Some(Request::TransactGetItems(keys.clone())));
    assert_eq!(snapshot(&[]), None);
    assert_eq!(snapshot(&[keys.clone(), vec![key(100)]].concat()), None);
    assert_eq!(snapshot(&[key(1), key(1)]), None);
}
