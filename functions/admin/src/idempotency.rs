//! `/v1/admin/idempotency`: the staged rollout of idempotency keys, from optional to mandatory.

use axum::extract::State;
use axum::{Extension, Json};
use ledger_core::canonical::parse_canonical;
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::tenants;
use ledger_core::terms::KeyPhase;
use ledger_core::time::Timestamp;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Kind, Parameter, Permission};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::readback::{MetricSource, Sum};
use ledger_runtime::request::{self, Json as Body, Params};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// The default length of the window of the readiness, in hours.
const HOURS_DEFAULT: u32 = 24;
const HOURS_MAX: u32 = 24 * 14;

/// Whether idempotency keys can safely be made mandatory.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadinessView {
    /// Whether keys are `optional` or `mandatory` at present.
    #[schema(value_type = words::KeyPhaseWord)]
    phase: &'static str,
    /// The number of hours that the counts cover.
    window_hours: u32,
    /// The number of requests that should carry a key.
    requests: u64,
    /// The number of them without a key.
    missing: u64,
    /// `missing / requests`, as a decimal with four digits after the point; absent if there were no requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    absence_rate: Option<String>,
    /// Whether there were requests and every one carried a key.
    ready: bool,
}

/// The phase to set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseBody {
    /// `optional`, or `mandatory`: requests without a key are refused.
    #[schema(value_type = words::KeyPhaseWord)]
    phase: String,
}

/// The phase that was set.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PhaseView {
    /// `optional` or `mandatory`.
    #[schema(value_type = words::KeyPhaseWord)]
    phase: &'static str,
}

pub(crate) const READINESS: Endpoint = Endpoint::get("/v1/admin/idempotency/readiness")
    .summary("Returns how many requests had no idempotency key, and whether mandatory keys are safe.")
    .permission(Permission::IdempotencyRead)
    .parameter(Parameter::in_query("hours", "The number of hours to count.", Kind::Number(1, HOURS_MAX, HOURS_DEFAULT)))
    .ok::<ReadinessView>("The readiness")
    .when(Code::Unavailable, "the metrics could not be read");

pub(crate) async fn readiness(
    State(app): State<App>,
    Extension(metrics): Extension<Arc<dyn MetricSource>>,
    who: Admin,
    mut params: Params,
) -> Result<Json<ReadinessView>, Problem> {
    let hours = match params.take("hours")? {
        Some(text) => parse_canonical(&text).filter(|hours| (1..=HOURS_MAX).contains(hours)),
        None => Some(HOURS_DEFAULT),
    };
    let hours = hours.ok_or_else(|| Problem::invalid_field("hours", "must be a whole number from 1 to 336"))?;
    params.finish()?;
    let until = app.now();
    let since = until.minus(Duration::from_secs(u64::from(hours).saturating_mul(3600)));
    let requests = sum(metrics.as_ref(), who.tenant(), Metric::KeyedRequest, since, until).await?;
    let missing = sum(metrics.as_ref(), who.tenant(), Metric::IdempotencyKeyMissing, since, until).await?;
    let per_ten_thousand = missing.saturating_mul(10_000).checked_div(requests);
    let view = ReadinessView {
        phase: app.terms(who.tenant()).await?.key_phase.name(),
        window_hours: hours,
        requests,
        missing,
        absence_rate: per_ten_thousand.map(|rate| format!("{}.{:04}", rate / 10_000, rate % 10_000)),
        ready: requests > 0 && missing == 0,
    };
    Ok(Json(view))
}

pub(crate) const SET_PHASE: Endpoint = Endpoint::put("/v1/admin/idempotency/phase")
    .summary("Sets whether idempotency keys are optional or mandatory.")
    .about("Takes effect within a minute.")
    .permission(Permission::TermsChange)
    .body::<PhaseBody>()
    .ok::<PhaseView>("Set")
    .when(Code::Busy, "another request has just changed the phase");

pub(crate) async fn set_phase(
    State(app): State<App>,
    who: Admin,
    Body(body): Body<PhaseBody>,
) -> Result<Json<PhaseView>, Problem> {
    let to = request::word("phase", &body.phase, KeyPhase::parse, "optional or mandatory")?;
    app.records().forget_tenant(who.tenant());
    let from = app.terms(who.tenant()).await?.key_phase;
    if from != to {
        let cx = app.ledger().context(app.now())?;
        let change =
            tenants::set_key_phase(who.tenant(), from, to, who.actor(), &cx).map_err(|_| Problem::internal())?;
        app.ledger().apply(who.tenant(), Operation::TenantConfigure, &change).await?;
        app.records().forget_tenant(who.tenant());
    }
    Ok(Json(PhaseView { phase: to.name() }))
}

async fn sum(
    metrics: &dyn MetricSource,
    tenant: &Tenant,
    metric: Metric,
    since: Timestamp,
    until: Timestamp,
) -> Result<u64, Problem> {
    let query = Sum { metric, tenant: tenant.clone(), operation: None, since, until };
    metrics.sum(&query).await.map_err(|error| {
        tracing::warn!(%error, "metrics could not be read back");
        Problem::unavailable()
    })
}
