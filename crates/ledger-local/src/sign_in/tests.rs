//! The flow over HTTP, as a client sees it.

use super::*;
use crate::demo::Demo;
use crate::issuer::{Api, Issuer};
use axum::body::Body;
use axum::extract::Request;
use http::HeaderMap;
use serde_json::Value;
use std::collections::BTreeMap;
use tower::ServiceExt;

const URL: &str = "http://127.0.0.1:3000";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const STAFF: &str = "01890a5d-ac96-774b-bcce-b302099a8041";
const APP: &str = "com.example.pay:/signed-in?from=app";

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

struct Client {
    app: Router,
    issuer: Arc<Issuer>,
}

type Pairs<'a> = &'a [(&'a str, &'a str)];

fn encoded(pairs: Pairs<'_>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The pairs of a list with one of them changed; an empty value leaves it out.
fn with<'a>(pairs: Pairs<'a>, name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut all: Vec<_> = pairs.iter().copied().filter(|(other, _)| *other != name).collect();
    if !value.is_empty() {
        all.push((name, value));
    }
    all
}

const ASKED: [(&str, &str); 8] = [
    ("response_type", "code"),
    ("client_id", "admin"),
    ("redirect_uri", SHELL_CALLBACK),
    ("scope", "openid email"),
    ("state", "s&s"),
    ("nonce", "n"),
    ("code_challenge", CHALLENGE),
    ("code_challenge_method", "S256"),
];
const PERSON: [(&str, &str); 3] = [("tenant", "demo"), ("sub", STAFF), ("email", "hanako@example.com")];

impl Client {
    fn new() -> Self {
        let issuer = Arc::new(Issuer::in_memory(URL).unwrap());
        let provider = Provider::new(Arc::clone(&issuer), Demo::fixed(), vec![APP.to_owned()]);
        Self { app: router(Arc::new(provider)), issuer }
    }

    async fn send(&self, request: http::request::Builder, body: String) -> Reply {
        let request: Request = request.body(Body::from(body)).unwrap();
        let response = self.app.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(Request::builder().uri(path), String::new()).await
    }

    async fn post(&self, path: &str, form: Pairs<'_>) -> Reply {
        let request = Request::builder().method("POST").uri(path);
        self.send(request.header("content-type", "application/x-www-form-urlencoded"), encoded(form)).await
    }

    /// The query of the redirect after the form was sent.
    async fn redirect(&self, asked: Pairs<'_>, person: Pairs<'_>) -> BTreeMap<String, String> {
        let request = encoded(asked);
        let mut form = vec![("request", request.as_str())];
        form.extend(person);
        let reply = self.post("/oauth2/authorize", &form).await;
        assert_eq!((reply.status, &reply.headers["cache-control"]), (303, &"no-store".parse().unwrap()));
        let location = reply.headers["location"].to_str().unwrap();
        let query = location.strip_prefix(SHELL_CALLBACK).and_then(|rest| rest.strip_prefix('?'));
        form_urlencoded::parse(query.unwrap_or_else(|| panic!("{location}")).as_bytes()).into_owned().collect()
    }

    async fn code(&self) -> String {
        self.redirect(&ASKED, &PERSON).await.remove("code").unwrap()
    }

    /// The tokens of a sign-in.
    async fn tokens(&self) -> Value {
        let reply = self.post("/oauth2/token", &redemption(&self.code().await)).await;
        assert_eq!((reply.status, &reply.headers["cache-control"]), (200, &"no-store".parse().unwrap()));
        reply.body
    }

    /// The error of a request to an endpoint that clients call directly.
    async fn refusal(&self, path: &str, form: Pairs<'_>) -> String {
        let reply = self.post(path, form).await;
        assert_eq!((reply.status, &reply.headers["cache-control"]), (400, &"no-store".parse().unwrap()), "{form:?}");
        reply.body["error"].as_str().unwrap().to_owned()
    }

    async fn user(&self, token: &str) -> Reply {
        let request = Request::builder().uri("/oauth2/userInfo").header("authorization", format!("Bearer {token}"));
        self.send(request, String::new()).await
    }
}

fn redemption(code: &str) -> [(&str, &str); 5] {
    [
        ("grant_type", "authorization_code"),
        ("client_id", "admin"),
        ("redirect_uri", SHELL_CALLBACK),
        ("code", code),
        ("code_verifier", VERIFIER),
    ]
}

fn refreshing(token: &str) -> [(&str, &str); 3] {
    [("grant_type", "refresh_token"), ("client_id", "admin"), ("refresh_token", token)]
}

fn text<'a>(body: &'a Value, name: &str) -> &'a str {
    body[name].as_str().unwrap_or_else(|| panic!("no {name} in {body}"))
}

#[tokio::test]
async fn endpoints_of_the_document_answer_and_its_keys_verify_the_tokens() {
    let client = Client::new();
    let document = client.get(DISCOVERY).await.body;
    assert_eq!(document["issuer"], URL);
    for name in ["authorization_endpoint", "token_endpoint", "revocation_endpoint", "userinfo_endpoint", "jwks_uri"] {
        let path = text(&document, name).strip_prefix(URL).unwrap();
        assert_ne!(client.get(path).await.status, 404, "{name}");
    }
    let tokens = client.tokens().await;
    let keys: jsonwebtoken::jwk::JwkSet =
        serde_json::from_value(client.get("/.well-known/jwks.json").await.body).unwrap();
    for name in ["access_token", "id_token"] {
        let token = text(&tokens, name);
        let header = jsonwebtoken::decode_header(token).unwrap();
        let key = jsonwebtoken::DecodingKey::from_jwk(keys.find(&header.kid.unwrap()).unwrap()).unwrap();
        let mut validation = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::ES256);
        validation.set_issuer(&[URL]);
        validation.set_audience(&["admin"]);
        let claims = jsonwebtoken::decode::<Value>(token, &key, &validation).unwrap().claims;
        assert_eq!((&claims["sub"], &claims["token_use"]), (&json!(STAFF), &json!(name.trim_end_matches("_token"))));
        if name == "id_token" {
            assert_eq!((&claims["nonce"], &claims["email"]), (&json!("n"), &json!("hanako@example.com")));
            assert!(claims.get("tenant").is_none(), "no function takes an ID token");
        } else {
            assert_eq!((&claims["tenant"], &claims["client_id"]), (&json!("demo"), &json!("admin")));
            assert!(claims.get("face").is_none(), "the API is the client's");
            assert_eq!((&claims["email"], &claims["email_verified"]), (&json!("hanako@example.com"), &json!(true)));
        }
    }
}

#[tokio::test]
async fn request_without_a_registered_client_and_uri_is_not_redirected() {
    let client = Client::new();
    for bad in [
        with(&ASKED, "client_id", "other"),
        with(&ASKED, "client_id", ""),
        with(&ASKED, "redirect_uri", ""),
        with(&ASKED, "redirect_uri", "http://localhost:8976/callback/"),
        with(&ASKED, "redirect_uri", "http://localhost:8976/callback?x=1"),
        with(&ASKED, "redirect_uri", "http://localhost:8977/callback"),
        with(&ASKED, "redirect_uri", "http://LOCALHOST:8976/callback"),
        with(&ASKED, "redirect_uri", "http://evil.example/callback"),
        [&ASKED[..], &[("redirect_uri", "http://evil.example/")]].concat(),
    ] {
        let request = encoded(&bad);
        for reply in [
            client.get(&format!("/oauth2/authorize?{request}")).await,
            client.post("/oauth2/authorize", &[&[("request", request.as_str())], &PERSON[..]].concat()).await,
        ] {
            assert_eq!((reply.status, reply.headers.get("location")), (400, None), "{bad:?}");
        }
    }
    let app = encoded(&with(&ASKED, "redirect_uri", APP));
    let reply = client.post("/oauth2/authorize", &[&[("request", app.as_str())], &PERSON[..]].concat()).await;
    assert!(reply.headers["location"].to_str().unwrap().starts_with(&format!("{APP}&code=")), "{:?}", reply.headers);
}

#[tokio::test]
async fn fault_of_a_registered_client_is_redirected_with_its_state() {
    let client = Client::new();
    assert_eq!(client.get(&format!("/oauth2/authorize?{}", encoded(&ASKED))).await.status, 200);
    for (name, value, error) in [
        ("response_type", "token", "unsupported_response_type"),
        ("response_type", "code id_token", "unsupported_response_type"),
        ("response_type", "", "unsupported_response_type"),
        ("response_mode", "fragment", "invalid_request"),
        ("scope", "openid root", "invalid_scope"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("request_uri", "http://evil.example/r", "invalid_request"),
        ("prompt", "none", "login_required"),
    ] {
        let asked = with(&ASKED, name, value);
        let reply = client.get(&format!("/oauth2/authorize?{}", encoded(&asked))).await;
        let location = reply.headers["location"].to_str().unwrap();
        assert!(location.starts_with(&format!("{SHELL_CALLBACK}?error={error}&")), "{name}: {location}");
        assert!(location.ends_with("&state=s%26s"), "{location}");
        assert_eq!(client.redirect(&asked, &PERSON).await["error"], error);
    }
    let cancelled = [&PERSON[..], &[("decision", "cancel")]].concat();
    assert_eq!(client.redirect(&ASKED, &cancelled).await["error"], "access_denied");
}

#[tokio::test]
async fn form_with_a_malformed_person_is_shown_again_and_of_another_site_refused() {
    let client = Client::new();
    let request = encoded(&ASKED);
    for (name, value) in [("tenant", "a#b"), ("tenant", ""), ("sub", "me"), ("sub", "")] {
        let form = [&[("request", request.as_str())], &with(&PERSON, name, value)[..]].concat();
        let reply = client.post("/oauth2/authorize", &form).await;
        assert_eq!((reply.status, reply.headers.get("location")), (400, None), "{name}={value}");
    }
    let merchant = encoded(&with(&ASKED, "client_id", "merchant"));
    let form = [&[("request", merchant.as_str())], &PERSON[..]].concat();
    assert_eq!(client.post("/oauth2/authorize", &form).await.status, 400, "a merchant's staff names the merchant");
    let foreign = Request::builder().method("POST").uri("/oauth2/authorize").header("origin", "http://evil.example");
    let foreign = foreign.header("content-type", "application/x-www-form-urlencoded");
    let form = [&[("request", request.as_str())], &PERSON[..]].concat();
    let reply = client.send(foreign, encoded(&form)).await;
    assert_eq!((reply.status, reply.headers.get("location")), (403, None));
}

#[tokio::test]
async fn wrong_redemption_gives_no_token() {
    let client = Client::new();
    let code = client.code().await;
    let good = redemption(&code);
    // These do not use up the code: they are refused before it is looked up.
    for (name, value, error) in [
        ("grant_type", "", "invalid_request"),
        ("grant_type", "password", "unsupported_grant_type"),
        ("client_id", "", "invalid_client"),
        ("client_id", "other", "invalid_client"),
        ("client_secret", "x", "invalid_client"),
        ("redirect_uri", "", "invalid_request"),
        ("code", "", "invalid_request"),
        ("code", "other", "invalid_grant"),
        ("code_verifier", "", "invalid_request"),
        ("code_verifier", "short", "invalid_request"),
    ] {
        assert_eq!(client.refusal("/oauth2/token", &with(&good, name, value)).await, error, "{name}={value}");
    }
    let repeated = [&good[..], &[("code", "x")]].concat();
    assert_eq!(client.refusal("/oauth2/token", &repeated).await, "invalid_request");
    let json = Request::builder().method("POST").uri("/oauth2/token").header("content-type", "application/json");
    assert_eq!(client.send(json, "{}".to_owned()).await.body["error"], "invalid_request");
    assert_eq!(client.post("/oauth2/token", &good).await.status, 200);
    for (name, value) in [
        ("client_id", "merchant"),
        ("redirect_uri", "http://localhost:8976/callback/"),
        ("redirect_uri", APP),
        ("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK"),
    ] {
        let code = client.code().await;
        let good = redemption(&code);
        let bad = with(&good, name, value);
        assert_eq!(client.refusal("/oauth2/token", &bad).await, "invalid_grant", "{name}={value}");
        assert_eq!(client.refusal("/oauth2/token", &good).await, "invalid_grant", "{name}: used up");
    }
}

#[tokio::test]
async fn second_use_of_a_code_revokes_what_the_first_gave() {
    let client = Client::new();
    let code = client.code().await;
    let tokens = client.post("/oauth2/token", &redemption(&code)).await.body;
    assert_eq!(client.user(text(&tokens, "access_token")).await.status, 200);
    assert_eq!(client.refusal("/oauth2/token", &redemption(&code)).await, "invalid_grant");
    assert_eq!(client.refusal("/oauth2/token", &refreshing(text(&tokens, "refresh_token"))).await, "invalid_grant");
    assert_eq!(client.user(text(&tokens, "access_token")).await.status, 401);
}

#[tokio::test]
async fn refresh_token_is_good_once_and_its_reuse_ends_the_sign_in() {
    let client = Client::new();
    let first = client.tokens().await;
    let second = client.post("/oauth2/token", &refreshing(text(&first, "refresh_token"))).await.body;
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    let claims = client.issuer.verify_for(Api::Admin, text(&second, "access_token")).unwrap();
    assert_eq!((claims["sub"].as_str(), claims["tenant"].as_str()), (STAFF, "demo"));
    assert_eq!(client.refusal("/oauth2/token", &refreshing(text(&first, "refresh_token"))).await, "invalid_grant");
    assert_eq!(client.refusal("/oauth2/token", &refreshing(text(&second, "refresh_token"))).await, "invalid_grant");
}

#[tokio::test]
async fn revoked_sign_in_has_no_more_tokens_and_no_user_info() {
    let client = Client::new();
    let tokens = client.tokens().await;
    let (access, refresh) = (text(&tokens, "access_token"), text(&tokens, "refresh_token"));
    assert_eq!(client.user(access).await.body, json!({"sub": STAFF, "email": "hanako@example.com"}));
    assert_eq!(client.user(text(&tokens, "id_token")).await.status, 401, "an ID token is no access token");
    let revocation = [("client_id", "admin"), ("token", refresh)];
    assert_eq!(client.refusal("/oauth2/revoke", &with(&revocation, "token", access)).await, "unsupported_token_type");
    assert_eq!(
        client.refusal("/oauth2/revoke", &with(&revocation, "client_id", "customer")).await,
        "unauthorized_client"
    );
    assert_eq!(client.post("/oauth2/revoke", &with(&revocation, "token", "unknown")).await.status, 200);
    assert_eq!(client.user(access).await.status, 200, "nothing is revoked yet");
    for _ in 0..2 {
        assert_eq!(client.post("/oauth2/revoke", &revocation).await.status, 200);
    }
    assert_eq!(client.refusal("/oauth2/token", &refreshing(refresh)).await, "invalid_grant");
    let user = client.user(access).await;
    assert_eq!(
        (user.status, &user.headers["www-authenticate"]),
        (401, &"Bearer error=\"invalid_token\"".parse().unwrap())
    );
}
