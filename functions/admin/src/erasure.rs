//! `/v1/admin/customers/{customer_id}/erase` and `/erasure`: two people erase a closed customer, and a job erases the texts.

use crate::approvals;
use crate::cards::current_terms;
use axum::Json;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::customer_state::erasure_of;
use ledger_core::erasure::ErasureDetails;
use ledger_core::idempotency::Fields;
use ledger_core::ids::CustomerId;
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId};
use ledger_runtime::views::JobDetail;
use serde::Deserialize;
use utoipa::ToSchema;

/// Why a customer is erased.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "request 2026-117"}))]
pub(crate) struct EraseBody {
    /// The reason; at most 140 characters, no card number. It is erased with the other texts.
    reason: String,
}

pub(crate) const ERASE: Keyed = Endpoint::post("/v1/admin/customers/{customer_id}/erase")
    .summary("Requests that a closed customer is erased for good.")
    .about(
        "With the approval the name, its reading, the e-mail address, the telephone number and the sign-in are erased. A job \
         erases the texts that persons typed about the customer from five minutes later on. Entries, amounts and ids stay, and \
         what is unclaimed can be claimed as before.",
    )
    .permission(Permission::AccountsClose)
    .id("customer_id", "The customer's id.")
    .body::<EraseBody>()
    .approvable()
    .when(Code::WrongState, "the customer is not closed, or was erased, or is in a legacy model")
    .when(Code::NotFound, "no such customer")
    .keyed(Operation::CustomerErase);

pub(crate) async fn erase(
    State(app): State<App>,
    who: Admin,
    PathId(customer): PathId<CustomerId>,
    KeyedJson(key, body): KeyedJson<EraseBody>,
) -> Result<Outcome, Problem> {
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("reason", reason.as_sent());
    let (claim, admission) = ERASE.claim(&app, &who, key, &[&customer], fields).await?;
    let plan = async |cx: Context| {
        app.require_split(who.tenant()).await?;
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let command = Command::CustomerErase { customer };
        let items = app.ledger().read_for(&claim, &command.keys(who.tenant(), &terms)).await?;
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/customers/{customer_id}/erasure")
    .summary("Returns how far the job is that erases the texts of a customer.")
    .permission(Permission::CustomersRead)
    .id("customer_id", "The customer's id.")
    .ok::<JobDetail>("The job")
    .when(Code::LegacyRecordUnreadable, "the legacy record has an invalid value; `attribute` names it")
    .when(Code::NotFound, "no such customer, or the customer was not erased");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(customer): PathId<CustomerId>,
) -> Result<Json<JobDetail>, Problem> {
    let profile = Partition::customer(who.tenant(), customer).profile();
    let profile = app.dynamo().get(&profile).await.map_err(crate::customers::named)?;
    let id = profile.as_ref().map(erasure_of).transpose()?.flatten().ok_or_else(Problem::not_found)?;
    let item = app.job_of::<ErasureDetails>(who.tenant(), id).await?;
    Ok(Json(JobDetail::read(&item)?))
}
