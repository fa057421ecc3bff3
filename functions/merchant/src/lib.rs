//! The merchant's face: charges, holds, payments, refunds, balances, settlements.
//! Every path is under `/v1/merchant`; the merchant is whoever the verified token says.

mod account;
mod charges;
mod holds;
mod payments;
mod refunds;
mod settlements;

use ledger_runtime::app::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of this face.
#[must_use]
pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(account::get))
        .routes(routes!(account::balances))
        .routes(routes!(payments::list))
        .routes(routes!(payments::get))
        .routes(routes!(charges::create))
        .routes(routes!(holds::capture))
        .routes(routes!(holds::void))
        .routes(routes!(refunds::create))
        .routes(routes!(settlements::list))
        .routes(routes!(settlements::get))
}
