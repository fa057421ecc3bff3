//! `/v1/merchant/staff`: the merchant's staff: list, invite, change, disable, accept.

use axum::Json;
use axum::extract::State;
use ledger_core::ids::StaffId;
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{Empty, KeyedJson, Params, PathId};
use ledger_runtime::staff::{self, StaffChangeBody, StaffInviteBody};
use ledger_runtime::views::{Page, STAFF_STATUSES, StaffChangeView, StaffView};

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/merchant/staff")
    .summary("Lists the merchant's staff.")
    .permission(Permission::ShopStaffRead)
    .about("With `status`, a page may have fewer items than `limit`, or none, and still a `next_cursor`.")
    .pages_of::<StaffView>()
    .parameter(Parameter::in_query("status", "Members with this status only.", Kind::Word(STAFF_STATUSES)));

pub(crate) async fn list(
    State(app): State<App>,
    who: Merchant,
    mut params: Params,
) -> Result<Json<Page<StaffView>>, Problem> {
    let status = params.word("status", STAFF_STATUSES)?;
    let page = params.page()?;
    params.finish()?;
    Ok(Json(app.staff((who.tenant(), who.member().employer()), page, status).await?))
}

pub(crate) const INVITE: Keyed = Endpoint::post("/v1/merchant/staff")
    .summary("Invites a person to the merchant's staff.")
    .about("The person may act once they accept. Only an owner gives roles that decide on requests or move money.")
    .permission(Permission::ShopStaffManage)
    .body::<StaffInviteBody>()
    .created::<StaffChangeView>("Invited")
    .when(Code::AlreadyExists, "the person has a record")
    .when(Code::WrongState, "the shop is closed")
    .when(Code::NotFound, "no such shop of the merchant")
    .keyed(Operation::StaffInvite);

pub(crate) async fn invite(
    State(app): State<App>,
    who: Merchant,
    KeyedJson(key, body): KeyedJson<StaffInviteBody>,
) -> Result<Outcome, Problem> {
    staff::invite(&app, (&INVITE, &GET, None), (&who, &who.member()), (key, &body)).await
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/merchant/staff/{staff_id}")
    .summary("Returns a member of the merchant's staff.")
    .permission(Permission::ShopStaffRead)
    .id("staff_id", "The member's id.")
    .ok::<StaffView>("The member")
    .when(Code::NotFound, "no such member");

pub(crate) async fn get(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<StaffId>,
) -> Result<Json<StaffView>, Problem> {
    Ok(Json(StaffView::from(&app.staff_member(&who.member(), id).await?)))
}

pub(crate) const CHANGE: Keyed = Endpoint::patch("/v1/merchant/staff/{staff_id}")
    .summary("Changes the roles of a member of the merchant's staff, or disables or enables the member.")
    .about("Takes effect within a minute. Members give themselves no role.")
    .permission(Permission::ShopStaffManage)
    .id("staff_id", "The member's id.")
    .body::<StaffChangeBody>()
    .ok::<StaffChangeView>("Changed")
    .when(Code::WrongState, "no owner would remain, an invited member would be enabled, or the shop is closed")
    .when(Code::FourEyesRequired, "members give themselves a role or another shop")
    .when(Code::NotFound, "no such member, or no such shop")
    .keyed(Operation::StaffChange);

pub(crate) async fn change(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<StaffId>,
    KeyedJson(key, body): KeyedJson<StaffChangeBody>,
) -> Result<Outcome, Problem> {
    staff::change(&app, (&CHANGE, &GET, None), (&who, &who.member()), id, (key, &body)).await
}

pub(crate) const ACCEPT: Keyed = Endpoint::post("/v1/merchant/staff/accept")
    .summary("Accepts the caller's own invitation to the merchant's staff.")
    .open()
    .body::<Empty>()
    .ok::<StaffChangeView>("Accepted")
    .problems(&[Code::EmailUnverified])
    .when(Code::WrongState, "the caller is not invited")
    .when(Code::NotFound, "the caller has no record")
    .keyed(Operation::StaffAccept);

pub(crate) async fn accept(
    State(app): State<App>,
    who: Merchant,
    KeyedJson(key, _): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    staff::accept(&app, &ACCEPT, (&who, &who.member(), who.verified_email()), key).await
}
