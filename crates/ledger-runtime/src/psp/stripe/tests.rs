//! Exchanges with a scripted server: the requests sent, and the result of each response or failure.

use super::transport::BODY_BYTES_MAX;
use super::*;
use crate::logging::tests::Lines;
use crate::psp::port::{Outlook, PspRefusal};
use crate::testing::server::{Reply, Server};
use ledger_core::ids::{RefundId, SettlementId, Tenant, TopupId};
use ledger_core::money::{Amount, AssetSpec};
use ledger_core::personal::Masked;
use ledger_core::psp::{PspId, PspTerms};
use ledger_core::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

const LEDGER: &str = "demo-ledger";
const API_KEY: &str = "sk_test_51Secret";
const TOPUP: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
const REFUND: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";
const SETTLEMENT: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d60";
const CREATED_FORM: &str = "amount=2000&currency=jpy&automatic_payment_methods%5Benabled%5D=true\
&metadata%5Becopay_ledger%5D=demo-ledger&metadata%5Becopay_tenant%5D=demo\
&metadata%5Becopay_topup%5D=019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";

fn reply(status: u16, headers: &str, body: &str) -> Reply {
    Reply::of(status, &format!("Content-Type: application/json\r\nRequest-Id: req_1\r\n{headers}"), body)
}

fn ok(body: &Value) -> Reply {
    reply(200, "", &body.to_string())
}

fn config(base_url: &str) -> StripeConfig {
    StripeConfig {
        base_url: base_url.to_owned(),
        api_key: Masked::new(API_KEY.to_owned()),
        webhook_secrets: vec![Masked::new("whsec_Secret".to_owned())],
        account: None,
    }
}

fn base_url(server: &Server) -> String {
    format!("{}/stripe", server.origin)
}

fn stripe(server: &Server) -> Stripe {
    Stripe::new(&config(&base_url(server)), LEDGER).unwrap()
}

/// A client with a short timeout.
fn with_short_timeout(server: &Server) -> Stripe {
    let timeouts = Timeouts { whole: Duration::from_millis(100), ..Timeouts::DEFAULT };
    Stripe::with_timeouts(&config(&base_url(server)), LEDGER, timeouts).unwrap()
}

fn terms(account: Option<&str>) -> PspTerms {
    PspTerms { ledger: LEDGER.to_owned(), livemode: false, account: account.map(str::to_owned) }
}

fn topup() -> TopupId {
    TopupId::parse(TOPUP).unwrap()
}

fn create_intent(account: Option<&str>) -> (PspRequest, PspKey) {
    let amount = Amount::parse(&AssetSpec::ECOPAY, "2000").unwrap();
    let tenant = Tenant::parse("demo").unwrap();
    let request = PspRequest::create_intent(&tenant, topup(), &amount, &terms(account));
    (request, PspKey::new(topup().uuid(), Step::CreateIntent, 0))
}

async fn send(stripe: &Stripe) -> Sent {
    let (request, key) = create_intent(None);
    stripe.send(&request, &key).await
}

fn intent(id: &str, topup: &str) -> Value {
    json!({
        "id": id, "object": "payment_intent", "amount": 2000, "amount_received": 0, "currency": "jpy",
        "livemode": false, "status": "requires_payment_method", "client_secret": format!("{id}_secret_Secret"),
        "metadata": {"ecopay_ledger": LEDGER, "ecopay_tenant": "demo", "ecopay_topup": topup},
    })
}

fn refund(id: &str, refund: &str) -> Value {
    json!({
        "id": id, "object": "refund", "amount": 500, "currency": "jpy", "payment_intent": "pi_1", "status": "pending",
        "metadata": {
            "ecopay_ledger": LEDGER, "ecopay_tenant": "demo", "ecopay_topup": TOPUP, "ecopay_refund": refund,
        },
    })
}

fn list(has_more: bool, data: &[Value]) -> Reply {
    ok(&json!({"object": "list", "url": "/v1/x", "has_more": has_more, "data": data}))
}

fn search(step: Step) -> PspSearch {
    let resource = match step {
        Step::CreateIntent | Step::CancelIntent => topup().uuid(),
        Step::CreateRefund => RefundId::parse(REFUND).unwrap().uuid(),
        Step::CreatePayout => SettlementId::parse(SETTLEMENT).unwrap().uuid(),
    };
    let intent = match step {
        Step::CreateIntent | Step::CreatePayout => None,
        Step::CancelIntent | Step::CreateRefund => PspId::parse("pi_1"),
    };
    let at = |text| Timestamp::parse(text).unwrap();
    PspSearch { step, resource, intent, since: at("2026-11-21T09:30:00.900Z"), until: at("2026-11-21T10:30:00.100Z") }
}

fn unknown(resend: bool, why: &'static str) -> Sent {
    Sent::Unknown(Unknown { resend, why })
}

fn id_of(sighting: &LookupResult) -> &str {
    match sighting {
        LookupResult::Found(object) => object.id().as_str(),
        LookupResult::Absent => "absent",
        LookupResult::Unknown => "unknown",
    }
}

#[tokio::test]
async fn post_has_its_headers_and_the_form_byte_for_byte() {
    let server = Server::script([ok(&intent("pi_1", TOPUP)), ok(&intent("pi_1", TOPUP))]).await;
    let stripe = stripe(&server);
    let (request, key) = create_intent(Some("acct_1"));
    let sent = stripe.send(&request, &key).await;
    assert!(matches!(sent, Sent::Done(PspObject::Intent(intent)) if intent.tags.as_ref().unwrap().topup == topup()));
    let Sent::Done(_) = send(&stripe).await else { panic!("the connection is used again") };

    let [connected, own] = &server.seen()[..] else { panic!("two requests") };
    let (head, body) = connected.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, CREATED_FORM);
    assert_eq!(head.lines().next(), Some("POST /stripe/v1/payment_intents HTTP/1.1"));
    let version = concat!("user-agent: ecopay-ledger/", env!("CARGO_PKG_VERSION"));
    for line in [
        "authorization: Bearer sk_test_51Secret",
        "stripe-version: 2026-10-28.endive",
        "idempotency-key: ecopay-019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e-create_intent-0",
        "stripe-account: acct_1",
        "content-type: application/x-www-form-urlencoded",
        version,
    ] {
        assert_eq!(head.lines().filter(|sent| *sent == line).count(), 1, "{line} in {head}");
    }
    let (head, body) = own.split_once("\r\n\r\n").unwrap();
    assert!(!head.contains("stripe-account") && body == CREATED_FORM);
}

#[tokio::test]
async fn lookup_is_a_get_without_key_and_form() {
    let missing = r#"{"error":{"type":"invalid_request_error","code":"resource_missing","message":"No such refund"}}"#;
    let server = Server::script([ok(&intent("pi_1", TOPUP)), reply(404, "", missing), Reply::Reset]).await;
    let stripe = stripe(&server);
    let (intent, refund) = (PspId::parse("pi_1").unwrap(), PspId::parse("re_1").unwrap());
    assert_eq!(id_of(&stripe.look(PspLookup::Intent(&intent), None).await), "pi_1");
    assert_eq!(stripe.look(PspLookup::Refund(&refund), Some("acct_1")).await, LookupResult::Absent);
    assert_eq!(stripe.look(PspLookup::Refund(&refund), None).await, LookupResult::Unknown);
    let seen = server.seen();
    assert!(seen[0].starts_with("GET /stripe/v1/payment_intents/pi_1 HTTP/1.1\r\n"));
    assert!(seen[1].starts_with("GET /stripe/v1/refunds/re_1 HTTP/1.1\r\n"));
    assert!(seen[1].contains("stripe-account: acct_1\r\n") && !seen[0].contains("stripe-account"));
    for request in &seen {
        assert!(!request.contains("idempotency-key") && request.ends_with("\r\n\r\n"), "{request}");
    }
}

#[tokio::test]
async fn failed_exchange_is_unknown_and_is_sent_once() {
    let whole = match ok(&intent("pi_1", TOPUP)) {
        Reply::Bytes(bytes) => bytes,
        Reply::Cut(_) | Reply::Reset => unreachable!(),
    };
    let half = whole[..whole.len() - 10].to_vec();
    let refusal = r#"{"error":{"type":"invalid_request_error","code":"amount_too_small"}}"#;
    let cut_refusal = format!("HTTP/1.1 400 X\r\nContent-Length: {}\r\n\r\n{}", refusal.len() + 1, refusal);
    let flood = "x".repeat(BODY_BYTES_MAX + 1);
    let cases = [
        (Reply::hang(), unknown(true, "timeout")),
        (Reply::Reset, unknown(true, "connection")),
        (Reply::Cut(Vec::new()), unknown(true, "connection")),
        (Reply::Cut(b"HTTP/1.1 200 OK\r\nContent-".to_vec()), unknown(true, "connection")),
        (Reply::Cut(b"not HTTP\r\n\r\n".to_vec()), unknown(true, "connection")),
        (Reply::Cut(half.clone()), unknown(true, "cut_short")),
        (Reply::Cut(cut_refusal.into_bytes()), unknown(true, "cut_short")),
        (Reply::Bytes(half), unknown(true, "timeout")),
        (reply(200, "", &flood), unknown(true, "too_large")),
        (reply(200, "", "{}"), unknown(true, "unreadable_object")),
        (reply(500, "", "<html>"), unknown(true, "server_error")),
        (reply(302, "Location: http://127.0.0.1:1/\r\n", ""), unknown(true, "unlisted_status")),
        (reply(307, "Location: /elsewhere\r\n", ""), unknown(true, "unlisted_status")),
    ];
    for (reply, want) in cases {
        let server = Server::script([reply]).await;
        let waits = want != unknown(true, "timeout");
        let stripe = if waits { stripe(&server) } else { with_short_timeout(&server) };
        assert_eq!(send(&stripe).await, want);
        assert_eq!(server.seen().len(), 1, "{want:?}");
    }
}

#[tokio::test]
async fn refused_connection_is_unknown() {
    // Bound and not listening: another test cannot be given the port meanwhile.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let base_url = format!("http://{}", socket.local_addr().unwrap());
    let stripe = Stripe::new(&config(&base_url), LEDGER).unwrap();
    assert_eq!(send(&stripe).await, unknown(true, "connect"));
}

#[tokio::test]
async fn replay_and_retry_headers_decide_the_outcome() {
    let failure = r#"{"error":{"type":"api_error","message":"m"}}"#;
    let forbidden = r#"{"error":{"type":"invalid_request_error","code":"account_invalid","message":"m"}}"#;
    let may_pass = |burnt| {
        let outlook = Outlook::MayPass { burnt };
        Sent::Refused(PspRefusal { code: "account_invalid".to_owned(), outlook, object: None })
    };
    let cases = [
        (500, "", failure, unknown(true, "server_error")),
        (500, "Idempotent-Replayed: true\r\n", failure, unknown(false, "server_error")),
        (500, "Stripe-Should-Retry: false\r\n", failure, unknown(false, "server_error")),
        (400, "Stripe-Should-Retry: true\r\n", forbidden, unknown(true, "should_retry")),
        (403, "", forbidden, may_pass(false)),
        (403, "Idempotent-Replayed: true\r\n", forbidden, may_pass(true)),
        (403, "Idempotent-Replayed: false\r\nStripe-Should-Retry: maybe\r\n", forbidden, may_pass(false)),
    ];
    for (status, headers, body, want) in cases {
        let server = Server::script([reply(status, headers, body)]).await;
        assert_eq!(send(&stripe(&server)).await, want, "{status} {headers}");
    }
}

#[tokio::test]
async fn intents_are_looked_up_page_by_page_within_their_time() {
    let other = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d50";
    let mut a_refund_of_it = intent("pi_4", TOPUP);
    a_refund_of_it["metadata"]["ecopay_refund"] = json!(REFUND);
    let mut foreign = intent("pi_5", TOPUP);
    foreign["metadata"]["ecopay_ledger"] = json!("another");
    let server = Server::script([
        list(true, &[intent("pi_9", other), intent("pi_1", TOPUP)]),
        list(true, &[a_refund_of_it]),
        list(false, &[foreign]),
    ])
    .await;
    let found = stripe(&server).find(&search(Step::CreateIntent), Some("acct_1")).await;
    assert_eq!(id_of(&found), "pi_1");
    let first = "GET /stripe/v1/payment_intents?limit=100\
                 &created%5Bgte%5D=1795253400&created%5Blte%5D=1795257000";
    let lines: Vec<String> = server.seen().iter().map(|seen| seen.lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        lines,
        [
            format!("{first} HTTP/1.1"),
            format!("{first}&starting_after=pi_1 HTTP/1.1"),
            format!("{first}&starting_after=pi_4 HTTP/1.1"),
        ]
    );
    assert!(server.seen().iter().all(|seen| seen.contains("stripe-account: acct_1\r\n")));
}

#[tokio::test]
async fn refunds_and_cancellations_are_looked_up_by_their_intent() {
    let other = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d50";
    let server = Server::script([
        list(false, &[refund("re_2", other), refund("re_1", REFUND)]),
        list(false, &[refund("re_2", other)]),
        ok(&intent("pi_1", TOPUP)),
    ])
    .await;
    let stripe = stripe(&server);
    assert_eq!(id_of(&stripe.find(&search(Step::CreateRefund), None).await), "re_1");
    assert_eq!(stripe.find(&search(Step::CreateRefund), None).await, LookupResult::Absent);
    assert_eq!(id_of(&stripe.find(&search(Step::CancelIntent), None).await), "pi_1");
    let without = PspSearch { intent: None, ..search(Step::CreateRefund) };
    assert_eq!(stripe.find(&without, None).await, LookupResult::Unknown);
    let lines: Vec<String> = server.seen().iter().map(|seen| seen.lines().next().unwrap().to_owned()).collect();
    assert_eq!(
        lines,
        [
            "GET /stripe/v1/refunds?limit=100&payment_intent=pi_1 HTTP/1.1",
            "GET /stripe/v1/refunds?limit=100&payment_intent=pi_1 HTTP/1.1",
            "GET /stripe/v1/payment_intents/pi_1 HTTP/1.1",
        ]
    );
}

#[tokio::test]
async fn absence_is_reported_only_for_lists_read_to_their_end() {
    let other = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d50";
    let page = || list(true, &[intent("pi_9", other)]);
    let mut broken = intent("pi_8", other);
    broken["amount"] = json!(-1);
    let scripts: Vec<(&str, Vec<Reply>, &str)> = vec![
        ("nothing at all", vec![list(false, &[])], "absent"),
        ("nothing of ours", vec![page(), list(false, &[])], "absent"),
        ("the second page breaks", vec![page(), Reply::Reset], "unknown"),
        ("the second page fails", vec![page(), reply(500, "", "{}")], "unknown"),
        (
            "an error has the form of a list",
            vec![reply(500, "", r#"{"object":"list","data":[],"has_more":false}"#)],
            "unknown",
        ),
        ("an object cannot be read", vec![list(false, &[broken])], "unknown"),
        ("an empty page has more", vec![list(true, &[])], "unknown"),
        ("has_more is missing", vec![reply(200, "", r#"{"object":"list","data":[]}"#)], "unknown"),
        ("the list does not end", (0..50).map(|_| page()).collect(), "unknown"),
        ("found, but not to the end", vec![list(true, &[intent("pi_1", TOPUP)]), Reply::Reset], "unknown"),
        ("twice", vec![list(false, &[intent("pi_1", TOPUP), intent("pi_2", TOPUP)])], "unknown"),
        ("one on two pages", vec![list(true, &[intent("pi_1", TOPUP)]), list(false, &[intent("pi_1", TOPUP)])], "pi_1"),
    ];
    for (what, script, want) in scripts {
        let server = Server::script(script).await;
        assert_eq!(id_of(&stripe(&server).find(&search(Step::CreateIntent), None).await), want, "{what}");
    }
}

#[tokio::test]
async fn exchange_logs_one_line_without_secrets() {
    let (lines, guard) = Lines::capture("trace");
    // With a single subscriber, `tracing` caches whether an event is enabled on the thread that first reaches it. The
    // threads of other tests have no subscriber.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let declined = r#"{"error":{"type":"card_error","code":"card_declined","message":"Secret of Taro"}}"#;
    let replayed = "Idempotent-Replayed: true\r\n";
    let server =
        Server::script([ok(&intent("pi_1", TOPUP)), reply(402, replayed, declined), list(false, &[]), Reply::Reset])
            .await;
    let stripe = stripe(&server);
    let sent = [send(&stripe).await, send(&stripe).await];
    stripe.find(&search(Step::CreateIntent), None).await;
    send(&stripe).await;
    drop(guard);
    let text = lines.text();
    let ours: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|l: &Value| l["target"].as_str().unwrap().contains("stripe"))
        .collect();
    let logged: Vec<_> =
        ours.iter().map(|l| (&l["method"], &l["path"], &l["status"], &l["request_id"], &l["replayed"])).collect();
    let (post, get) = (json!("POST"), json!("GET"));
    let (path, id) = (json!("/v1/payment_intents"), json!("req_1"));
    assert_eq!(
        logged,
        [
            (&post, &path, &json!(200), &id, &json!(false)),
            (&post, &path, &json!(402), &id, &json!(true)),
            (&get, &path, &json!(200), &id, &json!(false)),
            (&post, &path, &Value::Null, &Value::Null, &Value::Null),
        ]
    );
    assert!(ours.iter().all(|line| line["elapsed_ms"].is_u64()));
    assert_eq!(ours[3]["why"], "connection");
    let printed = format!("{text} {stripe:?} {sent:?} {:?}", config(&base_url(&server)));
    for secret in ["Secret", "sk_test", "Taro", "2000&", "created%5B"] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }
}

#[test]
fn unsafe_base_url_and_malformed_key_are_refused() {
    for base_url in [
        "https://api.stripe.com",
        "https://api.stripe.com/",
        "http://127.0.0.1:3000/stripe",
        "http://localhost:1",
        "http://[::1]:1/a/b",
    ] {
        assert!(Stripe::new(&config(base_url), LEDGER).is_ok(), "{base_url}");
    }
    for base_url in [
        "",
        "api.stripe.com",
        "http://api.stripe.com",
        "http://127.0.0.1.example.com",
        "http://0.0.0.0",
        "ftp://127.0.0.1",
        "https://",
        "https://user:password@api.stripe.com",
        "https://api.stripe.com?x",
        "https://api.stripe.com#x",
    ] {
        assert_eq!(Stripe::new(&config(base_url), LEDGER).unwrap_err(), StripeError::BaseUrl, "{base_url}");
    }
    for key in ["", " ", "sk test", "sk\n", "sk_\u{e9}", "sk_test_1 "] {
        let config = StripeConfig { api_key: Masked::new(key.to_owned()), ..config("https://api.stripe.com") };
        assert_eq!(Stripe::new(&config, LEDGER).unwrap_err(), StripeError::ApiKey, "{key:?}");
    }
}

#[tokio::test]
async fn malformed_account_and_path_are_not_sent() {
    let server = Server::script([]).await;
    let stripe = stripe(&server);
    let (request, key) = create_intent(Some("acct\r\n1"));
    assert_eq!(stripe.send(&request, &key).await, unknown(true, "bad_account"));
    let request = PspRequest { path: "@example.com/".to_owned(), account: None, ..request };
    assert_eq!(stripe.send(&request, &key).await, unknown(true, "bad_path"));
    assert!(server.seen().is_empty());
}
