//! The merchant API: charges, holds, payments, refunds, balances, settlements.
//!
//! Every path is under `/v1/merchant`. The verified token names the merchant.

mod account;
mod charges;
mod holds;
mod payments;
mod refunds;
mod settlements;

use ledger_runtime::app::App;
use utoipa_axum::router::OpenApiRouter;

/// The routes of the merchant API.
#[must_use]
pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(account::GET.on(account::get))
        .routes(account::BALANCES.on(account::balances))
        .routes(payments::LIST.on(payments::list))
        .routes(payments::GET.on(payments::get))
        .routes(charges::CREATE.on(charges::create))
        .routes(holds::CAPTURE.on(holds::capture))
        .routes(holds::VOID.on(holds::void))
        .routes(refunds::CREATE.on(refunds::create))
        .routes(settlements::LIST.on(settlements::list))
        .routes(settlements::GET.on(settlements::get))
}
