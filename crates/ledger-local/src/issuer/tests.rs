//! Tokens that are refused, and in which form the others reach a function.

use super::*;
use crate::testing::TempDir;
use serde_json::json;

const URL: &str = "http://127.0.0.1:3000";

fn grant() -> Grant {
    Grant {
        tenant: "demo".to_owned(),
        sub: "s1".to_owned(),
        face: "merchant".to_owned(),
        merchant_id: Some("m1".to_owned()),
        roles: Some(vec!["cashier".to_owned(), "manager".to_owned()]),
        email: None,
        email_verified: false,
    }
}

fn signed(issuer: &Issuer, body: &Value) -> String {
    issuer.sign(body).unwrap()
}

#[test]
fn claims_are_returned_as_api_gateway_passes_them() {
    let issuer = Issuer::in_memory(URL).unwrap();
    let now = clock::epoch_s();
    let claims = issuer.verify(&issuer.issue(&grant(), now, 60).unwrap()).unwrap();
    let claim = |name: &str| claims.get(name).cloned();
    assert_eq!(claim("roles").as_deref(), Some("[cashier manager]"));
    assert_eq!(claim("tenant").as_deref(), Some("demo"));
    assert_eq!(claim("merchant_id").as_deref(), Some("m1"));
    assert_eq!((claim("client_id").as_deref(), claim("face")), (Some("merchant"), None), "the API is the client's");
    assert_eq!(claim("iat"), Some(now.to_string()));
    assert_eq!(claim("iss").as_deref(), Some(URL));
    let plain = Grant { merchant_id: None, roles: None, ..grant() };
    let claims = issuer.verify(&issuer.issue(&plain, now, 60).unwrap()).unwrap();
    for absent in ["roles", "merchant_id", "email", "email_verified"] {
        assert!(!claims.contains_key(absent), "{absent}");
    }
    let with_email = plain.with_email(Some("hanako@example.com".to_owned()));
    let claims = issuer.verify(&issuer.issue(&with_email, now, 60).unwrap()).unwrap();
    let claim = |name: &str| claims.get(name).map(String::as_str);
    assert_eq!((claim("email"), claim("email_verified")), (Some("hanako@example.com"), Some("true")));
}

#[test]
fn wrong_tokens_are_refused() {
    let issuer = Issuer::in_memory(URL).unwrap();
    let now = clock::epoch_s();
    let good = json!({"iss": URL, "client_id": "merchant", "iat": now, "exp": now + 60, "sub": "s"});
    assert!(issuer.verify(&signed(&issuer, &good)).is_ok());
    for (name, value) in [
        ("iss", json!("https://else.example")),
        ("exp", json!(now - 1)),
        ("iat", json!(now + 60)),
        ("nbf", json!(now + 60)),
        ("exp", Value::Null),
        ("sub", Value::Null),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert!(issuer.verify(&signed(&issuer, &bad)).is_err(), "{bad}");
    }
    let other = Issuer::in_memory(URL).unwrap();
    assert!(issuer.verify(&other.issue(&grant(), now, 60).unwrap()).is_err());
    let hmac = EncodingKey::from_secret(b"secret");
    let forged = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &good, &hmac).unwrap();
    assert!(issuer.verify(&forged).is_err());
    for garbage in ["", ".", "..", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzIn0."] {
        assert!(issuer.verify(garbage).is_err());
    }
}

#[test]
fn token_is_valid_after_a_restart() {
    let dir = TempDir::make();
    let token = Issuer::in_directory(URL, dir.path()).unwrap().issue(&grant(), clock::epoch_s(), 60).unwrap();
    assert!(Issuer::in_directory(URL, dir.path()).unwrap().verify(&token).is_ok());
    std::fs::write(dir.path().join(KEY_FILE), "garbage").unwrap();
    assert!(matches!(Issuer::in_directory(URL, dir.path()), Err(IssuerError::KeyFormat(_))));
}

#[test]
fn token_is_accepted_by_the_api_of_its_client_alone() {
    let issuer = Issuer::in_memory(URL).unwrap();
    let now = clock::epoch_s();
    let accepted =
        |token: &str| Api::ALL.into_iter().filter(|api| issuer.verify_for(*api, token).is_ok()).collect::<Vec<_>>();
    assert_eq!(accepted(&issuer.issue(&grant(), now, 60).unwrap()), [Api::Merchant]);
    for (claims, apis) in [
        (json!({"aud": "customer"}), vec![Api::Customer]),
        (json!({"aud": "customer", "client_id": "admin"}), vec![Api::Customer]),
        (json!({"aud": ["other", "customer"]}), vec![Api::Customer]),
        (json!({"aud": [], "client_id": "admin"}), vec![]),
        (json!({"client_id": "other"}), vec![]),
        (json!({"client_id": "customer", "face": "admin"}), vec![Api::Customer]),
        (json!({}), vec![]),
    ] {
        let mut body = json!({"iss": URL, "iat": now, "exp": now + 60, "sub": "s"});
        body.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        assert_eq!(accepted(&signed(&issuer, &body)), apis, "{claims}");
    }
}

#[test]
fn token_without_signature_or_of_another_url_is_refused() {
    let issuer = Issuer::in_memory(URL).unwrap();
    let token = issuer.issue(&grant(), clock::epoch_s(), 60).unwrap();
    let claims = token.split('.').nth(1).unwrap();
    // {"alg":"none"}, with the claims of a good token.
    assert!(issuer.verify(&format!("eyJhbGciOiJub25lIn0.{claims}.")).is_err());
    let dir = TempDir::make();
    let token = Issuer::in_directory(URL, dir.path()).unwrap().issue(&grant(), clock::epoch_s(), 60).unwrap();
    let elsewhere = Issuer::in_directory("http://127.0.0.1:3001", dir.path()).unwrap();
    assert!(elsewhere.verify(&token).is_err());
}

#[test]
fn routes_belong_to_one_api() {
    for (route, api) in [
        ("/v1/me", Api::Customer),
        ("/v1/me/payments", Api::Customer),
        ("/v1/merchant", Api::Merchant),
        ("/v1/merchant/staff/{staff_id}", Api::Merchant),
        ("/v1/merchants", Api::Admin),
        ("/v1/admin/merchants", Api::Admin),
        ("/v1/mesh", Api::Admin),
    ] {
        assert_eq!(Api::of_route(route), api, "{route}");
    }
}
