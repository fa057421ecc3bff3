//! The operator's face: customers, merchants, cards, terminals, grants, adjustments, settlements,
//! reconciliations, top-ups, what waits for a person, audit and its seals, rollout, migration.
//! Every path is under `/v1/admin`; every change stands in the audit trail with who made it.

mod adjustments;
mod attention;
mod audit;
mod cards;
mod customers;
mod decisions;
mod destination;
mod grants;
mod idempotency;
mod merchants;
mod migration;
mod payout_requests;
mod reconciliation;
mod settlements;
mod terminals;
mod topups;

use axum::Extension;
use ledger_runtime::app::App;
use ledger_runtime::readback::MetricSource;
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes of this face.
///
/// `metrics` is where they are read back.
pub fn router(metrics: Arc<dyn MetricSource>) -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(customers::create))
        .routes(routes!(customers::get, customers::patch))
        .routes(routes!(merchants::create))
        .routes(routes!(merchants::get, merchants::patch))
        .routes(routes!(settlements::create))
        .routes(routes!(settlements::list))
        .routes(routes!(settlements::get))
        .routes(routes!(settlements::resume))
        .routes(routes!(payout_requests::ask_resend))
        .routes(routes!(payout_requests::approve_resend))
        .routes(routes!(decisions::create))
        .routes(routes!(decisions::get))
        .routes(routes!(decisions::approve))
        .routes(routes!(payout_requests::ask_return))
        .routes(routes!(payout_requests::approve_return))
        .routes(routes!(cards::create))
        .routes(routes!(cards::get, cards::patch))
        .routes(routes!(terminals::create))
        .routes(routes!(terminals::get, terminals::patch))
        .routes(routes!(terminals::enrolment))
        .routes(routes!(grants::create))
        .routes(routes!(grants::get))
        .routes(routes!(adjustments::create))
        .routes(routes!(adjustments::get))
        .routes(routes!(adjustments::approve))
        .routes(routes!(adjustments::reject))
        .routes(routes!(reconciliation::list))
        .routes(routes!(reconciliation::create))
        .routes(routes!(reconciliation::get))
        .routes(routes!(reconciliation::answer))
        .routes(routes!(topups::get))
        .routes(routes!(topups::refund))
        .routes(routes!(topups::get_refund))
        .routes(routes!(attention::list))
        .routes(routes!(attention::resolve))
        .routes(routes!(attention::dismiss))
        .routes(routes!(audit::list))
        .routes(routes!(audit::seals))
        .merge(OpenApiRouter::new().routes(routes!(idempotency::readiness)).layer(Extension(metrics)))
        .routes(routes!(idempotency::set_phase))
        .routes(routes!(migration::get))
        .routes(routes!(migration::set_phase))
        .routes(routes!(migration::backfill))
        .routes(routes!(migration::verify))
        .routes(routes!(migration::contract))
}
