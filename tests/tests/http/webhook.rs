//! The effect of signed events: once, however often and to however many processes delivered; none if they are foreign;
//! and those that contradict our records are kept for review.
use futures::future::join_all;
use ledger_runtime::clock::Clock;
use ledger_runtime::metrics::{Counting, Metric};
use ledger_tests::http::stripe::signed;
use ledger_tests::http::tap::{Attempts, Fault, Tap};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Api, Call, Host, Who, World, host};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use stripe_simulator::API_KEY_DEFAULT;

const FORM: &str = "application/x-www-form-urlencoded";

/// A tenant on a new stack whose calls to the store can be made to fail, and which delivers only what the test
/// delivers.
struct Rig {
    host: Arc<Host>,
    world: World,
    tap: Tap,
    counters: Arc<OnceLock<Counting>>,
}

impl Rig {
    async fn new(tenant: &str) -> Self {
        let (tap, counters) = (Tap::default(), Arc::new(OnceLock::new()));
        let (wire, of_app) = (tap.clone(), Arc::clone(&counters));
        let host = Host::with_app(move |backend| async move {
            let (app, counting) = wire
                .app((&backend.dynamodb_url, &backend.table), Attempts::One, Clock::system(), &backend.stripe)
                .await;
            assert!(of_app.set(counting.clone()).is_ok(), "mounted once");
            (app, counting)
        });
        let world = World::with_terms(Arc::clone(&host), tenant, |_| {}).await;
        world.hold_deliveries().await;
        Self { host, world, tap, counters }
    }

    fn counted(&self, metric: Metric) -> u64 {
        self.counters.get().expect("mounted").total(metric)
    }

    /// A customer, and an event that a top-up of theirs was paid.
    async fn paid(&self, yen: u64) -> (ledger_tests::http::Customer, Value) {
        let customer = self.world.customer().await;
        let topup = self.world.topup(&customer, &yen.to_string()).await;
        let event = self.world.paid_event(&topup.id, &topup.intent, yen);
        (customer, event)
    }

    async fn status(&self, event: &Value) -> String {
        self.world.webhook(event).await.good().text("/status")
    }
}

fn object(event: &mut Value) -> &mut Value {
    &mut event["data"]["object"]
}

#[tokio::test]
async fn foreign_and_unknown_events_are_acknowledged() {
    let rig = Rig::new("foreign").await;
    let (_, event) = rig.paid(1000).await;
    let before = rig.world.books().await;
    for kind in ["customer.created", "charge.succeeded", "payment_intentx", "charge.dispute.closed", "x", "\u{9752}"] {
        let mut other = event.clone();
        other["type"] = json!(kind);
        assert_eq!(rig.status(&other).await, "ignored", "{kind}");
    }
    let mut invoice = event.clone();
    *object(&mut invoice) = json!({"object": "invoice", "id": "in_1", "amount": -1});
    assert_eq!(rig.status(&invoice).await, "ignored");
    assert_eq!(rig.counted(Metric::EventForeign), 0);

    let mut bare = event.clone();
    object(&mut bare)["metadata"] = json!({});
    let mut absent = event.clone();
    let _ = object(&mut absent).as_object_mut().expect("an object").remove("metadata");
    let mut theirs = event.clone();
    object(&mut theirs)["metadata"]["ecopay_ledger"] = json!("another-deployment");
    for foreign in [bare, absent, theirs] {
        assert_eq!(rig.status(&foreign).await, "foreign", "{foreign}");
    }
    assert_eq!((rig.counted(Metric::EventForeign), rig.counted(Metric::EventKept)), (3, 0));
    // With this ledger's metadata, but with an unreadable tenant or top-up: refused, not ignored.
    for edited in ["ecopay_tenant", "ecopay_topup"] {
        let mut event = event.clone();
        object(&mut event)["metadata"][edited] = json!("not one of ours!");
        let _ = rig.world.webhook(&event).await.problem(400, "invalid_request");
    }
    assert_eq!(rig.counted(Metric::EventUnreadable), 2);
    rig.world.books().await.unchanged_since(&before, "a foreign event left something");
    assert_eq!(rig.status(&event).await, "applied");
    rig.world.check_books().await;
}

#[tokio::test]
async fn event_without_record_is_kept_until_dismissed() {
    let rig = Rig::new("no-record").await;
    let world = &rig.world;
    let event = world.paid_event(&new_id(), "pi_unknown", 1000);
    let id = event["id"].as_str().expect("an id");
    for _ in 0..3 {
        let answer = world.webhook(&event).await.problem(503, "event_kept");
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
    }
    assert_eq!(rig.counted(Metric::EventKept), 3);
    let listed = world.attention().await;
    let [kept] = listed["events"].as_array().expect("events").as_slice() else { panic!("kept once: {listed}") };
    let fields = ["event_id", "kind", "why", "object_id"].map(|name| kept[name].as_str().unwrap_or_default());
    assert_eq!(fields, [id, "payment_intent.succeeded", "no_record", "pi_unknown"]);

    let path = format!("/v1/admin/attention/events/{id}/dismiss");
    let dismiss = Call::post(&path, &world.operator.who, &json!({"reason": "a test of theirs"})).key(new_key());
    assert_eq!(world.api.settle(&dismiss).await.good().text("/event_id"), id);
    assert_eq!(world.attention().await, json!({"operations": [], "events": []}));
    let again = dismiss.clone().key(new_key());
    let _ = world.api.settle(&again).await.problem(400, "wrong_state");
    let absent = dismiss.clone().key(new_key()).at(path.replace(id, "evt_unknown"));
    let _ = world.api.settle(&absent).await.problem(404, "not_found");
    // It still contradicts our records, but needs no review any more.
    assert_eq!(rig.status(&event).await, "dismissed");
    assert_eq!(rig.counted(Metric::EventKept), 3);
    assert_eq!(world.attention().await["events"], json!([]));
    let audit = world.api.send(&Call::get("/v1/admin/audit", &world.operator.who)).await.good();
    assert!(audit.body.contains(&format!("stripe_event:{id}")), "{audit:?}");
    world.check_books().await;
}

/// Disputes and dashboard refunds have no metadata of the ledger: their PaymentIntent names the ledger.
#[tokio::test]
async fn disputes_and_refunds_of_foreign_payments_are_acknowledged() {
    let rig = Rig::new("elsewhere").await;
    let world = &rig.world;
    let who = Who::Bearer(API_KEY_DEFAULT.to_owned());
    let create = Call::post("/stripe/v1/payment_intents", &who, &json!({})).raw("amount=1000&currency=jpy");
    let intent = world.api.send(&create.header("content-type", FORM)).await.good().text("/id");
    let at = |action: &str| format!("/payment_intents/{intent}/{action}");
    let _ = world.stripe(&at("succeed"), &json!({})).await;
    let refund = world.stripe(&at("refund"), &json!({"amount": 100})).await;
    let dispute = world.stripe(&at("dispute"), &json!({})).await;
    let before = world.books().await;
    let id = |object: &Value| object["id"].as_str().expect("an id").to_owned();
    let events = [
        world.stripe_event("payment_intent.succeeded", &intent).await,
        world.stripe_event("refund.created", &id(&refund)).await,
        world.stripe_event("charge.dispute.funds_withdrawn", &id(&dispute)).await,
    ];
    for event in &events {
        assert_eq!(rig.status(event).await, "foreign", "{event}");
    }
    let mut unknown_intent = events[2].clone();
    object(&mut unknown_intent)["payment_intent"] = json!("pi_unknown");
    assert_eq!(rig.status(&unknown_intent).await, "foreign");
    object(&mut unknown_intent)["payment_intent"] = json!(null);
    assert_eq!(rig.status(&unknown_intent).await, "foreign");
    assert_eq!(rig.counted(Metric::EventForeign), 5);
    // The lookup fails: Stripe must deliver the event again.
    let lost = json!({"kind": "error_before", "method": "GET", "path_prefix": "/v1/", "times": 20});
    let _ = world.stripe("/faults", &lost).await;
    let _ = world.webhook(&events[2]).await.problem(503, "outcome_unknown");
    let clear = Call::new(reqwest::Method::DELETE, "/dev/stripe/faults", &Who::Anonymous);
    let _ = world.api.send(&clear).await.good();
    assert_eq!(rig.status(&events[2]).await, "foreign");
    world.books().await.unchanged_since(&before, "a foreign event left something");

    // Its metadata names a refund of ours that does not exist.
    let (_, event) = rig.paid(1000).await;
    let mut unknown = events[1].clone();
    object(&mut unknown)["metadata"] = event["data"]["object"]["metadata"].clone();
    object(&mut unknown)["metadata"]["ecopay_refund"] = json!(new_id());
    let _ = world.webhook(&unknown).await.problem(503, "event_kept");
    assert_eq!(world.attention().await["events"][0]["why"], "no_record");
    world.check_books().await;
}

/// Amount, currency, livemode, account and object are checked against our record.
#[tokio::test]
async fn contradicting_event_moves_nothing_and_is_kept() {
    let rig = Rig::new("contradictions").await;
    let world = &rig.world;
    let (customer, event) = rig.paid(1000).await;
    let before = world.wallet(&customer, "ECOPAY").await;
    let changes: [(&str, Value, &str); 9] = [
        ("/data/object/amount", json!(1001), "amount"),
        ("/data/object/amount_received", json!(999), "amount"),
        ("/data/object/amount_received", json!(0), "amount"),
        ("/data/object/currency", json!("usd"), "amount"),
        ("/data/object/id", json!("pi_another"), "object"),
        ("/data/object/livemode", json!(true), "livemode"),
        ("/livemode", json!(true), "livemode"),
        ("/account", json!("acct_another"), "account"),
        ("/data/object/metadata/ecopay_topup", json!(new_id()), "no_record"),
    ];
    let mut expected = Vec::new();
    for (at, (pointer, value, why)) in changes.iter().enumerate() {
        let mut changed = event.clone();
        changed["account"] = json!(null);
        *changed.pointer_mut(pointer).expect("the pointer exists") = value.clone();
        changed["id"] = json!(format!("evt_changed_{at}"));
        let _ = world.webhook(&changed).await.problem(503, "event_kept");
        expected.push(((*why).to_owned(), format!("evt_changed_{at}")));
    }
    let listed = world.attention().await;
    let events = listed["events"].as_array().expect("events").iter();
    let kept: Vec<_> = events.map(|event| (event["why"].clone(), event["event_id"].clone())).collect();
    assert_eq!(kept, expected.iter().map(|(why, id)| (json!(why), json!(id))).collect::<Vec<_>>());
    assert_eq!(world.wallet(&customer, "ECOPAY").await, before);
    assert_eq!(world.books().await.under("TXN#").count(), 0);
    // The correct event is applied afterwards.
    assert_eq!(rig.status(&event).await, "applied");
    assert_eq!(world.balance(&customer, "ECOPAY").await, "1000");
    world.check_books().await;
}

/// Many deliveries of one event, and of another with the same fact, to two processes at once.
#[tokio::test]
async fn concurrent_deliveries_to_two_processes_credit_once() {
    let rig = Rig::new("two-processes").await;
    let (url, stripe) = (rig.host.stack().dynamodb_url().to_owned(), rig.host.stack().stripe().clone());
    let table = rig.host.stack().table().to_owned();
    let second = Host::with_app(move |_| async move {
        host::app((host::functions_client(&url).await, &table), Clock::system(), &stripe)
    });
    let faces = [rig.world.api.clone(), Api::new(&second.stack().url())];
    for round in 1..=3 {
        let (customer, event) = rig.paid(1000).await;
        let mut twin = event.clone();
        twin["id"] = json!(format!("evt_twin_{round}"));
        let calls = [signed(&event.to_string()), signed(&twin.to_string())];
        let sent = (0..64).map(|at: usize| faces[at % 2].settle(&calls[at / 2 % 2]));
        let answers: Vec<String> =
            join_all(sent).await.into_iter().map(|answer| answer.good().text("/status")).collect();
        let applied = answers.iter().filter(|status| *status == "applied").count();
        assert_eq!(applied, 1, "{answers:?}");
        assert!(
            answers.iter().all(|status| ["applied", "repeated", "behind"].contains(&status.as_str())),
            "{answers:?}"
        );
        assert_eq!(rig.world.balance(&customer, "ECOPAY").await, "1000");
        assert_eq!(rig.world.balance(&customer, "POINT").await, "50");
        assert_eq!(rig.world.check_books().await.entries_of("topup"), round);
    }
}

/// The request failed after Stripe had made the object. The event brings the fact, and completes the response that the
/// customer's retry gets.
#[tokio::test]
async fn event_completes_an_interrupted_request() {
    let rig = Rig::new("completed").await;
    let world = &rig.world;
    for (round, kind) in ["payment_intent.created", "payment_intent.succeeded"].into_iter().enumerate() {
        let customer = world.customer().await;
        let call = customer.tops_up("2000");
        let lost = json!({"kind": "connection_lost_after", "path_prefix": "/v1/payment_intents", "times": 2});
        let _ = world.stripe("/faults", &lost).await;
        let _ = world.api.send(&call).await.problem(503, "outcome_unknown");
        assert_eq!(world.intents().await, round + 1, "one PaymentIntent, however often it was sent");
        let key = call.key.as_deref().expect("a key");
        let lookup = Call::get(&format!("/v1/me/operations/topup/{key}"), &customer.who);
        assert_eq!(world.api.send(&lookup).await.good().text("/state"), "in_flight");

        let events = world.api.send(&Call::get("/dev/stripe/events", &Who::Anonymous)).await.good().json();
        let intent = events["events"].as_array().expect("events").last().expect("one")["data"]["object"].clone();
        let id = intent["id"].as_str().expect("an id");
        if kind == "payment_intent.succeeded" {
            let _ = world.stripe(&format!("/payment_intents/{id}/succeed"), &json!({})).await;
        }
        assert_eq!(world.deliver(kind, id).await, 200);
        let found = world.api.send(&call).await;
        assert_eq!((found.status, found.replayed()), (201, true), "{found:?}");
        let members = ["/payment_intent_id", "/client_secret", "/status"].map(|member| found.text(member));
        assert_eq!(members, [id, intent["client_secret"].as_str().expect("a secret"), "pending"]);
        assert_eq!(world.api.send(&lookup).await.good().json()["answer"], found.json());
        if kind == "payment_intent.created" {
            let _ = world.stripe(&format!("/payment_intents/{id}/succeed"), &json!({})).await;
            assert_eq!(world.deliver("payment_intent.succeeded", id).await, 200);
        } else {
            assert_eq!(world.deliver("payment_intent.created", id).await, 200);
        }
        assert_eq!(world.api.send(&call).await.stored(), found.stored());
        assert_eq!(world.balance(&customer, "ECOPAY").await, "2000");
        assert_eq!(world.check_books().await.entries_of("topup"), round + 1);
    }
}

/// The store is down, uncertain or in conflict: no marker is stored, and the next delivery is applied.
#[tokio::test]
async fn failed_delivery_leaves_no_marker() {
    let rig = Rig::new("failed-delivery").await;
    let world = &rig.world;
    let (customer, event) = rig.paid(1000).await;
    let before = world.books().await;
    rig.tap.every_call(Some(Fault::Refused));
    let _ = world.webhook(&event).await.problem(503, "unavailable");
    rig.tap.every_call(None);
    let conflict = || Some(Fault::Cancelled(1, "TransactionConflict"));
    for (faults, code) in [
        (vec![Some(Fault::Refused)], "outcome_unknown"),
        (vec![Some(Fault::Error(500, "InternalServerError"))], "outcome_unknown"),
        (vec![Some(Fault::Cancelled(0, "ThrottlingError"))], "busy"),
        (vec![conflict(), conflict(), conflict(), conflict()], "busy"),
    ] {
        rig.tap.next_writes(faults);
        let _ = world.webhook(&event).await.problem(503, code);
    }
    world.books().await.unchanged_since(&before, "a failed delivery left something");
    // It was applied and the answer lost: the next delivery changes nothing.
    rig.tap.next_writes([Some(Fault::AnswerCut)]);
    let _ = world.webhook(&event).await.problem(503, "outcome_unknown");
    assert_eq!(rig.status(&event).await, "behind");
    assert_eq!(world.balance(&customer, "ECOPAY").await, "1000");
    assert_eq!((rig.tap.faults_left(), world.check_books().await.entries_of("topup")), (0, 1));
}

/// A signed body that cannot be read gets a 400. Unknown fields are ignored.
#[tokio::test]
async fn malformed_signed_bodies_are_refused_and_unknown_fields_ignored() {
    let rig = Rig::new("signed-bodies").await;
    let world = &rig.world;
    let (customer, event) = rig.paid(1000).await;
    let text = event.to_string();
    let huge = "9".repeat(60);
    let before = world.books().await;
    let mut wrong = vec![
        String::new(),
        "{}".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        format!("{text}{text}"),
        text.replacen("\"type\"", "\"kind\"", 1),
        text.replacen('{', "{\"id\":\"evt_1\",", 1),
        text.replacen("\"currency\"", "\"amount\":1,\"currency\"", 1),
        format!("{}{}", "[".repeat(30_000), "]".repeat(30_000)),
    ];
    for amount in [huge.as_str(), "-1000", "1000.5", "1e3", "\"1000\"", "null", "18446744073709551616"] {
        wrong.push(text.replacen("\"amount\":1000", &format!("\"amount\":{amount}"), 1));
    }
    for (pointer, value) in [
        ("/id", json!("")),
        ("/id", json!("evt#1")),
        ("/id", json!(7)),
        ("/livemode", json!("false")),
        ("/data", json!([])),
        ("/data/object", json!("pi_1")),
        ("/data/object/id", json!("pi/../1")),
        ("/data/object/currency", json!("JPY")),
        ("/data/object/metadata", json!("x")),
        ("/data/object/metadata/ecopay_tenant", json!(1)),
    ] {
        let mut changed = event.clone();
        *changed.pointer_mut(pointer).expect("the pointer exists") = value;
        wrong.push(changed.to_string());
    }
    for body in &wrong {
        let answer = world.api.send(&signed(body)).await;
        assert_eq!(
            (answer.status, answer.code().as_deref()),
            (400, Some("invalid_request")),
            "{body:.300}: {answer:?}"
        );
        assert!(!answer.body.contains("secret"), "{answer:?}");
    }
    world.books().await.unchanged_since(&before, "an unreadable event left something");
    // Unknown fields of any size and depth are accepted.
    let extra = format!("{{\"new_in_2027\":{{\"a\":[{huge},1.5e300,-0.0,null]}},\"created_at\":{huge},");
    let answer = world.api.send(&signed(&text.replacen('{', &extra, 1))).await;
    assert_eq!(answer.good().text("/status"), "applied");
    assert_eq!(world.balance(&customer, "ECOPAY").await, "1000");
    world.check_books().await;
}
