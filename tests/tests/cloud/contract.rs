//! Checks that the contract finds responses and requests that the document does not state.

use ledger_tests::http::Answer;
use ledger_tests::http::contract::{Contract, document};
use serde_json::{Value, json};

const PATH: &str = "/v1/me/topups";

fn answer(status: u16, headers: &[(&str, &str)], body: &Value) -> Answer {
    let media_type = if status < 400 { "application/json" } else { "application/problem+json" };
    let all = [("request-id", "r1"), ("content-type", media_type)].into_iter().chain(headers.iter().copied());
    let headers = all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Answer { status, headers, body: body.to_string() }
}

fn problem(status: u16, code: &str) -> Value {
    let uri = format!("https://ecopay.example/problems/{code}");
    json!({"type": uri, "title": "A title", "status": status, "detail": "A detail", "code": code})
}

fn check(method: &str, path: &str, answer: &Answer) -> Result<(), String> {
    Contract::of(document()).check(method, path, Some(r#"{"amount":"300"}"#), answer)
}

#[test]
fn stated_answers_pass() {
    for (status, code, headers) in [
        (400, "cap_exceeded", &[][..]),
        (401, "unauthenticated", &[("www-authenticate", "Bearer")]),
        (409, "idempotency_key_in_use", &[("retry-after", "1")]),
        (503, "outcome_unknown", &[("retry-after", "2")]),
    ] {
        assert_eq!(check("POST", PATH, &answer(status, headers, &problem(status, code))), Ok(()), "{code}");
    }
    assert_eq!(check("DELETE", PATH, &answer(405, &[], &problem(405, "method_not_allowed"))), Ok(()));
    assert_eq!(check("GET", "/v1/nothing", &answer(404, &[], &problem(404, "not_found"))), Ok(()));
}

#[test]
fn answer_not_in_document_is_refused() {
    let with = |member: &str| {
        let mut body = problem(400, "cap_exceeded");
        body[member] = json!("x");
        body
    };
    for (why, answer) in [
        ("the status", answer(418, &[], &problem(418, "teapot"))),
        ("the body", answer(400, &[], &problem(400, "over_refund"))),
        ("the body", answer(400, &[], &with("surprise"))),
        ("without the header Retry-After", answer(503, &[], &problem(503, "busy"))),
        ("the header location", answer(400, &[("location", "/v1/me")], &problem(400, "cap_exceeded"))),
        ("Retry-After: soon is no whole number", answer(503, &[("retry-after", "soon")], &problem(503, "busy"))),
    ] {
        let found = check("POST", PATH, &answer).unwrap_err();
        assert!(found.contains(why), "{found}");
    }
    let unnamed = Answer { headers: Vec::new(), ..answer(400, &[], &problem(400, "cap_exceeded")) };
    assert!(check("POST", PATH, &unnamed).unwrap_err().contains("Request-Id"));
}

#[test]
fn request_body_not_in_document_is_refused() {
    let view = json!({
        "topup_id": "019aa7fe-3c00-7000-8000-000000000001", "status": "pending", "amount": "300", "asset": "ECOPAY",
        "payment_intent_id": "pi_1", "client_secret": "s", "created_at": "2026-11-21T09:30:00.000Z",
        "expires_at": "2026-11-21T09:30:00.000Z",
    });
    let answer = answer(201, &[("location", "/v1/me/topups/1")], &view);
    let contract = Contract::of(document());
    for body in [r#"{"amount":"300"}"#, r#"{"amount":300}"#, r#"{"amount":"300","idempotencyKey":"k"}"#] {
        assert_eq!(contract.check("POST", PATH, Some(body), &answer), Ok(()), "{body}");
    }
    for body in [r#"{"amount":"1e3"}"#, r#"{"amount":"300","x":1}"#, "{}"] {
        let found = contract.check("POST", PATH, Some(body), &answer).unwrap_err();
        assert!(found.contains("the request"), "{body}: {found}");
    }
}

#[test]
fn code_removed_from_document_is_refused() {
    let mut lacking = document();
    let at = "/paths/~1v1~1me~1topups/post/responses/400/content/application~1problem+json/schema/allOf/1/properties/\
              code/enum";
    let codes = lacking.pointer_mut(at).and_then(Value::as_array_mut).expect("codes");
    codes.retain(|code| code != "cap_exceeded");
    let refused = answer(400, &[], &problem(400, "cap_exceeded"));
    assert!(Contract::of(lacking).check("POST", PATH, None, &refused).is_err());
}
