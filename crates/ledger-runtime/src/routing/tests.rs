//! A small function over a scripted store: tests the layers from the router to the response.

use super::*;
use crate::callers::VIEWER_ADDRESS;
use crate::config::Config;
use crate::execute::Outcome;
use crate::gateway::GatewayContext;
use crate::identity::{Caller, Customer};
use crate::logging::tests::Lines;
use crate::metrics::{Counting, Metric};
use crate::pseudonym::SourceAddress;
use crate::request::{AmountText, KeyedJson, Page, PathId};
use crate::testing::{Step, Store, answer, terms, transfer};
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::{Request, header};
use http_body_util::BodyExt;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::PaymentId;
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::personal::Masked;
use serde::Deserialize;
use serde_json::{Value, json};
use tower::Service;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Send {
    amount: AmountText,
}

async fn send(
    State(app): State<App>,
    customer: Customer,
    KeyedJson(key, body): KeyedJson<Send>,
) -> Result<Outcome, Problem> {
    app.terms(customer.tenant()).await?;
    let amount = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let request = CanonicalRequest {
        method: "POST",
        path: "/v1/me/transfers".to_owned(),
        fields: Fields::new().with_amount("amount", &amount),
    };
    let (claim, admission) = app.claim(&customer, Operation::Transfer, key, request).await?;
    let plan = |cx| std::future::ready(transfer(&amount.text(), cx));
    Ok(app.ledger().perform(claim, admission, plan, answer).await)
}

async fn panicking_handler() -> String {
    panic!("Hanako 090-1234-5678")
}

async fn list(_: Customer, page: Page) -> String {
    page.limit.to_string()
}

async fn show(_: Customer, PathId(id): PathId<PaymentId>) -> String {
    id.to_string()
}

fn router(store: &Store) -> (Router, Counting) {
    router_of(store, Config::of_table("ledger"))
}

fn router_of(store: &Store, config: Config) -> (Router, Counting) {
    let (ledger, counting) = store.ledger();
    let app = App::new(ledger, config);
    let routes = Router::new()
        .route("/v1/me/transfers", post(send).get(list))
        .route("/v1/me/payments/{id}", get(show).put(panicking_handler));
    (finish(routes, app), counting)
}

fn signed_in(mut request: Request<Body>) -> Request<Body> {
    let claims = [("tenant", "demo"), ("sub", "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5a"), ("face", "customer")];
    let claims = claims.map(|(name, value)| (name.to_owned(), value.to_owned()));
    request.extensions_mut().insert(GatewayContext { claims: Some(claims.into()), ..GatewayContext::default() });
    request
}

fn post_json(body: &str) -> Request<Body> {
    let request = Request::post("/v1/me/transfers").header(header::CONTENT_TYPE, "application/json");
    signed_in(request.header("idempotency-key", "k-1").body(Body::from(body.to_owned())).unwrap())
}

async fn call(router: &mut Router, request: Request<Body>) -> (u16, Value, Response<()>) {
    let (parts, body) = router.call(request).await.unwrap().into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
    (parts.status.as_u16(), body, Response::from_parts(parts, ()))
}

#[tokio::test(start_paused = true)]
async fn request_with_warm_caches_takes_one_store_call() {
    let store = Store::script([terms("mandatory"), Step::Ok(json!({})), Step::Ok(json!({}))]);
    let (mut router, counting) = router(&store);
    for _ in 0..2 {
        let (status, body, _) = call(&mut router, post_json(r#"{"amount":"100"}"#)).await;
        assert_eq!(status, 201, "{body}");
    }
    let targets: Vec<String> = store.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, ["GetItem", "TransactWriteItems", "TransactWriteItems"]);
    assert_eq!(counting.total(Metric::KeyedRequest), 2);
}

#[tokio::test(start_paused = true)]
async fn every_response_has_the_security_headers() {
    let (mut router, _) = router(&Store::script([terms("mandatory"), Step::Ok(json!({}))]));
    let panics = signed_in(Request::put("/v1/me/payments/x").body(Body::empty()).unwrap());
    let unknown = Request::get("/v1/unknown").body(Body::empty()).unwrap();
    let anonymous = Request::get("/v1/me/transfers").body(Body::empty()).unwrap();
    for (request, want) in [(post_json(r#"{"amount":"100"}"#), 201), (panics, 500), (unknown, 404), (anonymous, 401)] {
        let (status, body, response) = call(&mut router, request).await;
        assert_eq!(status, want, "{body}");
        for (name, value) in SECURITY_HEADERS {
            let values: Vec<_> = response.headers().get_all(&name).iter().collect();
            assert_eq!(values, [value], "{status} {name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn missing_key_is_refused_unless_keys_are_optional() {
    for (phase, want) in [("mandatory", 400), ("optional", 201)] {
        let steps = [terms(phase)].into_iter().chain((want == 201).then(|| Step::Ok(json!({}))));
        let (mut router, counting) = router(&Store::script(steps));
        let mut request = post_json(r#"{"amount":100}"#);
        request.headers_mut().remove("idempotency-key");
        let (status, body, _) = call(&mut router, request).await;
        assert_eq!(status, want, "{body}");
        assert_eq!(counting.total(Metric::IdempotencyKeyMissing), 1);
        if want == 400 {
            assert_eq!(body["code"], "idempotency_key_missing");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_a_problem_document_and_never_a_500() {
    let store = Store::script([terms("mandatory")]);
    let (mut router, _) = router(&store);
    let cases = [
        (r#"{"amount":"1e5"}"#, 400, "invalid_request"),
        (r#"{"amount":-5}"#, 400, "invalid_request"),
        (r#"{"amount":1.5}"#, 400, "invalid_request"),
        (r#"{"amount":null}"#, 400, "invalid_request"),
        (r#"{"amount":"1","x":1}"#, 400, "invalid_request"),
        (r#"{"amount":"1","idempotencyKey":"other"}"#, 400, "idempotency_key_invalid"),
        ("[1", 400, "invalid_request"),
        ("", 400, "invalid_request"),
    ];
    for (body, status, code) in cases {
        let (got, problem, response) = call(&mut router, post_json(body)).await;
        assert_eq!((got, &problem["code"]), (status, &code.into()), "{body}: {problem}");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    }
    let mut form = post_json("amount=1");
    form.headers_mut().insert(header::CONTENT_TYPE, "application/x-www-form-urlencoded".parse().unwrap());
    assert_eq!(call(&mut router, form).await.0, 415);
    assert_eq!(call(&mut router, post_json(&" ".repeat(70_000))).await.0, 413);
    assert_eq!(store.seen().len(), 1, "only the configuration was read");
}

#[tokio::test]
async fn unknown_paths_methods_and_parameters_are_refused() {
    // From the second request of a window on, the tenant's rate must be known.
    let (mut router, _) = router(&Store::script([terms("mandatory")]));
    let get = |path: &str| {
        let request = signed_in(Request::get(path).body(Body::empty()).unwrap());
        let mut router = router.clone();
        async move { call(&mut router, request).await }
    };
    assert_eq!(get("/v1/me/transfers?limit=7").await.1, 7);
    assert_eq!(get("/v1/me/transfers?offset=7").await.1["detail"], "offset: is not a query parameter of this request");
    for path in ["/nowhere", "/v1/me/payments/42", "/v1/me/payments/%ff"] {
        let (status, body, _) = get(path).await;
        assert_eq!((status, &body["code"]), (404, &"not_found".into()), "{path}");
    }
    let delete = Request::delete("/v1/me/transfers").body(Body::empty()).unwrap();
    let (status, body, response) = call(&mut router, delete).await;
    assert_eq!((status, &body["code"]), (405, &"method_not_allowed".into()));
    let allow = response.headers()[header::ALLOW].to_str().unwrap();
    assert!(allow.contains("POST") && allow.contains("GET"), "{allow}");
}

/// The scripted store has no answers: reading a tenant's rate would fail the test.
#[tokio::test]
async fn unknown_path_or_method_is_not_counted_to_a_tenant() {
    let store = Store::default();
    let (mut router, _) = router(&store);
    for (path, method, status) in [("/nowhere", "GET", 404), ("/v1/me/transfers", "DELETE", 405)] {
        for _ in 0..3 {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            assert_eq!(call(&mut router, signed_in(request)).await.0, status, "{path}");
        }
    }
    assert!(store.seen().is_empty());
}

#[tokio::test]
async fn request_without_claims_is_unauthenticated() {
    let (mut router, _) = router(&Store::default());
    let request = Request::post("/v1/me/transfers").body(Body::from("{")).unwrap();
    let (status, body, response) = call(&mut router, request).await;
    assert_eq!((status, &body["code"]), (401, &"unauthenticated".into()));
    assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer");
}

#[tokio::test(start_paused = true)]
async fn unavailable_store_is_counted_once() {
    let (mut router, counting) = router(&Store::script(vec![Step::Hang; 4]));
    let (status, _, response) = call(&mut router, post_json(r#"{"amount":"100"}"#)).await;
    assert_eq!((status, counting.total(Metric::FailClosed)), (503, 1));
    assert_eq!(response.headers()[header::RETRY_AFTER], "2");

    let steps = [terms("mandatory")].into_iter().chain(vec![Step::Hang; 4]);
    let (mut router, counting) = self::router(&Store::script(steps));
    let (status, body, _) = call(&mut router, post_json(r#"{"amount":"100"}"#)).await;
    assert_eq!((status, &body["code"], counting.total(Metric::FailClosed)), (503, &"outcome_unknown".into(), 1));
}

#[tokio::test(start_paused = true)]
async fn log_line_has_no_personal_data() {
    let (lines, guard) = Lines::capture("trace");
    let store = Store::script([terms("mandatory"), Step::Ok(json!({}))]);
    let (mut router, _) = router(&store);
    call(&mut router, post_json(r#"{"amount":"100"}"#)).await;
    let shown = signed_in(Request::get("/v1/me/payments/not-an-id?x=secret").body(Body::empty()).unwrap());
    call(&mut router, shown).await;
    drop(guard);
    let text = lines.text();
    let logged: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<&Value> = logged.iter().filter(|line| line["message"] == "request").collect();
    assert_eq!(requests.len(), 2, "{text}");
    let first = requests[0];
    assert_eq!((&first["path"], &first["status"]), (&"/v1/me/transfers".into(), &201.into()));
    assert_eq!((&first["tenant"], &first["operation"]), (&"demo".into(), &"transfer".into()));
    assert_eq!((&first["replayed"], first["latency_ms"].is_u64()), (&false.into(), true));
    assert_eq!(requests[1]["path"], "/v1/me/payments/{id}");
    assert_eq!((&requests[1]["code"], &requests[1]["status"]), (&"not_found".into(), &404.into()));
    for private in ["019389d2", "k-1", "not-an-id", "secret", "ClientRequestToken"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn log_line_names_caller_and_source_by_pseudonyms_of_the_key() {
    let (lines, guard) = Lines::capture("trace");
    for key in ["one", "one", "another"] {
        let mut config = Config::of_table("ledger");
        config.callers.log_key = Some(Masked::new(key.to_owned()));
        let (mut router, _) = router_of(&Store::script([terms("mandatory"), Step::Ok(json!({}))]), config);
        let mut request = post_json(r#"{"amount":"100"}"#);
        let context = request.extensions_mut().get_mut::<GatewayContext>().unwrap();
        context.peer = SourceAddress::parse("192.0.2.77");
        request.headers_mut().insert(VIEWER_ADDRESS, "198.51.100.7:443".parse().unwrap());
        request.headers_mut().insert("x-forwarded-for", "198.51.100.8".parse().unwrap());
        assert_eq!(call(&mut router, request).await.0, 201);
    }
    drop(guard);
    let text = lines.text();
    let logged: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let requests: Vec<&Value> = logged.iter().filter(|line| line["message"] == "request").collect();
    for name in ["actor", "source"] {
        let names = requests.iter().map(|line| line[name].as_str().unwrap()).collect::<Vec<_>>();
        assert!(names.iter().all(|name| name.len() == 16 && name.bytes().all(|b| b.is_ascii_hexdigit())), "{names:?}");
        assert!(names[0] == names[1] && names[1] != names[2], "{names:?}");
    }
    for private in ["192.0.2", "198.51.100", "019389d2-7c1e-7a52-9c3f"] {
        assert!(!text.contains(private), "{private}: {text}");
    }
}

#[tokio::test]
async fn panic_is_a_500_without_its_message() {
    let (lines, guard) = Lines::capture("info");
    let (mut router, counting) = router(&Store::script([]));
    let request = Request::put("/v1/me/payments/1").body(Body::empty()).unwrap();
    let response = router.call(request).await.unwrap();
    assert_eq!(response.status(), 500);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    drop(guard);
    assert_eq!(body, Problem::internal().body());
    assert!(lines.text().contains("\"status\":500") && !lines.text().contains("Hanako"), "{}", lines.text());
    assert_eq!(counting.total(Metric::Broken), 1);
}
