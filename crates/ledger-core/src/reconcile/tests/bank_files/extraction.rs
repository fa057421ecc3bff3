//! What items of bank files give.

use super::super::*;
use super::{day, settlement};
use crate::bank_files::BankFileState;
use crate::ids::BankFileId;
use crate::operation::Operation;

const CREATED_AT: &str = "2026-12-01T00:00:00.000Z";
const UPDATED_AT: &str = "2026-12-02T00:00:00.000Z";

fn item(partition: &str, sk: &str, more: &[(&str, Value)]) -> Item {
    let own = [
        ("uuid", Value::S(format!("demo#{partition}"))),
        ("type", Value::s(sk)),
        ("created_at", Value::s(CREATED_AT)),
        ("updated_at", Value::s(UPDATED_AT)),
    ];
    own.iter().chain(more).map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn map(all: &[(&str, &str)]) -> Value {
    Value::M(all.iter().map(|(name, text)| ((*name).to_owned(), Value::s(text))).collect())
}

fn observed(item: &Item) -> Vec<Observation> {
    of_item(item, Timestamp::parse(UPDATED_AT).unwrap(), Limits::default())
}

fn facts(item: &Item) -> Vec<GroupFact> {
    let fact = |observation| match observation {
        Observation::Fact(fact) => fact.content,
        other @ (Observation::Break(_) | Observation::Newer(_)) => panic!("{other:?}"),
    };
    observed(item).into_iter().map(fact).collect()
}

fn is_unreadable(item: &Item) -> bool {
    let is_break = |observation: &Observation| match observation {
        Observation::Break(finding) => finding.kind == BreakKind::UnreadableItem,
        Observation::Fact(_) | Observation::Newer(_) => false,
    };
    matches!(&observed(item)[..], [one] if is_break(one))
}

fn with(mut item: Item, name: &str, value: Value) -> Item {
    item.insert(name.to_owned(), value);
    item
}

fn file_id() -> BankFileId {
    BankFileId::parse("2026-12-10-01").unwrap()
}

fn changed_at() -> i64 {
    Timestamp::parse(UPDATED_AT).unwrap().millis()
}

fn account(code: Option<&str>) -> Value {
    let own = [
        ("bank_code", "0005"),
        ("branch_code", "001"),
        ("account_type", "ordinary"),
        ("account_number", "7654321"),
        ("account_holder", "ﾐﾄﾞﾘ"),
    ];
    map(&own.into_iter().chain(code.map(|code| ("sender_code", code))).collect::<Vec<_>>())
}

fn transfer() -> Item {
    let more = [
        ("settlement_id", Value::s(settlement(1))),
        ("merchant_id", Value::s(ID)),
        ("day", Value::s(day())),
        ("amount", Value::int(1000)),
        ("sender", account(Some("1234567890"))),
        ("account", account(None)),
    ];
    item("bank_transfers#2026-12-10", &format!("TRANSFER#{}", settlement(1)), &more)
}

fn file(state: &str) -> Item {
    let more = [
        ("bank_file_id", Value::s(file_id())),
        ("state", Value::s(state)),
        ("sender", account(Some("1234567890"))),
        ("job_id", Value::s(ID)),
        ("parts", Value::int(1)),
        ("transfers", Value::int(2)),
        ("sum", Value::int(1500)),
        ("accept_by", Value::s(CREATED_AT)),
        ("version", Value::int(3)),
    ];
    item("bank_file#2026-12-10-01", "FILE", &more)
}

fn of_file(fact: BankFileFact) -> GroupFact {
    GroupFact::BankFile(file_id(), fact)
}

#[test]
fn transfer_is_a_fact_of_its_settlement_and_of_the_file_that_it_names() {
    let (day, settlement, amount) = (day(), settlement(1), num("1000"));
    let settled = |is_returned| {
        let of = SettledTransfer { merchant: merchant_id(), day, amount, is_returned };
        GroupFact::Settlement(settlement, SettlementFact::Transfer(of))
    };
    let in_file = |is_returned| {
        of_file(BankFileFact::Transfer(FileTransfer { day, settlement, amount, is_returned, changed_at: changed_at() }))
    };
    assert_eq!(facts(&transfer()), [settled(false)]);
    let named = with(transfer(), "bank_file_id", Value::s(file_id()));
    assert_eq!(facts(&named), [settled(false), in_file(false)]);
    let returned = with(named, "returned_at", Value::s(CREATED_AT));
    assert_eq!(facts(&returned), [settled(true), in_file(true)]);
    for (name, odd) in [
        ("day", Value::s("2026-12-11")),
        ("settlement_id", Value::s(ID)),
        ("merchant_id", Value::s("1")),
        ("amount", Value::int(-1)),
        ("bank_file_id", Value::s("2026-12-10")),
        ("returned_at", Value::s("yesterday")),
        ("updated_at", Value::int(1)),
    ] {
        assert!(is_unreadable(&with(transfer(), name, odd)), "{name}");
    }
}

#[test]
fn file_is_a_fact_of_its_record() {
    let written = RecordedFile {
        state: BankFileState::Written,
        superseded_by: None,
        parts: 1,
        transfers: 2,
        sum: num("1500"),
        returned: 0,
        returned_sum: Num::ZERO,
        debited_sum: None,
        debit: None,
        changed_at: changed_at(),
    };
    assert_eq!(facts(&file("written")), [of_file(BankFileFact::Record(written.clone()))]);
    let mut full = file("debited");
    full.extend([
        ("superseded_by".to_owned(), Value::s("2026-12-10-02")),
        ("returned_transfers".to_owned(), Value::int(1)),
        ("returned_sum".to_owned(), Value::int(500)),
        ("debited_sum".to_owned(), Value::int(1000)),
        ("debit_transaction_id".to_owned(), Value::s(transaction(9))),
    ]);
    let debited = RecordedFile {
        state: BankFileState::Debited,
        superseded_by: Some(BankFileId::parse("2026-12-10-02").unwrap()),
        returned: 1,
        returned_sum: num("500"),
        debited_sum: Some(num("1000")),
        debit: Some(transaction(9)),
        ..written
    };
    let bank = Some(Account::parse("bank").unwrap());
    let by = "bank_file:2026-12-10-01".to_owned();
    let named = GroupFact::Entry(transaction(9), EntryFact::Reference { by, home: bank, merchant: None, claim: None });
    assert_eq!(facts(&full), [of_file(BankFileFact::Record(debited)), named], "its entry must be there");
    for (name, odd) in [
        ("bank_file_id", Value::s("2026-12-10-02")),
        ("state", Value::s("lost")),
        ("sum", Value::s("1")),
        ("debited_sum", Value::int(0)),
        ("debit_transaction_id", Value::s("1")),
        ("returned_transfers", Value::int(-1)),
        ("updated_at", Value::int(1)),
    ] {
        assert!(is_unreadable(&with(full.clone(), name, odd)), "{name}");
    }
}

#[test]
fn part_is_a_fact_of_each_transfer_that_it_lists() {
    let places = |numbers: &[u8]| {
        Value::L(numbers.iter().map(|number| Value::S(format!("{}#{}", day(), settlement(*number)))).collect())
    };
    let part = |sk: &str, transfers: Value| item("bank_file#2026-12-10-01", sk, &[("transfers", transfers)]);
    let listed = |number| of_file(BankFileFact::Listed { part: 2, day: day(), settlement: settlement(number) });
    assert_eq!(facts(&part("PART#0002", places(&[1, 2]))), [listed(1), listed(2)]);
    assert!(is_unreadable(&part("PART#0002", places(&[]))), "no part is empty");
    assert!(is_unreadable(&part("PART#0002", Value::L(vec![Value::s("2026-12-10")]))));
    for odd in ["PART#2", "PART#00002", "PART#x", "PART#"] {
        assert!(is_unreadable(&part(odd, places(&[1]))), "{odd}");
    }
}

/// An entry of 1500 yen from `bank_clearing` to `bank`.
fn debit(more: &[(&str, Value)]) -> Item {
    let posting = |account: &str, delta: i64| {
        let of = [("account", Value::s(account)), ("asset", Value::s("ECOPAY")), ("delta", Value::int(delta))];
        Value::M(of.map(|(name, value)| (name.to_owned(), value)).into())
    };
    let own = [
        ("transaction_id", Value::s(transaction(9))),
        ("operation", Value::s("bank_file_debit")),
        ("principal", Value::S(format!("staff:{OTHER}"))),
        ("actor", Value::S(format!("staff:{OTHER}"))),
        ("idempotency_key", Value::s("k")),
        ("postings", Value::L(vec![posting("bank_clearing", -1500), posting("bank", 1500)])),
    ];
    item("own#bank", &format!("TXN#{}", transaction(9)), &[&own[..], more].concat())
}

#[test]
fn entry_of_a_debit_is_a_fact_of_its_file() {
    let entry_of = |item: &Item| -> Vec<GroupFact> {
        facts(item).into_iter().filter(|fact| matches!(fact, GroupFact::BankFile(..))).collect()
    };
    let of = |operation, at| {
        let home = Account::parse("bank").unwrap();
        let (out, paid) = (num("1500"), num("1500"));
        of_file(BankFileFact::Entry(FileEntry { entry: transaction(9), home, operation, out, paid, at }))
    };
    let created_at = Timestamp::parse(CREATED_AT).unwrap().millis();
    let file = || ("bank_file_id", Value::s(file_id()));
    assert_eq!(entry_of(&debit(&[file()])), [of(Operation::BankFileDebit, created_at)]);
    assert!(is_unreadable(&debit(&[])), "a debit names its file");
    assert!(is_unreadable(&debit(&[("bank_file_id", Value::s("1"))])));
    let adjustment = |more: &[(&str, Value)]| debit(&[&[("operation", Value::s("adjustment"))], more].concat());
    assert!(entry_of(&adjustment(&[])).is_empty());
    assert_eq!(entry_of(&adjustment(&[file()])), [of(Operation::Adjustment, created_at)], "the check refuses it");
}

/// Each step of a settlement says what it posts to the accounts of the bank.
#[test]
fn entry_of_a_settlement_says_what_it_posts_to_accounts_of_the_bank() {
    let posting = |account: String, bucket: Option<&str>, delta: i64| {
        let of = [("account", Value::S(account)), ("asset", Value::s("ECOPAY")), ("delta", Value::int(delta))];
        let mut of: Item = of.map(|(name, value)| (name.to_owned(), value)).into();
        of.extend(bucket.map(|bucket| ("bucket".to_owned(), Value::s(bucket))));
        Value::M(of)
    };
    let merchant = || Account::Merchant(merchant_id()).to_string();
    let entry = |operation: &str, postings: Vec<Value>| {
        let more = [
            ("transaction_id", Value::s(transaction(9))),
            ("operation", Value::s(operation)),
            ("principal", Value::S(merchant())),
            ("actor", Value::s("system")),
            ("idempotency_key", Value::s("k")),
            ("settlement_id", Value::s(settlement(1))),
            ("postings", Value::L(postings)),
        ];
        item(&format!("merchant#{ID}"), &format!("TXN#{}", transaction(9)), &more)
    };
    let of = |item: Item| {
        let step = facts(&item).into_iter().find_map(|fact| {
            let GroupFact::Settlement(_, SettlementFact::Entry(step)) = fact else { return None };
            Some(step)
        });
        step.map(|SettlementEntry { out, booked, bank, .. }| [out, booked, bank].map(|num| num.to_string())).unwrap()
    };
    let payout = vec![posting(merchant(), Some("held"), -76), posting("bank_clearing".to_owned(), None, 76)];
    assert_eq!(of(entry("settlement_payout", payout)), ["76", "76", "0"]);
    let returned = |from: &str| vec![posting(from.to_owned(), None, -76), posting(merchant(), None, 76)];
    assert_eq!(of(entry("settlement_return", returned("bank_clearing"))), ["0", "-76", "0"]);
    assert_eq!(of(entry("settlement_return", returned("bank"))), ["0", "0", "-76"]);
}
