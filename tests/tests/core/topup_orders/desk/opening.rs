//! The table before the first top-up.

use super::{Handler, WriteOutcome, answer, numbered, whole, yen};
use ledger_core::account::Account;
use ledger_core::adjustments::{self, Adjust, Adjustment, ReasonCode};
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
            let requester = StaffId::new(super::id(8));
            let (account, delta) = (Account::Customer(self.customer), yen(balance).credit());
            let adjustment = Adjustment::posting(account, delta, ReasonCode::Opening);
            let reason = FreeText::parse("the opening balance", 140).unwrap();
            let adjust =
                Adjust { tenant: &self.tenant, requested_by: requester, adjustment: &adjustment, reason: &reason };
            let draft = adjustments::plan(&adjust, &self.terms, &self.cx(numbered("opening"))).unwrap();
            self.write_assembled(&mut model, &draft, requester, Operation::Adjustment);
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
