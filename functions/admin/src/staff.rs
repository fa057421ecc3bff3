//! `/v1/admin/staff`: the operator's staff: list, invite, change, disable, accept.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::ids::{Employer, StaffId};
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Empty, KeyedJson, Params, PathId};
use ledger_runtime::staff::{self, BeneficiaryBody, StaffChangeBody, StaffInviteBody};
use ledger_runtime::views::{BeneficiariesView, Page, STAFF_STATUSES, StaffChangeView, StaffView};

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/staff")
    .summary("Lists the operator's staff.")
    .permission(Permission::StaffRead)
    .about("With `status`, a page may have fewer items than `limit`, or none, and still a `next_cursor`.")
    .pages_of::<StaffView>()
    .parameter(Parameter::in_query("status", "Members with this status only.", Kind::Word(STAFF_STATUSES)));

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<StaffView>>, Problem> {
    let status = params.word("status", STAFF_STATUSES)?;
    let page = params.page()?;
    params.finish()?;
    Ok(Json(app.staff((who.tenant(), Employer::Operator), page, status).await?))
}

pub(crate) const INVITE: Keyed = Endpoint::post("/v1/admin/staff")
    .summary("Invites a person to the operator's staff.")
    .about(
        "The person may act once they accept. Only an owner gives roles that decide on requests or move money, and those \
         alone need approval.",
    )
    .permission(Permission::StaffManage)
    .body::<StaffInviteBody>()
    .created::<StaffChangeView>("Invited")
    .approvable()
    .when(Code::AlreadyExists, "the person has a record")
    .keyed(Operation::StaffInvite);

pub(crate) async fn invite(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<StaffInviteBody>,
) -> Result<Outcome, Problem> {
    staff::invite(&app, (&INVITE, &GET, Some(&approvals::GET)), (&who, &who.member()), (key, &body)).await
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/staff/{staff_id}")
    .summary("Returns a member of the operator's staff.")
    .permission(Permission::StaffRead)
    .id("staff_id", "The member's id.")
    .ok::<StaffView>("The member")
    .when(Code::NotFound, "no such member");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<StaffId>,
) -> Result<Json<StaffView>, Problem> {
    Ok(Json(StaffView::from(&app.staff_member(&who.member(), id).await?)))
}

pub(crate) const CHANGE: Keyed = Endpoint::patch("/v1/admin/staff/{staff_id}")
    .summary("Changes the roles of a member of the operator's staff, or disables or enables the member.")
    .about("Takes effect within a minute. Members give themselves no role.")
    .permission(Permission::StaffManage)
    .id("staff_id", "The member's id.")
    .body::<StaffChangeBody>()
    .ok::<StaffChangeView>("Changed")
    .approvable()
    .when(Code::WrongState, "fewer than two owners or deciders would remain, or an invited member would be enabled")
    .when(Code::FourEyesRequired, "members give themselves a role, or take a declared account of their own back")
    .when(Code::NotFound, "no such member")
    .keyed(Operation::StaffChange);

pub(crate) async fn change(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<StaffId>,
    KeyedJson(key, body): KeyedJson<StaffChangeBody>,
) -> Result<Outcome, Problem> {
    staff::change(&app, (&CHANGE, &GET, Some(&approvals::GET)), (&who, &who.member()), id, (key, &body)).await
}

pub(crate) const DECLARED: Endpoint = Endpoint::get("/v1/admin/staff/me/beneficiaries")
    .summary("Returns the accounts that the caller's record declares.")
    .open()
    .ok::<BeneficiariesView>("The accounts")
    .when(Code::NotFound, "the caller has no record");

pub(crate) async fn declared(State(app): State<App>, who: Admin) -> Result<Json<BeneficiariesView>, Problem> {
    let member = app.staff_member(&who.member(), who.staff_id()).await?;
    Ok(Json(BeneficiariesView::from(&member)))
}

pub(crate) const DECLARE: Keyed = Endpoint::post("/v1/admin/staff/me/beneficiaries")
    .summary("Declares an account as the caller's own, or as one of the caller's family or business.")
    .about("It needs no other person. Two other members take it back, by a change of the caller's record.")
    .open()
    .body::<BeneficiaryBody>()
    .ok::<StaffChangeView>("Declared")
    .when(
        Code::FourEyesRequired,
        "the account is declared as the caller's own, and would be one of the family or a business",
    )
    .when(Code::WrongState, "the caller has not accepted the invitation")
    .when(Code::NotFound, "the caller has no record")
    .keyed(Operation::StaffChange);

pub(crate) async fn declare(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<BeneficiaryBody>,
) -> Result<Outcome, Problem> {
    staff::declare(&app, &DECLARE, (&who, &who.member()), (key, &body)).await
}

pub(crate) const ACCEPT: Keyed = Endpoint::post("/v1/admin/staff/accept")
    .summary("Accepts the caller's own invitation to the operator's staff.")
    .open()
    .body::<Empty>()
    .ok::<StaffChangeView>("Accepted")
    .problems(&[Code::EmailUnverified])
    .when(Code::WrongState, "the caller is not invited")
    .when(Code::NotFound, "the caller has no record")
    .keyed(Operation::StaffAccept);

pub(crate) async fn accept(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, _): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    staff::accept(&app, &ACCEPT, (&who, &who.member(), who.verified_email()), key).await
}
