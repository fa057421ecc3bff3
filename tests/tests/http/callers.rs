//! Limits per caller and per source over HTTP, by a clock that the test stops, and terminals that have no record.
use ledger_core::rate::RequestRate;
use ledger_local::credential::Credential;
use ledger_runtime::callers::{FRONT_END_SECRET, VIEWER_ADDRESS};
use ledger_runtime::clock::Clock;
use ledger_runtime::config::{CallerConfig, SecretDigest};
use ledger_runtime::metrics::{Counting, Metric};
use ledger_tests::http::tap::{Attempts, Tap};
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Answer, Call, Host, Who, World, host};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::{Arc, OnceLock};

const SECRET: &str = "5c1f0a3e9b7d4826a0c4e1f2d3b59687";
/// Per second: 40 pass at once.
const RATE: u32 = 4;
const PASS: usize = 40;

/// A stack whose clock has stopped, so that no bucket fills again.
struct Rig {
    host: Arc<Host>,
    tap: Tap,
    counting: Arc<OnceLock<Counting>>,
}

impl Rig {
    fn new(callers: CallerConfig) -> Self {
        let (tap, counting) = (Tap::default(), Arc::new(OnceLock::new()));
        let (wire, counts, now) = (tap.clone(), Arc::clone(&counting), Clock::system().now());
        let host = Host::with_app(move |backend| async move {
            let client = wire.client(&backend.dynamodb_url, Attempts::Retried).await;
            let (app, counting) = host::bare_limited((client, &backend.table), Clock::from_fn(move || now), callers);
            assert!(counts.set(counting.clone()).is_ok(), "mounted once");
            (app, counting)
        });
        Self { host, tap, counting }
    }

    async fn world(&self, slug: &str) -> World {
        World::with_terms(Arc::clone(&self.host), slug, |_| {}).await
    }

    fn counted(&self, metric: Metric) -> u64 {
        self.counting.get().expect("mounted").total(metric)
    }
}

fn rate() -> RequestRate {
    RequestRate::new(RATE).expect("a rate")
}

async fn sent(world: &World, call: &Call, times: usize) -> Vec<Answer> {
    let mut answers = Vec::new();
    for _ in 0..times {
        answers.push(world.api.send(call).await);
    }
    answers
}

/// Asserts that the first `pass` are not refused by a limit, and that all the others are.
fn assert_passed(answers: &[Answer], pass: usize) {
    for (at, answer) in answers.iter().enumerate() {
        if at < pass {
            assert_ne!(answer.status, 429, "{at}: {answer:?}");
        } else {
            let refused = answer.clone().problem(429, "rate_limited");
            assert_eq!((refused.header("retry-after"), &refused.json()["retry_after_ms"]), (Some("1"), &json!(250)));
        }
    }
}

#[tokio::test]
async fn caller_that_floods_is_refused_without_a_store_call_and_others_are_served() {
    let rig = Rig::new(CallerConfig { requests: rate(), ..CallerConfig::of_highest_rates() });
    let world = rig.world("flood").await;
    let merchant = world.merchant().await;
    let (loud, quiet, till) = (world.customer().await, world.customer().await, world.terminal(&merchant).await);
    let card = world.card(None, "0").await;
    let balances = |who: &Who| Call::get("/v1/me/balances", who);
    assert_passed(&sent(&world, &balances(&loud.who), PASS).await, PASS);
    let _ = rig.tap.take();
    // Neither the body nor the key is looked at.
    let payment = loud.pays(&merchant, "10");
    let _ = world.api.send(&payment.raw("{")).await.problem(429, "rate_limited");
    assert_passed(&sent(&world, &balances(&loud.who), 3).await, 0);
    assert_eq!(rig.tap.take_targets(), Vec::<String>::new());
    assert_eq!((rig.counted(Metric::CallerRateLimited), rig.counted(Metric::RateLimited)), (4, 0));

    let _ = world.api.send(&balances(&quiet.who)).await.good();
    let _ = world.api.send(&Call::get("/v1/merchant", &merchant.who)).await.good();
    let look_up = Call::get(&format!("/v1/terminal/cards/{card}"), &till.who);
    assert_passed(&sent(&world, &look_up, PASS + 2).await, PASS);
    assert_eq!(rig.counted(Metric::CallerRateLimited), 6);
}

#[tokio::test]
async fn source_that_floods_is_refused_and_a_forwarded_source_needs_the_secret() {
    let callers = CallerConfig {
        source_requests: rate(),
        front_end: vec![SecretDigest::from(Sha256::digest(SECRET))],
        ..CallerConfig::of_highest_rates()
    };
    let rig = Rig::new(callers);
    let world = rig.world("source").await;
    let enrol = Call::post("/v1/terminal/enrolments", &Who::Anonymous, &json!({}));
    let from = |address: &str, secret: &str| {
        let forwarded = enrol.clone().header(VIEWER_ADDRESS.as_str(), address);
        forwarded.header(FRONT_END_SECRET.as_str(), secret)
    };
    // A header without the secret changes nothing: all of these have the peer's address.
    assert_passed(&sent(&world, &enrol, PASS - 2).await, PASS);
    assert_passed(&sent(&world, &from("198.51.100.7:443", "wrong"), 3).await, 2);
    let named = enrol.clone().header(VIEWER_ADDRESS.as_str(), "198.51.100.8:443");
    assert_passed(&sent(&world, &named.header("x-forwarded-for", "198.51.100.8"), 2).await, 0);
    let _ = rig.tap.take();
    let event = Call::post("/v1/webhooks/stripe", &Who::Anonymous, &json!({}));
    assert_passed(&sent(&world, &event, 1).await, 0);
    assert_eq!(rig.tap.take_targets(), Vec::<String>::new());
    assert_eq!(rig.counted(Metric::SourceRateLimited), 4);

    // Each forwarded source has a bucket; all addresses of an IPv6 network share one.
    let _ = world.api.send(&from("198.51.100.7:443", SECRET)).await.problem(400, "invalid_request");
    assert_passed(&sent(&world, &from("2001:db8:1:2::1:443", SECRET), PASS).await, PASS);
    assert_passed(&sent(&world, &from("2001:db8:1:2::9:443", SECRET), 1).await, 0);
    let _ = world.api.send(&from("2001:db8:1:3::1:443", SECRET)).await.problem(400, "invalid_request");
    // A verified caller is not counted to the source.
    let _ = world.merchant().await;
}

#[tokio::test]
async fn unknown_terminal_is_read_once_and_works_at_once_after_its_enrolment() {
    let rig = Rig::new(CallerConfig::of_highest_rates());
    let world = rig.world("unknown-terminal").await;
    let merchant = world.merchant().await;
    let (id, card) = (new_id(), world.card(None, "0").await);
    let (private_key, _) = Credential::key_pair().expect("a key pair");
    let early = Credential { tenant: world.tenant.clone(), terminal_id: id.clone(), epoch: 1, private_key };
    let look_up = |who: &Who| Call::get(&format!("/v1/terminal/cards/{card}"), who);
    let _ = rig.tap.take();
    for _ in 0..3 {
        let _ = world.api.send(&look_up(&Who::Terminal(early.clone()))).await.problem(401, "signature_invalid");
    }
    assert_eq!(rig.tap.take_targets(), ["GetItem"]);
    assert_eq!((rig.counted(Metric::UnknownTerminal), rig.counted(Metric::SignatureRefused)), (3, 3));
    let body = json!({"merchant_id": merchant.id, "terminal_id": id});
    let _ = world.operator("/v1/admin/terminals", &body).await;
    let terminal = world.enrol(&id).await;
    let _ = world.api.send(&look_up(&terminal.who)).await.good();
    assert_eq!(rig.counted(Metric::UnknownTerminal), 3);
}

#[tokio::test]
async fn unavailable_recipient_is_counted_and_its_replay_is_not() {
    let rig = Rig::new(CallerConfig::of_highest_rates());
    let world = rig.world("unavailable").await;
    let sender = world.customer_with("2000").await;
    let rich = world.customer_with("50000").await;
    let transfer = sender.sends(&rich, "1000");
    for times in [1, 1, 2] {
        let call = if times == 2 { sender.sends(&rich, "1001") } else { transfer.clone() };
        let _ = world.api.send(&call).await.problem(400, "recipient_unavailable");
        assert_eq!(rig.counted(Metric::RecipientUnavailable), times);
    }
}

#[tokio::test]
async fn enrolments_are_on_the_audit_trail_with_epoch_and_request() {
    let rig = Rig::new(CallerConfig::of_highest_rates());
    let world = rig.world("enrolments").await;
    let terminal = world.terminal(&world.merchant().await).await;
    let _ = world.enrol(&terminal.id).await;
    // A code that is used enrols nothing more, and leaves no record.
    let used = json!({"code": format!("{}.{}.AAECAwQFBgcICQoLDA0ODw", world.tenant, terminal.id), "public_key": "x"});
    let _ = world
        .api
        .send(&Call::post("/v1/terminal/enrolments", &Who::Anonymous, &used))
        .await
        .problem(400, "invalid_request");
    let page = world.api.send(&Call::get("/v1/admin/audit?limit=100", &world.operator.who)).await.good().json();
    let records = page["items"].as_array().expect("a list").iter().filter(|record| record["action"] == "enrol");
    let subject = format!("terminal:{}", terminal.id);
    let mut epochs = Vec::new();
    for record in records {
        assert_eq!((&record["subject"], &record["actor"]), (&json!(subject), &json!(subject)), "{record}");
        assert!(record["details"]["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{record}");
        epochs.push(record["details"]["epoch"].as_str().expect("an epoch").to_owned());
    }
    epochs.sort();
    assert_eq!(epochs, ["1", "2"]);
}
