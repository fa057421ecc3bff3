//! The customer API: wallet, history, payments, transfers, top-ups, codes, own cards.
//!
//! Every path is under `/v1/me`. The verified token names the customer.

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

/// The routes of the customer API.
#[must_use]
pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(profile::GET.on(profile::get))
        .routes(profile::PATCH.on(profile::patch))
        .routes(wallet::BALANCES.on(wallet::balances))
        .routes(transactions::LIST.on(transactions::list))
        .routes(transactions::GET.on(transactions::get))
        .routes(payments::CREATE.on(payments::create))
        .routes(transfers::CREATE.on(transfers::create))
        .routes(topups::CREATE.on(topups::create))
        .routes(topups::GET.on(topups::get))
        .routes(cards::PATCH.on(cards::patch))
        .routes(payment_code::CREATE.on(payment_code::create))
        .routes(operations::GET.on(operations::get))
        .routes(operations::FIND.on(operations::find))
}
