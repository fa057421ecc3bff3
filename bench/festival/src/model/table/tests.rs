use super::*;
use crate::chance::SECOND;

const A: Key = Key { pk: 1, sk: 1 };
const B: Key = Key { pk: 2, sk: 1 };

fn setup() -> TableSetup {
    TableSetup { warm_write_units: 1_000, quota_write_units: None, split_after: u64::MAX, placement: 0 }
}

fn add_to(key: Key, by: i64, condition: Condition) -> Action {
    Action { key, kilobytes: 1, condition, change: Change::Add(by), entries: Vec::new() }
}

fn of(writer: u32, actions: Vec<Action>) -> Transaction {
    Transaction { writer: Writer::Customer(writer), actions }
}

#[test]
fn transaction_on_a_held_item_is_cancelled_until_the_holder_commits() {
    let mut table = Table::new(&setup());
    let first = of(1, vec![add_to(A, 5, Condition::None), add_to(B, 5, Condition::None)]);
    let second = of(2, vec![add_to(B, 7, Condition::None)]);
    table.prepare(0, &first).unwrap();
    let cancelled = table.prepare(10, &second).unwrap_err();
    assert_eq!(cancelled.reasons, [Reason::TransactionConflict]);
    assert_eq!(cancelled.held_by, Some(Writer::Customer(1)));
    assert_eq!(table.get(B), None, "a read sees nothing that is not committed");
    table.commit(&first);
    table.prepare(20, &second).unwrap();
    table.commit(&second);
    assert_eq!((table.get(A), table.get(B)), (Some(5), Some(12)));
}

#[test]
fn transactions_on_different_items_of_one_partition_do_not_conflict() {
    let mut table = Table::new(&setup());
    let other = Key { sk: 2, ..A };
    table.prepare(0, &of(1, vec![add_to(A, 1, Condition::None)])).unwrap();
    table.prepare(0, &of(2, vec![add_to(other, 1, Condition::None)])).unwrap();
}

#[test]
fn failed_condition_cancels_everything_and_names_its_position() {
    let mut table = Table::new(&setup());
    table.seed(A, 100);
    let short = of(1, vec![add_to(B, 1, Condition::Absent), add_to(A, -200, Condition::AtLeast(200))]);
    let cancelled = table.prepare(0, &short).unwrap_err();
    assert_eq!(cancelled.reasons, [Reason::None, Reason::ConditionalCheckFailed]);
    assert_eq!((table.get(A), table.get(B)), (Some(100), None));
    assert!(table.held.is_empty());
}

#[test]
fn one_item_takes_500_transactions_a_second() {
    let mut table = Table::new(&TableSetup { warm_write_units: 100_000, ..setup() });
    let one = of(1, vec![add_to(A, 1, Condition::None)]);
    let mut applied = 0;
    for at in 0..10_000 {
        if table.prepare(at * SECOND / 1_000, &one).is_ok() {
            table.commit(&one);
            applied += 1;
        }
    }
    // 10 s at 1,000 a second; the bucket begins full.
    assert!((5_000..=5_501).contains(&applied), "{applied}");
}

#[test]
fn hot_index_key_throttles_the_table() {
    let mut table = Table::new(&TableSetup { warm_write_units: 100_000, ..setup() });
    let mut throttled = 0;
    for at in 0..20_000_u64 {
        let entries = vec![Entry { index: Index::Due, pk: 9, kilobytes: 1 }];
        let put = Action { entries, ..add_to(Key { pk: at, sk: 0 }, 1, Condition::Absent) };
        let one = of(1, vec![put]);
        match table.prepare(at * SECOND / 2_000, &one) {
            Ok(()) => table.commit(&one),
            Err(cancelled) => {
                assert_eq!(cancelled.limit, Some(Limit::Of(Index::Due)));
                assert_eq!(cancelled.reasons, [Reason::ThrottlingError]);
                throttled += 1;
            }
        }
    }
    assert!((8_900..10_000).contains(&throttled), "{throttled}");
}

#[test]
fn cancelled_transaction_writes_no_index_entry_and_consumes_its_items() {
    let mut table = Table::new(&setup());
    let entries = vec![Entry { index: Index::Due, pk: 9, kilobytes: 1 }];
    let put = of(1, vec![Action { entries, ..add_to(A, 1, Condition::Absent) }]);
    table.prepare(0, &put).unwrap();
    table.commit(&put);
    assert_eq!(table.written_units(), 3);
    table.prepare(1, &put).unwrap_err();
    assert_eq!(table.written_units(), 5);
}

#[test]
fn quota_of_the_table_throttles_all_keys() {
    let mut table = Table::new(&TableSetup { warm_write_units: 100_000, quota_write_units: Some(10), ..setup() });
    for key in 0..5 {
        table.prepare(0, &of(1, vec![add_to(Key { pk: key, sk: 0 }, 1, Condition::None)])).unwrap();
    }
    let over = table.prepare(0, &of(1, vec![add_to(A, 1, Condition::None)])).unwrap_err();
    assert_eq!(over.limit, Some(Limit::Quota));
}
