//! `/v1/admin/merchants/{merchant_id}/staff`: a merchant's staff: lists it, sets the first owner, who then invites the others, and
//! strikes out invitations.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::Command;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{Employer, MerchantId, StaffId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::permission::Permission as Needed;
use ledger_core::plan::Context;
use ledger_core::staff::{self, StaffMember};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Params, PathId, PathOf, SentText};
use ledger_runtime::views::{Page, STAFF_STATUSES, StaffChangeView, words};
use serde::{Deserialize, Serialize};
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

/// Why an invitation is struck out.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "the shop named another person"}))]
pub(crate) struct StrikeBody {
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

/// A member of a merchant's staff, as the operator sees the record: without an address.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MerchantStaffView {
    /// The person: the subject of the person's tokens.
    staff_id: String,
    /// The roles.
    #[schema(value_type = Vec<words::StaffRoleWord>)]
    roles: Vec<&'static str>,
    /// The shop whose payments alone the person sees and changes; absent if those of all shops.
    #[serde(skip_serializing_if = "Option::is_none")]
    shop_id: Option<String>,
    /// `invited` until the person accepts; `disabled` members may do nothing.
    #[schema(value_type = words::StaffStatus)]
    status: &'static str,
    /// The time at which the record was made: of an invitation, when the person was invited.
    created_at: String,
    /// The time of the last change.
    updated_at: String,
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/staff")
    .summary("Lists a merchant's staff, without addresses.")
    .about("With `status`, a page may have fewer items than `limit`, or none, and still a `next_cursor`.")
    .permission(Permission::MerchantsRead)
    .id("merchant_id", "The merchant's id.")
    .pages_of::<MerchantStaffView>()
    .parameter(Parameter::in_query("status", "Members with this status only.", Kind::Word(STAFF_STATUSES)));

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
    mut params: Params,
) -> Result<Json<Page<MerchantStaffView>>, Problem> {
    let status = params.word("status", STAFF_STATUSES)?;
    let page = params.page()?;
    params.finish()?;
    Ok(Json(app.staff((who.tenant(), Employer::Merchant(merchant)), page, status).await?))
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

pub(crate) const STRIKE: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/staff/{staff_id}/strike")
    .summary("Strikes out an invitation in a merchant's staff.")
    .about(
        "Only an invitation that was not accepted: the access of a member is the merchant's to take. An owner of the merchant \
         can make it an invitation again.",
    )
    .permission(Permission::MerchantsOwner)
    .id("merchant_id", "The merchant's id.")
    .id("staff_id", "The person's id.")
    .body::<StrikeBody>()
    .ok::<StaffChangeView>("Struck out: the record is `disabled`")
    .when(Code::WrongState, "the person has accepted, or the record is disabled")
    .when(Code::NotFound, "no such record")
    .asks_ties()
    .keyed(Operation::StaffStrike);

pub(crate) async fn strike(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<StrikeBody>,
) -> Result<Outcome, Problem> {
    let missing = |_| Problem::not_found();
    let (merchant, id) = (MerchantId::parse(&merchant).map_err(missing)?, StaffId::parse(&id).map_err(missing)?);
    let employer = Employer::Merchant(merchant);
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = STRIKE.claim(&app, &who, key, &[&merchant, &id], fields).await?;
    let (member, record) = (who.member(), keys::staff_member(who.tenant(), employer, id));
    let plan = async |cx: Context| {
        let reason = request::text_of(reason.as_ref())?;
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&record)).await?;
        let invited = StaffMember::read(employer, items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        let by = app.acting_member(&member, Needed::MerchantsOwner).await?;
        let planned = staff::plan_strike(who.tenant(), &invited, (&by, reason.as_ref()), &cx)?;
        let of = (vec![Account::Merchant(merchant)], Needed::MerchantsOwner);
        app.alone((&claim, &member), of, planned).await
    };
    let outcome = app.perform(claim.clone(), admission, plan, |member| ok(&StaffChangeView::from(member))).await;
    app.records().forget_staff(who.tenant(), (employer, id));
    Ok(outcome)
}

impl From<&StaffMember> for MerchantStaffView {
    fn from(member: &StaffMember) -> Self {
        Self {
            staff_id: member.id.to_string(),
            roles: member.roles.iter().map(|role| role.name()).collect(),
            shop_id: member.shop.map(|shop| shop.to_string()),
            status: member.state.name(),
            created_at: member.created_at.to_string(),
            updated_at: member.updated_at.to_string(),
        }
    }
}
