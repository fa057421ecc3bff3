//! Requests that the verifier accepts and refuses. They are signed with httpsig's `HttpSignatureBase`, so that the
//! verifier's base is compared with another implementation.

use super::*;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderName, HeaderValue};
use httpsig::prelude::{HttpSignatureBase, HttpSignatureParams, SecretKey, SigningKey};

mod refusals;
mod vectors;

const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpflwuH2azxJUlA4S
KgHzhkfyb3cdJ4FC+449GdzLU7yhRANCAASN9PR7DXyMEtH0LdBmM3sC76nZEths
n6BDuuzmyvAdtVQMgCPSenRLyYHTNjy2gX7dWJ9M5N8/VyeRgbqG/qYg
-----END PRIVATE KEY-----
";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEjfT0ew18jBLR9C3QZjN7Au+p2RLY
bJ+gQ7rs5srwHbVUDIAj0np0S8mB0zY8toF+3VifTOTfP1cnkYG6hv6mIA==
-----END PUBLIC KEY-----
";
const OTHER_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEh0VSagEpUeTNL62vZSb6Ju2Rx6Uk
RRzZv6o8AW421zdlyGIjQ8k2Tv/wiJiLp3frcGFPfbdAwNkH+jM2Br1ucA==
-----END PUBLIC KEY-----
";
const NOW: i64 = 1_800_000_000;
const TERMINAL: &str = "01890000-0000-7000-8000-000000000031";

/// A signed request that tests change.
#[derive(Clone)]
struct Request {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Request {
    fn verify_at(&self, key: &str, now: i64) -> Result<(), SignatureError> {
        verify(&self.method, &self.uri, &self.headers, &self.body, key, now)
    }

    fn verify(&self) -> Result<(), SignatureError> {
        self.verify_at(PUBLIC, NOW)
    }

    fn set(&mut self, name: &str, value: &str) {
        let name: HeaderName = name.parse().unwrap();
        self.headers.insert(name, HeaderValue::from_str(value).unwrap());
    }

    fn header(&self, name: &str) -> String {
        self.headers[name].to_str().unwrap().to_owned()
    }

    fn component(&self, name: &str) -> String {
        match name {
            "@method" => self.method.to_string(),
            "@path" => self.uri.path().to_owned(),
            "@query" => format!("?{}", self.uri.query().unwrap_or("")),
            header => self.header(header),
        }
    }

    fn sign(&mut self, covered: &[&str], change: impl FnOnce(&mut HttpSignatureParams)) {
        let ids: Vec<_> = covered.iter().map(|c| HttpMessageComponentId::try_from(*c).unwrap()).collect();
        let lines: Vec<_> = ids
            .iter()
            .zip(covered)
            .map(|(id, name)| HttpMessageComponent::try_from((id, [self.component(name)].as_slice())).unwrap())
            .collect();
        let mut params = HttpSignatureParams::try_new(&ids).unwrap();
        params.set_created(NOW as u64).set_alg(&AlgorithmName::EcdsaP256Sha256);
        params.set_keyid(&format!("demo/{TERMINAL}/7"));
        change(&mut params);
        let key = SecretKey::from_pem(&AlgorithmName::EcdsaP256Sha256, PRIVATE).unwrap();
        let headers =
            HttpSignatureBase::try_new(&lines, &params).unwrap().build_signature_headers(&key, Some("sig1")).unwrap();
        self.set("signature-input", &headers.signature_input_header_value());
        self.set("signature", &headers.signature_header_value());
    }
}

fn digest_of(body: &[u8]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(body)))
}

const COVERED: [&str; 5] = ["@method", "@path", "@query", "content-digest", "idempotency-key"];

fn unsigned() -> Request {
    let body = br#"{"amount":"500"}"#.to_vec();
    let mut request = Request {
        method: Method::POST,
        uri: "/v1/terminal/cards/c1/pay?x=1".parse().unwrap(),
        headers: HeaderMap::new(),
        body,
    };
    let digest = digest_of(&request.body);
    request.set("content-digest", &digest);
    request.set("idempotency-key", "t1-7-1");
    request
}

fn signed() -> Request {
    let mut request = unsigned();
    request.sign(&COVERED, |_| ());
    request
}

#[test]
fn signed_request_is_accepted_and_names_its_key() {
    let request = signed();
    assert_eq!(request.verify(), Ok(()));
    let expected = KeyId { tenant: "demo".to_owned(), terminal_id: TERMINAL.to_owned(), epoch: "7".to_owned() };
    assert_eq!(key_id(&request.headers), Ok(expected));
}

#[test]
fn get_without_query_body_and_key_is_accepted() {
    let mut request = unsigned();
    request.method = Method::GET;
    request.uri = "/v1/terminal/cards/c1".parse().unwrap();
    request.headers.remove("idempotency-key");
    request.body.clear();
    request.set("content-digest", &digest_of(b""));
    request.sign(&COVERED[..4], |_| ());
    assert_eq!(request.verify(), Ok(()));
    // Lambda builds an absolute URI, with the same path.
    request.uri = "https://api.example.com/v1/terminal/cards/c1".parse().unwrap();
    assert_eq!(request.verify(), Ok(()));
}

#[test]
fn any_order_of_components_and_a_nonce_are_accepted() {
    let mut request = unsigned();
    let mut covered = COVERED;
    covered.reverse();
    request.sign(&covered, |params| {
        params.set_nonce("n-1").set_tag("terminal").set_expires(NOW as u64 + 60);
    });
    assert_eq!(request.verify(), Ok(()));
}

#[test]
fn any_order_of_parameters_is_accepted() {
    let mut request = unsigned();
    let params = format!(
        "(\"@method\" \"@path\" \"@query\" \"content-digest\" \"idempotency-key\")\
         ;keyid=\"demo/{TERMINAL}/7\";alg=\"ecdsa-p256-sha256\";extra;created={NOW}"
    );
    let mut base = String::new();
    for name in COVERED {
        base.push_str(&format!("\"{name}\": {}\n", request.component(name)));
    }
    base.push_str(&format!("\"@signature-params\": {params}"));
    let key = SecretKey::from_pem(&AlgorithmName::EcdsaP256Sha256, PRIVATE).unwrap();
    let signature = STANDARD.encode(key.sign(base.as_bytes()).unwrap());
    request.set("signature-input", &format!("terminal={params}"));
    request.set("signature", &format!("terminal=:{signature}:"));
    assert_eq!(request.verify(), Ok(()));
}

#[test]
fn tampered_request_is_refused() {
    let good = signed();

    let mut body = good.clone();
    body.body = br#"{"amount":"900"}"#.to_vec();
    assert_eq!(body.verify(), Err(SignatureError::DigestMismatch));
    body.set("content-digest", &digest_of(&body.body.clone()));
    assert_eq!(body.verify(), Err(SignatureError::Mismatch));

    for uri in ["/v1/terminal/cards/c2/pay?x=1", "/v1/terminal/cards/c1/pay?x=2", "/v1/terminal/cards/c1/pay"] {
        let mut other = good.clone();
        other.uri = uri.parse().unwrap();
        assert_eq!(other.verify(), Err(SignatureError::Mismatch), "{uri}");
    }

    let mut method = good.clone();
    method.method = Method::PUT;
    assert_eq!(method.verify(), Err(SignatureError::Mismatch));

    let mut key = good.clone();
    key.set("idempotency-key", "t1-7-2");
    assert_eq!(key.verify(), Err(SignatureError::Mismatch));

    let mut params = good.clone();
    let input = params.header("signature-input").replace("/7\"", "/8\"");
    params.set("signature-input", &input);
    assert_eq!(params.verify(), Err(SignatureError::Mismatch));

    assert_eq!(good.verify_at(OTHER_PUBLIC, NOW), Err(SignatureError::Mismatch));
    assert_eq!(good.verify_at("garbage", NOW), Err(SignatureError::PublicKey));
}
