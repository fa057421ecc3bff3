//! The PINs of customers' cards.

use super::endpoints::Endpoint;
use super::people::{Customer, Terminal};
use super::prepared::{Prepared, make};
use super::world::new_key;
use super::{Call, World};
use serde_json::json;

impl Customer {
    /// Sets the PIN of the customer's card, which has none.
    #[must_use]
    pub fn sets_pin(&self, card: &str, pin: &str) -> Call {
        Call::post(&format!("/v1/me/cards/{card}/pin"), &self.who, &json!({"pin": pin})).key(new_key())
    }
}

impl World {
    /// A card with a PIN and this much money.
    pub async fn card_with_pin(&self, ecopay: &str, pin: &str) -> String {
        let customer = self.customer().await;
        let card = self.card(Some(&customer), ecopay).await;
        let _ = self.api.settle(&customer.sets_pin(&card, pin)).await.good();
        card
    }
}

impl Terminal {
    /// A payment with a PIN, under the next key.
    #[must_use]
    pub fn pays_with_pin(&self, card: &str, amount: &str, pin: &str) -> Call {
        self.does("pay", card, &json!({"amount": amount, "pin": pin}))
    }
}

/// The request of an endpoint of PINs.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    match endpoint {
        Endpoint::CardPin => {
            let customer = world.customer().await;
            let card = world.card(Some(&customer), "0").await;
            let call = customer.sets_pin(&card, "4071");
            Prepared { other: Some(call.clone().field("pin", "8352")), call, status: 200, entries: 0 }
        }
        Endpoint::CardPinReset => {
            let path = format!("/v1/admin/cards/{}/pin-reset", world.card_with_pin("0", "4071").await);
            let made = make(world, &path, &json!({"reason": "forgotten"})).with_other("reason", "lost");
            Prepared { status: 200, ..made }
        }
        other => panic!("{other:?} is not of PINs"),
    }
}
