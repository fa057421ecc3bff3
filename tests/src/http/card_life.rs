//! What the operator does with a card after it was issued.

use super::endpoints::Endpoint;
use super::prepared::{Prepared, make};
use super::world::new_id;
use super::{Host, World};
use crate::cloud::gate;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::migration;
use ledger_core::operation::Operation;
use ledger_core::terms::RecordVersion;
use serde_json::json;
use std::sync::Arc;

impl World {
    /// A tenant with the demo's terms on a stack, whose records are of the newest version from the beginning: functions
    /// cache the version, and some requests need it.
    pub async fn newest(host: Arc<Host>, tenant: &str) -> Self {
        Self::with_terms(host, tenant, |terms| terms.records = RecordVersion::NEWEST).await
    }

    /// Raises the version of the tenant's records to one that has lists of cards, if it is lower.
    pub async fn lists_cards(&self) {
        let (tenant, ledger) = (Tenant::parse(&self.tenant).expect("a slug"), self.app.ledger());
        let cx = ledger.context(self.app.now()).expect("randomness");
        let raised = migration::raise_records(&tenant, RecordVersion::V7, Actor::System, &cx).expect("a transaction");
        // It fails if the tenant has the version already.
        let _ = gate::as_test(ledger.apply(&tenant, Operation::TenantConfigure, &raised)).await;
    }
}

/// The request of an endpoint.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    world.lists_cards().await;
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
