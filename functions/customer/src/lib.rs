//! The customer API: wallet, history, payments, transfers, top-ups, codes, own cards.
//!
//! Every path is under `/v1/me`. The verified token names the customer.

mod cards;
mod limits;
mod merchants;
mod operations;
mod payment_code;
mod payments;
mod profile;
mod topups;
mod transactions;
mod transfers;
mod wallet;

use ledger_runtime::endpoint::Routes;

/// The routes of the customer API.
#[must_use]
pub fn router() -> Routes {
    Routes::new()
        .route(profile::GET.on(profile::get))
        .route(profile::PATCH.on(profile::patch))
        .route(wallet::BALANCES.on(wallet::balances))
        .route(limits::GET.on(limits::get))
        .route(transactions::LIST.on(transactions::list))
        .route(transactions::GET.on(transactions::get))
        .route(merchants::GET.on(merchants::get))
        .route(payments::CREATE.on(payments::create))
        .route(transfers::CREATE.on(transfers::create))
        .route(topups::CREATE.on(topups::create))
        .route(topups::LIST.on(topups::list))
        .route(topups::GET.on(topups::get))
        .route(topups::CANCEL.on(topups::cancel))
        .route(cards::LIST.on(cards::list))
        .route(cards::PATCH.on(cards::patch))
        .route(cards::SET_PIN.on(cards::set_pin))
        .route(payment_code::CREATE.on(payment_code::create))
        .route(operations::GET.on(operations::get))
        .route(operations::FIND.on(operations::find))
}
