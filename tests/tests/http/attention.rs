//! Parked operations that need review: each decision first looks the object up at Stripe, and the
//! lookup result takes precedence.
use ledger_runtime::topups::Recovered;
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::parked::{self, ParkedTopup};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Host, Who, World};
use serde_json::{Value, json};

async fn stage(tenant: &str) -> (World, Customer, ParkedTopup) {
    let world = World::alone(tenant).await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let topup = parked::topup(&world, &customer, "3000").await;
    (world, customer, topup)
}

fn resolve(world: &World, id: &str, action: &str) -> Call {
    let path = format!("/v1/admin/attention/operations/{id}/resolve");
    let body = json!({"action": action, "reason": "looked at with Stripe"});
    Call::post(&path, &world.operator.who, &body).key(new_key())
}

async fn reserved(world: &World, customer: &Customer) -> Value {
    world.wallet(customer, "ECOPAY").await["reserved"].clone()
}

async fn state(world: &World, customer: &Customer, topup: &ParkedTopup) -> String {
    let key = topup.call.key.as_deref().expect("a key");
    let lookup = Call::get(&format!("/v1/me/operations/topup/{key}"), &customer.who);
    world.api.send(&lookup).await.good().text("/state")
}

/// Runs the recovery worker.
async fn recover(world: &World) -> Recovered {
    world.recover().await.expect("the run succeeds")
}

#[tokio::test]
async fn giving_up_parked_topup_releases_its_headroom() {
    let (world, customer, topup) = stage("given-up").await;
    let listed = world.attention().await;
    let [operation] = listed["operations"].as_array().expect("operations").as_slice() else { panic!("{listed}") };
    let fields =
        ["resource_id", "topup_id", "operation", "why"].map(|name| operation[name].as_str().unwrap_or_default());
    assert_eq!(fields, [topup.id.as_str(), &topup.id, "topup", "not_found"]);
    assert_eq!(state(&world, &customer, &topup).await, "parked");
    assert_eq!(reserved(&world, &customer).await, "3000");
    // Neither the worker nor the customer can continue it.
    assert_eq!(recover(&world).await, Recovered { attention: 1, ..Recovered::default() });
    let busy = world.api.send(&topup.call).await.problem(409, "idempotency_key_in_use");
    assert!(busy.json()["retry_after_ms"].is_u64(), "{busy:?}");
    let before = world.check_books().await;
    for (call, field) in [
        (resolve(&world, &topup.id, "forget"), "action"),
        (resolve(&world, &topup.id, "give_up").field("reason", " "), "reason"),
    ] {
        assert_eq!(world.api.send(&call).await.problem(400, "invalid_request").text("/field"), field);
    }
    for id in [new_id(), customer.id.clone(), "x".to_owned()] {
        let _ = world.api.send(&resolve(&world, &id, "give_up")).await.problem(404, "not_found");
    }
    world.books().await.unchanged_since(&before, "a refused decision left something");

    let done = world.api.settle(&resolve(&world, &topup.id, "give_up")).await.good();
    assert_eq!((done.text("/status"), done.text("/resource_id")), ("given_up".to_owned(), topup.id.clone()));
    assert_eq!(reserved(&world, &customer).await, Value::Null);
    assert_eq!(world.topup_view(&topup.id).await["status"], "refused");
    let answer = world.api.send(&topup.call).await.problem(400, "psp_refused");
    assert_eq!((answer.replayed(), answer.text("/psp_code")), (true, "given_up".to_owned()));
    assert_eq!(world.attention().await, json!({"operations": [], "events": []}));
    let _ = world.api.settle(&resolve(&world, &topup.id, "give_up")).await.problem(404, "not_found");
    assert_eq!(world.intents().await, 0);
    let audit = world.api.send(&Call::get("/v1/admin/audit", &world.operator.who)).await.good();
    assert!(audit.body.contains(&topup.id), "{audit:?}");
    world.check_books().await;
}

#[tokio::test]
async fn retried_parked_topup_is_completed() {
    let (world, customer, topup) = stage("tried-again").await;
    let done = world.api.settle(&resolve(&world, &topup.id, "retry")).await.good();
    assert_eq!(done.text("/status"), "retrying");
    assert_eq!(state(&world, &customer, &topup).await, "in_flight");
    assert_eq!(recover(&world).await, Recovered { completed: 1, ..Recovered::default() });
    let answer = world.api.send(&topup.call).await.good();
    assert!(answer.replayed(), "{answer:?}");
    assert_eq!((answer.text("/topup_id"), world.intents().await), (topup.id.clone(), 1));
    let intent = answer.text("/payment_intent_id");
    let _ = world.stripe(&format!("/payment_intents/{intent}/succeed"), &json!({})).await;
    assert_eq!(world.deliver("payment_intent.succeeded", &intent).await, 200);
    assert_eq!(world.balance(&customer, "ECOPAY").await, "3000");
    world.check_books().await;
}

/// Stripe has the object: it is neither given up nor made again.
#[tokio::test]
async fn decision_on_topup_made_at_stripe_is_refused() {
    for action in ["give_up", "retry"] {
        let (world, customer, topup) = stage(&format!("after-all-{}", action.replace('_', "-"))).await;
        let intent = parked::make_at_stripe(&world, &topup, "3000").await;
        let _ = world.api.settle(&resolve(&world, &topup.id, action)).await.problem(400, "wrong_state");
        assert_eq!(world.attention().await["operations"], json!([]));
        assert_eq!(reserved(&world, &customer).await, "3000");
        let answer = world.api.send(&topup.call).await.good();
        assert!(answer.replayed(), "{answer:?}");
        assert_eq!(json!(answer.text("/payment_intent_id")), intent["id"]);
        let id = intent["id"].as_str().expect("an id");
        let _ = world.stripe(&format!("/payment_intents/{id}/succeed"), &json!({})).await;
        assert_eq!(world.deliver("payment_intent.succeeded", id).await, 200);
        assert_eq!((world.balance(&customer, "ECOPAY").await, world.intents().await), ("3000".to_owned(), 1));
        world.check_books().await;
    }
}

/// Stripe does not answer: nothing is decided, and the key stays usable.
#[tokio::test]
async fn decision_without_stripe_answer_changes_nothing() {
    let (world, customer, topup) = stage("no-word").await;
    let before = world.books().await;
    let lost = json!({"kind": "connection_lost_before", "path_prefix": "/v1/", "times": 50});
    let _ = world.stripe("/faults", &lost).await;
    let call = resolve(&world, &topup.id, "give_up");
    let _ = world.api.send(&call).await.problem(503, "outcome_unknown");
    world.books().await.unchanged_since(&before, "a decision without Stripe's answer moved something");
    let clear = Call::new(reqwest::Method::DELETE, "/dev/stripe/faults", &Who::Anonymous);
    let _ = world.api.send(&clear).await.good();
    let done = world.api.settle(&call).await.good();
    assert!(!done.replayed(), "{done:?}");
    assert_eq!(reserved(&world, &customer).await, Value::Null);
    world.check_books().await;
}

fn decide(world: &World, topup: &str, way: &str) -> Call {
    let body = json!({"way": way, "note": "looked at with Stripe"});
    Call::post(&format!("/v1/admin/topups/{topup}/decisions"), &world.operator.who, &body).key(new_key())
}

/// Requests a decision; returns the path of its approval.
async fn request_decision(world: &World, call: &Call) -> String {
    let answer = world.api.settle(call).await.good();
    let path = answer.header("location").expect("a Location header").to_owned();
    for path in [path.clone(), format!("{}/{}", call.path, answer.text("/approval_id"))] {
        assert_eq!(world.api.send(&Call::get(&path, &world.operator.who)).await.good().text("/status"), "pending");
    }
    path
}

fn approve(world: &World, path: &str) -> Call {
    Call::post(&format!("{path}/approve"), &world.second.who, &json!({})).key(new_key())
}

/// The kinds of the nightly run's findings.
async fn report(world: &World) -> Vec<String> {
    let report = world.reconciled().await;
    let findings = report["findings"]["items"].as_array().expect("findings").iter();
    findings.map(|finding| finding["kind"].as_str().unwrap_or_default().to_owned()).collect()
}

/// 2,000 were paid where 3,000 were requested: the customer is credited 2,000 and the points for them.
#[tokio::test]
async fn contradicted_top_up_that_is_booked_credits_what_was_paid() {
    let world = World::alone("contradiction-booked").await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let (topup, intent) = parked::contradicted(&world, &customer, "2000").await;
    // Neither `retry` nor `give_up` is allowed for a contradiction.
    for action in ["retry", "give_up"] {
        let _ = world.api.settle(&resolve(&world, &topup.id, action)).await.problem(400, "wrong_state");
    }
    let before = world.check_books().await;
    for (call, field) in [
        (decide(&world, &topup.id, "forget"), "way"),
        (decide(&world, &topup.id, "write_off"), "way"),
        (decide(&world, &topup.id, "book").field("object_id", "not an id"), "object_id"),
        (decide(&world, &topup.id, "book").field("note", " "), "note"),
    ] {
        assert_eq!(world.api.send(&call).await.problem(400, "invalid_request").text("/field"), field);
    }
    let refund = decide(&world, &topup.id, "book").field("refund_id", new_id());
    let _ = world.api.send(&refund).await.problem(404, "not_found");
    let _ = world.api.send(&decide(&world, &new_id(), "book")).await.problem(404, "not_found");
    world.books().await.unchanged_since(&before, "a refused decision left something");

    let path = request_decision(&world, &decide(&world, &topup.id, "book")).await;
    let own = Call::post(&format!("{path}/approve"), &world.operator.who, &json!({})).key(new_key());
    let _ = world.api.settle(&own).await.problem(403, "four_eyes_required");
    assert_eq!(world.balance(&customer, "ECOPAY").await, "0");
    let call = approve(&world, &path);
    let done = world.api.settle(&call).await.good();
    assert_eq!(done.json()["details"]["object"], json!(format!("{intent} succeeded 2000 jpy")));
    assert!(world.api.settle(&call).await.good().replayed());
    let _ = world.api.settle(&approve(&world, &path)).await.problem(400, "wrong_state");
    assert_eq!(
        (world.balance(&customer, "ECOPAY").await, reserved(&world, &customer).await),
        ("2000".to_owned(), Value::Null)
    );
    assert_eq!(world.balance(&customer, "POINT").await, "100");
    assert_eq!(world.topup_view(&topup.id).await["refundable"], "2000");
    assert_eq!(world.attention().await["operations"], json!([]));
    // The event arrives late, and a dispute takes back what was booked.
    assert_eq!(world.deliver("payment_intent.succeeded", &intent).await, 200);
    let dispute = world.stripe(&format!("/payment_intents/{intent}/dispute"), &json!({})).await;
    let id = dispute["id"].as_str().expect("an id");
    assert_eq!(world.deliver("charge.dispute.funds_withdrawn", id).await, 200);
    assert_eq!(
        (world.balance(&customer, "ECOPAY").await, world.balance(&customer, "POINT").await),
        ("0".to_owned(), "0".to_owned())
    );
    world.check_books().await;
    assert_eq!(report(&world).await, [""; 0]);
    let audit = world.api.send(&Call::get("/v1/admin/audit", &world.operator.who)).await.good();
    assert!(audit.body.contains("\"topup_decision\"") && audit.body.contains("looked at with Stripe"), "{audit:?}");
}

/// The same given up: the paid amount is on `suspense`, and a finding of each run until it is written off.
#[tokio::test]
async fn contradicted_top_up_that_is_given_up_is_on_suspense_until_it_is_written_off() {
    let world = World::alone("contradiction-given-up").await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let (topup, intent) = parked::contradicted(&world, &customer, "5000").await;
    let path = request_decision(&world, &decide(&world, &topup.id, "give_up")).await;
    let calls: Vec<Call> = (0..4).map(|_| approve(&world, &path)).collect();
    let answers = futures::future::join_all(calls.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
    assert_eq!(
        (world.balance(&customer, "ECOPAY").await, reserved(&world, &customer).await),
        ("0".to_owned(), Value::Null)
    );
    let answer = world.api.send(&topup.call).await.problem(400, "psp_refused");
    assert_eq!(answer.text("/psp_code"), "given_up");
    let books = world.check_books().await;
    assert_eq!(
        (books.posted("suspense", "ECOPAY"), books.posted("stripe_clearing", "ECOPAY")),
        (5000.into(), (-5000).into())
    );
    assert_eq!(report(&world).await, ["suspense_open"]);
    let again = decide(&world, &topup.id, "give_up").field("object_id", &*intent);
    let _ = world.api.settle(&again).await.problem(400, "wrong_state");

    let path = request_decision(&world, &decide(&world, &topup.id, "write_off")).await;
    let _ = world.api.settle(&approve(&world, &path)).await.good();
    let books = world.check_books().await;
    assert_eq!((books.posted("suspense", "ECOPAY"), books.posted("adjustments", "ECOPAY")), (0.into(), 5000.into()));
    assert_eq!(report(&world).await, [""; 0]);
    let _ = world.api.settle(&decide(&world, &topup.id, "write_off")).await.problem(400, "invalid_request");
}

/// A refund of 4,000 that Stripe paid out as 3,000: the difference is on `suspense`.
#[tokio::test]
async fn contradicted_refund_that_is_booked_or_given_up_leaves_the_difference_on_suspense() {
    for (way, balance, points, suspense, refundable) in
        [("book", "6000", "300", 1000, "6000"), ("give_up", "10000", "500", -3000, "10000")]
    {
        let world = World::alone(&format!("refund-contradicted-{}", way.replace('_', "-"))).await;
        world.hold_deliveries().await;
        let customer = world.customer().await;
        let topup = world.paid_topup(&customer, "10000").await;
        let refund = parked::refund(&world, &topup, "4000").await;
        let made = parked::make_refund_at_stripe(&world, &topup, &refund, "3000").await;
        let psp = made["id"].as_str().expect("an id").to_owned();
        let path =
            request_decision(&world, &decide(&world, &topup.id, way).field("refund_id", refund.id.as_str())).await;
        let done = world.api.settle(&approve(&world, &path)).await.good();
        assert_eq!(done.json()["details"]["object"], json!(format!("{psp} succeeded 3000 jpy")));
        assert_eq!(done.json()["details"]["refund_id"], json!(refund.id));
        assert_eq!(world.balance(&customer, "ECOPAY").await, balance);
        assert_eq!(world.balance(&customer, "POINT").await, points);
        assert_eq!(world.wallet(&customer, "ECOPAY").await["held"], "0");
        assert_eq!(world.topup_view(&topup.id).await["refundable"], refundable);
        assert_eq!(world.attention().await["operations"], json!([]));
        let answer = world.api.send(&refund.call).await;
        match way {
            "book" => assert_eq!(answer.good().text("/refund_id"), refund.id),
            _ => assert_eq!(answer.problem(400, "psp_refused").text("/psp_code"), "given_up"),
        }
        assert_eq!(world.check_books().await.posted("suspense", "ECOPAY"), suspense.into());
        let _ = world.publish(&EventTap::default(), Vec::new()).await.expect("the run succeeds");
        assert_eq!(report(&world).await, ["suspense_open"]);

        let write_off = decide(&world, &topup.id, "write_off").field("refund_id", refund.id.as_str());
        let path = request_decision(&world, &write_off).await;
        let _ = world.api.settle(&approve(&world, &path)).await.good();
        assert_eq!(world.check_books().await.posted("suspense", "ECOPAY"), 0.into());
        assert_eq!(report(&world).await, [""; 0]);
    }
}

/// Stripe's object is looked up again at the approval; one that agrees with our record is not decided on.
#[tokio::test]
async fn decision_about_an_object_that_has_changed_is_refused() {
    let host = Host::fresh();
    let world = World::with_terms(host.clone(), "contradiction-changed", |_| {}).await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let topup = parked::topup(&world, &customer, "3000").await;
    let _ = world.api.settle(&decide(&world, &topup.id, "book")).await.problem(400, "invalid_request");
    let intent = parked::make_at_stripe(&world, &topup, "2000").await["id"].as_str().expect("an id").to_owned();
    // The intent can still be paid, so no decision is allowed.
    for way in ["book", "give_up"] {
        let _ = world.api.settle(&decide(&world, &topup.id, way)).await.problem(400, "invalid_request");
    }
    let _ = world.stripe(&format!("/payment_intents/{intent}/cancel"), &json!({})).await;
    let path = request_decision(&world, &decide(&world, &topup.id, "give_up")).await;
    let lost = json!({"kind": "connection_lost_before", "path_prefix": "/v1/", "times": 50});
    let _ = world.stripe("/faults", &lost).await;
    let call = approve(&world, &path);
    let _ = world.api.send(&call).await.problem(503, "outcome_unknown");
    // A person who may not decide is refused before Stripe is asked.
    let own = Call::post(&format!("{path}/approve"), &world.operator.who, &json!({})).key(new_key());
    let _ = world.api.send(&own).await.problem(403, "four_eyes_required");
    let clear = Call::new(reqwest::Method::DELETE, "/dev/stripe/faults", &Who::Anonymous);
    let _ = world.api.send(&clear).await.good();
    let _ = world.api.settle(&call).await.good();
    assert_eq!(world.topup_view(&topup.id).await["status"], "refused");
    assert_eq!(world.check_books().await.posted("suspense", "ECOPAY"), 0.into());

    // Another tenant's operator cannot see it.
    let other = World::with_terms(host, "contradiction-other", |_| {}).await;
    let _ = other.api.send(&decide(&other, &topup.id, "book")).await.problem(404, "not_found");
    let _ = other.api.send(&Call::get(&path, &other.operator.who)).await.problem(404, "not_found");
}
