//! Commands that another person must approve: requests for them, approvals, and commands that are stored already.

use super::endpoints::{Endpoint, Stage};
use super::prepared::{Prepared, prepared};
use super::world::new_key;
use super::{Answer, Call, Who, World};
use crate::cloud::gate;
use futures::future::join_all;
use ledger_core::approvals::{ApprovalRequest, Command, Seen, plan_request};
use ledger_core::ids::{CustomerId, Employer, StaffId};
use ledger_core::keys;
use ledger_core::money::{Amount, Asset};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::staff::StaffMember;
use ledger_core::transaction::Transaction;
use serde_json::json;
use std::collections::BTreeMap;

/// A decision on a command, under a fresh key.
#[must_use]
pub fn decides(verb: &str, id: &str, who: &Who) -> Call {
    Call::post(&format!("/v1/admin/approvals/{id}/{verb}"), who, &json!({})).key(new_key())
}

impl World {
    /// Sends a command of the operator, and approves it as the second one if that is needed; returns the response to what
    /// had the effect: to the approval, or to the command.
    pub async fn executes(&self, call: &Call) -> Answer {
        let asked = self.api.settle(call).await;
        match stored(&asked) {
            Some(id) => self.api.settle(&decides("approve", &id, &self.second.who)).await,
            None => asked,
        }
    }

    /// Stores a command of the operator; returns the request that approves it as the second one.
    ///
    /// # Panics
    /// When the command is not stored.
    pub async fn approving(&self, call: &Call) -> Call {
        let asked = self.api.settle(call).await;
        let id = stored(&asked).unwrap_or_else(|| panic!("an approval was expected: {asked:?}"));
        decides("approve", &id, &self.second.who)
    }

    /// Stores commands of the operator, and then approves them all at once; returns the responses to the approvals.
    pub async fn executes_at_once(&self, calls: &[Call]) -> Vec<Answer> {
        let approvals = join_all(calls.iter().map(|call| self.approving(call))).await;
        join_all(approvals.iter().map(|approval| self.api.settle(approval))).await
    }
}

impl Endpoint {
    /// Creates what the request needs, and returns the request. What another person must approve is stored and does
    /// nothing yet.
    pub async fn prepare(self, stage: &Stage) -> Prepared {
        let prepared = self.prepare_executed(stage).await;
        if self.is_command() { Prepared { status: 202, entries: 0, ..prepared } } else { prepared }
    }

    /// Whether another person must approve what its prepared request asks for.
    #[must_use]
    pub const fn is_command(self) -> bool {
        matches!(
            self,
            Self::AssetBudget
                | Self::BulkGrant
                | Self::CardReplace
                | Self::CashCeiling
                | Self::CashCollection
                | Self::CashDeposit
                | Self::CashDepositReversal
                | Self::CashReversal
                | Self::CashRoom
                | Self::CounterCeiling
                | Self::CustomerClose
                | Self::CustomerErase
                | Self::Enrolment
                | Self::Grant
                | Self::MerchantOwner
                | Self::OperatorRefund
                | Self::RefundCeiling
                | Self::SettlementOpen
                | Self::SettlementRunStart
                | Self::SettlementSchedule
                | Self::SignInMove
                | Self::TermsCancel
                | Self::TermsChange
                | Self::UnclaimedClaim
                | Self::UnclaimedPayout
                | Self::WindDown
        )
    }
}

/// The id of the approval that a command needs, if it needs one.
fn stored(answer: &Answer) -> Option<String> {
    if answer.status != 202 {
        return None;
    }
    answer.json()["approval_id"].as_str().map(str::to_owned)
}

/// Approves, as the second operator, what a command's endpoint has stored; returns the endpoint's response.
pub(super) async fn approve(world: &World, answer: Answer) -> Answer {
    if let Some(id) = stored(&answer) {
        let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    }
    answer
}

/// Issues an enrolment code: the first request is stored, and the second one issues it once that is approved.
pub async fn issued(world: &World, path: &str) -> Answer {
    assert_eq!(world.operator(path, &json!({})).await.status, 202);
    world.operator(path, &json!({})).await
}

/// Stores a grant of points to a customer that the first operator requests, whatever the tenant's grant limits; returns the
/// approval's id.
///
/// # Panics
/// When the store refuses.
pub async fn stored_grant(world: &World, customer: &str, points: &str) -> String {
    let (app, tenant) = (&world.app, world.slug());
    let cx = app.ledger().context(app.now()).expect("a context");
    let operator = StaffId::parse(&world.operator.id).expect("a UUID");
    let write = async {
        let key = keys::staff_member(&tenant, Employer::Operator, operator);
        let item = app.dynamo().get(&key).await.expect("a store").expect("a record");
        let by = StaffMember::read(Employer::Operator, &item).expect("a record");
        let terms = app.terms(&tenant).await.expect("terms");
        let amount = Amount::parse(terms.spec(&Asset::Point).expect("points"), points).expect("an amount");
        let command = Command::Grant { customer: CustomerId::parse(customer).expect("a UUID"), amount };
        let reason = FreeText::parse("thanks", 140).expect("a text");
        let keys = app.ledger().marker_keys().await.expect("keys");
        let owed = BTreeMap::new();
        let holders = app.holders(&tenant, [&by], command.scope()).await.expect("a store").expect("holders");
        let (terms, owed, keys, holders) = (&terms, &owed, &keys, &holders);
        let seen = Seen { terms, psp: None, decision: None, items: &[], owed, keys, holders };
        let request = ApprovalRequest {
            tenant: &tenant,
            by: &by,
            command,
            reason: Some(&reason),
            seen,
            guarded: &BTreeMap::new(),
        };
        let planned = plan_request(&request, &cx).expect("a plan");
        let stored = Transaction::unkeyed(planned.draft.items).expect("a transaction");
        app.ledger().apply(&tenant, Operation::ApprovalRequest, &stored).await.expect("the store is available");
        planned.receipt.id.to_string()
    };
    gate::as_test(write).await
}

/// The request of an endpoint that decides on a command; the other request decides on another one.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    let customer = world.customer().await.id;
    let [one, other] = [stored_grant(world, &customer, "300").await, stored_grant(world, &customer, "301").await];
    let (verb, who, entries) = match endpoint {
        Endpoint::ApprovalApprove => ("approve", &world.second.who, 1),
        Endpoint::ApprovalReject => ("reject", &world.second.who, 0),
        Endpoint::ApprovalWithdraw => ("withdraw", &world.operator.who, 0),
        other => panic!("{other:?} decides on no command"),
    };
    let call = decides(verb, &one, who);
    let path = call.path.replace(&one, &other);
    prepared(call, 200, entries).with_other_path(path)
}
