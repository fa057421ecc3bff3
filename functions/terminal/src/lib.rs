//! The storefront terminal's face: card operations, reversal, totals, enrolment.
//! Every route but the enrolment is signed with the terminal's key.

mod card_operations;
mod cards;
mod enrolments;
mod operations;
mod totals;

use axum::middleware::from_fn_with_state;
use ledger_runtime::app::App;
use ledger_runtime::terminal::verify_terminal;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of this face.
pub fn router(app: &App) -> OpenApiRouter<App> {
    let signed = OpenApiRouter::new()
        .routes(routes!(cards::get))
        .routes(routes!(card_operations::topup))
        .routes(routes!(card_operations::pay))
        .routes(routes!(card_operations::refund))
        .routes(routes!(operations::get))
        .routes(routes!(operations::reverse))
        .routes(routes!(totals::get))
        .layer(from_fn_with_state(app.clone(), verify_terminal));
    OpenApiRouter::new().routes(routes!(enrolments::create)).merge(signed)
}
