//! `/v1/admin/wind-downs`: closes every card and customer of the tenant, in the background.

use crate::approvals;
use crate::cards::current_terms;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::idempotency::Fields;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson};
use serde::Deserialize;
use utoipa::ToSchema;

/// Why a tenant is wound down.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "the programme ends in March"}))]
pub(crate) struct WindDownBody {
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const START: Keyed = Endpoint::post("/v1/admin/wind-downs")
    .summary("Starts a job that closes every card and customer of the tenant for good.")
    .about(
        "Every card is closed, then every customer. What each has goes to `unclaimed`, from where it is claimed or paid out, and \
         points go to `breakage`. An account with something held, reserved or owed stays open: start another job when that is \
         settled. The job runs in the background and starts within about a minute.",
    )
    .permission(Permission::WindDownsRun)
    .body::<WindDownBody>()
    .approvable()
    .when(Code::WrongState, "the tenant's customers are in a legacy model")
    .keyed(Operation::WindDown);

pub(crate) async fn start(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<WindDownBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", &body.reason);
    let (claim, admission) = START.claim(&app, &who, key, &[], Fields::new().with("reason", reason.as_sent())).await?;
    let plan = async |cx: Context| {
        app.require_split(who.tenant()).await?;
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let command = (Command::WindDown, Some(&reason));
        app.request_approval((&claim, &who.member()), command, &terms, &[], &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
