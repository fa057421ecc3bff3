//! Booking a transfer for the tenant's bank, and recording that it was returned.

use super::*;
use crate::bank_files::{BankFile, BankFileState, BankTransfer, FileStart, plan_start};
use crate::failure::Failure;
use crate::ids::{Actor, AuditId, BankFileId, TransactionId};
use crate::keys::{self, attr};
use crate::money::{Amount, AssetSpec};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::transaction::{Action, Draft, TransactItem};
use uuid::Uuid;

/// The first day on which the bank can pay: the day of the settlement has begun.
const TRANSFER_ON: &str = "2026-12-02";

fn amount(text: &str) -> Amount {
    Amount::parse(&AssetSpec::ECOPAY, text).unwrap()
}

/// A settlement of which something is to be paid.
fn payable(state: S, text: &str) -> Settlement {
    let (yen, paid) = (Asset::Ecopay, amount(text));
    Settlement {
        held_amounts: BTreeMap::from([(yen.clone(), paid.as_balance())]),
        net: Some(paid.clone()),
        payable: Some(paid),
        ..settlement(state, &[(&yen, text, "0", "0")])
    }
}

fn of_role(items: &[TransactItem], role: Role) -> &TransactItem {
    items.iter().find(|item| item.role() == role).unwrap_or_else(|| panic!("no {role:?}"))
}

fn booked_by(settlement: &Settlement) -> BankTransfer {
    let written = written(settlement, Task::Do(Step::Payout));
    let Action::Put(item) = &of_role(written.items(), Role::BankTransfer).action else { panic!("no put") };
    BankTransfer::read(item).unwrap()
}

#[test]
fn payout_by_bank_is_booked_as_a_transfer_that_is_due_at_its_cut() {
    let charged = payable(S::Charged, "1000");
    let of = booked_by(&charged);
    let day = BusinessDate::parse(TRANSFER_ON).unwrap();
    assert_eq!((of.settlement, of.merchant, of.day, of.created_at), (charged.id, charged.merchant, day, now()));
    assert_eq!((Some(of.amount), of.file, of.returned_at), (charged.payable.clone(), None, None));
    assert_eq!(Some(of.from), charged.terms.sender);
    assert_eq!(Destination::Bank(of.to), charged.destination);

    let written = written(&charged, Task::Do(Step::Payout));
    let put = of_role(written.items(), Role::BankTransfer);
    // Ten o'clock in Japan of the banking day before.
    assert!(put.text_written(attr::DUE_SK).unwrap().starts_with("2026-12-01T01:00:00.000Z#"));
    assert_eq!(put.key(), &keys::bank_transfer(&tenant(), day, charged.id));
    let update = of_role(written.items(), Role::Settlement);
    assert_eq!(update.text_written("state"), Some("booked"));
    assert_eq!(update.text_written("transfer_on"), Some(TRANSFER_ON));
    assert_eq!(update.text_written("booked_at"), Some(now().to_string().as_str()));
    // A later day stays as it is.
    let later = BusinessDate::parse("2026-12-10").unwrap();
    assert_eq!(booked_by(&Settlement { pay_on: later, ..charged }).day, later);
}

#[test]
fn settlement_that_no_file_can_pay_turns_back() {
    let charged = payable(S::Charged, "1000");
    let without_account = SettlementTerms { sender: None, ..charged.terms.clone() };
    for refused in [Settlement { terms: without_account, ..charged }, payable(S::Charged, "10000000000")] {
        let written = written(&refused, Task::Do(Step::Payout));
        let [update] = written.items() else { panic!("{written:?}") };
        assert_eq!(update.text_written("undo_reason"), Some("payout_refused"));
    }
}

fn cx() -> Context {
    Context {
        now: now(),
        transaction_id: TransactionId::new(Uuid::from_u128(1)),
        resource_id: Uuid::from_u128(2),
        audit_id: AuditId::new(Uuid::from_u128(3)),
        secret: [0; 16],
        salt: [0; 16],
    }
}

/// A file in a state that has one transfer, of 1000 yen.
fn file(state: BankFileState) -> BankFile {
    let (tenant, id) = (tenant(), BankFileId::first(BusinessDate::parse(TRANSFER_ON).unwrap()));
    let from = settlement(S::Charged, &[]).terms.sender.unwrap();
    let start = FileStart { tenant: &tenant, id, from: &from, days: &[], source: None, by: None, accept_by: cx().now };
    let begun = plan_start(&start, &cx()).unwrap().receipt;
    BankFile { state, transfers: 1, sum: amount("1000").as_balance(), ..begun }
}

/// A booked settlement, and its return with the file that has the transfer.
fn seen(file: Option<BankFile>) -> (ReturnedTransfer, SeenTransfer) {
    let transfer = booked_by(&payable(S::Charged, "1000"));
    let settlement = payable(S::Booked, "1000");
    let id = file.as_ref().map(|file| file.id);
    let of = ReturnedTransfer {
        merchant: settlement.merchant,
        settlement: settlement.id,
        amount: amount("1000"),
        day: transfer.day,
        file: id,
    };
    (of, SeenTransfer { settlement, transfer: BankTransfer { file: id, ..transfer }, file })
}

fn returned(of: &ReturnedTransfer, seen: &SeenTransfer) -> Result<Option<Draft>, PlanRefusal> {
    let by = Actor::Staff(StaffId::new(Uuid::from_u128(4)));
    plan_return((&tenant(), by), (of, seen), &FreeText::parse("account closed", 140).unwrap(), &cx())
}

#[test]
fn returned_transfer_is_owed_again_from_where_its_money_is() {
    for (state, from) in [
        (None, "bank_clearing"),
        (Some(BankFileState::Accepted), "bank_clearing"),
        (Some(BankFileState::Rejected), "bank_clearing"),
        (Some(BankFileState::Withdrawn), "bank_clearing"),
        (Some(BankFileState::Debited), "bank"),
    ] {
        let (of, seen) = seen(state.map(file));
        let draft = returned(&of, &seen).unwrap().unwrap();
        let entry = draft.entry.as_ref().unwrap();
        let postings: Vec<_> = entry.postings.iter().map(|p| format!("{} {}", p.account, p.delta.text())).collect();
        assert_eq!(postings, [format!("{from} -1000"), format!("merchant:{} 1000", of.merchant)], "{state:?}");
        let update = of_role(&draft.items, Role::Settlement);
        assert_eq!(update.text_written("state"), Some("returned"));
        let transfer = of_role(&draft.items, Role::BankTransfer);
        assert_eq!(transfer.text_written("returned_at"), Some(now().to_string().as_str()));
        let counted = draft.items.iter().filter(|item| item.role() == Role::BankFile).count();
        assert_eq!(counted, usize::from(state.is_some()), "its file counts it");
        let Action::Put(act) = &of_role(&draft.items, Role::Audit).action else { panic!("no put") };
        let details = act.map("details").unwrap();
        let named = details.opt_text("bank_file_id").unwrap();
        assert_eq!(named, state.map(|_| "2026-12-02-01"));
    }
}

#[test]
fn transfer_is_returned_once_and_as_it_was_seen() {
    let (of, booked) = seen(Some(file(BankFileState::Accepted)));
    for state in S::ALL {
        let settlement = Settlement { state, ..booked.settlement.clone() };
        let planned = returned(&of, &SeenTransfer { settlement, ..booked.clone() }).unwrap();
        assert_eq!(planned.is_some(), state == S::Booked, "{state}");
    }
    let is_stale = |of: &ReturnedTransfer| matches!(returned(of, &booked), Ok(None));
    assert!(!is_stale(&of));
    assert!(is_stale(&ReturnedTransfer { amount: amount("999"), ..of.clone() }));
    assert!(is_stale(&ReturnedTransfer { file: None, ..of.clone() }), "no file had it");
    assert!(is_stale(&ReturnedTransfer { file: of.file.unwrap().next(), ..of.clone() }), "another file had it");
    let twice = BankTransfer { returned_at: Some(now()), ..booked.transfer.clone() };
    let twice = returned(&of, &SeenTransfer { transfer: twice, ..booked });
    assert!(matches!(twice, Err(PlanRefusal::Refused(Failure::WrongState))));
}

#[test]
fn transfer_is_not_returned_while_it_may_be_paid() {
    for state in [BankFileState::Assigning, BankFileState::Written, BankFileState::Empty] {
        let (of, seen) = seen(Some(file(state)));
        let refused = returned(&of, &seen);
        assert!(matches!(refused, Err(PlanRefusal::Refused(Failure::WrongState))), "{state:?}");
    }
    let (of, keys) = (seen(Some(file(BankFileState::Accepted))).0, |of: &ReturnedTransfer| of.keys(&tenant()).len());
    assert_eq!((keys(&of), keys(&ReturnedTransfer { file: None, ..of.clone() })), (3, 2));
}
