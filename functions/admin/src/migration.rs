//! `/v1/admin/migration`: a tenant's migration from a legacy model to split records, phase by phase.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::Fields;
use ledger_core::migration::{Pass, PassKind, PassRequest};
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, accepted};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Json as Body, KeyedJson};
use ledger_runtime::views::{MigrationView, PassView};
use serde::Deserialize;
use utoipa::ToSchema;

const PER_SECOND_DEFAULT: u32 = 50;
const PER_SECOND_MAX: u32 = 1000;

/// The phase to enter.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MigrationPhaseBody {
    /// The phase's number: one above or one below the present phase.
    phase: u8,
}

/// A request for a pass over all customers.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PassBody {
    /// The most customers that the pass handles per second, 1 to 1000; 50 if absent.
    #[schema(minimum = 1, maximum = 1000, example = 50)]
    customers_per_second: Option<u32>,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/migration")
    .summary("Returns the phase of the migration, the steps to other phases, and the last pass of each kind.")
    .permission(Permission::MigrationRead)
    .ok::<MigrationView>("The migration");

pub(crate) async fn get(State(app): State<App>, who: Admin) -> Result<Json<MigrationView>, Problem> {
    Ok(Json(app.migration_view(who.tenant()).await?))
}

pub(crate) const SET_PHASE: Endpoint = Endpoint::put("/v1/admin/migration/phase")
    .summary("Enters the next phase, or returns to the previous one.")
    .about("Takes effect within a minute.")
    .permission(Permission::MigrationManage)
    .body::<MigrationPhaseBody>()
    .ok::<MigrationView>("Entered")
    .when(Code::InvalidRequest, "the phase is not next to the present one")
    .when(Code::WrongState, "the phase cannot be entered yet; `detail` has what must be done first")
    .waits_with(Code::WrongState)
    .when(Code::NotFound, "the tenant has no migration")
    .when(Code::Busy, "another request has just changed the phase");

pub(crate) async fn set_phase(
    State(app): State<App>,
    who: Admin,
    Body(body): Body<MigrationPhaseBody>,
) -> Result<Json<MigrationView>, Problem> {
    Ok(Json(app.enter_phase(who.tenant(), body.phase, who.actor()).await?))
}

pub(crate) const BACKFILL: Keyed = Endpoint::post("/v1/admin/migration/backfill")
    .summary("Requests a pass that brings every customer to the layout that the present phase requires.")
    .about("The pass runs in the background. A request made while it runs returns its progress.")
    .permission(Permission::MigrationManage)
    .body::<PassBody>()
    .accepted::<PassView>("Requested")
    .when(Code::NotFound, "the tenant has no migration")
    .keyed(Operation::MigrationBackfill);

pub(crate) async fn backfill(
    State(app): State<App>,
    who: Admin,
    body: KeyedJson<PassBody>,
) -> Result<Outcome, Problem> {
    pass(&app, &who, (PassKind::Backfill, &BACKFILL), body).await
}

pub(crate) const VERIFY: Keyed = Endpoint::post("/v1/admin/migration/verify")
    .summary("Requests a pass that compares both models of every customer, attribute by attribute.")
    .permission(Permission::MigrationManage)
    .body::<PassBody>()
    .accepted::<PassView>("Requested")
    .when(Code::NotFound, "the tenant has no migration")
    .keyed(Operation::MigrationVerify);

pub(crate) async fn verify(State(app): State<App>, who: Admin, body: KeyedJson<PassBody>) -> Result<Outcome, Problem> {
    pass(&app, &who, (PassKind::Verify, &VERIFY), body).await
}

pub(crate) const CONTRACT: Keyed = Endpoint::post("/v1/admin/migration/contract")
    .summary("Requests a pass that empties the legacy records of migrated data, and ends the migration.")
    .about("Allowed in the last phase only. It cannot be undone.")
    .permission(Permission::MigrationManage)
    .body::<PassBody>()
    .accepted::<PassView>("Requested")
    .when(Code::WrongState, "the last phase has not been entered")
    .when(Code::NotFound, "the tenant has no migration")
    .keyed(Operation::MigrationContract);

pub(crate) async fn contract(
    State(app): State<App>,
    who: Admin,
    body: KeyedJson<PassBody>,
) -> Result<Outcome, Problem> {
    pass(&app, &who, (PassKind::Contract, &CONTRACT), body).await
}

async fn pass(
    app: &App,
    who: &Admin,
    (kind, endpoint): (PassKind, &Keyed),
    KeyedJson(key, body): KeyedJson<PassBody>,
) -> Result<Outcome, Problem> {
    let per_second = body.customers_per_second.unwrap_or(PER_SECOND_DEFAULT);
    if !(1..=PER_SECOND_MAX).contains(&per_second) {
        return Err(Problem::invalid_field("customers_per_second", "must be a whole number from 1 to 1000"));
    }
    let fields = Fields::new().with("customers_per_second", per_second);
    let (claim, admission) = endpoint.claim(app, who, key, &[], fields).await?;
    let request = PassRequest { tenant: who.tenant(), kind, per_second, staff: who.staff_id() };
    let plan = async |cx| app.plan_pass(&request, &cx).await;
    let render = |pass: &Pass| accepted(GET.path(&[]), &PassView::from(pass));
    Ok(app.perform(claim, admission, plan, render).await)
}
