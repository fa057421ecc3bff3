//! Tests that a stack without requests sends its store nothing.

use ledger_local::clock::epoch_s;
use ledger_local::issuer::Grant;
use ledger_local::stack::{Stack, StackConfig};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Longer than the tick of any worker.
const LONGER_THAN_A_TICK: Duration = Duration::from_millis(5_500);

/// The number of requests that the embedded engine has received.
fn requests(stack: &Stack) -> u64 {
    stack.store_activity().expect("an embedded engine").requests()
}

/// Waits until the store has received nothing for longer than a tick.
async fn rested(stack: &Stack) {
    let began = Instant::now();
    let (mut last, mut since) = (requests(stack), began);
    while since.elapsed() < LONGER_THAN_A_TICK {
        assert!(began.elapsed() < Duration::from_secs(60), "an idle stack keeps calling its store");
        tokio::time::sleep(Duration::from_millis(100)).await;
        if requests(stack) != last {
            (last, since) = (requests(stack), Instant::now());
        }
    }
}

/// A stack with a request's token of its first customer.
struct Idle {
    stack: Stack,
    http: reqwest::Client,
    token: String,
}

impl Idle {
    async fn start() -> Self {
        let stack = Stack::start(StackConfig::in_memory()).await.expect("a stack");
        let grant = Grant {
            tenant: stack.demo().tenant.clone(),
            sub: stack.demo().customers[0].clone(),
            face: "customer".to_owned(),
            merchant_id: None,
            roles: None,
            email: None,
            email_verified: false,
        };
        let token = stack.issuer().issue(&grant, epoch_s(), 600).expect("a token");
        rested(&stack).await;
        Self { stack, http: reqwest::Client::new(), token }
    }

    async fn send(&self, path: &str, body: Value) {
        let request = self.http.post(format!("{}{path}", self.stack.url())).bearer_auth(&self.token);
        let request = request.header("idempotency-key", "idle").header("content-type", "application/json");
        assert_eq!(request.body(body.to_string()).send().await.expect("an answer").status(), 201, "{path}");
    }

    /// The number of published events.
    async fn events(&self) -> usize {
        let answer =
            self.http.get(format!("{}/dev/events?limit=1000", self.stack.url())).send().await.expect("an answer");
        answer.text().await.expect("a text").matches(r#""specversion""#).count()
    }
}

#[tokio::test]
async fn idle_stack_sends_its_store_nothing_and_publishes_new_entries_at_once() {
    let idle = Idle::start().await;
    let before = idle.events().await;
    let merchant = idle.stack.demo().merchants[0].clone();
    idle.send("/v1/me/payments", json!({"merchant_id": merchant, "amount": "10"})).await;
    let paid_at = Instant::now();
    while idle.events().await == before {
        assert!(paid_at.elapsed() < Duration::from_secs(3), "the payment was not published");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    rested(&idle.stack).await;
    idle.stack.stop().await;
}

#[tokio::test]
async fn stack_rests_although_work_becomes_due_later() {
    let idle = Idle::start().await;
    idle.send("/v1/me/topups", json!({"amount": "1000"})).await;
    rested(&idle.stack).await;
    idle.stack.stop().await;
}
