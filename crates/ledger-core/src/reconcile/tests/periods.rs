//! Periods: their sums, and the settlement that has each.

use super::*;
use crate::ids::SettlementId;

fn of(facts: &[PeriodFact], scope: &Scope) -> Vec<&'static str> {
    kinds(&group(&format!("period/{ID}/L3/2")), facts, scope)
}

fn sums(records: i64, taken: &str, refunded: &str) -> PeriodTotals {
    let sum = |side| SettledSum { side, asset: Asset::Ecopay };
    let totals = [(SettledSide::Taken, taken), (SettledSide::Refunded, refunded)];
    let totals = totals.into_iter().filter(|(_, number)| *number != "0");
    PeriodTotals { records, totals: totals.map(|(side, number)| (sum(side), num(number))).collect() }
}

/// An entry that was credited by the transaction of this segment.
fn credited(delta: &str, at: i64, segment: u64) -> PeriodFact {
    credited_as(CreditKind::Trade, delta, at, segment)
}

fn credited_as(kind: CreditKind, delta: &str, at: i64, segment: u64) -> PeriodFact {
    let sums = PeriodTotals::of_credit(nums(&[("ECOPAY", delta)]), kind, Num::ZERO);
    PeriodFact::Credited { sums, at, segment: Some(segment) }
}

fn settlement(text: &str) -> SettlementId {
    SettlementId::parse(text).unwrap()
}

fn closed(sums: PeriodTotals, settlement: Option<SettlementId>) -> PeriodFact {
    PeriodFact::Closed { sums, settlement }
}

/// A settlement that closed it.
fn taken(settlement: SettlementId) -> PeriodFact {
    PeriodFact::Taken { sums: None, settlement }
}

/// A list of a settlement that took it.
fn listed(sums: PeriodTotals, settlement: SettlementId) -> PeriodFact {
    PeriodFact::Taken { sums: Some(sums), settlement }
}

/// Two payments of 60 and 40, and a refund of 20.
fn with_records(rest: &[PeriodFact], scope: &Scope) -> Vec<&'static str> {
    of(&[&[credited("60", 1, 7), credited("40", 2, 9), credited("-20", 3, 9)], rest].concat(), scope)
}

#[test]
fn sums_are_those_of_the_entries_that_name_the_period() {
    let open = |sums| PeriodFact::Open { sums, until: 9 };
    assert!(with_records(&[open(sums(3, "100", "20"))], &scope()).is_empty());
    for wrong in [sums(2, "100", "20"), sums(3, "101", "20"), sums(3, "100", "0"), sums(3, "80", "0")] {
        assert_eq!(with_records(&[open(wrong)], &scope()), ["period_differs"]);
    }
    assert!(of(&[open(sums(0, "0", "0"))], &scope()).is_empty(), "empty");
    assert_eq!(with_records(&[], &scope()), ["period_differs"], "a period that does not exist");
    let both = [open(sums(3, "100", "20")), closed(sums(3, "100", "20"), None)];
    assert_eq!(with_records(&both, &scope()), ["period_differs"], "open and closed");
}

/// Deposits have one sum with both signs, and what is stored has no sum of zero.
#[test]
fn deposit_that_is_taken_back_in_its_period_leaves_no_sum() {
    let deposit = |delta: &str, at| credited_as(CreditKind::Deposit, delta, at, 9);
    let deposited = |records: i64, number: &str| {
        let sum = (SettledSum { side: SettledSide::Deposited, asset: Asset::Ecopay }, num(number));
        PeriodTotals { records, totals: [sum].into_iter().filter(|(_, sum)| !sum.is_zero()).collect() }
    };
    let [made, back] = [deposit("700", 1), deposit("-700", 2)];
    let with = |facts: &[&PeriodFact], sums: PeriodTotals| {
        let open = PeriodFact::Open { sums, until: 9 };
        of(&[facts.iter().copied().cloned().collect(), vec![open]].concat(), &scope())
    };
    assert!(with(&[&made, &back], deposited(2, "0")).is_empty());
    assert!(with(&[&made], deposited(1, "700")).is_empty());
    assert!(with(&[&back], deposited(1, "-700")).is_empty(), "its deposit is in an earlier period");
    for wrong in [deposited(2, "700"), deposited(2, "1400"), deposited(1, "0")] {
        assert_eq!(with(&[&made, &back], wrong), ["period_differs"]);
    }
    assert_eq!(with(&[&back], deposited(1, "700")), ["period_differs"], "of the other sign");
}

#[test]
fn closed_period_is_in_the_settlement_that_names_it() {
    let right = || sums(3, "100", "20");
    let (one, two) = (settlement(ID), settlement(OTHER));
    let with = |rest: &[PeriodFact]| with_records(rest, &scope());
    assert!(with(&[closed(right(), Some(one)), taken(one)]).is_empty());
    assert!(with(&[closed(right(), None)]).is_empty(), "given back");
    assert_eq!(with(&[closed(right(), Some(one))]), ["period_differs"], "its settlement does not name it");
    assert_eq!(with(&[closed(right(), Some(one)), taken(two)]), ["period_differs"], "another names it");
    let by_two = [closed(right(), Some(one)), taken(one), taken(two)];
    assert_eq!(with(&by_two), ["period_differs"], "two settlements name it");
    assert_eq!(with(&[closed(right(), None), taken(one)]), ["period_differs"], "given back and named");
    let other = sums(3, "99", "20");
    assert!(with(&[closed(right(), Some(one)), listed(right(), one)]).is_empty());
    assert_eq!(with(&[closed(right(), Some(one)), listed(other, one)]), ["period_differs"], "with other sums");
    assert_eq!(with(&[closed(right(), Some(one)), listed(right(), one), taken(one)]), ["period_differs"], "twice");
    assert_eq!(with(&[closed(right(), Some(one)), listed(right(), two)]), ["period_differs"], "another lists it");
    let open = PeriodFact::Open { sums: right(), until: 9 };
    assert_eq!(with(&[open, taken(one)]), ["period_differs"], "open and named");
    let found = found(&group(&format!("period/{ID}/L3/2")), &by_two, &scope());
    let evidence = [format!("merchant:{ID}"), format!("settlement:{ID}"), format!("settlement:{OTHER}")];
    assert!(evidence.iter().all(|id| found[0].evidence.contains(id)), "{found:?}");
}

#[test]
fn sums_are_those_of_the_entries_until_the_segment() {
    let open = |sums, segment| PeriodFact::Open { sums, until: segment };
    let entries = [credited("60", 1, 7), credited("40", 2, 9), credited("-20", 3, 9)];
    let with = |rest: PeriodFact, scope: &Scope| of(&[&entries[..], &[rest]].concat(), scope);
    for scope in [scope(), Scope { at_one_moment: true, ..scope() }] {
        assert!(with(open(sums(3, "100", "20"), 9), &scope).is_empty());
        for wrong in [sums(2, "100", "20"), sums(3, "101", "20"), sums(3, "100", "0"), sums(3, "80", "0")] {
            assert_eq!(with(open(wrong, 9), &scope), ["period_differs"]);
        }
        for segment in [8, 10] {
            let found = with(open(sums(3, "100", "20"), segment), &scope);
            assert_eq!(found, ["period_differs"], "the last segment is {segment}");
        }
        assert!(of(&[open(sums(0, "0", "0"), 9)], &scope).is_empty(), "empty since it was closed");
        assert_eq!(of(&entries, &scope), ["period_differs"], "neither open nor closed");
    }
}

/// The segment says exactly which entries were in the sums when they were read, whatever the clocks of the workers say.
#[test]
fn entries_credited_while_the_table_is_read_count_by_their_segment() {
    let began = scope().began_at.millis();
    let open = |sums, segment| PeriodFact::Open { sums, until: segment };
    let entries = [credited("60", 1, 7), credited("7", began + 10, 8)];
    let with = |rest: PeriodFact| of(&[&entries[..], &[rest]].concat(), &scope());
    assert!(with(open(sums(1, "60", "0"), 7)).is_empty());
    assert!(with(open(sums(2, "67", "0"), 8)).is_empty());
    assert_eq!(with(open(sums(1, "60", "0"), 8)), ["period_differs"]);
    assert_eq!(with(open(sums(2, "67", "0"), 7)), ["period_differs"]);
    let owner = settlement(ID);
    let all = [&entries[..], &[closed(sums(2, "67", "0"), Some(owner)), taken(owner)]].concat();
    assert!(of(&all, &scope()).is_empty(), "closed");
    assert!(of(&entries[1..], &scope()).is_empty(), "its period was opened after that part was read");
    let at_one_moment = Scope { at_one_moment: true, ..scope() };
    assert_eq!(of(&entries[1..], &at_one_moment), ["period_differs"]);
}
