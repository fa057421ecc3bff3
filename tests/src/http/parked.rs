//! Operations that wait for a person: a top-up whose process died before it called Stripe, and that was
//! found too old to be sent again.

use super::{Call, Customer, World};
use crate::cloud::gate;
use ledger_core::idempotency::{CanonicalRequest, Claim, Fields, Flight, IdempotencyKey, Parked, Window};
use ledger_core::ids::{Actor, CustomerId, Principal, Tenant};
use ledger_core::money::{Amount, AssetSpec};
use ledger_core::operation::Operation;
use ledger_core::ops::topup::claim::{self, Topup};
use ledger_core::transaction::Transaction;
use std::time::Duration;

/// Long enough ago that Stripe's lists are believed.
const AGO: Duration = Duration::from_secs(16 * 60);

/// A top-up that was parked.
#[derive(Clone, Debug)]
pub struct ParkedTopup {
    /// Its id.
    pub id: String,
    /// The call that asked for it.
    pub call: Call,
}

/// Parks a top-up of a customer's.
///
/// # Panics
/// When it cannot be written.
pub async fn topup(world: &World, customer: &Customer, amount: &str) -> ParkedTopup {
    gate::as_test(park(world, customer, amount)).await
}

async fn park(world: &World, customer: &Customer, amount: &str) -> ParkedTopup {
    let call = customer.tops_up(amount);
    let key = call.key.as_deref().expect("a key");
    let (app, tenant) = (&world.app, Tenant::parse(&world.tenant).expect("a slug"));
    let id = CustomerId::parse(&customer.id).expect("an id");
    let charge = Amount::parse(&AssetSpec::ECOPAY, amount).expect("an amount");
    let (operation, now) = (Operation::Topup, app.now().minus(AGO));
    let claim = Claim {
        tenant: tenant.clone(),
        principal: Principal::Customer(id),
        actor: Actor::Customer(id),
        operation,
        key: IdempotencyKey::parse(key).expect("a key"),
        request: CanonicalRequest {
            method: "POST",
            path: "/v1/me/topups".to_owned(),
            fields: Fields::new().with_amount("amount", &charge),
        },
        window: Window::of(operation),
        now,
    };
    let (terms, desk) = (app.terms(&tenant).await.expect("terms"), app.desk().await.expect("a provider"));
    let cx = app.ledger().context(now).expect("randomness");
    let planned = claim::plan(&Topup { customer: id, charge }, &claim, &terms, desk.terms(), &cx).expect("a plan");
    let flight = Flight::begin(&claim, &planned).expect("a claim");
    let claimed = Transaction::claimed(&planned.draft, &claim, &flight).expect("a transaction");
    app.ledger().apply(&tenant, operation, &claimed).await.expect("a fresh key");
    let (_, parks) = flight.park(Parked::NotFound, app.now()).expect("a transition");
    app.ledger().apply(&tenant, operation, &parks).await.expect("nobody else has it");
    ParkedTopup { id: planned.resource.to_string(), call }
}
