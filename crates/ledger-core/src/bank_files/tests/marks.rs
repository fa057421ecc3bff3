//! What people record: accepted, debited, rejected, withdrawn, reopened; and what is reported if they do not.

use super::*;
use crate::account::{Account, TenantAccount};
use crate::keys::Shards;
use crate::money::{Asset, Balance, Rate, Share};
use crate::terms::{
    CardPinTerms, CashBonusTerms, CeilingTerms, Co2Terms, DisplayName, GrantLimits, KeyPhase, SignInTerms, SpentPoints,
    TenantTerms, TermsVersion,
};

/// The end of the payment day in Japan.
const DAY_ENDS: &str = "2026-12-10T15:00:00.000Z";

fn terms() -> TenantTerms {
    TenantTerms {
        version: TermsVersion::FIRST,
        display_name: DisplayName::parse("Aoba").unwrap(),
        key_phase: KeyPhase::Mandatory,
        assets: BTreeMap::new(),
        co2: Co2Terms { rate: Rate::parse("0.01").unwrap(), source: "test".to_owned(), version: "1".to_owned() },
        points_rate: Share::parse("0.01").unwrap(),
        card_cap: yen("50000"),
        card_bonus_rate: Share::parse("0.01").unwrap(),
        card_pin: CardPinTerms::NotUsed,
        spent_points: SpentPoints::Deduct,
        due_shards: Shards::ONE,
        topup: None,
        requests_per_second: None,
        hold_hours: None,
        settlement: None,
        settlement_schedule: None,
        limits: None,
        cash_bonus: CashBonusTerms::Never,
        ceilings: CeilingTerms::zero(),
        grant_limits: GrantLimits::default(),
        sign_ins: SignInTerms::OwnIds,
    }
}

fn debited(file: &BankFile, by: u128) -> Result<Planned<BankFile>, Failure> {
    plan_debit(&FileDebit { tenant: &tenant(), by: person(by) }, file, &terms(), &cx(DAY_ENDS)).map_err(refusal)
}

/// A table with a written file of two transfers, 1000 and 500 yen.
fn with_file() -> Table {
    let mut table = Table::with(&[transfer(1, "1000"), transfer(2, "500")]);
    table.written(first_file(), &[day(PAY_ON)], None);
    table
}

fn in_state(state: BankFileState) -> BankFile {
    BankFile { state, ..with_file().file(first_file()) }
}

#[test]
fn acceptance_is_recorded_of_a_written_file_with_its_person_and_reference() {
    let mut table = with_file();
    let before = table.file(first_file());
    let planned = accepted(&before, 1).unwrap();
    let file = table.change(first_file(), &planned.draft);
    assert_eq!(file, planned.receipt);
    let reference = file.reference.as_ref().map(FreeText::expose);
    let of = (file.state, file.accepted_at, file.accepted_by, reference);
    assert_eq!(of, (BankFileState::Accepted, Some(at(ACCEPT_BY)), Some(person(1)), Some("receipt 42")));
    assert_eq!(file.version, before.version + 1);
    assert_eq!(table.due(first_file()).as_deref(), Some(DAY_ENDS), "it is to be debited until then");
    assert_eq!(act(&planned.draft.items, "amount"), of_first(Operation::BankFileAccept, None));
    assert_eq!(table.write(&planned.draft.items), Err(Failure::StalePlan), "once");
    for state in BankFileState::ALL {
        let refused = accepted(&in_state(state), 1).err();
        let want = (state != BankFileState::Written).then_some(Failure::WrongState);
        assert_eq!(refused, want, "{state:?}");
    }
}

#[test]
fn debit_is_recorded_of_an_accepted_file_by_another_person() {
    let mut table = with_file();
    let file = table.accept(first_file());
    assert_eq!(debited(&file, 1).err(), Some(Failure::FourEyes));
    for state in BankFileState::ALL {
        let of = BankFile { state, ..file.clone() };
        let want = (state != BankFileState::Accepted).then_some(Failure::WrongState);
        assert_eq!(debited(&of, 2).err(), want, "{state:?}");
        // The state is asked first: who accepted it is not known of any other.
        let want = if state == BankFileState::Accepted { Failure::FourEyes } else { Failure::WrongState };
        assert_eq!(debited(&of, 1).err(), Some(want), "{state:?}");
    }
    let planned = debited(&file, 2).unwrap();
    let after = table.change(first_file(), &planned.draft);
    assert_eq!(after, planned.receipt);
    let of = (after.state, after.debited_at, after.debited_by, after.debited_sum.clone());
    assert_eq!(of, (BankFileState::Debited, Some(at(DAY_ENDS)), Some(person(2)), Some(yen("1500"))));
    assert_eq!(after.debit_id, planned.draft.entry.as_ref().map(|entry| entry.id));
    assert_eq!(table.due(first_file()), None);
    assert_eq!(table.write(&planned.draft.items), Err(Failure::StalePlan), "once");
    assert_eq!(after.overdue(at("2027-12-31T00:00:00Z")), None);
    assert_eq!(act(&planned.draft.items, "amount"), of_first(Operation::BankFileDebit, Some("1500")));
}

/// The postings of what a draft posts.
fn postings(draft: &Draft) -> Vec<String> {
    let postings = draft.entry.iter().flat_map(|entry| &entry.postings);
    postings.map(|posting| format!("{} {}", posting.account, posting.delta.text())).collect()
}

#[test]
fn debit_posts_what_was_not_returned_before() {
    let mut table = with_file();
    table.accept(first_file());
    for (returned, want) in [
        (None, vec!["bank_clearing -1500", "bank 1500"]),
        (Some(1), vec!["bank_clearing -500", "bank 500"]),
        (Some(2), vec![]),
    ] {
        returned.into_iter().for_each(|number| table.give_back(number).unwrap());
        let planned = debited(&table.file(first_file()), 2).unwrap();
        assert_eq!(postings(&planned.draft), want, "{returned:?}");
        let entry = planned.draft.entry.as_ref();
        assert!(entry.is_none_or(|entry| entry.home == Account::Tenant(TenantAccount::Bank)));
        let details = entry.map(|entry| entry.details.clone());
        assert_eq!(details, entry.map(|_| Item::from([("bank_file_id".to_owned(), Value::s("2026-12-10-01"))])));
        let sum = table.file(first_file()).left_sum().unwrap();
        assert_eq!(planned.receipt.debited_sum.as_ref().map(Amount::as_balance), Some(sum).filter(|_| entry.is_some()));
        assert_eq!(planned.receipt.debit_id, entry.map(|entry| entry.id));
    }
    // The money of what is returned after the debit was paid: the sum that was debited stays.
    let mut table = with_file();
    table.accept(first_file());
    let planned = debited(&table.file(first_file()), 2).unwrap();
    table.change(first_file(), &planned.draft);
    table.give_back(1).unwrap();
    let file = table.file(first_file());
    assert_eq!((file.debited_sum, file.returned, table.due(file.id)), (Some(yen("1500")), 1, None));
}

/// A debit that was planned before a return would post too much.
#[test]
fn debit_of_what_was_returned_meanwhile_is_stale() {
    let mut table = with_file();
    let file = table.accept(first_file());
    let late = debited(&file, 2).unwrap();
    table.give_back(1).unwrap();
    assert_eq!(table.write(&late.draft.items), Err(Failure::StalePlan));
}

#[test]
fn ends_follow_from_what_the_bank_has() {
    for state in BankFileState::ALL {
        let file = in_state(state);
        let with_bank = matches!(state, BankFileState::Written | BankFileState::Accepted);
        for (change, follows) in [
            (FileChange::Reject, with_bank),
            // One that is assigning may have a job that cannot go on.
            (FileChange::Withdraw, with_bank || state == BankFileState::Assigning),
            (FileChange::Reopen, state == BankFileState::Accepted),
        ] {
            let ended = ended(&file, change, CUT_AT);
            assert_eq!(ended.map(|draft| draft.is_some()), if follows { Ok(true) } else { Err(Failure::WrongState) });
        }
    }
}

#[test]
fn end_is_decided_of_the_file_as_it_was_seen() {
    let mut table = with_file();
    let file = table.file(first_file());
    let end = |seen| FileEnd { file: file.id, change: FileChange::Withdraw, seen };
    let plan = |seen, file: &BankFile| plan_end((&tenant(), person(3)), (&end(seen), file), &note(), &cx(CUT_AT));
    assert_eq!(end(1).keys(&tenant()), [keys::bank_file(&tenant(), file.id)]);
    for other in [file.version - 1, file.version + 1] {
        assert!(plan(other, &file).unwrap().is_none(), "{other}");
    }
    let late = plan(file.version, &file).unwrap().unwrap();
    let accepted = table.accept(first_file());
    assert_eq!(table.write(&late.items), Err(Failure::StalePlan));
    assert!(plan(file.version, &accepted).unwrap().is_none(), "it was not accepted when that was asked for");
}

#[test]
fn rejected_or_withdrawn_file_waits_for_a_person_while_it_has_transfers_left() {
    for (change, state, operation) in [
        (FileChange::Reject, BankFileState::Rejected, Operation::BankFileReject),
        (FileChange::Withdraw, BankFileState::Withdrawn, Operation::BankFileWithdraw),
    ] {
        // At the latest when the bank takes no file any more; at once after that.
        for (now, due) in [(CUT_AT, ACCEPT_BY), (DAY_ENDS, DAY_ENDS)] {
            for returned in [0, 1] {
                let mut table = with_file();
                table.accept(first_file());
                (1..=returned).for_each(|number| table.give_back(number).unwrap());
                let before = table.file(first_file());
                let draft = ended(&before, change, now).unwrap().unwrap();
                let file = table.change(first_file(), &draft);
                let of = (file.state, file.ended_at, file.ended_by, file.version);
                assert_eq!(of, (state, Some(at(now)), Some(person(3)), before.version + 1));
                assert_eq!((file.accepted_by, file.is_to_supersede()), (Some(person(1)), true));
                assert_eq!(table.due(first_file()).as_deref(), Some(due));
                assert_eq!(act(&draft.items, "amount"), of_first(operation, None));
            }
            let mut table = with_file();
            table.accept(first_file());
            [1, 2].into_iter().for_each(|number| table.give_back(number).unwrap());
            let draft = ended(&table.file(first_file()), change, now).unwrap().unwrap();
            assert!(!table.change(first_file(), &draft).is_to_supersede());
            assert_eq!(table.due(first_file()), None);
        }
    }
}

#[test]
fn reopened_file_is_as_if_it_had_not_been_accepted() {
    let mut table = with_file();
    let written = table.file(first_file());
    for (now, due) in [(CUT_AT, ACCEPT_BY), (DAY_ENDS, DAY_ENDS)] {
        let mut table = table.clone();
        let accepted = table.accept(first_file());
        let draft = ended(&accepted, FileChange::Reopen, now).unwrap().unwrap();
        let file = table.change(first_file(), &draft);
        assert_eq!(file, BankFile { version: accepted.version + 1, ..written.clone() });
        assert_eq!(table.due(first_file()).as_deref(), Some(due));
        assert_eq!(act(&draft.items, "amount"), of_first(Operation::BankFileReopen, None));
    }
    // Who accepted it wrongly may debit it once another person has accepted it.
    table.accept(first_file());
    table.end(first_file(), FileChange::Reopen);
    let again = accepted(&table.file(first_file()), 2).unwrap();
    let file = table.change(first_file(), &again.draft);
    assert_eq!((debited(&file, 2).err(), debited(&file, 1).is_ok()), (Some(Failure::FourEyes), true));
}

/// The bank would pay its whole content, and the next settlement the returned transfer again.
#[test]
fn file_of_which_a_transfer_was_returned_is_withdrawn_and_not_reopened() {
    let mut table = with_file();
    table.accept(first_file());
    table.give_back(1).unwrap();
    assert_eq!(ended(&table.file(first_file()), FileChange::Reopen, CUT_AT).err(), Some(Failure::WrongState));
    let source = table.end(first_file(), FileChange::Withdraw);
    let friday = BankFileId::first(day(FRIDAY));
    let file = table.written(friday, &[], Some(&source));
    assert_eq!((file.transfers, file.sum.text().as_str()), (1, "500"));
}

#[test]
fn what_is_not_recorded_in_time_is_overdue() {
    let (before_cut_off, before_end) = ("2026-12-09T02:59:59.999Z", "2026-12-10T14:59:59.999Z");
    for state in BankFileState::ALL {
        let file = in_state(state);
        let of = |now| file.overdue(at(now));
        let want = match state {
            BankFileState::Written | BankFileState::Rejected | BankFileState::Withdrawn => {
                [None, Some(Overdue::NotAccepted), Some(Overdue::NotAccepted), Some(Overdue::NotAccepted)]
            }
            BankFileState::Accepted => [None, None, None, Some(Overdue::NotDebited)],
            BankFileState::Assigning | BankFileState::Debited | BankFileState::Empty => [None; 4],
        };
        assert_eq!([before_cut_off, ACCEPT_BY, before_end, DAY_ENDS].map(of), want, "{state:?}");
        // A file whose transfers are in another one, or were returned, waits for no person.
        let superseded = BankFile { superseded_by: first_file().next(), ..file.clone() };
        let returned = BankFile { returned: 2, ..file.clone() };
        for other in [superseded, returned] {
            assert_eq!(other.overdue(at(DAY_ENDS)), want[3].filter(|_| !file.is_over()), "{state:?}");
        }
    }
}

#[test]
fn report_is_repeated_after_an_hour() {
    let mut table = with_file();
    let file = table.file(first_file());
    let reported = file.reported(&tenant(), at(ACCEPT_BY));
    table.write(std::slice::from_ref(&reported)).unwrap();
    assert_eq!(table.due(first_file()).as_deref(), Some("2026-12-09T04:00:00.000Z"));
    assert_eq!(table.file(first_file()), file, "what people decide on is as they saw it");
    table.accept(first_file());
    let accepted = table.clone();
    assert_eq!(table.write(&[reported]), Err(Failure::StalePlan));
    assert_eq!(table, accepted, "a report that is late changes nothing");
}

#[test]
fn returned_transfer_is_counted_and_the_last_one_of_a_file_that_is_over_ends_the_report() {
    for (state, is_over) in
        [(BankFileState::Accepted, false), (BankFileState::Rejected, true), (BankFileState::Withdrawn, true)]
    {
        let mut table = with_file();
        table.accept(first_file());
        if is_over {
            let change = if state == BankFileState::Rejected { FileChange::Reject } else { FileChange::Withdraw };
            table.end(first_file(), change);
        }
        let due = table.due(first_file());
        for (number, returned, sum, left) in [(1, 1, "1000", 1), (2, 2, "1500", 0)] {
            let version = table.file(first_file()).version;
            table.give_back(number).unwrap();
            let file = table.file(first_file());
            let of = (file.state, file.returned, file.returned_sum.text(), file.left(), file.version);
            assert_eq!(of, (state, returned, sum.to_owned(), left, version + 1));
            assert_eq!(file.left_sum(), file.sum.checked_sub(&file.returned_sum));
            assert_eq!(table.due(first_file()), due.clone().filter(|_| left > 0 || !is_over), "{state:?}");
            assert_eq!(table.transfer(number).returned_at, Some(at(CUT_AT)));
            assert_eq!(table.give_back(number), Err(Failure::WrongState), "once");
        }
        assert!(!table.file(first_file()).is_to_supersede());
    }
}

#[test]
fn file_is_read_as_it_is_stored() {
    let mut table = with_file();
    let written = table.file(first_file());
    assert_eq!(written.sum, Balance::from_stored(Asset::Ecopay, "1500").unwrap());
    table.accept(first_file());
    let item = table.item(&keys::bank_file(&tenant(), first_file())).clone();
    for (name, wrong) in [
        ("bank_file_id", "2026-12-10-1"),
        ("state", "paid"),
        ("accept_by", "noon"),
        ("superseded_by", "none"),
        ("accepted_by", "hanako"),
        ("job_id", "1"),
    ] {
        let mut item = item.clone();
        item.insert(name.to_owned(), Value::s(wrong));
        assert!(BankFile::read(&item).is_err(), "{name}");
    }
}

#[test]
fn reading_of_the_content_is_on_the_trail() {
    let file = with_file().file(first_file());
    let reading = reading(&tenant(), crate::ids::Actor::Staff(person(1)), &file, &cx(CUT_AT)).unwrap();
    assert_eq!(reading.items().len(), 1);
    assert_eq!(act(reading.items(), "amount"), of_first(Operation::BankFileRead, None));
}
