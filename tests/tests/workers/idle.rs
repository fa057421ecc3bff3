//! Tests that a stack without requests sends its store nothing.

use super::*;

/// The number of requests that the embedded engine has received.
fn requests(stack: &Stack) -> u64 {
    stack.engine.as_ref().unwrap().activity().requests()
}

/// Waits until the store has received nothing for longer than any worker's tick.
async fn rested(stack: &Stack) {
    for _ in 0..10 {
        let before = requests(stack);
        tokio::time::sleep(Duration::from_secs(6)).await;
        if requests(stack) == before {
            return;
        }
    }
    panic!("an idle stack keeps calling its store");
}

#[tokio::test]
async fn idle_stack_sends_its_store_nothing_and_publishes_new_entries_at_once() {
    let stack = Stack::start(StackConfig::in_memory()).await.unwrap();
    rested(&stack).await;
    let (url, http) = (stack.url(), reqwest::Client::new());
    let (customer, merchant) = (stack.demo().customers[0].clone(), stack.demo().merchants[0].clone());
    let grant = crate::issuer::Grant {
        tenant: stack.demo().tenant.clone(),
        sub: customer,
        face: "customer".to_owned(),
        merchant_id: None,
        roles: None,
    };
    let token = stack.issuer().issue(&grant, crate::clock::epoch_s(), 600).unwrap();
    let send = async |path: &str, key: &str, body: serde_json::Value| {
        let request = http.post(format!("{url}{path}")).bearer_auth(&token).header("idempotency-key", key);
        let request = request.header("content-type", "application/json").body(body.to_string());
        assert_eq!(request.send().await.unwrap().status(), 201, "{path}");
    };
    let events = async || {
        let answer = http.get(format!("{url}/dev/events?limit=1000")).send().await.unwrap();
        answer.text().await.unwrap().matches(r#""specversion""#).count()
    };
    let before = events().await;
    send("/v1/me/payments", "idle-1", serde_json::json!({"merchant_id": merchant, "amount": "10"})).await;
    let paid_at = std::time::Instant::now();
    while events().await == before {
        assert!(paid_at.elapsed() < Duration::from_secs(3), "the payment was not published");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    rested(&stack).await;

    // Work that becomes due later does not keep the workers from resting until then.
    send("/v1/me/topups", "idle-2", serde_json::json!({"amount": "1000"})).await;
    rested(&stack).await;
    stack.stop().await;
}
