//! Accounts that are closed, and claims of what they had.

use super::endpoints::Endpoint;
use super::prepared::{Prepared, prepared};
use super::world::new_key;
use super::{Call, Merchant, World, approvals};
use ledger_core::dynamo::Value;
use serde_json::json;

impl World {
    /// The request that closes a customer, with what the customer has if `clears`.
    #[must_use]
    pub fn closes(&self, customer: &str, clears: bool) -> Call {
        self.closes_at(&format!("/v1/admin/customers/{customer}/close"), clears)
    }

    /// The request that closes a card.
    #[must_use]
    pub fn closes_card(&self, card: &str, clears: bool) -> Call {
        self.closes_at(&format!("/v1/admin/cards/{card}/close"), clears)
    }

    /// A closed customer's account, of which this amount of yen is unclaimed.
    pub async fn unclaimed(&self, amount: &str) -> String {
        let customer = self.customer_with(amount).await.id;
        let closed = self.api.settle(&self.closes(&customer, true)).await.good();
        let _ = approvals::approve(self, closed).await;
        format!("customer:{customer}")
    }

    /// The request that claims yen of a closed account for a customer.
    #[must_use]
    pub fn claims(&self, account: &str, customer: &str, amount: &str) -> Call {
        let body = json!({
            "account": account, "customer_id": customer, "asset": "ECOPAY", "amount": amount, "reason": "the holder's heir",
        });
        Call::post("/v1/admin/unclaimed/claims", &self.operator.who, &body).key(new_key())
    }

    /// The request that closes a merchant.
    #[must_use]
    pub fn closes_merchant(&self, merchant: &str) -> Call {
        self.closes_at(&format!("/v1/admin/merchants/{merchant}/close"), false)
    }

    /// The request that closes a terminal.
    #[must_use]
    pub fn closes_terminal(&self, terminal: &str) -> Call {
        self.closes_at(&format!("/v1/admin/terminals/{terminal}/close"), false)
    }

    /// Begins the close of a merchant, as if that had been long ago.
    ///
    /// # Panics
    /// When there is no such merchant.
    pub async fn began_closing(&self, merchant: &Merchant) {
        let begun = self.api.settle(&self.closes_merchant(&merchant.id)).await.good();
        assert_eq!(begun.text("/status"), "closing");
        let pk = format!("{}#merchant#{}", self.tenant, merchant.id);
        let mut profile = self.books().await.row(&pk, "PROFILE").cloned().expect("a merchant");
        let _ = profile.insert("closing_at".to_owned(), Value::S("2026-01-02T03:04:05.678Z".to_owned()));
        self.plant_as_written(profile).await;
    }

    /// The request that records a payout of yen of a closed account.
    #[must_use]
    pub fn pays_out(&self, account: &str, amount: &str) -> Call {
        let body = json!({"account": account, "asset": "ECOPAY", "amount": amount, "reason": "transfer 4711"});
        Call::post("/v1/admin/unclaimed/payouts", &self.operator.who, &body).key(new_key())
    }

    fn closes_at(&self, path: &str, clears: bool) -> Call {
        let body = if clears { json!({"pay_out": "unclaimed", "reason": "left"}) } else { json!({"reason": "left"}) };
        Call::post(path, &self.operator.who, &body).key(new_key())
    }
}

/// The request of an endpoint.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    let made = match endpoint {
        Endpoint::CardClose => prepared(world.closes_card(&world.card(None, "0").await, true), 200, 0),
        Endpoint::CustomerClose => prepared(world.closes(&world.customer_with("300").await.id, true), 200, 1),
        Endpoint::TerminalClose => {
            let terminal = world.terminal(&world.merchant().await).await;
            prepared(world.closes_terminal(&terminal.id), 200, 0)
        }
        Endpoint::MerchantClose => {
            let merchant = world.merchant().await;
            world.began_closing(&merchant).await;
            prepared(world.closes_merchant(&merchant.id), 200, 0)
        }
        other => panic!("{other:?} does not close an account"),
    };
    made.with_other("reason", "another reason")
}

/// The request of an endpoint about what is unclaimed of a closed account.
pub(super) async fn prepare_of_unclaimed(endpoint: Endpoint, world: &World) -> Prepared {
    let account = world.unclaimed("300").await;
    let call = match endpoint {
        Endpoint::UnclaimedClaim => world.claims(&account, &world.customer().await.id, "100"),
        Endpoint::UnclaimedPayout => world.pays_out(&account, "100"),
        other => panic!("{other:?} is not about unclaimed value"),
    };
    prepared(call, 201, 1).with_other("reason", "another reason")
}
