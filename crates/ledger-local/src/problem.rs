//! Responses that the gateway makes itself: problem documents (RFC 9457) and refusals in API Gateway's form. The
//! functions make their own.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use ledger_runtime::problem::{Code, PROBLEM_JSON};
use serde_json::{Value, json};

/// A problem document of the API, equal to a function's.
pub(crate) fn of_api(code: Code, detail: &str) -> Response {
    let body = json!({
        "type": code.type_uri(),
        "title": code.title(),
        "status": code.status().as_u16(),
        "detail": detail,
        "code": code.name(),
    });
    answer(code.status(), PROBLEM_JSON, body.to_string())
}

/// A problem document of the stack's own controls, which no deployed API has.
pub(crate) fn problem(status: StatusCode, code: &str, detail: &str) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": detail,
        "code": code,
    });
    answer(status, PROBLEM_JSON, body.to_string())
}

/// `{"message": ...}`: how API Gateway refuses a request that reaches no function.
pub(crate) fn api_gateway(status: StatusCode, message: &str) -> Response {
    answer(status, "application/json", json!({"message": message}).to_string())
}

/// A response with a JSON body.
pub(crate) fn json_body(status: StatusCode, body: &Value) -> Response {
    answer(status, "application/json", body.to_string())
}

/// A response with a body of any type.
pub(crate) fn answer(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
