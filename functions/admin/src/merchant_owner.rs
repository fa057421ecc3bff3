//! `POST /v1/admin/merchants/{merchant_id}/staff`: the first owner of a merchant, who then invites its staff.

use crate::approvals;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{MerchantId, StaffId};
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

/// The first owner of a merchant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MerchantOwnerBody {
    /// The person: the subject of the person's tokens, as the identity provider names it.
    staff_id: String,
    /// The person's verified e-mail address.
    email: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/staff")
    .summary("Sets the first owner of a merchant.")
    .about("The owner may act at once, and invites the merchant's staff.")
    .permission(Permission::MerchantsOwner)
    .id("merchant_id", "The merchant's id.")
    .body::<MerchantOwnerBody>()
    .approvable()
    .when(Code::AlreadyExists, "the merchant has an owner, or the person has a record")
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::MerchantOwner);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<MerchantOwnerBody>,
) -> Result<Outcome, Problem> {
    let id = request::id("staff_id", &body.staff_id, StaffId::parse)?;
    let email = request::email("email", &body.email);
    let fields = Fields::new().with("staff_id", id).with("email", email.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&merchant], fields).await?;
    let member = who.member();
    let plan = async |cx| {
        let email = email.text()?;
        let terms = app.terms(who.tenant()).await?;
        let command = Command::MerchantOwner { merchant, id, email };
        app.request_approval((&claim, &member), (command, None), &terms, &[], &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
