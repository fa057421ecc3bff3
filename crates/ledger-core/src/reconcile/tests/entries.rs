//! Entries, the items that name them, and keys.

use super::*;
use crate::operation::Operation;

fn key(byte: u8) -> KeyDigest {
    KeyDigest::new([byte; 16])
}

fn other() -> Account {
    Account::Customer(CustomerId::parse(OTHER).unwrap())
}

fn entry(home: Account) -> EntryFact {
    EntryFact::Entry { home, operation: Operation::Pay, key: key(1) }
}

#[test]
fn named_entry_exists_once_and_as_it_is_named() {
    let of = |facts: &[EntryFact]| kinds(&group(&format!("transaction/{ID}")), facts, &scope());
    let claim = |operation, byte| Some(EntryClaim { operation, key: key(byte) });
    assert!(of(&[entry(wallet())]).is_empty());
    assert!(of(&[entry(wallet()), named(Some(wallet()), claim(Operation::Pay, 1))]).is_empty());
    assert_eq!(of(&[named(Some(wallet()), None), named(None, None)]), ["entry_missing"]);
    assert_eq!(of(&[entry(wallet()), entry(other())]), ["entry_doubled"]);
    for otherwise in
        [named(Some(other()), None), named(None, claim(Operation::Refund, 1)), named(None, claim(Operation::Pay, 2))]
    {
        assert_eq!(of(&[entry(wallet()), otherwise]), ["entry_differs"]);
    }
}

#[test]
fn key_has_one_entry_until_it_may_be_used_again() {
    let effect = |number: u8, at: i64, window_ms| KeyFact {
        at,
        entry: transaction(number),
        operation: Operation::Pay,
        principal: "customer:1".to_owned(),
        window_ms,
        accounts: [wallet()].into(),
    };
    let of = |facts: &[KeyFact]| kinds(&group(&format!("key/{}", key(0))), facts, &scope());
    assert!(of(&[effect(1, 1, None)]).is_empty());
    assert_eq!(of(&[effect(1, 1, None), effect(2, i64::MAX, None)]), ["duplicate_effect"]);
    assert_eq!(of(&[effect(1, 1, Some(100)), effect(2, 101, Some(100))]), ["duplicate_effect"]);
    assert!(of(&[effect(1, 1, Some(100)), effect(2, 102, Some(100))]).is_empty());
    let three = [effect(3, 1, None), effect(2, 2, None), effect(1, 3, None)];
    assert_eq!(of(&three), ["duplicate_effect", "duplicate_effect"]);
}

#[test]
fn missing_entry_explains_the_period_that_it_was_credited_in() {
    let by_payment = EntryFact::Reference {
        by: format!("payment:{OTHER}"),
        home: Some(wallet()),
        merchant: Some(merchant_id()),
        claim: None,
    };
    let open = PeriodFact::Open { sums: PeriodTotals { records: 1, ..PeriodTotals::default() }, until: 9 };
    let missing = found(&group(&format!("transaction/{OTHER}")), &[by_payment], &scope());
    let differs = found(&group(&format!("period/{ID}/L0/1")), &[open], &scope());
    let mut all = [differs, missing].concat();
    explain(&mut all);
    assert_eq!(all[0].follows, Some(format!("transaction:{OTHER}")));
    assert_eq!(all[1].follows, None);
}
