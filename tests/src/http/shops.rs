//! Shops of a merchant, and what is assigned to them.

use super::endpoints::{Endpoint, Stage};
use super::prepared::{Prepared, prepared};
use super::staff::invitation;
use super::world::{new_id, new_key};
use super::{Answer, Call, Merchant, Who, World};
use serde_json::json;

/// Opens a shop of a merchant, and returns its id.
pub async fn opened(world: &World, merchant: &Merchant, name: &str) -> String {
    let call = Call::post("/v1/merchant/shops", &merchant.who, &json!({"name": name})).key(new_key());
    world.api.settle(&call).await.good().text("/shop_id")
}

/// Assigns a terminal to a shop, or to `none`.
pub async fn assigned(world: &World, merchant: &Merchant, terminal: &str, shop: &str) -> Answer {
    world.api.settle(&assigns(merchant, terminal, shop)).await
}

/// A request to assign a terminal to a shop, under a fresh key.
#[must_use]
pub fn assigns(merchant: &Merchant, terminal: &str, shop: &str) -> Call {
    let path = format!("/v1/merchant/terminals/{terminal}");
    Call::patch(&path, &merchant.who, &json!({"shop": shop})).key(new_key())
}

/// A change of a shop by the merchant's owner, under a fresh key.
#[must_use]
pub fn changes(merchant: &Merchant, shop: &str, body: &serde_json::Value) -> Call {
    Call::patch(&format!("/v1/merchant/shops/{shop}"), &merchant.who, body).key(new_key())
}

/// An active member of a merchant's staff who is limited to one shop.
pub async fn member(world: &World, merchant: &Merchant, role: &str, shop: &str) -> (String, Who) {
    let id = new_id();
    let mut body = invitation(&id, role);
    body["shop"] = json!(shop);
    let _ = world.api.settle(&Call::post("/v1/merchant/staff", &merchant.who, &body).key(new_key())).await.good();
    let who = world.token("merchant", &id, Some(&merchant.id)).await;
    let accept = Call::post("/v1/merchant/staff/accept", &who, &json!({})).key(new_key());
    let _ = world.api.settle(&accept).await.good();
    (id, who)
}

/// The request of an endpoint of shops.
pub(super) async fn prepare(endpoint: Endpoint, stage: &Stage) -> Prepared {
    let Stage { world, merchant, terminal } = stage;
    match endpoint {
        Endpoint::ShopOpen => {
            let call = Call::post("/v1/merchant/shops", &merchant.who, &json!({"name": "Station"})).key(new_key());
            prepared(call, 201, 0).with_other("name", "Harbour")
        }
        Endpoint::ShopChange => {
            let shop = opened(world, merchant, "Station").await;
            prepared(changes(merchant, &shop, &json!({"name": "Harbour"})), 200, 0).with_other("name", "Market")
        }
        Endpoint::TerminalAssign => {
            let shop = opened(world, merchant, "Station").await;
            prepared(assigns(merchant, &terminal.id, &shop), 200, 0).with_other("shop", "none")
        }
        other => panic!("{other:?} is not of shops"),
    }
}
