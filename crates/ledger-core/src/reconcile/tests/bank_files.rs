//! Checks of bank files: count, sums and debit are those of the transfers and entries that name the file.

use super::*;
use crate::account::TenantAccount;
use crate::bank_files::BankFileState as S;
use crate::ids::{BankFileId, SettlementId};
use crate::operation::Operation;
use crate::time::BusinessDate;

const FILE: &str = "bank_file/2026-12-10-01";

fn day() -> BusinessDate {
    BusinessDate::parse("2026-12-10").unwrap()
}

fn settlement(number: u8) -> SettlementId {
    SettlementId::new(transaction(number).uuid())
}

fn other_file() -> BankFileId {
    BankFileId::parse("2026-12-10-02").unwrap()
}

/// A file of 1000 and 500 yen in two parts.
fn record(state: S) -> RecordedFile {
    RecordedFile {
        state,
        superseded_by: None,
        parts: 2,
        transfers: 2,
        sum: num("1500"),
        returned: 0,
        returned_sum: Num::ZERO,
        debited_sum: None,
        debit: None,
        changed_at: 10,
    }
}

/// The file once the second transfer was returned.
fn with_return(state: S) -> RecordedFile {
    RecordedFile { returned: 1, returned_sum: num("500"), ..record(state) }
}

/// A file with its debit.
fn debited(sum: &str, file: RecordedFile) -> RecordedFile {
    RecordedFile { debited_sum: Some(num(sum)), debit: Some(transaction(9)), ..file }
}

fn listed(part: u32, number: u8) -> BankFileFact {
    BankFileFact::Listed { part, day: day(), settlement: settlement(number) }
}

fn parts() -> Vec<BankFileFact> {
    vec![listed(1, 1), listed(2, 2)]
}

fn of_file(number: u8, amount: &str, is_returned: bool) -> FileTransfer {
    FileTransfer { day: day(), settlement: settlement(number), amount: num(amount), is_returned, changed_at: 5 }
}

/// The first transfer.
fn first() -> BankFileFact {
    BankFileFact::Transfer(of_file(1, "1000", false))
}

/// The second transfer.
fn second(is_returned: bool) -> BankFileFact {
    BankFileFact::Transfer(of_file(2, "500", is_returned))
}

fn debit(sum: &str) -> FileEntry {
    let (entry, home, operation) = (transaction(9), Account::Tenant(TenantAccount::Bank), Operation::BankFileDebit);
    FileEntry { entry, home, operation, out: num(sum), paid: num(sum), at: 10 }
}

fn entry(of: FileEntry) -> BankFileFact {
    BankFileFact::Entry(of)
}

fn findings(record: RecordedFile, rest: &[&[BankFileFact]], scope: &Scope) -> Vec<Finding> {
    found(&group(FILE), &[&[BankFileFact::Record(record)], &rest.concat()[..]].concat(), scope)
}

fn is_right(record: RecordedFile, rest: &[&[BankFileFact]]) -> bool {
    let found = findings(record, rest, &scope());
    assert!(found.iter().all(|finding| finding.kind == BreakKind::BankFileDiffers), "{found:?}");
    assert!(found.iter().all(|finding| finding.subject == "bank_file:2026-12-10-01"), "{found:?}");
    found.is_empty()
}

/// Whether the bank does not pay a file in the state.
fn is_over(state: S) -> bool {
    matches!(state, S::Rejected | S::Withdrawn)
}

/// The states in which a file has transfers and was not debited.
fn undebited() -> impl Iterator<Item = S> {
    S::ALL.into_iter().filter(|state| !matches!(state, S::Debited | S::Empty))
}

#[test]
fn transfers_of_a_file_are_those_that_it_counts() {
    for state in undebited() {
        let right = |transfers: &[BankFileFact]| is_right(record(state), &[&parts(), transfers]);
        assert!(right(&[first(), second(false)]), "{state:?}");
        assert_eq!(right(&[first()]), is_over(state), "another file has the second: {state:?}");
        assert_eq!(right(&[]), is_over(state), "{state:?}");
        let other = |amount| BankFileFact::Transfer(of_file(2, amount, false));
        assert!(!right(&[first(), other("501")]), "{state:?}");
        assert_eq!(right(&[first(), other("499")]), is_over(state), "{state:?}");
        let third = BankFileFact::Transfer(of_file(3, "1", false));
        assert!(!right(&[first(), second(false), third.clone()]), "one more: {state:?}");
        assert!(!right(&[first(), third]), "one that no part lists: {state:?}");
        let moved = FileTransfer { day: day().next(), ..of_file(2, "500", false) };
        assert!(!right(&[first(), BankFileFact::Transfer(moved)]), "of another day than the part lists: {state:?}");
    }
}

#[test]
fn count_and_sum_of_a_file_differ_by_themselves() {
    let all = [first(), second(false)];
    for wrong in [
        RecordedFile { sum: num("1499"), ..record(S::Written) },
        RecordedFile { sum: num("1501"), ..record(S::Accepted) },
        RecordedFile { sum: num("1499"), ..record(S::Rejected) },
        RecordedFile { transfers: 1, ..record(S::Written) },
        RecordedFile { transfers: 3, ..record(S::Withdrawn) },
        RecordedFile { parts: 1, ..record(S::Written) },
        RecordedFile { parts: 3, ..record(S::Written) },
        RecordedFile { returned: 1, ..record(S::Written) },
        RecordedFile { returned_sum: num("1"), ..record(S::Written) },
    ] {
        assert!(!is_right(wrong.clone(), &[&parts(), &all]), "{wrong:?}");
    }
    let written = |parts: &[BankFileFact]| is_right(record(S::Written), &[parts, &all]);
    assert!(!written(&[listed(1, 1)]), "a part is missing");
    assert!(!written(&[listed(1, 1), listed(3, 2)]), "a part has another number");
    assert!(!written(&[listed(1, 1), listed(1, 2)]), "one part in place of two");
    assert!(!written(&[listed(1, 1), listed(2, 2), listed(2, 1)]), "a transfer is in two parts");
    assert!(!written(&[listed(1, 1), listed(2, 3)]), "a part lists another transfer");
}

#[test]
fn returned_transfers_are_those_that_the_file_counts() {
    for state in undebited() {
        let right = |record: RecordedFile, is_returned| is_right(record, &[&parts(), &[first(), second(is_returned)]]);
        assert!(right(with_return(state), true), "{state:?}");
        assert!(!right(record(state), true), "it is not counted: {state:?}");
        assert!(!right(with_return(state), false), "none was returned: {state:?}");
        assert!(!right(RecordedFile { returned_sum: num("499"), ..with_return(state) }, true), "{state:?}");
        assert!(!right(RecordedFile { returned: 2, ..with_return(state) }, true), "{state:?}");
        // A superseding file takes what was not returned.
        assert_eq!(is_right(with_return(state), &[&parts(), &[second(true)]]), is_over(state), "{state:?}");
    }
    let right = |record: RecordedFile, is_returned| {
        is_right(record, &[&parts(), &[first(), second(is_returned), entry(debit("1500"))]])
    };
    assert!(right(debited("1500", with_return(S::Debited)), true));
    assert!(!right(debited("1500", record(S::Debited)), true), "it is not counted");
    assert!(!right(debited("1500", with_return(S::Debited)), false), "none was returned");
}

#[test]
fn debit_is_the_sum_less_what_was_returned_before() {
    let with = |record: RecordedFile, is_returned, entries: &[BankFileFact]| {
        is_right(record, &[&parts(), &[first(), second(is_returned)], entries])
    };
    let whole = || debited("1500", record(S::Debited));
    assert!(with(whole(), false, &[entry(debit("1500"))]));
    // A return comes before or after the debit.
    for sum in ["1500", "1000"] {
        assert!(with(debited(sum, with_return(S::Debited)), true, &[entry(debit(sum))]), "{sum}");
    }
    for (sum, record) in [
        ("1501", record(S::Debited)),
        ("1499", record(S::Debited)),
        ("1501", with_return(S::Debited)),
        ("999", with_return(S::Debited)),
    ] {
        let is_returned = record.returned > 0;
        assert!(!with(debited(sum, record.clone()), is_returned, &[entry(debit(sum))]), "{sum} of {record:?}");
    }
    assert!(!with(record(S::Debited), false, &[]), "nothing was debited");
    let all_returned = RecordedFile { returned: 2, returned_sum: num("1500"), ..record(S::Debited) };
    let both = [BankFileFact::Transfer(of_file(1, "1000", true)), second(true)];
    assert!(is_right(all_returned.clone(), &[&parts(), &both]), "nothing was left to debit");
    assert!(!is_right(all_returned, &[&parts(), &both, &[entry(debit("1500"))]]), "and an entry");
}

#[test]
fn debited_file_has_the_entry_that_it_names() {
    let with = |record: RecordedFile, entries: &[BankFileFact]| {
        is_right(record, &[&parts(), &[first(), second(false)], entries])
    };
    let whole = || debited("1500", record(S::Debited));
    let right = || debit("1500");
    assert!(with(whole(), &[entry(right())]));
    assert!(!with(whole(), &[]), "none");
    for wrong in [
        FileEntry { out: num("1499"), ..right() },
        FileEntry { paid: num("1499"), ..right() },
        FileEntry { entry: transaction(8), ..right() },
        FileEntry { operation: Operation::SettlementReturn, ..right() },
        FileEntry { home: wallet(), ..right() },
    ] {
        assert!(!with(whole(), &[entry(wrong.clone())]), "{wrong:?}");
        assert!(!with(whole(), &[entry(right()), entry(wrong.clone())]), "a second one: {wrong:?}");
    }
    assert!(!with(RecordedFile { debit: None, ..whole() }, &[entry(right())]), "it names none");
    assert!(!with(RecordedFile { debited_sum: None, ..whole() }, &[entry(right())]));
    for state in undebited() {
        assert!(with(record(state), &[]), "{state:?}");
        assert!(!with(record(state), &[entry(right())]), "{state:?}");
        assert!(!with(debited("1500", record(state)), &[entry(right())]), "set back: {state:?}");
        assert!(!with(RecordedFile { debited_sum: Some(num("1500")), ..record(state) }, &[]), "{state:?}");
        assert!(!with(RecordedFile { debit: Some(transaction(9)), ..record(state) }, &[]), "{state:?}");
    }
}

#[test]
fn empty_file_has_no_transfers_and_only_one_that_is_over_is_superseded() {
    let none = RecordedFile { parts: 0, transfers: 0, sum: Num::ZERO, ..record(S::Empty) };
    assert!(is_right(none.clone(), &[]));
    assert!(!is_right(none, &[&[first()]]));
    let both = [first(), second(false)];
    assert!(!is_right(record(S::Empty), &[&parts(), &both]));
    let superseded = |record| RecordedFile { superseded_by: Some(other_file()), ..record };
    for state in undebited() {
        assert_eq!(is_right(superseded(record(state)), &[&parts(), &both]), is_over(state), "{state:?}");
    }
    let debited = debited("1500", record(S::Debited));
    assert!(!is_right(superseded(debited), &[&parts(), &both, &[entry(debit("1500"))]]));
}

#[test]
fn what_names_a_file_without_record_is_a_break() {
    for fact in [listed(1, 1), first(), entry(debit("1500"))] {
        assert_eq!(kinds(&group(FILE), std::slice::from_ref(&fact), &scope()), ["bank_file_differs"], "{fact:?}");
    }
    assert!(found::<BankFileFact>(&group(FILE), &[], &scope()).is_empty());
    let two = [BankFileFact::Record(record(S::Written)), BankFileFact::Record(record(S::Accepted))];
    let two = [&two[..], &parts(), &[first(), second(false)]].concat();
    assert_eq!(kinds(&group(FILE), &two, &scope()), ["bank_file_differs"]);
}

#[test]
fn break_names_what_is_read_again() {
    let of = |record: RecordedFile, rest: &[BankFileFact]| -> Vec<String> {
        let found = findings(record, &[&parts(), rest], &scope());
        found.into_iter().flat_map(|finding| finding.evidence).collect()
    };
    let place = |number| format!("bank_transfers:2026-12-10 TRANSFER#{}", settlement(number));
    let paid = |number| format!("settlement:{}", settlement(number));
    assert_eq!(of(record(S::Written), &[first()]), [place(2), paid(2)], "a transfer that does not name it");
    let third = BankFileFact::Transfer(of_file(3, "1", false));
    assert_eq!(of(record(S::Written), &[first(), second(false), third.clone()]), [place(3), paid(3)], "in no part");
    let both = [first(), second(false)];
    let named = format!("transaction:{}", transaction(9));
    assert_eq!(
        of(record(S::Accepted), &[&both[..], &[entry(debit("1500"))]].concat()),
        ["bank".to_owned(), named.clone()]
    );
    assert_eq!(of(debited("1500", record(S::Debited)), &both), ["bank".to_owned(), named], "it is not there");
    let found = found(&group(FILE), &[third], &scope());
    assert_eq!(Vec::from_iter(&found[0].evidence), [&place(3), &paid(3)], "of no file");
    let many = RecordedFile { transfers: 200, ..record(S::Written) };
    let parts: Vec<BankFileFact> = (0..200).map(|number| listed(u32::from(number >= 100) + 1, number)).collect();
    let evidence = findings(many, &[&parts], &scope()).remove(0).evidence;
    assert_eq!(evidence.len(), 80, "of the first forty transfers");
}

/// What is written during the read counts if the record has it.
#[test]
fn change_after_the_record_was_read_does_not_count() {
    let began = scope().began_at.millis();
    let during = |changed_at, at_one_moment: bool, transfer: BankFileFact, entries: &[FileEntry]| {
        let of = RecordedFile { changed_at, ..record(S::Accepted) };
        let scope = Scope { at_one_moment, ..scope() };
        let entries: Vec<BankFileFact> = entries.iter().cloned().map(entry).collect();
        findings(of, &[&parts(), &[first(), transfer], &entries], &scope).is_empty()
    };
    let at =
        |is_returned, changed_at| BankFileFact::Transfer(FileTransfer { changed_at, ..of_file(2, "500", is_returned) });
    // The return of a transfer.
    assert!(during(10, false, at(true, began + 1), &[]), "returned since");
    assert!(!during(10, false, at(true, began), &[]), "returned before the read began");
    assert!(!during(began + 1, false, at(true, began + 1), &[]), "the record changed with it");
    assert!(!during(10, true, at(true, began + 1), &[]), "of one moment");
    // Another transfer is taken.
    let taken = |record_at, transfer_at, at_one_moment: bool| {
        let of =
            RecordedFile { parts: 1, transfers: 1, sum: num("1000"), changed_at: record_at, ..record(S::Assigning) };
        let scope = Scope { at_one_moment, ..scope() };
        findings(of, &[&[listed(1, 1)], &[first(), at(false, transfer_at)]], &scope).is_empty()
    };
    assert!(taken(10, began + 1, false), "taken since");
    assert!(!taken(10, began, false));
    assert!(!taken(began + 1, began + 1, false));
    assert!(!taken(10, began + 1, true));
    // The debit.
    let debited_at = |at| [FileEntry { at, ..debit("1500") }];
    assert!(during(10, false, second(false), &debited_at(began + 1)), "debited since");
    assert!(!during(10, false, second(false), &debited_at(began)));
    assert!(!during(began + 1, false, second(false), &debited_at(began + 1)));
}

#[test]
fn break_of_a_file_follows_from_a_missing_transfer_or_entry() {
    let mut all = findings(record(S::Written), &[&parts(), &[first()]], &scope());
    let missing = Finding::new(&all[0].tenant, BreakKind::SettlementDiffers, format!("settlement:{}", settlement(2)));
    all.push(missing);
    explain(&mut all);
    assert_eq!(all[0].follows, Some(format!("settlement:{}", settlement(2))));
    let whole = debited("1500", record(S::Debited));
    let mut all = findings(whole, &[&parts(), &[first(), second(false)]], &scope());
    let entry = group(&format!("transaction/{}", transaction(9)));
    all.extend(found(&entry, &[named(Some(Account::Tenant(TenantAccount::Bank)), None)], &scope()));
    explain(&mut all);
    assert_eq!(all[0].follows, Some(format!("transaction:{}", transaction(9))));
    assert_eq!(all[1].kind, BreakKind::EntryMissing);
}

mod extraction;
