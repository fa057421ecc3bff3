//! Webhook signatures: over the raw bytes, with an age and secrets. Every invalid one gets the same answer, before the
//! body is read.
use ledger_core::personal::Masked;
use ledger_local::clock;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::StripeConfig;
use ledger_runtime::metrics::{Counting, Metric};
use ledger_tests::http::stripe::{delivery, mac, signature, signed, unsigned};
use ledger_tests::http::{Call, Host, World, host};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use stripe_simulator::WEBHOOK_SECRET_DEFAULT;

const SECRET: &str = WEBHOOK_SECRET_DEFAULT;
const LIMIT: usize = 64 * 1024;

/// A tenant on a new stack whose webhook has these secrets, and the stack's counters.
async fn world_with_secrets(tenant: &str, secrets: &'static [&'static str]) -> (World, Arc<OnceLock<Counting>>) {
    let counters = Arc::new(OnceLock::new());
    let of_app = Arc::clone(&counters);
    let host = Host::with_app(move |backend| async move {
        let webhook_secrets = secrets.iter().map(|secret| Masked::new((*secret).to_owned())).collect();
        let stripe = StripeConfig { webhook_secrets, ..backend.stripe };
        let (app, counting) = host::app((backend.dynamodb, &backend.table), Clock::system(), &stripe);
        assert!(of_app.set(counting.clone()).is_ok(), "mounted once");
        (app, counting)
    });
    (World::with_terms(host, tenant, |_| {}).await, counters)
}

/// An event that would be applied if accepted, indented as Stripe writes it.
async fn event_of(world: &World) -> String {
    let topup = world.topup(&world.customer().await, "1000").await;
    let event = world.paid_event(&topup.id, &topup.intent, 1000);
    serde_json::to_string_pretty(&event).expect("JSON")
}

#[tokio::test]
async fn every_invalid_signature_gets_the_same_answer() {
    let (world, counters) = world_with_secrets("signatures", &[SECRET]).await;
    world.hold_deliveries().await;
    let (event, now_s) = (event_of(&world).await, clock::epoch_s());
    let (good, at) = (signature(SECRET, now_s, &event), format!("t={now_s}"));
    let hex = mac(SECRET, &format!("{now_s}.{event}"));
    let compact = serde_json::from_str::<Value>(&event).expect("JSON").to_string();
    let other_time = signature(SECRET, now_s - 1, &event).replace(&format!("t={}", now_s - 1), &at);
    let mut calls: Vec<Call> = vec![unsigned(&event), unsigned(&event).header("stripe-signature", "")];
    calls.push(delivery(&event, &good).header("stripe-signature", good.clone()));
    calls.push(unsigned(&event).header("x-stripe-signature", good.clone()).header("signature", good.clone()));
    // The body differs from the signed one.
    for body in [
        event.replace('\n', "\r\n"),
        format!("\u{feff}{event}"),
        format!("{event}\n"),
        format!(" {event}"),
        compact,
        event.replacen("1000", "9000", 1),
        event.replacen("succeeded", "canceled", 1),
        String::new(),
    ] {
        calls.push(delivery(&body, &good));
    }
    for header in [
        signature("whsec_another", now_s, &event),
        signature("", now_s, &event),
        signature("local", now_s, &event),
        signature(SECRET, now_s - 302, &event),
        signature(SECRET, now_s - 86_400, &event),
        signature(SECRET, now_s + 310, &event),
        signature(SECRET, -now_s, &event),
        other_time,
        at.clone(),
        format!("v1={hex}"),
        format!("{at},v0={hex}"),
        format!("{at},V1={hex}"),
        format!("{at},v1={}", hex.to_uppercase()),
        format!("{at},v1={}", &hex[..62]),
        format!("{at},v1={hex}00"),
        format!("{at},v1=\"{hex}\""),
        format!("{at},{at},v1={hex}"),
        format!("{at}; v1={hex}"),
        format!("t={now_s}.0,v1={hex}"),
        format!("t=0{now_s},v1={hex}"),
        "t=,v1=".to_owned(),
        "x".repeat(4000),
    ] {
        calls.push(delivery(&event, &header));
    }
    let before = world.books().await;
    let mut bodies = BTreeSet::new();
    for call in &calls {
        let answer = world.api.send(call).await;
        bodies.insert(answer.problem(400, "signature_invalid").body);
    }
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    let counted = counters.get().expect("mounted").total(Metric::WebhookRefused);
    assert_eq!(counted, calls.len() as u64);
    world.books().await.unchanged_since(&before, "an event with an invalid signature moved something");

    // The event is valid, and so is its signature among others and in another order.
    let among_others = format!("v1={},v0=x,{at},scheme=1,v1={hex}", "0".repeat(64));
    assert_eq!(world.api.send(&delivery(&event, &among_others)).await.good().text("/status"), "applied");
    assert_eq!(world.api.send(&delivery(&event, &good)).await.good().text("/status"), "behind");
    world.check_books().await;
}

/// The signature covers the bytes, whatever the content type.
#[tokio::test]
async fn signature_covers_bytes_of_any_content_type() {
    let (world, _) = world_with_secrets("bytes", &[SECRET]).await;
    world.hold_deliveries().await;
    for content_type in ["application/json; charset=utf-8", "text/plain", "application/octet-stream"] {
        let call = signed(&event_of(&world).await).header("content-type", content_type);
        assert_eq!(world.api.send(&call).await.good().text("/status"), "applied", "{content_type}");
    }
    // The oldest signature, and the furthest in the future, that are accepted.
    for by_s in [-295, 295] {
        let event = event_of(&world).await;
        let call = delivery(&event, &signature(SECRET, clock::epoch_s() + by_s, &event));
        assert_eq!(world.api.send(&call).await.good().text("/status"), "applied", "{by_s}");
    }
    world.check_books().await;
}

#[tokio::test]
async fn body_above_64_kb_is_refused() {
    let (world, counters) = world_with_secrets("sizes", &[SECRET]).await;
    let mut event = world.paid_event("x", "pi_x", 1);
    event["type"] = json!("customer.created");
    let short = event.to_string();
    let whole = format!("{short}{}", " ".repeat(LIMIT - short.len()));
    assert_eq!(world.api.send(&signed(&whole)).await.good().text("/status"), "ignored");
    let long = format!("{whole} ");
    for call in [signed(&long), unsigned(&long), signed(&"x".repeat(200_000))] {
        let _ = world.api.send(&call).await.problem(413, "body_too_large");
    }
    assert_eq!(counters.get().expect("mounted").total(Metric::WebhookRefused), 0);
}

/// During a rotation there are two secrets, and either is sufficient.
#[tokio::test]
async fn either_of_two_secrets_is_accepted() {
    const OLD: &str = "whsec_old_1";
    const NEW: &str = "whsec_new_2";
    let (world, _) = world_with_secrets("rotation", &[OLD, NEW]).await;
    world.hold_deliveries().await;
    let now_s = clock::epoch_s();
    let both = |event: &str| {
        let payload = format!("{now_s}.{event}");
        format!("t={now_s},v1={},v1={}", mac(OLD, &payload), mac(NEW, &payload))
    };
    let with = |secret: &'static str| move |event: &str| signature(secret, now_s, event);
    let headers: [&dyn Fn(&str) -> String; 3] = [&with(OLD), &with(NEW), &both];
    for header in headers {
        let event = event_of(&world).await;
        assert_eq!(world.api.send(&delivery(&event, &header(&event))).await.good().text("/status"), "applied");
    }
    let event = event_of(&world).await;
    for secret in [SECRET, "whsec_old_1,whsec_new_2", "whsec_old_1whsec_new_2"] {
        let call = delivery(&event, &signature(secret, now_s, &event));
        let _ = world.api.send(&call).await.problem(400, "signature_invalid");
    }
    world.check_books().await;
}
