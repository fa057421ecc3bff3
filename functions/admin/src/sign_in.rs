//! `POST /v1/admin/customers/{customer_id}/sign-in`: two people move a customer to another sign-in.

use crate::approvals;
use crate::cards::current_terms;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::customers::sign_in::{CurrentSignIn, SignInMove};
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{CustomerId, SubjectId};
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The sign-in that a customer is moved to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"subject": "7c1e4a52-0d3f-4b1f-9a0c-4d5e019389d2", "reason": "phone lost, passport seen"}))]
pub(crate) struct SignInBody {
    /// The subject of the new sign-in's tokens: a UUID, which is not the id of a customer and was not a customer's sign-in.
    subject: String,
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

/// With what a customer signs in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SignInView {
    /// The subject of the customer's tokens: the customer's id until the customer is moved.
    subject: String,
    /// When the customer was moved to it; absent if never moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
}

impl SignInView {
    /// Reads a customer's profile.
    pub(crate) fn read(profile: &Item, customer: CustomerId) -> Result<Self, ItemError> {
        let current = CurrentSignIn::read(profile, customer)?;
        Ok(Self { subject: current.subject.to_string(), since: current.since.map(|since| since.to_string()) })
    }
}

pub(crate) const MOVE: Keyed = Endpoint::post("/v1/admin/customers/{customer_id}/sign-in")
    .summary("Requests that a customer signs in with another subject, for example after a phone was lost.")
    .about(
        "With the approval the former subject ends for good: within 60 seconds it is answered as an unknown customer. Freeze \
         the customer first if nothing may be paid within that time. The customer's id, balances and idempotency keys stay.",
    )
    .permission(Permission::CustomersFreeze)
    .id("customer_id", "The customer's id.")
    .body::<SignInBody>()
    .approvable()
    .when(Code::AlreadyExists, "the subject is or was a customer's sign-in, or is a customer's id")
    .when(Code::WrongState, "the wallet is closed, or the tenant's customers are in a legacy model")
    .when(Code::NotFound, "no such customer")
    .keyed(Operation::SignInMove);

pub(crate) async fn move_to(
    State(app): State<App>,
    who: Admin,
    PathId(customer): PathId<CustomerId>,
    KeyedJson(key, body): KeyedJson<SignInBody>,
) -> Result<Outcome, Problem> {
    let subject = request::id("subject", &body.subject, SubjectId::parse)?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("subject", subject).with("reason", reason.as_sent());
    let (claim, admission) = MOVE.claim(&app, &who, key, &[&customer], fields).await?;
    let at = Partition::customer(who.tenant(), customer).profile();
    let plan = async |cx: Context| {
        app.require_split(who.tenant()).await?;
        let (terms, reason) = (current_terms(&app, &claim, &cx).await?, reason.text()?);
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&at)).await?;
        let profile = items.into_iter().flatten().next().ok_or(PlanError::Missing)?;
        let of = SignInMove { customer, subject, seen: CurrentSignIn::read(&profile, customer)?.subject };
        let items = app.ledger().read_for(&claim, &of.keys(who.tenant())).await?;
        let (member, command) = (who.member(), Command::SignInMove(of));
        app.request_approval((&claim, &member), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
