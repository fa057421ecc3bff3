//! What the operator does with a card after it was issued.

use super::World;
use super::endpoints::Endpoint;
use super::prepared::{Prepared, make};
use super::world::new_id;
use serde_json::json;

/// The request of an endpoint.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    if endpoint == Endpoint::CardBatch {
        let made = make(world, "/v1/admin/card-batches", &json!({"count": 3, "reason": "spring"}));
        return Prepared { status: 202, ..made.with_other("reason", "autumn") };
    }
    let card = world.card(None, "0").await;
    let (name, body, other) = match endpoint {
        Endpoint::CardAssign => {
            ("assign", json!({"customer_id": world.customer().await.id}), ("customer_id", new_id()))
        }
        Endpoint::CardBlock => ("block", json!({"reason": "lost"}), ("reason", "stolen".to_owned())),
        Endpoint::CardReplace => {
            ("replace", json!({"new_card_id": world.card(None, "0").await}), ("new_card_id", new_id()))
        }
        other => panic!("{other:?} is not of the life of a card"),
    };
    let made = make(world, &format!("/v1/admin/cards/{card}/{name}"), &body).with_other(other.0, other.1);
    Prepared { status: 200, ..made }
}
