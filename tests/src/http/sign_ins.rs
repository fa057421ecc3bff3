//! Customers who are moved to another sign-in by two people.

use super::approvals::decides;
use super::prepared::{Prepared, make};
use super::world::{new_id, new_key};
use super::{Answer, Call, Customer, World};
use serde_json::json;

/// A request of the first operator to move a customer to a subject, under a fresh key.
#[must_use]
pub fn moves(world: &World, customer: &str, subject: &str) -> Call {
    let body = json!({"subject": subject, "reason": "phone lost"});
    Call::post(&format!("/v1/admin/customers/{customer}/sign-in"), &world.operator.who, &body).key(new_key())
}

/// Stores a request to move a customer to a subject, and returns the approval's id.
pub async fn requested(world: &World, customer: &str, subject: &str) -> String {
    let stored = world.api.settle(&moves(world, customer, subject)).await.good();
    assert_eq!(stored.status, 202, "{stored:?}");
    stored.text("/approval_id")
}

/// Approves a command as the second operator.
pub async fn approved(world: &World, id: &str) -> Answer {
    world.api.settle(&decides("approve", id, &world.second.who)).await
}

/// Moves a customer to a subject, by two people; returns the customer with the token of that subject.
pub async fn moved(world: &World, customer: &Customer, subject: &str) -> Customer {
    let id = requested(world, &customer.id, subject).await;
    let _ = approved(world, &id).await.good();
    Customer { id: customer.id.clone(), who: world.token("customer", subject, None).await }
}

/// The request of the endpoint.
pub(super) async fn prepare(world: &World) -> Prepared {
    let path = format!("/v1/admin/customers/{}/sign-in", world.customer().await.id);
    let made = make(world, &path, &json!({"subject": new_id(), "reason": "phone lost"}));
    Prepared { status: 202, ..made.with_other("subject", new_id()) }
}
