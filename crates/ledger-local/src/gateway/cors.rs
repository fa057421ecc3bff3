//! CORS as the HTTP API on AWS answers it: preflights are answered here and do not reach a function.

use crate::local_only::is_local_origin;
use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request};

/// What pages of another origin may send and read.
#[derive(Debug)]
pub struct Cors {
    /// The methods.
    pub methods: &'static [&'static str],
    /// The request headers, in addition to those that CORS always allows.
    pub request_headers: &'static [&'static str],
    /// The response headers that a page may read, in addition to those that CORS always exposes.
    pub exposed_headers: &'static [&'static str],
    /// The time for which a browser may cache a preflight, in seconds.
    pub max_age_s: u32,
}

/// The `CorsConfiguration` of template.yaml; a test compares them. The three headers of RFC 9421 and RFC 9530 let a
/// page sign as a terminal does.
pub const CORS: Cors = Cors {
    methods: &["GET", "PATCH", "POST", "PUT"],
    request_headers: &[
        "authorization",
        "content-digest",
        "content-type",
        "idempotency-key",
        "signature",
        "signature-input",
    ],
    exposed_headers: &["idempotent-replayed", "location", "request-id", "retry-after"],
    max_age_s: 600,
};

/// The answer to a preflight; `None` for any other request.
pub(super) fn preflight(parts: &request::Parts) -> Option<Response> {
    let is_preflight = parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if parts.method != Method::OPTIONS || !is_preflight || !parts.headers.contains_key(header::ORIGIN) {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    if let Some(origin) = allowed(&parts.headers) {
        let headers = response.headers_mut();
        insert(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, Some(origin));
        insert(headers, header::ACCESS_CONTROL_ALLOW_METHODS, list(CORS.methods));
        insert(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, list(CORS.request_headers));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(CORS.max_age_s));
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Origin"));
    Some(response)
}

/// The origin of a request if its page may read the answer: on this stack, only origins of this machine.
pub(super) fn allowed(headers: &HeaderMap) -> Option<HeaderValue> {
    headers.get(header::ORIGIN).filter(|origin| is_local_origin(origin)).cloned()
}

/// Adds the headers that let the page of an allowed origin read the answer.
pub(super) fn share(origin: Option<HeaderValue>, mut response: Response) -> Response {
    if origin.is_some() {
        let headers = response.headers_mut();
        insert(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        insert(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, list(CORS.exposed_headers));
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

fn insert(headers: &mut HeaderMap, name: header::HeaderName, value: Option<HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value);
    }
}

fn list(names: &[&str]) -> Option<HeaderValue> {
    HeaderValue::from_str(&names.join(",")).ok()
}
