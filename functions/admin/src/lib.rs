//! The operator API: customers, merchants, cards, terminals, grants, adjustments, settlements, reconciliations,
//! top-ups, attention, audit and its seals, rollout, migration.
//!
//! Every path is under `/v1/admin`. Every change has an audit record that names its actor.

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

/// The routes of the operator API.
///
/// `metrics` is the source from which metrics are read.
pub fn router(metrics: Arc<dyn MetricSource>) -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(customers::CREATE.on(customers::create))
        .routes(customers::GET.on(customers::get))
        .routes(customers::PATCH.on(customers::patch))
        .routes(merchants::CREATE.on(merchants::create))
        .routes(merchants::GET.on(merchants::get))
        .routes(merchants::PATCH.on(merchants::patch))
        .routes(settlements::CREATE.on(settlements::create))
        .routes(settlements::LIST.on(settlements::list))
        .routes(settlements::GET.on(settlements::get))
        .routes(settlements::RESUME.on(settlements::resume))
        .routes(payout_requests::ASK_RESEND.on(payout_requests::ask_resend))
        .routes(payout_requests::APPROVE_RESEND.on(payout_requests::approve_resend))
        .routes(decisions::CREATE.on(decisions::create))
        .routes(decisions::GET.on(decisions::get))
        .routes(decisions::APPROVE.on(decisions::approve))
        .routes(payout_requests::ASK_RETURN.on(payout_requests::ask_return))
        .routes(payout_requests::APPROVE_RETURN.on(payout_requests::approve_return))
        .routes(cards::CREATE.on(cards::create))
        .routes(cards::GET.on(cards::get))
        .routes(cards::PATCH.on(cards::patch))
        .routes(terminals::CREATE.on(terminals::create))
        .routes(terminals::GET.on(terminals::get))
        .routes(terminals::PATCH.on(terminals::patch))
        .routes(terminals::ENROLMENT.on(terminals::enrolment))
        .routes(grants::CREATE.on(grants::create))
        .routes(grants::GET.on(grants::get))
        .routes(adjustments::CREATE.on(adjustments::create))
        .routes(adjustments::GET.on(adjustments::get))
        .routes(adjustments::APPROVE.on(adjustments::approve))
        .routes(adjustments::REJECT.on(adjustments::reject))
        .routes(reconciliation::LIST.on(reconciliation::list))
        .routes(reconciliation::CREATE.on(reconciliation::create))
        .routes(reconciliation::GET.on(reconciliation::get))
        .routes(reconciliation::ANSWER.on(reconciliation::answer))
        .routes(topups::GET.on(topups::get))
        .routes(topups::REFUND.on(topups::refund))
        .routes(topups::GET_REFUND.on(topups::get_refund))
        .routes(attention::LIST.on(attention::list))
        .routes(attention::RESOLVE.on(attention::resolve))
        .routes(attention::DISMISS.on(attention::dismiss))
        .routes(audit::LIST.on(audit::list))
        .routes(audit::SEALS.on(audit::seals))
        .merge(OpenApiRouter::new().routes(idempotency::READINESS.on(idempotency::readiness)).layer(Extension(metrics)))
        .routes(idempotency::SET_PHASE.on(idempotency::set_phase))
        .routes(migration::GET.on(migration::get))
        .routes(migration::SET_PHASE.on(migration::set_phase))
        .routes(migration::BACKFILL.on(migration::backfill))
        .routes(migration::VERIFY.on(migration::verify))
        .routes(migration::CONTRACT.on(migration::contract))
}
