//! The merchant API: charges, holds, payments, refunds, balances, settlements, staff,
//! shops, terminals.
//!
//! Every path is under `/v1/merchant`. The verified token names the merchant.

mod account;
mod charges;
mod holds;
mod operations;
mod payments;
mod qr;
mod refunds;
mod settlements;
mod shops;
mod staff;
mod statements;
mod terminals;
mod totals;

use ledger_runtime::endpoint::Routes;

/// The routes of the merchant API.
#[must_use]
pub fn router() -> Routes {
    Routes::new()
        .route(account::GET.on(account::get))
        .route(account::BALANCES.on(account::balances))
        .route(qr::GET.on(qr::get))
        .route(payments::LIST.on(payments::list))
        .route(payments::GET.on(payments::get))
        .route(charges::CREATE.on(charges::create))
        .route(holds::CAPTURE.on(holds::capture))
        .route(holds::VOID.on(holds::void))
        .route(refunds::CREATE.on(refunds::create))
        .route(operations::GET.on(operations::get))
        .route(operations::FIND.on(operations::find))
        .route(staff::LIST.on(staff::list))
        .route(staff::INVITE.on(staff::invite))
        .route(staff::GET.on(staff::get))
        .route(staff::CHANGE.on(staff::change))
        .route(staff::ACCEPT.on(staff::accept))
        .route(shops::LIST.on(shops::list))
        .route(shops::OPEN.on(shops::open))
        .route(shops::GET.on(shops::get))
        .route(shops::CHANGE.on(shops::change))
        .route(terminals::LIST.on(terminals::list))
        .route(terminals::GET.on(terminals::get))
        .route(terminals::ASSIGN.on(terminals::assign))
        .route(totals::LIST.on(totals::list))
        .route(statements::GET.on(statements::get))
        .route(settlements::LIST.on(settlements::list))
        .route(settlements::GET.on(settlements::get))
}
