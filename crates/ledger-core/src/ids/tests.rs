//! Ids of steps, and the stored form of principals.

mod canonical;

use super::*;
use std::collections::BTreeSet;

fn of(text: &str) -> Uuid {
    Uuid::parse_str(text).unwrap()
}

/// 2025-11-20T08:16:08.576Z, from the first twelve digits of the ids.
fn at() -> Timestamp {
    born_at(of("019aa000-0000-7000-8000-000000000081")).unwrap()
}

#[test]
fn step_always_has_the_same_id() {
    let topup = of("019aa000-0000-7000-8000-000000000081");
    let credit = TransactionId::of_step(topup, "credit", at());
    assert_eq!(credit, TransactionId::of_step(topup, "credit", at()));
    // INVARIANT: the id never changes; with another id, a second entry could be written beside a stored one. SHA-256 of
    // "019aa000-0000-7000-8000-000000000081/credit", computed with Python's hashlib.
    assert_eq!(credit.to_string(), "019aa000-0000-7ec1-8337-9b9a3843f817");
    assert_eq!(credit.uuid().get_version_num(), 7);
    assert_eq!(credit.uuid().get_variant(), uuid::Variant::RFC4122);
    let later = at().plus(std::time::Duration::from_millis(1));
    assert_eq!(
        born_at(TransactionId::of_step(topup, "paid", later).uuid()),
        Some(later),
        "the id's timestamp is the given time"
    );
}

#[test]
fn different_steps_have_different_ids() {
    let resources = [of("019aa000-0000-7000-8000-000000000081"), of("019aa000-0000-7000-8000-000000000082")];
    let steps = ["credit", "hold", "paid", "returned", "dp_1/taken", "dp_1/returned", "dp_2/taken", "re_1/taken"];
    let ids: BTreeSet<TransactionId> =
        resources.iter().flat_map(|resource| steps.map(|step| TransactionId::of_step(*resource, step, at()))).collect();
    assert_eq!(ids.len(), resources.len() * steps.len());
    assert!(ids.iter().all(|id| !resources.contains(&id.uuid())));
}

#[test]
fn principals_are_parsed_as_they_are_written() {
    let id = of("019aa000-0000-7000-8000-000000000081");
    let all = [
        Principal::Customer(CustomerId::new(id)),
        Principal::Merchant(MerchantId::new(id)),
        Principal::Terminal(TerminalId::new(id)),
        Principal::Staff(StaffId::new(id)),
    ];
    for principal in all {
        assert_eq!(Principal::parse(&principal.to_string()), Ok(principal));
    }
    for wrong in ["", "customer", "customer:", "customer:x", "stripe", &format!("card:{id}"), &format!(":{id}")] {
        assert_eq!(Principal::parse(wrong), Err(IdError), "{wrong}");
    }
    assert_eq!(Actor::Stripe.to_string(), "stripe");
}

#[test]
fn bank_file_is_named_by_its_day_and_number() {
    let day = BusinessDate::parse("2026-12-10").unwrap();
    let first = BankFileId::first(day);
    assert_eq!((first.pay_on, first.to_string().as_str()), (day, "2026-12-10-01"));
    let all: Vec<BankFileId> = std::iter::successors(Some(first), |id| id.next()).collect();
    assert_eq!((all.len(), all.last().unwrap().to_string().as_str()), (99, "2026-12-10-99"));
    // The list of files is in the order of their texts.
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    assert!(all.is_sorted() && texts.is_sorted());
    for (id, text) in all.iter().zip(&texts) {
        assert_eq!(BankFileId::parse(text), Ok(*id));
    }
    assert!(*all.last().unwrap() < BankFileId::first(day.next()), "the day comes before the number");
    for wrong in [
        "",
        "2026-12-10",
        "2026-12-10-",
        "2026-12-10-0",
        "2026-12-10-1",
        "2026-12-10-00",
        "2026-12-10-001",
        "2026-12-10-100",
        "2026-12-10-+1",
        "2026-12-10- 1",
        "2026-12-10-0x",
        "2026-12-1-01",
        "2026-13-10-01",
        "20261210-01",
        "2026-12-10_01",
        "2026-12-10-01 ",
    ] {
        assert_eq!(BankFileId::parse(wrong), Err(IdError), "{wrong:?}");
    }
}
