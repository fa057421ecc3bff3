//! Objects, their statuses, lists and errors.

use super::Served;
use serde_json::{Value, json};

fn error(status: u16, kind: &str, code: &str, param: &str) -> (u16, String, String, String) {
    (status, kind.to_owned(), code.to_owned(), param.to_owned())
}

fn invalid(status: u16, code: &str, param: &str) -> (u16, String, String, String) {
    error(status, "invalid_request_error", code, param)
}

#[tokio::test]
async fn payment_intent_is_created_and_paid() {
    let it = Served::start().await;
    let request = it
        .request("POST", "/v1/payment_intents", "amount=1200&currency=JPY&metadata[a]=b&payment_method_types[]=card")
        .header("stripe-version", "2025-01-27.acacia");
    let created = super::sent(request).await;
    assert_eq!(created.status, 200);
    assert!(created.header("request-id").unwrap().starts_with("req_"));
    assert_eq!(created.header("stripe-version"), Some("2025-01-27.acacia"));
    let intent = created.json();
    let id = created.id();
    assert_eq!(intent["status"], "requires_payment_method");
    assert_eq!((&intent["currency"], &intent["amount"]), (&json!("jpy"), &json!(1200)));
    assert!(intent["client_secret"].as_str().unwrap().starts_with(&format!("{id}_secret_")));
    assert_eq!((&intent["latest_charge"], &intent["livemode"]), (&Value::Null, &json!(false)));

    let paid = it.post(&format!("/v1/payment_intents/{id}/confirm"), "payment_method=pm_card_visa").await.json();
    assert_eq!((&paid["status"], &paid["amount_received"]), (&json!("succeeded"), &json!(1200)));
    let charge = it.get(&format!("/v1/charges/{}", paid["latest_charge"].as_str().unwrap())).await.json();
    assert_eq!((&charge["metadata"], &charge["paid"]), (&json!({"a": "b"}), &json!(true)));
    assert_eq!(it.get(&format!("/v1/payment_intents/{id}")).await.json(), paid);
    assert_eq!(it.event_types(), ["payment_intent.created", "charge.succeeded", "payment_intent.succeeded"]);

    let cancelled = it.post(&format!("/v1/payment_intents/{id}/cancel"), "").await;
    assert_eq!(cancelled.error(), invalid(400, "payment_intent_unexpected_state", "-"));
    assert_eq!(cancelled.json()["error"]["payment_intent"]["id"], json!(id));
}

#[tokio::test]
async fn declined_card_leaves_the_intent_open() {
    let it = Served::start().await;
    let id = it.intent(500).await;
    let path = format!("/v1/payment_intents/{id}/confirm");
    let refused = it.post(&path, "payment_method=pm_card_chargeDeclined").await;
    assert_eq!(refused.error(), error(402, "card_error", "card_declined", "-"));
    assert_eq!(refused.header("stripe-should-retry"), Some("false"));
    let intent = it.get(&format!("/v1/payment_intents/{id}")).await.json();
    assert_eq!(intent["status"], "requires_payment_method");
    assert_eq!(intent["last_payment_error"]["decline_code"], "generic_decline");
    assert_eq!(it.event_types().last().unwrap(), "payment_intent.payment_failed");
    assert_eq!(it.post(&path, "payment_method=pm_card_visa").await.json()["status"], "succeeded");
    let other = it.intent(500).await;
    let cancel = format!("/v1/payment_intents/{other}/cancel");
    let cancelled = it.post(&cancel, "cancellation_reason=abandoned").await.json();
    assert_eq!((&cancelled["status"], &cancelled["cancellation_reason"]), (&json!("canceled"), &json!("abandoned")));
    assert_eq!(it.post(&cancel, "").await.status, 400);
}

#[tokio::test]
async fn errors_have_stripes_format() {
    let it = Served::start().await;
    let create = async |body: &str| it.post("/v1/payment_intents", body).await.error();
    assert_eq!(create("currency=jpy").await, invalid(400, "parameter_missing", "amount"));
    assert_eq!(create("amount=500").await, invalid(400, "parameter_missing", "currency"));
    assert_eq!(create("amount=49&currency=jpy").await, invalid(400, "amount_too_small", "amount"));
    assert_eq!(create("amount=x&currency=jpy").await, invalid(400, "parameter_invalid_integer", "amount"));
    assert_eq!(create("amount=500&currency=jpy&colour=red").await, invalid(400, "parameter_unknown", "colour"));
    assert_eq!(create("amount=500&currency=zzz").await, invalid(400, "-", "currency"));
    assert_eq!(it.get("/v1/payment_intents/pi_none").await.error(), invalid(404, "resource_missing", "intent"));
    assert_eq!(it.get("/v1/refunds/re_none").await.error().0, 404);
    assert_eq!(it.get("/v1/customers").await.error(), invalid(404, "-", "-"));
    assert_eq!(it.post("/v2/core/events", "").await.status, 404);
    for header in ["Bearer sk_wrong", "Basic c2tfd3Jvbmc6", "nothing"] {
        let request = it.http.get(format!("{}/stripe/v1/events", it.url)).header("authorization", header);
        assert_eq!(super::sent(request).await.error(), invalid(401, "-", "-"), "{header}");
    }
    let basic =
        it.http.get(format!("{}/stripe/v1/events", it.url)).header("authorization", "Basic c2tfdGVzdF9sb2NhbDo=");
    assert_eq!(super::sent(basic).await.status, 200);
    let json = it.request("POST", "/v1/payment_intents", "{}").header("content-type", "application/json");
    assert_eq!(super::sent(json).await.status, 400);
}

#[tokio::test]
async fn refunds_never_exceed_the_charge() {
    let it = Served::start().await;
    let id = it.paid(1000).await;
    let part = it.post("/v1/refunds", &format!("payment_intent={id}&amount=400&metadata[r]=1")).await.json();
    assert_eq!(
        (&part["status"], &part["amount"], &part["metadata"]),
        (&json!("succeeded"), &json!(400), &json!({"r": "1"}))
    );
    let over = it.post("/v1/refunds", &format!("payment_intent={id}&amount=601")).await;
    assert_eq!(over.error(), invalid(400, "-", "amount"));
    let charge = part["charge"].as_str().unwrap();
    assert_eq!(it.post("/v1/refunds", &format!("charge={charge}")).await.json()["amount"], 600);
    let more = it.post("/v1/refunds", &format!("payment_intent={id}")).await;
    assert_eq!(more.error(), invalid(400, "charge_already_refunded", "-"));
    assert_eq!(it.get(&format!("/v1/charges/{charge}")).await.json()["refunded"], true);
    assert_eq!(it.post("/v1/refunds", "amount=5").await.error(), invalid(400, "parameter_missing", "payment_intent"));
    let open = it.intent(500).await;
    assert_eq!(it.post("/v1/refunds", &format!("payment_intent={open}")).await.error().0, 400);
    let list = it.get(&format!("/v1/refunds?payment_intent={id}")).await.json();
    assert_eq!(list["data"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn amount_of_failed_refund_can_be_refunded_again() {
    let it = Served::start().await;
    let id = it.paid(1000).await;
    assert_eq!(it.dev("/next_refund_status", r#"{"status":"pending"}"#).await.status, 200);
    let refund = it.post("/v1/refunds", &format!("payment_intent={id}")).await;
    assert_eq!(refund.json()["status"], "pending");
    let failed = it.dev(&format!("/refunds/{}/fail", refund.id()), r#"{"failure_reason":"lost_or_stolen_card"}"#).await;
    assert_eq!(
        (&failed.json()["status"], &failed.json()["failure_reason"]),
        (&json!("failed"), &json!("lost_or_stolen_card"))
    );
    let events = it.simulator.events();
    let updated = events.iter().find(|event| event["type"] == "refund.updated").unwrap();
    assert_eq!(updated["data"]["previous_attributes"]["status"], "pending");
    assert_eq!(events.last().unwrap()["type"], "refund.failed");
    assert_eq!(it.dev(&format!("/refunds/{}/succeed", refund.id()), "").await.status, 409);
    let again = it.simulator.refund_payment(&id, None, None).unwrap();
    assert_eq!(
        (&again["status"], &again["amount"], &again["metadata"]),
        (&json!("succeeded"), &json!(1000), &json!({}))
    );
}

#[tokio::test]
async fn disputes_and_payouts_follow_their_statuses() {
    let it = Served::start().await;
    let id = it.paid(1000).await;
    let dispute = it.dev(&format!("/payment_intents/{id}/dispute"), r#"{"amount":700}"#).await;
    assert_eq!((&dispute.json()["amount"], &dispute.json()["metadata"]), (&json!(700), &json!({})));
    assert_eq!(it.post("/v1/refunds", &format!("payment_intent={id}")).await.error().2, "charge_disputed");
    let won = it.dev(&format!("/disputes/{}/win", dispute.id()), "").await.json();
    assert_eq!((&won["status"], won["balance_transactions"].as_array().unwrap().len()), (&json!("won"), 2));
    assert_eq!(it.dev(&format!("/disputes/{}/lose", dispute.id()), "").await.status, 409);
    assert_eq!(it.get(&format!("/v1/disputes/{}", dispute.id())).await.json(), won);
    assert_eq!(it.get(&format!("/v1/disputes?payment_intent={id}")).await.json()["data"], json!([won]));
    let tail =
        ["created", "funds_withdrawn", "funds_reinstated", "closed"].map(|name| format!("charge.dispute.{name}"));
    assert!(it.event_types().ends_with(&tail), "{:?}", it.event_types());

    let payout = it.post("/v1/payouts", "amount=5000&currency=jpy&metadata[p]=1").await;
    assert_eq!(payout.json()["status"], "pending");
    assert_eq!(it.dev(&format!("/payouts/{}/pay", payout.id()), "").await.json()["status"], "paid");
    assert_eq!(it.dev(&format!("/payouts/{}/fail", payout.id()), "").await.json()["failure_code"], "could_not_process");
    assert_eq!(it.dev(&format!("/payouts/{}/pay", payout.id()), "").await.status, 409);
    assert_eq!(it.get("/v1/payouts?status=failed").await.json()["data"][0]["id"], payout.json()["id"]);
}

#[tokio::test]
async fn lists_are_paged_between_cursors_and_times() {
    let it = Served::start().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.insert(0, it.intent(100).await);
        it.advance_s(10);
    }
    let list = async |query: &str| {
        let list = it.get(&format!("/v1/payment_intents?{query}")).await.json();
        let found: Vec<String> =
            list["data"].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
        (found, list["has_more"].as_bool().unwrap())
    };
    assert_eq!(list("").await, (ids.clone(), false));
    assert_eq!(list("limit=2").await, (ids[..2].to_vec(), true));
    assert_eq!(list(&format!("limit=2&starting_after={}", ids[1])).await, (ids[2..4].to_vec(), true));
    assert_eq!(list(&format!("limit=2&starting_after={}", ids[3])).await, (ids[4..].to_vec(), false));
    assert_eq!(list(&format!("limit=2&ending_before={}", ids[3])).await, (ids[1..3].to_vec(), true));
    assert_eq!(list(&format!("limit=3&ending_before={}", ids[3])).await, (ids[..3].to_vec(), false));
    let second = super::START_S + 10;
    assert_eq!(list(&format!("created[gte]={second}&created[lt]={}", second + 20)).await, (ids[2..4].to_vec(), false));
    assert_eq!(list(&format!("created[gt]={second}&created[lte]={}", second + 20)).await, (ids[1..3].to_vec(), false));
    assert_eq!(it.get("/v1/payment_intents?limit=0").await.error().3, "limit");
    assert_eq!(it.get("/v1/payment_intents?starting_after=pi_x").await.error().3, "starting_after");
    it.simulator.succeed_payment(&ids[0]).unwrap();
    let expanded = it.get("/v1/payment_intents?limit=1&expand[]=data.latest_charge").await.json();
    assert_eq!(expanded["data"][0]["latest_charge"]["object"], "charge");
    assert_eq!(it.get("/v1/payment_intents?expand[]=colour").await.error().3, "expand");
    let paid = it.get("/v1/events?types[]=payment_intent.succeeded&types[]=payment_intent.canceled").await.json();
    assert_eq!(paid["data"].as_array().unwrap().len(), 1);
    let event = it.get(&format!("/v1/events/{}", paid["data"][0]["id"].as_str().unwrap())).await.json();
    assert_eq!(event, paid["data"][0]);
}

#[tokio::test]
async fn refused_dev_controls_have_a_reason() {
    let it = Served::start().await;
    let id = it.intent(500).await;
    let at = |action: &str| format!("/payment_intents/{id}/{action}");
    assert_eq!(it.dev(&at("process"), "").await.json()["status"], "processing");
    assert_eq!(it.post(&format!("/v1/payment_intents/{id}/cancel"), "").await.status, 400);
    assert_eq!(it.dev(&at("fail"), "").await.json()["status"], "requires_payment_method");
    assert_eq!(it.dev(&at("cancel"), "").await.json()["status"], "canceled");
    let late = it.dev(&at("succeed"), "").await;
    assert_eq!((late.status, &late.json()["code"]), (409, &json!("unexpected_state")));
    assert!(late.text.contains("is canceled"), "{}", late.text);
    assert_eq!(it.dev(&at("explode"), "").await.status, 404);
    assert_eq!(it.dev("/payment_intents/pi_x/succeed", "").await.status, 404);
    let strange = it.dev(&at("succeed"), r#"{"amount":5}"#).await;
    assert!(strange.status == 400 && strange.text.contains("amount"), "{}", strange.text);
    assert_eq!(it.dev(&at("dispute"), r#"{"sum":5}"#).await.status, 400);
    assert_eq!(it.dev("/faults", r#"{"kind":"latency"}"#).await.status, 400);
    assert_eq!(it.dev("/faults", r#"{"kind":"error_before","path":"/v1"}"#).await.status, 400);
    assert_eq!(it.dev("/webhook_url", "{}").await.status, 400);
}
