//! The terminal API: card operations, reversal, totals, enrolment. Every route except the enrolment is signed with the
//! terminal's key.

mod card_operations;
mod cards;
mod enrolments;
mod operations;
mod totals;

use axum::middleware::from_fn_with_state;
use ledger_runtime::app::App;
use ledger_runtime::terminal::verify_terminal;
use utoipa_axum::router::OpenApiRouter;

/// The routes of the terminal API.
pub fn router(app: &App) -> OpenApiRouter<App> {
    let signed = OpenApiRouter::new()
        .routes(cards::GET.on(cards::get))
        .routes(card_operations::TOPUP.on(card_operations::topup))
        .routes(card_operations::PAY.on(card_operations::pay))
        .routes(card_operations::REFUND.on(card_operations::refund))
        .routes(operations::GET.on(operations::get))
        .routes(operations::REVERSE.on(operations::reverse))
        .routes(totals::GET.on(totals::get))
        .layer(from_fn_with_state(app.clone(), verify_terminal));
    OpenApiRouter::new().routes(enrolments::CREATE.on(enrolments::create)).merge(signed)
}
