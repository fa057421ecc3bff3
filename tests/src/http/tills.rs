//! Terminals that take cash which their merchants owe.

use super::endpoints::{Endpoint, Stage};
use super::people::{Merchant, Terminal};
use super::prepared::{Prepared, change, frozen, make};
use super::world::{new_id, new_key};
use super::{Answer, Call, World};
use serde_json::json;

impl World {
    /// As [`World::terminal_with_cash`], out of a ceiling of the same size.
    pub async fn till(&self, merchant: &Merchant, room: &str) -> Terminal {
        let path = format!("/v1/admin/merchants/{}/cash-room", merchant.id);
        let _ = self.operator(&path, &json!({"ceiling": room})).await;
        self.terminal_with_cash(merchant, room).await
    }

    /// Registers and enrols a counter of the operator, and allots cash room to it: the operator's ceiling grows by as much.
    pub async fn counter(&self, room: &str) -> Terminal {
        let id = new_id();
        let _ = self.operator("/v1/admin/terminals", &json!({"terminal_id": id, "kind": "counter"})).await.good();
        let view = self.api.send(&Call::get("/v1/admin/cash-room", &self.operator.who)).await;
        let before = if view.status == 200 { view.text("/ceiling") } else { "0".to_owned() };
        let more = before.parse::<u64>().expect("yen") + room.parse::<u64>().expect("yen");
        let counter = self.enrol(&id).await;
        let _ = self.operator("/v1/admin/cash-room", &json!({"ceiling": more.to_string()})).await;
        let _ = self.operator(&format!("/v1/admin/terminals/{id}/cash-room"), &json!({"allot": room})).await.good();
        counter
    }

    /// The request that records a collection of a terminal's cash.
    #[must_use]
    pub fn collects(&self, terminal: &Terminal, amount: &str) -> Call {
        let path = format!("/v1/admin/terminals/{}/cash-collections", terminal.id);
        Call::post(&path, &self.operator.who, &json!({"amount": amount, "reason": "slip 7"})).key(new_key())
    }

    /// Sets the ceiling of a merchant's refund room.
    pub async fn refund_ceiling(&self, merchant: &str, ceiling: &str) -> Answer {
        let path = format!("/v1/admin/merchants/{merchant}/refund-room");
        self.operator(&path, &json!({ "ceiling": ceiling })).await
    }

    /// Records money that a merchant brought for cash that it owes.
    pub async fn deposit(&self, merchant: &str, amount: &str) -> Answer {
        let path = format!("/v1/admin/merchants/{merchant}/cash-deposits");
        self.operator(&path, &json!({"amount": amount, "reason": "receipt 7"})).await
    }

    /// The path that takes a new deposit back.
    pub async fn reversal_of(&self, merchant: &str, amount: &str) -> String {
        let recorded = self.deposit(merchant, amount).await.good();
        let deposit = match recorded.status {
            // The approval has made the entry.
            202 => {
                let path = format!("/v1/admin/approvals/{}", recorded.text("/approval_id"));
                self.api.send(&Call::get(&path, &self.operator.who)).await.good().text("/transaction_id")
            }
            _ => recorded.text("/transaction_id"),
        };
        format!("/v1/admin/merchants/{merchant}/cash-deposits/{deposit}/reversal")
    }

    /// The request that reverses a cash top-up of a terminal for the operator.
    #[must_use]
    pub fn takes_back(&self, terminal: &Terminal, topup: &str) -> Call {
        let path = format!("/v1/admin/terminals/{}/cash-reversals", terminal.id);
        let body = json!({"transaction_id": topup, "reason": "another card"});
        Call::post(&path, &self.operator.who, &body).key(new_key())
    }

    /// The request that refunds a payment for the operator, beyond the merchant's refund room.
    #[must_use]
    pub fn refunds_for(&self, merchant: &str, payment: &str, amount: &str) -> Call {
        let path = format!("/v1/admin/merchants/{merchant}/refunds");
        let body = json!({"payment_id": payment, "amount": amount, "reason": "never delivered"});
        Call::post(&path, &self.operator.who, &body).key(new_key())
    }

    /// Allots cash room to a terminal.
    pub async fn allot(&self, terminal: &Terminal, room: &str) -> Answer {
        let path = format!("/v1/admin/terminals/{}/cash-room", terminal.id);
        self.executes(&Call::post(&path, &self.operator.who, &json!({"allot": room})).key(new_key())).await
    }
}

/// The request of an endpoint of terminals and rooms.
pub(super) async fn prepare(endpoint: Endpoint, stage: &Stage) -> Prepared {
    let Stage { world, merchant: owner, .. } = stage;
    let merchant = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}/cash-room", merchant.id);
    let made = match endpoint {
        Endpoint::TerminalOpen => {
            let made = make(world, "/v1/admin/terminals", &json!({"merchant_id": owner.id}));
            return made.with_other("terminal_id", new_id());
        }
        Endpoint::TerminalPatch => {
            let path = format!("/v1/admin/terminals/{}", world.terminal(owner).await.id);
            change(world, &path, &frozen()).with_other("reason", "found")
        }
        Endpoint::Enrolment => {
            let [one, other] = [world.terminal(owner).await.id, world.terminal(owner).await.id];
            let path = |id| format!("/v1/admin/terminals/{id}/enrolment");
            return make(world, &path(one), &json!({})).with_other_path(path(other));
        }
        Endpoint::CashCeiling => make(world, &path, &json!({"ceiling": "3000"})).with_other("ceiling", "3001"),
        Endpoint::CashRoom => {
            let _ = world.operator(&path, &json!({"ceiling": "3000"})).await;
            let path = format!("/v1/admin/terminals/{}/cash-room", world.terminal(&merchant).await.id);
            make(world, &path, &json!({"allot": "300"})).with_other("allot", "301")
        }
        Endpoint::CounterCeiling => {
            make(world, "/v1/admin/cash-room", &json!({"ceiling": "3000"})).with_other("ceiling", "3001")
        }
        Endpoint::CashCollection => {
            let counter = world.counter("1000").await;
            let topup = counter.does("topup", &world.card(None, "0").await, &json!({"amount": "300"}));
            let _ = world.api.settle(&topup).await.good();
            let made =
                make(world, &world.collects(&counter, "200").path, &json!({"amount": "200", "reason": "slip 7"}));
            return made.with_other("amount", "201");
        }
        Endpoint::RefundCeiling => {
            let path = format!("/v1/admin/merchants/{}/refund-room", merchant.id);
            make(world, &path, &json!({"ceiling": "3000"})).with_other("ceiling", "3001")
        }
        Endpoint::CashDeposit => {
            let path = format!("/v1/admin/merchants/{}/cash-deposits", merchant.id);
            let deposit = make(world, &path, &json!({"amount": "300", "reason": "receipt 7"}));
            return Prepared { entries: 1, ..deposit.with_other("amount", "301") };
        }
        Endpoint::CashDepositReversal => {
            let path = world.reversal_of(&merchant.id, "300").await;
            let reversal = make(world, &path, &json!({"reason": "receipt of another"}));
            return Prepared { entries: 1, ..reversal.with_other("reason", "receipt of no one") };
        }
        Endpoint::CashReversal => {
            let counter = world.counter("1000").await;
            let topup = counter.does("topup", &world.card(None, "0").await, &json!({"amount": "300"}));
            let topup = world.api.settle(&topup).await.good().text("/transaction_id");
            let made = Prepared { call: world.takes_back(&counter, &topup), other: None, status: 201, entries: 1 };
            return made.with_other("reason", "the same card");
        }
        Endpoint::OperatorRefund => {
            let (_, payment) = stage.paid("1000").await;
            let call = world.refunds_for(&owner.id, &payment, "300");
            return Prepared { call, other: None, status: 201, entries: 1 }.with_other("amount", "301");
        }
        other => panic!("{other:?} is not of rooms"),
    };
    Prepared { status: 200, ..made }
}
