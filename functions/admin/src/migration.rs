//! `/v1/admin/migration`: a tenant's way from a legacy model to split records, phase by phase.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::migration::{Asked, Pass, PassKind};
use ledger_runtime::app::App;
use ledger_runtime::execute::{Outcome, accepted};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::Problem;
use ledger_runtime::request::{Json as Body, KeyedJson};
use ledger_runtime::views::{MigrationView, PassView};
use serde::Deserialize;
use utoipa::ToSchema;

const PER_SECOND_DEFAULT: u32 = 50;
const PER_SECOND_MAX: u32 = 1000;

/// A phase.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MigrationPhaseBody {
    /// Its number: one more, or one less, than that of the present one.
    phase: u8,
}

/// A pass over all customers.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PassBody {
    /// How many customers a second it may look at, 1 to 1000; 50 if absent.
    customers_per_second: Option<u32>,
}

/// Where the migration stands, what may be done next, and what the last passes over all customers came to.
#[utoipa::path(get, path = "/v1/admin/migration", tag = "admin",
    responses((status = 200, description = "Where it stands", body = MigrationView)))]
pub(crate) async fn get(State(app): State<App>, who: Admin) -> Result<Json<MigrationView>, Problem> {
    Ok(Json(app.migration_view(who.tenant()).await?))
}

/// Enters the next phase, or goes back to the one before. Functions see it within a minute.
#[utoipa::path(put, path = "/v1/admin/migration/phase", tag = "admin", request_body = MigrationPhaseBody,
    responses((status = 200, description = "Entered", body = MigrationView),
        (status = 400, description = "`invalid_request` if it is not next to the present one; `wrong_state` if something \
            has to be done before, which the detail says"),
        (status = 404, description = "The tenant has no migration"),
        (status = 503, description = "`busy`: somebody else has just changed it")))]
pub(crate) async fn set_phase(
    State(app): State<App>,
    who: Admin,
    Body(body): Body<MigrationPhaseBody>,
) -> Result<Json<MigrationView>, Problem> {
    Ok(Json(app.enter_phase(who.tenant(), body.phase, who.actor()).await?))
}

/// Brings every customer where the present phase needs them. It goes on by itself; asked for again meanwhile, it
/// answers with how far it has come.
#[utoipa::path(post, path = "/v1/admin/migration/backfill", tag = "admin", request_body = PassBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 202, description = "Requested", body = PassView),
        (status = 400, description = "`invalid_request`"),
        (status = 404, description = "The tenant has no migration")))]
pub(crate) async fn backfill(
    State(app): State<App>,
    who: Admin,
    body: KeyedJson<PassBody>,
) -> Result<Outcome, Problem> {
    pass(&app, &who, PassKind::Backfill, body).await
}

/// Compares both models of every customer, attribute by attribute.
#[utoipa::path(post, path = "/v1/admin/migration/verify", tag = "admin", request_body = PassBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 202, description = "Requested", body = PassView),
        (status = 400, description = "`invalid_request`"),
        (status = 404, description = "The tenant has no migration")))]
pub(crate) async fn verify(State(app): State<App>, who: Admin, body: KeyedJson<PassBody>) -> Result<Outcome, Problem> {
    pass(&app, &who, PassKind::Verify, body).await
}

/// In the last phase: takes what the split records have out of the legacy records, and ends the migration. From here
/// there is no way back.
#[utoipa::path(post, path = "/v1/admin/migration/contract", tag = "admin", request_body = PassBody,
    params(("Idempotency-Key" = String, Header, description = "A key made for this one request")),
    responses((status = 202, description = "Requested", body = PassView),
        (status = 400, description = "`invalid_request`; `wrong_state` before the last phase"),
        (status = 404, description = "The tenant has no migration")))]
pub(crate) async fn contract(
    State(app): State<App>,
    who: Admin,
    body: KeyedJson<PassBody>,
) -> Result<Outcome, Problem> {
    pass(&app, &who, PassKind::Contract, body).await
}

async fn pass(
    app: &App,
    who: &Admin,
    kind: PassKind,
    KeyedJson(key, body): KeyedJson<PassBody>,
) -> Result<Outcome, Problem> {
    let per_second = body.customers_per_second.unwrap_or(PER_SECOND_DEFAULT);
    if !(1..=PER_SECOND_MAX).contains(&per_second) {
        return Err(Problem::invalid_field("customers_per_second", "must be a whole number from 1 to 1000"));
    }
    let path = format!("/v1/admin/migration/{}", kind.name());
    let fields = Fields::new().with("customers_per_second", per_second);
    let request = CanonicalRequest { method: "POST", path, fields };
    let (claim, admission) = app.claim(who, kind.operation(), key, request).await?;
    let asked = Asked { tenant: who.tenant(), kind, per_second, staff: who.staff_id() };
    let plan = async |cx| app.plan_pass(&asked, &cx).await;
    let render = |pass: &Pass| accepted("/v1/admin/migration".to_owned(), &PassView::from(pass));
    Ok(app.perform(claim, admission, plan, render).await)
}
