//! A transfer: its day and name, when it can be returned, and what its merchant sees.

use super::*;
use crate::calendar::BankDeadline;

/// A file in a state, with the first transfer.
fn file(state: BankFileState) -> BankFile {
    let mut table = Table::with(&[transfer(1, "1000")]);
    BankFile { state, ..table.written(first_file(), &[day(PAY_ON)], None) }
}

fn assigned() -> BankTransfer {
    BankTransfer { file: Some(first_file()), ..transfer(1, "1000") }
}

#[test]
fn transfer_is_read_as_it_is_stored_and_due_at_the_cut() {
    let of = transfer(1, "1000");
    let table = Table::with(std::slice::from_ref(&of));
    assert_eq!(table.transfer(1), of);
    let item = table.item(&of.key(&tenant()));
    assert_eq!(item.text(attr::PK), Ok("demo#bank_transfers#2026-12-10"));
    assert_eq!(item.text(attr::SK), Ok("TRANSFER#00000000-0000-0000-0000-000000000001"));
    let due = item.text(attr::DUE_SK).unwrap();
    assert_eq!(due, format!("{CUT_AT}#bank_transfer#{}", of.place()));
    assert_eq!(table.clone().write(&[of.put(&tenant(), at(CUT_AT), Shards::ONE)]), Err(Failure::StalePlan), "once");
    let whole = BankTransfer { file: Some(first_file()), returned_at: Some(at(CUT_AT)), ..of };
    assert_eq!(Table::with(std::slice::from_ref(&whole)).transfer(1), whole);
}

#[test]
fn place_is_parsed_as_it_is_written() {
    let of = transfer(1, "1000");
    assert_eq!(of.place(), "2026-12-10#00000000-0000-0000-0000-000000000001");
    assert_eq!(BankTransfer::parse_place(&of.place()), Some((of.day, of.settlement)));
    for wrong in [
        "",
        "#",
        "2026-12-10",
        "2026-12-10#",
        "#00000000-0000-0000-0000-000000000001",
        "2026-12-1#00000000-0000-0000-0000-000000000001",
        "2026-13-10#00000000-0000-0000-0000-000000000001",
        "2026-12-10#00000000-0000-0000-0000-00000000000A",
        "2026-12-10#00000000-0000-0000-0000-000000000001#",
        " 2026-12-10#00000000-0000-0000-0000-000000000001",
    ] {
        assert_eq!(BankTransfer::parse_place(wrong), None, "{wrong:?}");
    }
    let part = |places: &[&str]| {
        let places = places.iter().map(Value::s).collect();
        FilePart::read(&Item::from([("transfers".to_owned(), Value::L(places))]))
    };
    assert_eq!(part(&[&of.place()]), Ok(FilePart(vec![(of.day, of.settlement)])));
    assert!(part(&[&of.place(), "2026-12-10"]).is_err());
}

#[test]
fn day_is_that_of_the_settlement_unless_the_bank_cannot_pay_on_it_any_more() {
    for (pay_on, now, want) in [
        // Noon in Japan of the banking day before is too late.
        (PAY_ON, "2026-12-09T02:59:59.999Z", PAY_ON),
        (PAY_ON, ACCEPT_BY, FRIDAY),
        (PAY_ON, "2026-12-01T00:00:00Z", PAY_ON),
        // A run that is late by days, over a weekend.
        (PAY_ON, "2026-12-11T03:00:00Z", "2026-12-15"),
        // Where banks' holidays are not known, the day is not guessed.
        (PAY_ON, "2028-02-01T00:00:00Z", PAY_ON),
    ] {
        assert_eq!(BankTransfer::day_of(day(pay_on), &BankDeadline::DEFAULT, at(now)), day(want), "{now}");
    }
}

#[test]
fn transfer_fits_a_line_of_a_file() {
    assert_eq!(transfer(1, "9999999999").check(), Ok(()));
    assert!(transfer(1, "10000000000").check().is_err());
}

#[test]
fn transfer_is_returned_by_the_state_of_the_file_that_has_it() {
    let of = assigned();
    assert_eq!(transfer(1, "1000").return_guard(None), Ok(ReturnGuard::Unassigned));
    for state in BankFileState::ALL {
        let file = file(state);
        let want = match state {
            BankFileState::Accepted => Ok(ReturnGuard::WithBank(&file)),
            BankFileState::Debited => Ok(ReturnGuard::Debited(&file)),
            BankFileState::Rejected | BankFileState::Withdrawn => Ok(ReturnGuard::Over(&file)),
            BankFileState::Assigning | BankFileState::Written | BankFileState::Empty => Err(Failure::WrongState),
        };
        assert_eq!(of.return_guard(Some(&file)), want, "{state:?}");
        let returned = BankTransfer { returned_at: Some(at(CUT_AT)), ..of.clone() };
        assert_eq!(returned.return_guard(Some(&file)), Err(Failure::WrongState), "{state:?}, once");
        // A superseding file is about to take it.
        let superseded = BankFile { superseded_by: first_file().next(), ..file.clone() };
        let want = want.is_ok() && !file.is_over();
        assert_eq!(of.return_guard(Some(&superseded)).is_ok(), want, "{state:?}");
        // What was read is not what has it.
        let other = BankFile { id: first_file().next().unwrap(), ..file.clone() };
        assert_eq!(of.return_guard(Some(&other)), Err(Failure::StalePlan), "{state:?}");
    }
    assert_eq!(of.return_guard(None), Err(Failure::StalePlan));
    let returned = BankTransfer { returned_at: Some(at(CUT_AT)), ..transfer(1, "1000") };
    assert_eq!(returned.return_guard(None), Err(Failure::WrongState));
}

/// A superseding file takes the transfer, and its return is planned from the file that had it.
#[test]
fn return_of_a_transfer_that_another_file_took_is_stale() {
    let mut table = Table::with(&[transfer(1, "1000")]);
    table.written(first_file(), &[day(PAY_ON)], None);
    let over = table.end(first_file(), FileChange::Withdraw);
    let late = [
        table.transfer(1).returned(&tenant(), at(CUT_AT)),
        over.counting_return(&tenant(), &yen("1000"), at(CUT_AT)).unwrap(),
    ];
    let id = BankFileId::first(day(FRIDAY));
    table.begin(id, &[], Some(&over)).unwrap();
    assert_eq!(table.write(&late), Err(Failure::StalePlan), "the file is superseded");
    while table.slice(id) {}
    assert_eq!(table.write(&late[..1]), Err(Failure::StalePlan), "another file has the transfer");
    assert_eq!(table.transfer(1).returned_at, None);
}

#[test]
fn free_transfer_that_is_returned_is_due_no_more_and_in_no_file() {
    let mut table = Table::with(&[transfer(1, "1000")]);
    table.give_back(1).unwrap();
    assert!(!table.item(&table.transfer(1).key(&tenant())).contains_key(attr::DUE_PK));
    assert_eq!(table.give_back(1), Err(Failure::WrongState));
    assert_eq!(table.written(first_file(), &[day(PAY_ON)], None).state, BankFileState::Empty);
}

/// The beginnings of the payment day and of the day before it, in Japan.
const BEGINS: &str = "2026-12-09T15:00:00.000Z";
const BEFORE: &str = "2026-12-09T14:59:59.999Z";

#[test]
fn merchant_sees_paid_once_the_bank_has_accepted_and_the_day_has_begun() {
    use PayoutState::{Delayed, Paid, Scheduled};
    let of = assigned();
    for state in BankFileState::ALL {
        let file = file(state);
        let (before, begun) = match state {
            BankFileState::Accepted | BankFileState::Debited => (Scheduled, Paid),
            BankFileState::Rejected | BankFileState::Withdrawn => (Delayed, Delayed),
            BankFileState::Assigning | BankFileState::Written | BankFileState::Empty => (Scheduled, Delayed),
        };
        for (now, want) in [(BEFORE, before), (BEGINS, begun)] {
            let shown = of.shown(day(PAY_ON), Some(&file), at(now));
            assert_eq!(shown, (day(PAY_ON), want), "{state:?} {now}");
        }
        let returned = BankTransfer { returned_at: Some(at(CUT_AT)), ..of.clone() };
        for now in [BEFORE, BEGINS] {
            let shown = returned.shown(day(PAY_ON), Some(&file), at(now));
            assert_eq!(shown, (day(PAY_ON), PayoutState::Returned), "{state:?} {now}");
        }
    }
    // No file has it.
    for (now, want) in [(BEFORE, Scheduled), (BEGINS, Delayed)] {
        assert_eq!(transfer(1, "1000").shown(day(PAY_ON), None, at(now)), (day(PAY_ON), want), "{now}");
    }
}

#[test]
fn merchant_sees_the_later_day_of_a_payout_that_is_delayed() {
    use PayoutState::{Delayed, Paid};
    let wednesday = day("2026-12-09");
    // It was booked for a later day than the settlement's.
    assert_eq!(transfer(1, "1000").shown(wednesday, None, at(BEFORE)), (day(PAY_ON), Delayed));
    for (state, begun) in [(BankFileState::Written, Delayed), (BankFileState::Accepted, Paid)] {
        let file = file(state);
        assert_eq!(assigned().shown(wednesday, Some(&file), at(BEFORE)), (day(PAY_ON), Delayed), "{state:?}");
        // A superseding file has another day.
        let friday = BankFile { id: BankFileId::first(day(FRIDAY)), ..file };
        let of = BankTransfer { file: Some(friday.id), ..assigned() };
        let shown = |now| of.shown(day(PAY_ON), Some(&friday), at(now));
        assert_eq!(shown(BEGINS), (day(FRIDAY), Delayed), "{state:?}: its own day has not begun");
        assert_eq!(shown("2026-12-10T15:00:00Z"), (day(FRIDAY), begun), "{state:?}");
    }
}
