//! The gateway before functions that answer with what reached them.

use super::*;
use crate::clock;
use crate::issuer::Grant;
use axum::routing::{get, post};
use ledger_runtime::endpoint::{Endpoint, Routes};
use serde_json::{Value, json};
use tower::ServiceExt;

/// Answers with the context that a function receives.
async fn echo(request: Request) -> Response {
    let Some(context) = request.extensions().get::<GatewayContext>() else {
        return crate::problem::json_body(StatusCode::OK, &Value::Null);
    };
    let seen = json!({"claims": context.claims, "id": context.request_id});
    crate::problem::json_body(StatusCode::OK, &seen)
}

fn gateway() -> (Router, Arc<Issuer>) {
    let issuer = Arc::new(Issuer::in_memory("http://127.0.0.1:3000").unwrap());
    let faces = Router::new()
        .route("/v1/me/things/{id}", get(echo))
        .route("/v1/hidden", get(echo))
        .route("/v1/terminal/cards/{id}", get(echo))
        .route("/v1/webhooks/stripe", post(echo));
    let things = Endpoint::get("/v1/me/things/{id}").open().on(async || StatusCode::OK);
    let (_, declarations) = Routes::new().route(things).into_parts();
    let parts = Parts { faces, declarations, issuer: Arc::clone(&issuer), demo: Demo::fixed(), callbacks: Vec::new() };
    (router(parts), issuer)
}

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

async fn call(app: &Router, method: &str, path: &str, authorization: Option<&str>, body: Body) -> Reply {
    let mut request = Request::builder().method(method).uri(path);
    if let Some(value) = authorization {
        request = request.header("authorization", value);
    }
    if path.starts_with("/dev/") {
        request = request.header("content-type", "application/json");
    }
    let response = app.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Reply { status: parts.status.as_u16(), headers: parts.headers, body }
}

fn token(issuer: &Issuer) -> String {
    let grant = Grant {
        tenant: "demo".to_owned(),
        sub: "c1".to_owned(),
        face: "customer".to_owned(),
        merchant_id: None,
        roles: Some(vec!["a".to_owned(), "b".to_owned()]),
        email: None,
        email_verified: false,
    };
    format!("Bearer {}", issuer.issue(&grant, clock::epoch_s(), 60).unwrap())
}

#[tokio::test]
async fn valid_token_reaches_the_function_as_claims() {
    let (app, issuer) = gateway();
    let bearer = token(&issuer);
    for authorization in [bearer.clone(), bearer.replace("Bearer", "bearer")] {
        let reply = call(&app, "GET", "/v1/me/things/7?x=1", Some(&authorization), Body::empty()).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.body["claims"]["roles"], "[a b]");
        assert_eq!(reply.body["claims"]["sub"], "c1");
        assert_eq!(reply.body["claims"]["face"], "customer");
        assert_eq!(reply.body["id"].as_str().unwrap().len(), 16);
    }
}

#[tokio::test]
async fn request_without_a_valid_token_reaches_no_function() {
    let (app, issuer) = gateway();
    let bearer = token(&issuer);
    let short = bearer.strip_suffix(bearer.chars().last().unwrap()).unwrap();
    let bad = [None, Some(""), Some("Bearer"), Some("Bearer "), Some("Basic eDp5"), Some(short), Some("\u{e9}earer x")];
    for (path, authorization) in bad.into_iter().flat_map(|bad| [("/v1/me/things/7", bad), ("/v1/hidden", bad)]) {
        let reply = call(&app, "GET", path, authorization, Body::empty()).await;
        assert_eq!(reply.status, 401, "{authorization:?}");
        assert_eq!(reply.body["code"], "unauthenticated");
        assert!(reply.headers.contains_key("request-id"));
        assert!(reply.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    }
}

#[tokio::test]
async fn token_of_another_client_reaches_no_function() {
    let (app, issuer) = gateway();
    for client in Api::ALL {
        let grant = Grant {
            tenant: "demo".to_owned(),
            sub: "c1".to_owned(),
            face: client.name().to_owned(),
            merchant_id: None,
            roles: None,
            email: None,
            email_verified: false,
        };
        let token = issuer.issue(&grant, clock::epoch_s(), 60).unwrap();
        let reply = call(&app, "GET", "/v1/me/things/7", Some(&format!("Bearer {token}")), Body::empty()).await;
        assert_eq!(reply.status, if client == Api::Customer { 200 } else { 401 }, "{client:?}");
    }
}

#[tokio::test]
async fn sign_in_is_served_under_the_stacks_own_url() {
    let (app, issuer) = gateway();
    let document = call(&app, "GET", "/.well-known/openid-configuration", None, Body::empty()).await;
    assert_eq!(document.body["issuer"], issuer.url());
    let page = call(&app, "GET", "/oauth2/authorize", None, Body::empty()).await;
    assert_eq!((page.status, page.headers["content-type"].to_str().unwrap()), (400, "text/html; charset=utf-8"));
    let token = call(&app, "POST", "/oauth2/token", None, Body::empty()).await;
    assert_eq!((token.status, &token.body["error"]), (400, &json!("invalid_request")));
}

#[tokio::test]
async fn terminals_and_webhooks_have_no_authorizer() {
    let (app, issuer) = gateway();
    for (method, path) in [("GET", "/v1/terminal/cards/1"), ("POST", "/v1/webhooks/stripe")] {
        let reply = call(&app, method, path, Some(&token(&issuer)), Body::empty()).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.body["claims"], Value::Null);
        assert!(reply.body["id"].is_string());
    }
}

#[tokio::test]
async fn unknown_path_or_method_is_a_problem_document() {
    let (app, _) = gateway();
    for path in ["/", "/v1/nothing", "/v1/me/things", "/v1/terminal/nothing", "/dev/nothing"] {
        let reply = call(&app, "GET", path, None, Body::empty()).await;
        assert_eq!((reply.status, &reply.body["code"]), (404, &json!("not_found")), "{path}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
    }
    let others =
        [("DELETE", "/v1/me/things/7"), ("GET", "/v1/webhooks/stripe"), ("GET", "/dev/token"), ("POST", "/healthz")];
    for (method, path) in others {
        let reply = call(&app, method, path, None, Body::empty()).await;
        assert_eq!((reply.status, &reply.body["code"]), (405, &json!("method_not_allowed")), "{path}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
        assert!(reply.headers.contains_key("allow"), "{path}");
    }
}

#[tokio::test]
async fn body_above_ten_megabytes_is_refused() {
    let (app, _) = gateway();
    for (size, status) in [(BODY_BYTES_MAX, 200), (BODY_BYTES_MAX + 1, 413)] {
        let reply = call(&app, "POST", "/v1/webhooks/stripe", None, Body::from(vec![b'x'; size])).await;
        assert_eq!(reply.status, status);
    }
}

#[tokio::test]
async fn pages_of_the_stack_answer_and_tokens_are_issued() {
    let (app, issuer) = gateway();
    assert_eq!(call(&app, "GET", "/healthz", None, Body::empty()).await.body, json!({"status": "ok"}));
    let openapi = call(&app, "GET", "/openapi.json", None, Body::empty()).await.body;
    assert!(openapi["paths"]["/v1/me/things/{id}"]["get"].is_object());
    assert_eq!(call(&app, "GET", "/dev/demo", None, Body::empty()).await.body["tenant"], "demo");
    let docs = call(&app, "GET", "/docs", None, Body::empty()).await;
    assert_eq!(docs.headers["content-type"], "text/html; charset=utf-8");

    let body_json = json!({"tenant": "demo", "face": "merchant", "sub": "s", "merchant_id": "m", "roles": ["cashier"]});
    let reply = call(&app, "POST", "/dev/token", None, Body::from(body_json.to_string())).await;
    assert_eq!(reply.status, 200);
    let claims = issuer.verify(reply.body["token"].as_str().unwrap()).unwrap();
    assert_eq!(claims["merchant_id"], "m");
    assert!(reply.body["expires_at"].as_str().unwrap().ends_with('Z'));

    for bad in [
        json!({"tenant": "demo", "face": "terminal", "sub": "s"}),
        json!({"tenant": "demo", "face": "admin", "sub": "s", "exp": 1}),
        json!({"tenant": "demo", "face": "admin"}),
        json!({"tenant": "", "face": "admin", "sub": "s"}),
        json!("text"),
    ] {
        let reply = call(&app, "POST", "/dev/token", None, Body::from(bad.to_string())).await;
        assert_eq!((reply.status, &reply.body["code"]), (400, &json!("invalid_request")), "{bad}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
    }
}

/// Sends a request with these headers, and returns the reply.
async fn with(app: &Router, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body_json = json!({"tenant": "demo", "face": "admin", "sub": "s"}).to_string();
    let body = if path == "/dev/token" { Body::from(body_json) } else { Body::empty() };
    let response = app.clone().oneshot(request.body(body).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Reply { status: parts.status.as_u16(), headers: parts.headers, body }
}

#[tokio::test]
async fn controls_take_json_from_this_machine_only() {
    let (app, _) = gateway();
    let json = ("content-type", "application/json");
    for own in [
        vec![json],
        vec![("content-type", "Application/JSON; charset=utf-8")],
        vec![json, ("origin", "http://localhost:5173"), ("sec-fetch-site", "same-site")],
        vec![json, ("origin", "http://127.0.0.1:3000"), ("sec-fetch-site", "same-origin")],
    ] {
        assert_eq!(with(&app, "POST", "/dev/token", &own).await.status, 200, "{own:?}");
    }
    for other in [
        vec![],
        vec![("content-type", "text/plain")],
        vec![("content-type", "application/x-www-form-urlencoded")],
        vec![json, ("content-type", "text/plain")],
    ] {
        let reply = with(&app, "POST", "/dev/token", &other).await;
        assert_eq!((reply.status, &reply.body["code"]), (415, &json!("unsupported_media_type")), "{other:?}");
        assert_eq!(reply.body["token"], Value::Null);
    }
    for foreign in [
        vec![json, ("origin", "http://evil.example")],
        vec![json, ("origin", "http://localhost.evil.example:3000")],
        vec![json, ("origin", "null")],
        vec![json, ("sec-fetch-site", "cross-site")],
        vec![json, ("origin", "http://localhost:5173"), ("sec-fetch-site", "cross-site")],
    ] {
        let reply = with(&app, "POST", "/dev/token", &foreign).await;
        assert_eq!((reply.status, &reply.body["code"]), (403, &json!("foreign_origin")), "{foreign:?}");
        assert_eq!(reply.body["token"], Value::Null);
    }
    let faults = with(&app, "DELETE", "/dev/stripe/faults", &[("origin", "http://evil.example")]).await;
    assert_eq!(faults.status, 403);
}

#[tokio::test]
async fn preflights_are_answered_and_answers_shared_with_pages_of_this_machine() {
    let (app, issuer) = gateway();
    let preflight = |origin| {
        let headers = "authorization,content-digest,signature,signature-input,idempotency-key";
        [("origin", origin), ("access-control-request-method", "POST"), ("access-control-request-headers", headers)]
    };
    let page = "http://localhost:5173";
    for path in ["/v1/me/things/7", "/v1/terminal/cards/1", "/v1/webhooks/stripe", "/v1/nothing"] {
        let reply = with(&app, "OPTIONS", path, &preflight(page)).await;
        let header = |name: &str| reply.headers[name].to_str().unwrap().to_owned();
        assert_eq!(reply.status, 204, "{path}");
        assert_eq!(header("access-control-allow-origin"), page);
        assert_eq!(header("access-control-allow-methods"), "GET,PATCH,POST,PUT");
        assert_eq!(
            header("access-control-allow-headers"),
            "authorization,content-digest,content-type,idempotency-key,signature,signature-input"
        );
        assert_eq!(header("access-control-max-age"), "600");
        assert!(!reply.headers.contains_key("access-control-allow-credentials"));

        let foreign = with(&app, "OPTIONS", path, &preflight("http://evil.example")).await;
        assert_eq!((foreign.status, foreign.headers.get("access-control-allow-origin")), (204, None), "{path}");
    }
    let bearer = token(&issuer);
    for (authorization, status) in [(bearer.as_str(), 200), ("Bearer x", 401)] {
        let headers = [("origin", page), ("authorization", authorization)];
        let reply = with(&app, "GET", "/v1/me/things/7", &headers).await;
        assert_eq!((reply.status, reply.headers["access-control-allow-origin"].to_str().unwrap()), (status, page));
        assert_eq!(
            reply.headers["access-control-expose-headers"],
            "idempotent-replayed,location,request-id,retry-after"
        );
    }
    let foreign = [("origin", "http://evil.example"), ("authorization", bearer.as_str())];
    let reply = with(&app, "GET", "/v1/me/things/7", &foreign).await;
    assert_eq!((reply.status, reply.headers.get("access-control-allow-origin")), (200, None));
    // Not a preflight: it has no `Access-Control-Request-Method`.
    assert_eq!(with(&app, "OPTIONS", "/v1/me/things/7", &[]).await.status, 405);
}
