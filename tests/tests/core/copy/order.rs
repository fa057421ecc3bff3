//! A copy is put together in whole transactions, whatever the order of the changes.

use ledger_core::dynamo::{Item, Value};
use ledger_tests::copy::{Change, Copy, Foreign, Transaction};
use ledger_tests::engine::PrimaryKey;

const AT: i64 = 1_795_000_000;
/// No transaction is applied.
const NONE: [u8; 0] = [];

fn token(transaction: u8) -> Transaction {
    vec![transaction; 16]
}

fn key(name: &str) -> PrimaryKey {
    (name.to_owned(), "ITEM".to_owned())
}

/// An item as a transaction of some writes left it.
fn item(name: &str, transaction: u8, of: i64) -> Item {
    Item::from([
        ("uuid".to_owned(), Value::s(name)),
        ("type".to_owned(), Value::s("ITEM")),
        ("_tx".to_owned(), Value::B(token(transaction))),
        ("_of".to_owned(), Value::int(of)),
    ])
}

fn expiring(name: &str, transaction: u8, ttl: i64) -> Item {
    let mut item = item(name, transaction, 1);
    item.insert("ttl".to_owned(), Value::int(ttl));
    item
}

fn put(new: Item) -> Change {
    Change { old: None, new: Some(new), at: AT, is_by_ttl: false }
}

fn changed(old: Item, new: Item) -> Change {
    Change { old: Some(old), ..put(new) }
}

fn by_ttl(old: Item) -> Change {
    Change { old: Some(old), new: None, at: AT, is_by_ttl: true }
}

/// Takes a change; returns the transactions that are applied with it.
fn take(copy: &mut Copy, change: &Change) -> Vec<u8> {
    let applied = copy.take(change).unwrap_or_else(|foreign| panic!("{foreign:?}"));
    applied.into_iter().map(|(transaction, _)| transaction[0]).collect()
}

#[test]
fn transaction_is_applied_at_once_when_its_last_item_is_there() {
    let mut copy = Copy::default();
    assert_eq!(take(&mut copy, &put(item("a", 1, 2))), NONE);
    assert!(copy.items().is_empty(), "an item is missing");
    assert_eq!((take(&mut copy, &put(item("b", 1, 2))), copy.items().len(), copy.waiting()), (vec![1], 2, 0));
}

#[test]
fn repeated_record_changes_nothing_before_and_after_its_transaction() {
    let mut copy = Copy::default();
    let (a, b) = (put(item("a", 1, 2)), put(item("b", 1, 2)));
    for again in [&a, &a] {
        assert_eq!(take(&mut copy, again), NONE);
    }
    assert_eq!(take(&mut copy, &b), [1]);
    let once = copy.items().clone();
    for again in [&a, &b, &a] {
        assert_eq!(take(&mut copy, again), NONE);
    }
    let next = changed(item("a", 1, 2), item("a", 2, 1));
    assert_eq!(take(&mut copy, &next), [2]);
    // The item has been written since: the whole repeated transaction finds it otherwise than it was.
    for again in [&a, &b, &next] {
        assert_eq!(take(&mut copy, again), NONE);
    }
    assert_eq!(copy.items()[&key("a")], item("a", 2, 1));
    assert_eq!(copy.items()[&key("b")], once[&key("b")]);
}

#[test]
fn item_of_two_transactions_is_written_in_their_order() {
    let mut copy = Copy::default();
    // The third waits for the second, and that one for the first.
    assert_eq!(take(&mut copy, &changed(item("a", 2, 2), item("a", 3, 1))), NONE);
    assert_eq!(take(&mut copy, &changed(item("a", 1, 1), item("a", 2, 2))), NONE);
    assert_eq!(take(&mut copy, &put(item("b", 2, 2))), NONE);
    assert!(copy.items().is_empty(), "what they are written on is not there");
    assert_eq!(take(&mut copy, &put(item("a", 1, 1))), [1, 2, 3]);
    assert_eq!(copy.items()[&key("a")], item("a", 3, 1));
}

#[test]
fn transaction_with_a_replayed_token_is_one_transaction() {
    // DynamoDB executes a token's transaction once: a retry that is answered again makes no record. If the stream repeats the
    // records of the first execution with another time, they are still the same.
    let mut copy = Copy::default();
    let later = |change: Change| Change { at: AT + 5, ..change };
    assert_eq!(take(&mut copy, &put(item("a", 1, 2))), NONE);
    assert_eq!(take(&mut copy, &later(put(item("a", 1, 2)))), NONE);
    assert_eq!(take(&mut copy, &put(item("b", 1, 2))), [1]);
    assert_eq!(take(&mut copy, &later(put(item("b", 1, 2)))), NONE);
    assert_eq!(copy.waiting(), 0);
}

#[test]
fn item_whose_ttl_has_passed_is_written_as_if_it_were_absent() {
    let (first, next) = (expiring("a", 1, AT - 1), expiring("a", 2, AT + 100));
    let mut copy = Copy::default();
    assert_eq!(take(&mut copy, &put(first.clone())), [1]);
    // The copy keeps what the table's TTL removes.
    assert_eq!((take(&mut copy, &by_ttl(first)), copy.items().len()), (NONE.to_vec(), 1));
    assert_eq!(take(&mut copy, &put(next.clone())), [2]);
    // Its own first record, repeated when the later one has expired too, is of a time before that.
    let repeated = put(expiring("a", 1, AT - 1));
    assert_eq!(take(&mut copy, &repeated), NONE);
    assert_eq!(copy.items()[&key("a")], next);
}

#[test]
fn item_whose_ttl_has_not_passed_is_not_overwritten() {
    let mut copy = Copy::default();
    assert_eq!(take(&mut copy, &put(expiring("a", 1, AT + 1))), [1]);
    assert_eq!(take(&mut copy, &put(expiring("a", 2, AT + 100))), NONE);
    assert_eq!((copy.items()[&key("a")].clone(), copy.waiting()), (expiring("a", 1, AT + 1), 1));
    // With the image of the expired item that is still there, its transaction decides.
    assert_eq!(take(&mut copy, &changed(expiring("a", 1, AT + 1), expiring("a", 3, AT + 100))), [3]);
}

#[test]
fn change_by_others_stops_the_copy() {
    let mut copy = Copy::default();
    assert_eq!(take(&mut copy, &put(item("a", 1, 1))), [1]);
    let mut unnamed = item("b", 2, 1);
    let _ = unnamed.remove("_tx");
    assert_eq!(copy.take(&put(unnamed.clone())), Err(Foreign::Unnamed(key("b"))), "without a name");
    assert_eq!(
        copy.take(&changed(unnamed, item("b", 2, 1))),
        Err(Foreign::Unnamed(key("b"))),
        "after an item without one"
    );
    let mut edited = item("a", 1, 1);
    edited.insert("balance".to_owned(), Value::int(5));
    assert_eq!(copy.take(&changed(item("a", 1, 1), edited)), Err(Foreign::Kept(key("a"))), "with the name of before");
    let removed = Change { is_by_ttl: false, ..by_ttl(item("a", 1, 1)) };
    assert_eq!(copy.take(&removed), Err(Foreign::Removed(key("a"))));
    assert_eq!(take(&mut copy, &put(item("c", 3, 2))), NONE);
    assert_eq!(copy.take(&put(item("d", 3, 3))), Err(Foreign::Contradicting(key("d"))), "another number of writes");
    let mut other = item("c", 3, 2);
    other.insert("balance".to_owned(), Value::int(5));
    assert_eq!(copy.take(&put(other)), Err(Foreign::Contradicting(key("c"))), "one item twice");
}
