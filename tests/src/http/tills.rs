//! Terminals that take cash which their merchants owe.

use super::endpoints::{Endpoint, Prepared, make};
use super::people::{Merchant, Terminal};
use super::world::new_key;
use super::{Answer, Call, World};
use serde_json::json;

impl World {
    /// Registers and enrols a merchant's terminal, and allots cash room to it out of a ceiling of the same size.
    pub async fn till(&self, merchant: &Merchant, room: &str) -> Terminal {
        let terminal = self.terminal(merchant).await;
        let path = format!("/v1/admin/merchants/{}/cash-room", merchant.id);
        let _ = self.operator(&path, &json!({"ceiling": room})).await;
        let _ = self.allot(&terminal, room).await.good();
        terminal
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

    /// Allots cash room to a terminal.
    pub async fn allot(&self, terminal: &Terminal, room: &str) -> Answer {
        let path = format!("/v1/admin/terminals/{}/cash-room", terminal.id);
        self.api.settle(&Call::post(&path, &self.operator.who, &json!({"allot": room})).key(new_key())).await
    }
}

/// The request of an endpoint of rooms.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    let merchant = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}/cash-room", merchant.id);
    let made = match endpoint {
        Endpoint::CashCeiling => make(world, &path, &json!({"ceiling": "3000"})).with_other("ceiling", "3001"),
        Endpoint::CashRoom => {
            let _ = world.operator(&path, &json!({"ceiling": "3000"})).await;
            let path = format!("/v1/admin/terminals/{}/cash-room", world.terminal(&merchant).await.id);
            make(world, &path, &json!({"allot": "300"})).with_other("allot", "301")
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
        other => panic!("{other:?} is not of rooms"),
    };
    Prepared { status: 200, ..made }
}
