//! Parked operations: top-ups and refunds whose process died before it called Stripe, and which are too old to be sent
//! again.

use super::{Call, Customer, Who, World, stripe};
use crate::cloud::gate;
use ledger_core::idempotency::{CanonicalRequest, Claim, Fields, Flight, IdempotencyKey, Parked, PlannedCall, Window};
use ledger_core::ids::{Actor, CustomerId, Principal, StaffId, Tenant, TopupId};
use ledger_core::keys;
use ledger_core::money::{Amount, AssetSpec};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::topups::claim::{self, Topup};
use ledger_core::topups::{TopupRecord, refund};
use ledger_core::transaction::Transaction;
use serde_json::{Value, json};
use std::time::Duration;
use stripe_simulator::API_KEY_DEFAULT;

/// Old enough that absence from Stripe's lists counts as proof.
const PARKED_CLAIM_AGE: Duration = Duration::from_secs(16 * 60);

/// A top-up or refund that was parked.
#[derive(Clone, Debug)]
pub struct ParkedTopup {
    /// Its id.
    pub id: String,
    /// The call that requested it.
    pub call: Call,
}

/// Parks a top-up of a customer.
///
/// # Panics
/// When the ledger rejects a write.
pub async fn topup(world: &World, customer: &Customer, amount: &str) -> ParkedTopup {
    let call = customer.tops_up(amount);
    let id = CustomerId::parse(&customer.id).expect("an id");
    let charge = Amount::parse(&AssetSpec::ECOPAY, amount).expect("an amount");
    let by = (Principal::Customer(id), Actor::Customer(id));
    let claim = claim(world, &call, (Operation::Topup, by), Fields::new().with_amount("amount", &charge));
    let plan = async |cx: Context| {
        let (terms, psp_executor) =
            (world.app.terms(&claim.tenant).await.expect("terms"), world.app.psp_executor().await);
        let psp_executor = psp_executor.expect("a provider");
        claim::plan(&Topup { customer: id, charge }, &claim, &terms, psp_executor.terms(), &cx).expect("a plan")
    };
    let id = gate::as_test(park(world, &claim, plan)).await;
    ParkedTopup { id, call }
}

/// Parks a refund of a whole top-up by the operator; none of its points may have been spent.
///
/// # Panics
/// When the ledger rejects a write.
pub async fn refund(world: &World, topup: &stripe::Topup, amount: &str) -> ParkedTopup {
    let call = topup.refund(world, amount);
    let staff = StaffId::parse(&world.operator.id).expect("an id");
    let amount = Amount::parse(&AssetSpec::ECOPAY, amount).expect("an amount");
    let (note, by) =
        (FreeText::parse("requested", 140).expect("a text"), (Principal::Staff(staff), Actor::Staff(staff)));
    let fields = Fields::new().with("amount", amount.text()).with("reason", note.expose());
    let claim = claim(world, &call, (Operation::TopupRefund, by), fields);
    let (tenant, dynamo) = (claim.tenant.clone(), world.app.dynamo());
    let plan = async |cx: Context| {
        let (terms, psp_executor) = (world.app.terms(&tenant).await.expect("terms"), world.app.psp_executor().await);
        let psp_executor = psp_executor.expect("a provider");
        let key = keys::topup(&tenant, TopupId::parse(&topup.id).expect("an id"));
        let record = dynamo.get(&key).await.expect("the table answers").expect("a top-up");
        let record = TopupRecord::read(&record).expect("a record");
        let points = record.points.as_ref().map(Amount::as_balance);
        let command = refund::RefundTopup {
            actor: claim.actor,
            topup: &record,
            amount: Some(&amount),
            points: points.as_ref(),
            reason: &note,
        };
        refund::plan(&command, &claim, &terms, psp_executor.terms(), &cx).expect("a plan")
    };
    let id = gate::as_test(park(world, &claim, plan)).await;
    ParkedTopup { id, call }
}

fn claim(world: &World, call: &Call, (operation, by): (Operation, (Principal, Actor)), fields: Fields) -> Claim {
    let key = call.key.as_deref().expect("a key");
    Claim {
        tenant: Tenant::parse(&world.tenant).expect("a slug"),
        principal: by.0,
        actor: by.1,
        operation,
        key: IdempotencyKey::parse(key).expect("a key").into(),
        request: CanonicalRequest { method: "POST", path: call.path.clone(), fields },
        window: Window::of(operation),
        now: world.app.now().minus(PARKED_CLAIM_AGE),
    }
}

/// Claims the key, and parks the operation.
async fn park(world: &World, claim: &Claim, plan: impl AsyncFnOnce(Context) -> PlannedCall) -> String {
    let ledger = world.app.ledger();
    let planned = plan(ledger.context(claim.now).expect("randomness")).await;
    let keys = ledger.marker_keys().await.expect("keys");
    let flight = Flight::begin(claim, &planned, &keys).expect("a claim");
    let claimed = Transaction::claimed(planned.draft.clone(), claim, &flight).expect("a transaction");
    ledger.apply(&claim.tenant, claim.operation, &claimed).await.expect("a fresh key");
    let (_, parks) = flight.park(Parked::NotFound, world.app.now()).expect("a transition");
    ledger.apply(&claim.tenant, claim.operation, &parks).await.expect("no other request holds the key");
    planned.resource.to_string()
}

/// Creates the PaymentIntent of a parked top-up at Stripe, for any amount.
///
/// # Panics
/// When Stripe refuses it.
pub async fn make_at_stripe(world: &World, topup: &ParkedTopup, amount: &str) -> Value {
    let body = format!(
        "amount={amount}&currency=jpy&metadata[ecopay_ledger]={}&metadata[ecopay_tenant]={}&metadata[ecopay_topup]={}",
        world.table_name(),
        world.tenant,
        topup.id
    );
    let who = Who::Bearer(API_KEY_DEFAULT.to_owned());
    let call = Call::post("/stripe/v1/payment_intents", &who, &json!({})).raw(body);
    world.api.send(&call.header("content-type", "application/x-www-form-urlencoded")).await.good().json()
}

/// Creates the refund of a parked refund at Stripe, for any amount.
///
/// # Panics
/// When Stripe refuses it.
pub async fn make_refund_at_stripe(world: &World, topup: &stripe::Topup, refund: &ParkedTopup, amount: &str) -> Value {
    let body = format!(
        "amount={amount}&payment_intent={}&metadata[ecopay_ledger]={}&metadata[ecopay_tenant]={}\
         &metadata[ecopay_topup]={}&metadata[ecopay_refund]={}",
        topup.intent,
        world.table_name(),
        world.tenant,
        topup.id,
        refund.id
    );
    let who = Who::Bearer(API_KEY_DEFAULT.to_owned());
    let call = Call::post("/stripe/v1/refunds", &who, &json!({})).raw(body);
    world.api.send(&call.header("content-type", "application/x-www-form-urlencoded")).await.good().json()
}

/// A parked top-up of 3,000 yen whose PaymentIntent at Stripe is paid with another amount.
///
/// # Panics
/// When a write or a request fails.
pub async fn contradicted(world: &World, customer: &Customer, received: &str) -> (ParkedTopup, String) {
    // Stripe would deliver its events repeatedly, because they contradict our record too.
    world.hold_deliveries().await;
    let topup = topup(world, customer, "3000").await;
    let intent = make_at_stripe(world, &topup, received).await["id"].as_str().expect("an id").to_owned();
    let _ = world.stripe(&format!("/payment_intents/{intent}/succeed"), &json!({})).await;
    (topup, intent)
}
