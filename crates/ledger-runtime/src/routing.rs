//! What every router gets around it: problem documents for what it does not know and for a panic, and
//! the log line.

use crate::app::App;
use crate::logging;
use crate::problem::Problem;
use crate::rate;
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use tower_http::catch_panic::CatchPanicLayer;

/// Completes a function's router: a tenant's requests are limited, 404, 405 and panics are problem
/// documents, and each request has one log line, which its answer names.
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

/// 404 for a path that there is not.
pub async fn not_found() -> Problem {
    Problem::not_found()
}

/// 405 for a path that lacks the method.
pub async fn method_not_allowed() -> Problem {
    Problem::method_not_allowed()
}

#[cfg(test)]
mod tests;
