//! The terminal API: card operations, charges, reversal, totals, enrolment. Every route except the enrolment is signed with the
//! terminal's key.

mod card_operations;
mod cards;
mod charges;
mod enrolments;
mod operations;
mod totals;

use axum::middleware::from_fn_with_state;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::Routes;
use ledger_runtime::terminal::verify_terminal;

/// The routes of the terminal API.
pub fn router(app: &App) -> Routes {
    let signed = Routes::new()
        .route(cards::GET.on(cards::get))
        .route(card_operations::TOPUP.on(card_operations::topup))
        .route(card_operations::PAY.on(card_operations::pay))
        .route(card_operations::REFUND.on(card_operations::refund))
        .route(charges::CREATE.on(charges::create))
        .route(charges::REVERSE.on(charges::reverse))
        .route(operations::GET.on(operations::get))
        .route(operations::REVERSE.on(operations::reverse))
        .route(totals::GET.on(totals::get))
        .map_router(|router| router.layer(from_fn_with_state(app.clone(), verify_terminal)));
    Routes::new().route(enrolments::CREATE.on(enrolments::create)).merge(signed)
}
