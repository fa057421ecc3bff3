//! `/v1/admin/owner-recovery`: the recovery of the tenant's owners, which a command at a shell requests and an owner
//! cancels.

use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::Fields;
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::permission::Permission as Needed;
use ledger_core::staff::{self, Recovery};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Empty, KeyedJson};
use ledger_runtime::views::words;
use serde::Serialize;
use utoipa::ToSchema;

/// The last recovery of the tenant's owners.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecoveryView {
    /// `pending` until `ready_at`, and then until the command is run again; `done` once the persons are owners.
    #[schema(value_type = words::RecoveryStatus)]
    status: &'static str,
    /// The persons who become owners.
    owners: Vec<RecoveredOwnerView>,
    /// The time of the request.
    created_at: String,
    /// The time from which it can be finished.
    ready_at: String,
}

/// A person who becomes an owner.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecoveredOwnerView {
    /// The person: the subject of the person's tokens.
    staff_id: String,
    /// The person's verified e-mail address.
    email: String,
}

/// A recovery that was cancelled.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CancelledRecoveryView {
    /// `cancelled`.
    #[schema(value_type = words::RecoveryStatus)]
    status: &'static str,
    /// The time of the request.
    created_at: String,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/owner-recovery")
    .summary("Returns the last recovery of the tenant's owners.")
    .permission(Permission::StaffRead)
    .ok::<RecoveryView>("The recovery")
    .when(Code::NotFound, "none was requested");

pub(crate) async fn get(State(app): State<App>, who: Admin) -> Result<Json<RecoveryView>, Problem> {
    let item = app.dynamo().get(&keys::owner_recovery(who.tenant())).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(RecoveryView::from(&Recovery::read(&item)?)))
}

pub(crate) const CANCEL: Keyed = Endpoint::post("/v1/admin/owner-recovery/cancel")
    .summary("Cancels the pending recovery of the tenant's owners.")
    .about("An owner who is not lost cancels what a person with the ledger's own credentials has requested.")
    .permission(Permission::StaffManage)
    .body::<Empty>()
    .ok::<CancelledRecoveryView>("Cancelled")
    .when(Code::WrongState, "it is done or cancelled already")
    .when(Code::NotFound, "none was requested")
    .keyed(Operation::OwnerRecoveryCancel);

pub(crate) async fn cancel(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = CANCEL.claim(&app, &who, key, &[], Fields::new()).await?;
    let (member, at) = (who.member(), keys::owner_recovery(who.tenant()));
    let plan = async |cx| {
        let by = app.acting_member(&member, Needed::StaffManage).await?;
        let item = app.dynamo().get(&at).await?.ok_or(PlanError::Missing)?;
        Ok(staff::plan_cancel_recovery(who.tenant(), &Recovery::read(&item)?, &by, &cx)?)
    };
    Ok(app.perform(claim, admission, plan, |recovery| ok(&CancelledRecoveryView::from(recovery))).await)
}

impl From<&Recovery> for CancelledRecoveryView {
    fn from(recovery: &Recovery) -> Self {
        Self { status: recovery.state.name(), created_at: recovery.created_at.to_string() }
    }
}

impl From<&Recovery> for RecoveryView {
    fn from(recovery: &Recovery) -> Self {
        let owner = |owner: &staff::Founder| RecoveredOwnerView {
            staff_id: owner.id.to_string(),
            email: owner.email.expose().to_owned(),
        };
        Self {
            status: recovery.state.name(),
            owners: recovery.owners.all().iter().map(owner).collect(),
            created_at: recovery.created_at.to_string(),
            ready_at: recovery.ready_at.to_string(),
        }
    }
}
