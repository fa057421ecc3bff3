//! The customer's face: wallet, history, payments, transfers, top-ups, codes, own cards.
//! Every path is under `/v1/me`; the customer is whoever the verified token says.

mod cards;
mod operations;
mod payment_code;
mod payments;
mod profile;
mod topups;
mod transactions;
mod transfers;
mod wallet;

use ledger_runtime::app::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of this face.
#[must_use]
pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(profile::get, profile::patch))
        .routes(routes!(wallet::balances))
        .routes(routes!(transactions::list))
        .routes(routes!(transactions::get))
        .routes(routes!(payments::create))
        .routes(routes!(transfers::create))
        .routes(routes!(topups::create))
        .routes(routes!(topups::get))
        .routes(routes!(cards::patch))
        .routes(routes!(payment_code::create))
        .routes(routes!(operations::get))
        .routes(routes!(operations::find))
}
