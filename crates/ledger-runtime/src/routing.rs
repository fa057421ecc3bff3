//! Adds to every router what all share: problem documents for unknown paths and panics, the rate limit and the log
//! line.

use crate::app::App;
use crate::logging;
use crate::problem::Problem;
use crate::rate;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use tower_http::catch_panic::CatchPanicLayer;

/// Completes a function's router.
///
/// A tenant's request rate is limited; 404, 405 and panics are problem documents; each request has one log line, and
/// the response carries its id.
pub fn finish(router: Router<App>, app: App) -> Router {
    let ledger = app.ledger().clone();
    router
        .layer(from_fn_with_state(app.limiter().clone(), rate::limit))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(CatchPanicLayer::custom(|_| Problem::internal().into_response()))
        .layer(from_fn_with_state(ledger, logging::log_request))
        .with_state(app)
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
