//! The table before the first top-up.

use super::{Handler, WriteOutcome, answer, numbered, whole, yen};
use ledger_core::account::Account;
use ledger_core::adjustments::decide::{self, Decision};
use ledger_core::adjustments::record::ReasonCode;
use ledger_core::adjustments::request::{self, AdjustmentRequest};
use ledger_core::dynamo::{Item, Value};
use ledger_core::ids::{Principal, StaffId};
use ledger_core::keys::{Partition, attr};
use ledger_core::money::Asset;
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::transaction::{Draft, Transaction};
use ledger_tests::declared;
use ledger_tests::model::Model;

impl Handler {
    /// A table with two customers, the first with `balance` yen, which two members of staff posted as an opening
    /// balance.
    pub(crate) fn open(&self, balance: u64) -> Model {
        let mut model = Model::new();
        for customer in [self.customer, self.friend] {
            for asset in [Asset::Ecopay, Asset::Point] {
                let zero =
                    [attr::BALANCE, attr::HELD, attr::EXPOSURE].map(|name| (name.to_owned(), Value::N("0".to_owned())));
                model.put(whole(&Partition::customer(&self.tenant, customer).balance(&asset), Item::from(zero)));
            }
        }
        if balance > 0 {
            let (requester, approver) = (StaffId::new(super::id(8)), StaffId::new(super::id(9)));
            let request = AdjustmentRequest {
                tenant: self.tenant.clone(),
                staff: requester,
                account: Account::Customer(self.customer),
                delta: yen(balance).credit(),
                reason: ReasonCode::Opening,
                note: FreeText::parse("the opening balance", 140).unwrap(),
                finding: None,
            };
            let cx = self.cx(numbered("opening"));
            let requested = request::plan(&request, &cx).unwrap();
            self.write_assembled(&mut model, &requested.draft, requester, Operation::AdjustmentRequest);
            let (cx, adjustment) = (self.cx(numbered("approval")), &requested.receipt);
            let approved = decide::plan(&self.tenant, approver, Decision::Approve, adjustment, &self.terms, &cx);
            self.write_assembled(&mut model, &approved.unwrap().draft, approver, Operation::AdjustmentApprove);
        }
        model
    }

    fn write_assembled(&self, model: &mut Model, draft: &Draft, staff: StaffId, operation: Operation) {
        let claim = self.claim(Principal::Staff(staff), operation, operation.name());
        let wrote =
            self.write(model, &Transaction::assemble(draft.clone(), &claim, &answer(), &declared::keys()).unwrap());
        assert!(matches!(wrote, WriteOutcome::Applied), "the opening balance is not posted");
    }
}
