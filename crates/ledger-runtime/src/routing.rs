//! Adds to every router what all share: problem documents for unknown paths and panics, the rate limit and the log
//! line, and the headers that keep responses out of caches and pages.

use crate::app::App;
use crate::logging;
use crate::problem::Problem;
use crate::rate;
use axum::Router;
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{self, HeaderName};
use tower_http::catch_panic::CatchPanicLayer;

/// Headers of every response: no cache stores it, and a browser neither guesses its type nor shows it in a page. The
/// list for REST services of OWASP's HTTP headers cheat sheet.
pub const SECURITY_HEADERS: [(HeaderName, &str); 4] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::STRICT_TRANSPORT_SECURITY, "max-age=63072000; includeSubDomains"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// Completes a function's router.
///
/// The request rates of callers and tenants are limited; 404, 405 and panics are problem documents; each request has one log line, and
/// the response carries its id and [`SECURITY_HEADERS`].
pub fn finish(router: Router<App>, app: App) -> Router {
    let limited = (app.limiter().clone(), app.callers().clone());
    let logged = (app.ledger().clone(), app.callers().clone());
    router
        .layer(from_fn_with_state(limited, rate::limit))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(CatchPanicLayer::custom(|_| Problem::internal().into_response()))
        .layer(from_fn_with_state(logged, logging::log_request))
        .layer(map_response(secure))
        .with_state(app)
}

/// Adds [`SECURITY_HEADERS`] in place of any of their names.
async fn secure(mut response: Response) -> Response {
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// 404 for an unknown path.
pub async fn not_found() -> Problem {
    Problem::not_found()
}

/// 405 for a method that the path does not have.
pub async fn method_not_allowed() -> Problem {
    Problem::method_not_allowed()
}

#[cfg(test)]
mod tests;
