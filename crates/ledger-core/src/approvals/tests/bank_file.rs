//! A booked transfer, a bank file, and in which states of the file the transfer is returned.

use super::settlement_open::{by_bank, with_account};
use super::states::{opened, outcome, returned, set};
use super::*;
use crate::bank_files::{BankFileState, BankTransfer, FileStart, plan_start};
use crate::calendar::BankDeadline;
use crate::dynamo::Value;
use crate::ids::{BankFileId, SettlementId};

pub(super) fn file_id() -> BankFileId {
    BankFileId::first(BusinessDate::parse("2026-12-10").unwrap())
}

/// What stores a transfer of a settlement, and a file of one transfer.
pub(super) fn booked(merchant: MerchantId, settlement: SettlementId) -> Vec<TransactItem> {
    let (tenant, cx, id) = (tenant(), cx(), file_id());
    let from = with_account(BankDeadline::DEFAULT).settlement.unwrap().sender.unwrap();
    let Destination::Bank(to) = by_bank() else { panic!("no bank account") };
    let start = FileStart {
        tenant: &tenant,
        id,
        from: &from,
        days: &[id.pay_on],
        source: None,
        by: None,
        accept_by: id.pay_on.bounds().0,
    };
    let of_job = Context { resource_id: Uuid::from_u128(41), ..cx };
    let mut items = plan_start(&start, &of_job).unwrap().draft.items;
    let transfer = BankTransfer {
        settlement,
        merchant,
        day: id.pay_on,
        amount: yen("1000"),
        from: from.clone(),
        to,
        file: None,
        returned_at: None,
        created_at: cx.now,
    };
    items.push(transfer.put(&tenant, cx.now, Shards::ONE));
    items
}

/// A transfer that waits for the bank may be paid: its file is withdrawn first.
#[test]
fn transfer_is_returned_unless_its_file_is_written_or_superseded() {
    let (tenant, store) = (tenant(), opened());
    let booked = |file: Option<&str>, superseded_by: Option<Value>| {
        let mut store = store.clone();
        set(&mut store, Subject::Settlement, 0, "booked");
        if let Some(state) = file {
            set(&mut store, Subject::BankFile, 0, state);
            let of = returned(&store, None);
            let assigned = [("bank_file_id", Some(Value::s(file_id())))];
            store.change(&keys::bank_transfer(&tenant, of.day, of.settlement), &assigned);
            store.change(&keys::bank_file(&tenant, file_id()), &[("superseded_by", superseded_by)]);
        }
        store
    };
    let is_executed = |store: &_, file| {
        let (is_stored, stopped) = outcome(&Command::SettlementReturn(returned(store, file)), store);
        assert_eq!(is_stored, stopped.is_empty(), "{stopped:?}");
        is_stored
    };
    assert!(is_executed(&booked(None, None), None));
    for state in BankFileState::ALL {
        let want = match state {
            BankFileState::Accepted | BankFileState::Debited | BankFileState::Rejected | BankFileState::Withdrawn => {
                true
            }
            BankFileState::Assigning | BankFileState::Written | BankFileState::Empty => false,
        };
        let store = booked(Some(state.name()), None);
        assert_eq!(is_executed(&store, Some(file_id())), want, "{state:?}");
        assert!(!is_executed(&store, None), "{state:?}: it was in no file when the request was made");
    }
    let superseded = || Some(Value::s(file_id().next().unwrap()));
    for state in ["rejected", "withdrawn"] {
        assert!(!is_executed(&booked(Some(state), superseded()), Some(file_id())), "{state}");
    }
}
