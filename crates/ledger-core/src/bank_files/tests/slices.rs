//! What the slices of a job take into a file, and what they leave free.

use super::*;
use crate::jobs::{JobState, Next};
use crate::money::{Asset, Balance};

fn of_day(number: u128, day_: &str) -> BankTransfer {
    BankTransfer { day: day(day_), ..transfer(number, "100") }
}

/// The numbers of the transfers of a file, in its order.
fn taken(table: &Table, id: BankFileId) -> Vec<u128> {
    table.content(id).iter().map(|of| of.settlement.uuid().as_u128()).collect()
}

fn free(table: &Table) -> Vec<u128> {
    let free = table.transfers().filter(|of| of.file.is_none() && of.returned_at.is_none());
    free.map(|of| of.settlement.uuid().as_u128()).collect()
}

#[test]
fn file_takes_the_free_transfers_of_its_own_sender() {
    let other = BankTransfer { from: sender("0000000001"), ..transfer(2, "10") };
    let returned = BankTransfer { returned_at: Some(at(CUT_AT)), ..transfer(3, "20") };
    let elsewhere = BankTransfer { file: first_file().next(), ..transfer(4, "40") };
    let mut table = Table::with(&[transfer(1, "100"), other, returned, elsewhere, transfer(5, "200")]);
    table.put(&of_day(6, FRIDAY));
    let before = table.clone();
    let file = table.written(first_file(), &[day(PAY_ON)], None);
    assert_eq!((taken(&table, first_file()), free(&table)), (vec![1, 5], vec![2, 6]));
    let fixed = (file.state, file.parts, file.transfers, file.sum.text(), file.written_at);
    assert_eq!(fixed, (BankFileState::Written, 1, 2, "300".to_owned(), Some(at(CUT_AT))));
    assert_eq!(table.due(first_file()).as_deref(), Some(ACCEPT_BY), "the bank takes it until then");
    for number in [2, 3, 4, 6] {
        assert_eq!(table.transfer(number), before.transfer(number), "{number}");
    }
    // A transfer is due until a file has it.
    let is_due = |number| table.item(&table.transfer(number).key(&tenant())).contains_key(attr::DUE_PK);
    assert_eq!([1, 2, 5, 6].map(is_due), [false, true, false, true]);
    let job = table.job(first_file());
    assert_eq!((job.head.state, job.head.done, job.next()), (JobState::Done, 2, Next::Nothing));
}

#[test]
fn days_are_read_one_after_another_in_pages() {
    let of_days = |count: u128, from: u128, on: &str| (from..from + count).map(|n| of_day(n, on)).collect::<Vec<_>>();
    let page = SLICE_TRANSFERS as u128;
    let days = ["2026-12-08", "2026-12-09", PAY_ON];
    for (counts, cursors) in [
        // An empty day, and one with less than a page.
        ([0, 3, 1], vec!["1#", "2#", "3#"]),
        // A full page is followed by another one, which may be empty.
        ([page, 0, 2], vec!["0#40", "1#", "2#", "3#"]),
        ([2 * page + 1, 1, 0], vec!["0#40", "0#80", "1#", "2#", "3#"]),
    ] {
        let mut table = Table::default();
        let mut booked = Vec::new();
        for (at, (count, on)) in counts.into_iter().zip(days).enumerate() {
            booked.extend(of_days(count, 1 + 1_000 * at as u128, on));
        }
        booked.iter().for_each(|of| table.put(of));
        table.begin(first_file(), &days.map(day), None).unwrap();
        let mut seen = Vec::new();
        while table.found(&table.job(first_file())).is_some() {
            table.slice(first_file());
            let cursor = table.job(first_file()).cursor().unwrap().to_owned();
            let (place, after) = cursor.split_once('#').unwrap();
            let after = SettlementId::parse(after).map_or(String::new(), |of| of.uuid().as_u128().to_string());
            seen.push(format!("{place}#{after}"));
        }
        assert_eq!(seen, cursors, "{counts:?}");
        table.slice(first_file());
        let all: Vec<u128> = booked.iter().map(|of| of.settlement.uuid().as_u128()).collect();
        assert_eq!(taken(&table, first_file()), all, "{counts:?}");
        let file = table.file(first_file());
        assert_eq!((file.transfers as usize, file.sum.text()), (all.len(), (100 * all.len()).to_string()));
        assert_eq!(table.job(first_file()).head.done as usize, all.len());
    }
}

/// A slice that finds nothing to take writes no part: parts count without gaps.
#[test]
fn parts_have_no_gaps() {
    let others = (1..=40).map(|n| BankTransfer { from: sender("0000000001"), ..transfer(n, "10") });
    let all: Vec<_> = others.chain((41..=85).map(|n| transfer(n, "10"))).collect();
    let mut table = Table::with(&all);
    let file = table.written(first_file(), &[day(PAY_ON)], None);
    assert_eq!((file.parts, file.transfers), (2, 45));
    let counts = [1, 2]
        .map(|part| FilePart::read(table.item(&keys::bank_file_part(&tenant(), first_file(), part))).unwrap().0.len());
    assert_eq!(counts, [40, 5]);
}

/// The slice of a job at its beginning, with a file that has some transfers already.
fn slice_of(table: &Table, count: u32, sum: &str) -> (Table, Vec<u128>) {
    let mut table = table.clone();
    let sum = Balance::from_stored(Asset::Ecopay, sum).unwrap();
    let file = BankFile { transfers: count, sum, ..table.file(first_file()) };
    let job = table.job(first_file());
    let found = table.found(&job).unwrap();
    let written = job.assign(&tenant(), (&file, &found), at(CUT_AT)).unwrap();
    table.write(written.items()).unwrap();
    let taken = table.transfers().filter(|of| of.file.is_some()).map(|of| of.settlement.uuid().as_u128());
    let taken = taken.collect();
    (table, taken)
}

#[test]
fn what_exceeds_the_greatest_count_or_sum_stays_free() {
    let mut table = Table::with(&[transfer(1, "100"), transfer(2, "100"), transfer(3, "50"), of_day(4, FRIDAY)]);
    table.begin(first_file(), &[day(PAY_ON), day(FRIDAY)], None).unwrap();
    for (count, sum, want, cursor) in [
        (0, "0", vec![1, 2, 3], "1#"),
        (FILE_TRANSFERS_MAX - 3, "0", vec![1, 2, 3], "1#"),
        (FILE_TRANSFERS_MAX - 2, "0", vec![1, 2], "2#"),
        (FILE_TRANSFERS_MAX - 1, "0", vec![1], "2#"),
        (FILE_TRANSFERS_MAX, "0", vec![], "2#"),
        (1, "999999999749", vec![1, 2, 3], "1#"),
        (1, "999999999750", vec![1, 2], "2#"),
        // None is passed over for a smaller one after it: the order is that of the list.
        (1, "999999999850", vec![1], "2#"),
        (1, "999999999900", vec![], "2#"),
    ] {
        let (after, taken) = slice_of(&table, count, sum);
        assert_eq!(taken, want, "{count} {sum}");
        assert_eq!(after.job(first_file()).cursor(), Some(cursor), "{count} {sum}");
        assert_eq!(after.found(&after.job(first_file())).is_none(), cursor == "2#", "{count} {sum}");
        // What is left is due, and free for the next file of the day.
        let left: Vec<u128> = (1..=4).filter(|number| !want.contains(number)).collect();
        assert_eq!(free(&after), left);
    }
}

#[test]
fn slice_of_what_was_read_before_a_change_is_stale() {
    let mut table = Table::with(&[transfer(1, "100"), transfer(2, "200")]);
    table.begin(first_file(), &[day(PAY_ON)], None).unwrap();
    let (job, file) = (table.job(first_file()), table.file(first_file()));
    let found = table.found(&job).unwrap();
    let late = job.assign(&tenant(), (&file, &found), at(CUT_AT)).unwrap();
    // A transfer of it is returned.
    let mut returned = table.clone();
    returned.give_back(2).unwrap();
    let before = returned.clone();
    assert_eq!(returned.write(late.items()), Err(Failure::StalePlan));
    assert_eq!(returned, before, "nothing is taken");
    // Another file has one.
    let mut raced = table.clone();
    raced.written(first_file().next().unwrap(), &[day(PAY_ON)], None);
    assert_eq!(raced.write(late.items()), Err(Failure::StalePlan));
    // Another worker was there before.
    table.slice(first_file());
    assert_eq!(table.write(late.items()), Err(Failure::StalePlan));
    assert_eq!(taken(&table, first_file()), [1, 2]);
}

#[test]
fn superseding_file_takes_what_was_not_returned_part_by_part() {
    let all: Vec<_> = (1..=85).map(|number| transfer(number, "10")).collect();
    let mut table = Table::with(&all);
    table.written(first_file(), &[day(PAY_ON)], None);
    let mut source = table.end(first_file(), FileChange::Withdraw);
    assert_eq!(source.parts, 3);
    for number in (41..=80).chain([2, 84]) {
        table.give_back(number).unwrap();
    }
    source = table.file(first_file());
    assert_eq!((source.returned, source.left(), source.left_sum().unwrap().text()), (42, 43, "430".to_owned()));
    let id = BankFileId::first(day(FRIDAY));
    table.begin(id, &[], Some(&source)).unwrap();
    for cursor in ["1#", "2#", "3#"] {
        assert!(table.slice(id));
        assert_eq!(table.job(id).cursor(), Some(cursor));
    }
    assert!(!table.slice(id));
    let want: Vec<u128> = (1..=40).chain(81..=85).filter(|number| ![2, 84].contains(number)).collect();
    let file = table.file(id);
    assert_eq!(taken(&table, id), want);
    assert_eq!((file.state, file.parts, file.transfers), (BankFileState::Written, 2, 43));
    assert_eq!(file.sum, source.left_sum().unwrap());
    // The source stays as it was, and its transfers are the other file's.
    assert_eq!((table.file(first_file()).transfers, table.file(first_file()).superseded_by), (85, Some(id)));
    assert!(want.iter().all(|number| table.transfer(*number).file == Some(id)));
    assert_eq!(table.transfer(2).file, Some(first_file()), "a returned one stays where it was");
}

/// A chain: the superseding file is superseded too.
#[test]
fn superseding_file_takes_nothing_of_another_file() {
    let mut table = Table::with(&[transfer(1, "10"), transfer(2, "20")]);
    table.written(first_file(), &[day(PAY_ON)], None);
    let first = table.end(first_file(), FileChange::Reject);
    let friday = BankFileId::first(day(FRIDAY));
    table.written(friday, &[], Some(&first));
    let second = table.end(friday, FileChange::Reject);
    let monday = BankFileId::first(day("2026-12-14"));
    // What the first file had is in the second one.
    let mut again = table.clone();
    let details = BankFileDetails { file: monday, days: Vec::new(), source: Some((first_file(), 1)) };
    again.begin(monday, &[], Some(&second)).unwrap();
    let mut job = again.job(monday);
    job.details = details;
    let found = again.found(&job).unwrap();
    assert_eq!(found.len(), 2);
    let written = job.assign(&tenant(), (&again.file(monday), &found), at(CUT_AT)).unwrap();
    again.write(written.items()).unwrap();
    assert_eq!(again.file(monday).transfers, 0);

    table.written(monday, &[], Some(&second));
    assert_eq!(taken(&table, monday), [1, 2]);
}

#[test]
fn file_without_transfers_is_empty_and_not_due() {
    for booked in [vec![], vec![BankTransfer { from: sender("0000000001"), ..transfer(1, "10") }]] {
        let mut table = Table::with(&booked);
        let file = table.written(first_file(), &[day(PAY_ON)], None);
        assert_eq!((file.state, file.parts, file.sha256.as_deref()), (BankFileState::Empty, 0, None));
        assert_eq!((table.due(first_file()), table.job(first_file()).head.state), (None, JobState::Done));
        assert_eq!(free(&table).len(), booked.len());
    }
}

#[test]
fn content_is_fixed_once() {
    let mut table = Table::with(&[transfer(1, "10")]);
    table.begin(first_file(), &[day(PAY_ON)], None).unwrap();
    table.slice(first_file());
    let (job, file) = (table.job(first_file()), table.file(first_file()));
    let content = Content::of(&file, &table.content(first_file())).unwrap();
    let late = job.fix(&tenant(), (&file, &content), at(ACCEPT_BY)).unwrap();
    table.slice(first_file());
    let before = table.clone();
    assert_eq!(table.write(late.items()), Err(Failure::StalePlan));
    assert_eq!(table, before);
}

#[test]
fn malformed_cursor_is_an_error() {
    let mut table = Table::with(&[transfer(1, "10")]);
    table.begin(first_file(), &[day(PAY_ON)], None).unwrap();
    let mut item = table.item(&keys::job(&tenant(), table.file(first_file()).job)).clone();
    for wrong in ["", "1", "x#", "-1#", "0#x", "0#1", "end"] {
        item.insert("cursor".to_owned(), Value::s(wrong));
        let job = FileJob::read(&item).unwrap();
        assert!(job.step(&tenant()).is_err(), "{wrong}");
        assert!(job.assign(&tenant(), (&table.file(first_file()), &[]), at(CUT_AT)).is_err(), "{wrong}");
    }
}

/// A file of forty-five transfers in two parts that is withdrawn, and the file that supersedes it after some slices.
fn superseded(slices: usize) -> (Table, BankFileId) {
    let all: Vec<_> = (1..=45).map(|number| transfer(number, "10")).collect();
    let mut table = Table::with(&all);
    table.written(first_file(), &[day(PAY_ON)], None);
    let source = table.end(first_file(), FileChange::Withdraw);
    let id = BankFileId::first(day(FRIDAY));
    table.begin(id, &[], Some(&source)).unwrap();
    (0..slices).for_each(|_| assert!(table.slice(id)));
    table.end(id, FileChange::Withdraw);
    (table, id)
}

/// Nothing else would free them: their file is superseded, and the other one does not have them.
#[test]
fn transfers_that_a_withdrawn_superseding_file_did_not_take_wait_for_another_one() {
    for (slices, left) in [(0, 45), (1, 5)] {
        let (mut table, id) = superseded(slices);
        assert_eq!(table.give_back(45), Err(Failure::WrongState), "the job may take it");
        let before = table.file(first_file());
        assert!(!table.slice(id));
        let source = table.file(first_file());
        assert_eq!((source.superseded_by, source.is_to_supersede()), (None, true));
        assert_eq!((source.version, table.due(first_file()).as_deref()), (before.version + 1, Some(CUT_AT)));
        assert_eq!((table.job(id).next(), table.file(id).transfers), (Next::Nothing, 45 - left));
        // Each can be returned, and each goes into one file.
        table.clone().give_back(45).unwrap();
        let again = table.written(id.next().unwrap(), &[], Some(&source));
        assert_eq!((again.transfers, again.state), (left, BankFileState::Written));
        assert_eq!(table.file(id).is_to_supersede(), left < 45);
    }
}

#[test]
fn source_of_which_every_part_was_seen_stays_superseded() {
    let (mut table, id) = superseded(2);
    table.slice(id);
    let source = table.file(first_file());
    assert_eq!((source.superseded_by, table.due(first_file())), (Some(id), None));
    let withdrawn = table.file(id);
    assert_eq!((withdrawn.transfers, withdrawn.is_to_supersede()), (45, true));
}

#[test]
fn job_of_a_withdrawn_file_takes_nothing_more() {
    let mut table = Table::with(&[transfer(1, "10"), of_day(2, FRIDAY)]);
    table.begin(first_file(), &[day(PAY_ON), day(FRIDAY)], None).unwrap();
    table.slice(first_file());
    let (job, file) = (table.job(first_file()), table.file(first_file()));
    let late = job.assign(&tenant(), (&file, &table.found(&job).unwrap()), at(CUT_AT)).unwrap();
    table.end(first_file(), FileChange::Withdraw);
    assert_eq!(table.write(late.items()), Err(Failure::StalePlan));
    assert!(!table.slice(first_file()));
    assert_eq!((taken(&table, first_file()), free(&table)), (vec![1], vec![2]));
    assert_eq!(table.job(first_file()).head.state, JobState::Done);
    assert!(table.file(first_file()).is_to_supersede());
}
