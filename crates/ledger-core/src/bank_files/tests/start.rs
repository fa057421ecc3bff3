//! The start of a file, the form in which it is stored, and its content.

use super::*;
use crate::jobs::JobState;

#[test]
fn start_stores_a_file_and_its_job_due_at_once() {
    let mut table = Table::default();
    let days = [day("2026-12-08"), day(PAY_ON)];
    let begun = table.begin(first_file(), &days, None).unwrap();
    let file = table.file(first_file());
    assert_eq!(file, begun);
    let of = (file.state, file.supersedes, file.superseded_by, file.begun_by, file.sha256.as_deref());
    assert_eq!(of, (BankFileState::Assigning, None, None, None, None));
    assert_eq!((file.parts, file.transfers, file.sum.text().as_str(), file.left()), (0, 0, "0", 0));
    assert_eq!((file.from.clone(), file.accept_by, file.created_at), (own(), at(ACCEPT_BY), at(CUT_AT)));
    assert_eq!(table.due(first_file()), None, "its job is due, and not the file");
    let item = table.item(&keys::bank_file(&tenant(), first_file()));
    assert_eq!(item.get(attr::OWNER_PK), Some(&Value::s("demo#bank_files#0")));
    assert_eq!(item.get(attr::OWNER_SK), Some(&Value::s("2026-12-10-01")));

    let job = table.job(first_file());
    assert_eq!((job.head.state, job.head.staff, job.cursor()), (JobState::Waiting, None, None));
    assert_eq!(job.details, BankFileDetails { file: first_file(), days: days.to_vec(), source: None });
    let stored = table.item(&keys::job(&tenant(), file.job));
    assert!(matches!(stored.get(attr::DUE_SK), Some(Value::S(due)) if due.starts_with(CUT_AT)), "{stored:?}");
}

#[test]
fn number_of_a_day_is_given_once() {
    let mut table = Table::default();
    table.begin(first_file(), &[day(PAY_ON)], None).unwrap();
    assert_eq!(table.begin(first_file(), &[day(PAY_ON)], None), Err(Failure::StalePlan));
    assert!(table.begin(first_file().next().unwrap(), &[day(PAY_ON)], None).is_ok());
}

/// The act of a person is on the trail. A worker's is in the file alone.
#[test]
fn start_by_a_person_is_on_the_trail() {
    let mut table = Table::with(&[transfer(1, "1000")]);
    let (tenant, from) = (tenant(), own());
    let source = {
        table.written(first_file(), &[day(PAY_ON)], None);
        table.end(first_file(), FileChange::Reject)
    };
    let id = BankFileId::first(day(FRIDAY));
    for (source, operation, subject) in [
        (None, Operation::BankFileCut, "bank_file:2026-12-11-01"),
        (Some(&source), Operation::BankFileSupersede, "bank_file:2026-12-10-01"),
    ] {
        let by = Some(person(7));
        let accept_by = at(ACCEPT_BY);
        let start = FileStart { tenant: &tenant, id, from: &from, days: &[id.pay_on], source, by, accept_by };
        let planned = plan_start(&start, &cx(CUT_AT)).unwrap();
        assert_eq!(planned.receipt.begun_by, by);
        let want = [operation.name(), subject, "2026-12-11-01"].map(|text| Some(text.to_owned()));
        assert_eq!(act(&planned.draft.items, "bank_file_id"), want);
    }
    let of_worker =
        FileStart { tenant: &tenant, id, from: &from, days: &[], source: None, by: None, accept_by: at(ACCEPT_BY) };
    let items = plan_start(&of_worker, &cx(CUT_AT)).unwrap().draft.items;
    assert!(items.iter().all(|item| item.role() != Role::Audit));
}

#[test]
fn superseding_file_takes_the_parts_of_its_source_and_no_days() {
    let mut table = Table::with(&[transfer(1, "1000")]);
    table.written(first_file(), &[day(PAY_ON)], None);
    let source = table.end(first_file(), FileChange::Withdraw);
    let id = BankFileId::first(day(FRIDAY));
    let file = table.begin(id, &[day(FRIDAY)], Some(&source)).unwrap();
    assert_eq!(file.supersedes, Some(first_file()));
    let details = table.job(id).details;
    assert_eq!(details, BankFileDetails { file: id, days: Vec::new(), source: Some((first_file(), 1)) });
    let superseded = table.file(first_file());
    assert_eq!((superseded.superseded_by, superseded.state), (Some(id), BankFileState::Withdrawn));
    assert_eq!((superseded.version, superseded.is_to_supersede()), (source.version + 1, false));
    assert_eq!(table.due(first_file()), None, "its transfers wait for a person no more");
}

#[test]
fn file_is_superseded_once_and_as_it_was_read() {
    let mut table = Table::with(&[transfer(1, "1000"), transfer(2, "500")]);
    table.written(first_file(), &[day(PAY_ON)], None);
    let source = table.end(first_file(), FileChange::Reject);
    let (friday, second) = (BankFileId::first(day(FRIDAY)), BankFileId::first(day(FRIDAY)).next().unwrap());
    // A transfer of it is returned between the reading and the write.
    let mut returned = table.clone();
    returned.give_back(1).unwrap();
    assert_eq!(returned.begin(friday, &[], Some(&source)), Err(Failure::StalePlan));
    assert!(returned.begin(friday, &[], Some(&returned.file(first_file()))).is_ok());

    table.begin(friday, &[], Some(&source)).unwrap();
    assert_eq!(table.begin(second, &[], Some(&source)), Err(Failure::StalePlan), "as it was before");
    let superseded = table.file(first_file());
    assert_eq!(table.begin(second, &[], Some(&superseded)), Err(Failure::WrongState));
}

#[test]
fn file_is_superseded_if_it_is_rejected_or_withdrawn_and_has_transfers_left() {
    let mut table = Table::with(&[transfer(1, "1000")]);
    let written = table.written(first_file(), &[day(PAY_ON)], None);
    let begin = |source: &BankFile| table.clone().begin(BankFileId::first(day(FRIDAY)), &[], Some(source)).is_ok();
    for state in BankFileState::ALL {
        let is_over = matches!(state, BankFileState::Rejected | BankFileState::Withdrawn);
        let source = BankFile { state, ..written.clone() };
        assert_eq!(begin(&source), is_over, "{state:?}");
        let by = Some(first_file().next().unwrap());
        for nothing_left in [
            BankFile { superseded_by: by, ..source.clone() },
            BankFile { returned: 1, ..source.clone() },
            BankFile { transfers: 0, ..source.clone() },
        ] {
            assert!(!begin(&nothing_left) && !nothing_left.is_to_supersede(), "{nothing_left:?}");
        }
    }
}

#[test]
fn job_is_read_as_it_is_stored() {
    for source in [None, Some((first_file(), 17))] {
        let details = BankFileDetails { file: first_file(), days: vec![day(PAY_ON), day(FRIDAY)], source };
        let item = crate::jobs::Details::attributes(&details);
        assert_eq!(<BankFileDetails as crate::jobs::Details>::read(&item), Ok(details));
        for (name, wrong) in [
            ("bank_file_id", "2026-12-10-00"),
            ("supersedes", "2026-12-10-01"),
            ("supersedes", "2026-12-10-01#x"),
            ("supersedes", "2026-12-10#1"),
        ] {
            let mut item = item.clone();
            item.insert(name.to_owned(), Value::s(wrong));
            assert!(<BankFileDetails as crate::jobs::Details>::read(&item).is_err(), "{name} {wrong}");
        }
    }
}

#[test]
fn content_is_of_the_transfers_that_were_counted() {
    let both = [transfer(1, "1000"), transfer(2, "500")];
    let mut table = Table::with(&both);
    let file = table.written(first_file(), &[day(PAY_ON)], None);
    let content = Content::of(&file, &table.content(first_file())).unwrap();
    assert_eq!(file.sha256, Some(content.sha256()));
    assert_eq!(content.bytes.len(), 5 * 122, "header, two transfers, trailer and end");
    assert_eq!(format!("{content:?}"), "Content { bytes: 610 }", "no account is printed");
    let again = Content::of(&file, &table.content(first_file())).unwrap();
    assert_eq!(again, content);

    let of = |transfers: &[BankTransfer]| Content::of(&file, transfers).map(|_| ());
    let [first, second] = both;
    assert_eq!(of(&[first.clone(), second.clone()]), Ok(()));
    let other = BankAccount::new(&parts("9999999")).unwrap();
    for (what, transfers) in [
        ("count", vec![first.clone()]),
        ("count", vec![transfer(1, "1500")]),
        ("sum", vec![first.clone(), transfer(2, "501")]),
        ("order", vec![second.clone(), first.clone()]),
        ("account", vec![BankTransfer { to: other, ..first.clone() }, second.clone()]),
        ("settlement", vec![first.clone(), transfer(3, "500")]),
        ("sender", vec![BankTransfer { from: sender("0000000001"), ..first.clone() }, second.clone()]),
    ] {
        assert_eq!(of(&transfers), Err(ContentError::Differs), "{what}");
    }
    for other in [
        BankFile { sha256: Some("0".repeat(64)), ..file.clone() },
        BankFile { id: BankFileId::first(day(FRIDAY)), ..file.clone() },
        BankFile { from: sender("0000000001"), ..file.clone() },
    ] {
        assert_eq!(Content::of(&other, &[first.clone(), second.clone()]), Err(ContentError::Differs), "{other:?}");
    }
}
