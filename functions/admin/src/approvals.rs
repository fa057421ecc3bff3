//! `/v1/admin/approvals`: commands that another person must approve. One person requests a command at the command's own
//! endpoint, another approves or rejects it here.

use axum::Json;
use axum::extract::State;
use ledger_core::approvals::{Approval, ApprovalState, Command};
use ledger_core::idempotency::{Answer, Fields};
use ledger_core::ids::ApprovalId;
use ledger_core::operation::Operation;
use ledger_core::staff::MemberState;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, ok};
use ledger_runtime::identity::{Admin, Caller, Member};
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, Empty, KeyedJson, Listing, Params, PathId};
use ledger_runtime::views::{ApprovalDetail, ApprovalView, Page};

const TIED: &[&str] = &["yes"];
const STATES: &[&str] = &["pending", "approved", "rejected", "withdrawn", "expired", "stale"];

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/approvals")
    .summary("Lists commands that await approval or were decided on, newest first.")
    .about("With `state`, `command` or `tied`, a page may have fewer items than `limit`, or none, and still a `next_cursor`.")
    .permission(Permission::ApprovalsRead)
    .pages_of::<ApprovalDetail>()
    .parameter(Parameter::in_query("state", "Commands in this state only.", Kind::Word(STATES)))
    .parameter(Parameter::in_query(
        "command",
        "Commands of this operation only.",
        Kind::Form("^[a-z_]{2,40}$", "grant"),
    ))
    .parameter(Parameter::in_query(
        "tied",
        "`yes`: commands alone for which a tie to an account of a member who requested or decided was recorded, and is shown to the \
         caller.",
        Kind::Word(TIED),
    ))
    .parameter(Listing::FROM)
    .parameter(Listing::TO);

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<ApprovalDetail>>, Problem> {
    let state = params.take("state")?;
    let words = "pending, approved, rejected, withdrawn, expired or stale";
    let state = state.map(|word| request::word("state", &word, ApprovalState::parse, words)).transpose()?;
    let command = params.take("command")?;
    let command = command.map(|name| request::word("command", &name, Operation::parse, "an operation of this API"));
    let is_tied = params.word("tied", TIED)?.is_some();
    let (command, listing) = (command.transpose()?, params.listing()?);
    params.finish()?;
    let viewer = app.viewer(&who.member()).await?;
    Ok(Json(app.approvals((who.tenant(), viewer), (state, command, is_tied), listing).await?))
}

/// Builds the response to a command that was stored.
pub(crate) fn pending(approval: &Approval) -> Answer {
    ledger_runtime::approvals::pending(&GET, approval)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/approvals/{approval_id}")
    .summary("Returns a command that awaits approval or was decided on.")
    .about(
        "A person who may decide on it while it is pending sees the names of customers, and a payout destination whole beside the \
         present one; the audit trail shows who read them. The requester sees the destination that was sent.",
    )
    .permission(Permission::ApprovalsRead)
    .id("approval_id", "The approval's id.")
    .ok::<ApprovalDetail>("The command")
    .when(Code::NotFound, "no such command");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<ApprovalId>,
) -> Result<Json<ApprovalDetail>, Problem> {
    let found = app.approval(who.tenant(), id).await?;
    app.approval_detail(&who.member(), &found).await.map(Json)
}

pub(crate) const APPROVE: Keyed = Endpoint::post("/v1/admin/approvals/{approval_id}/approve")
    .summary("Approves a command and executes it.")
    .about(
        "Neither the staff member who requested it can approve it, nor one whose own account it is for. One who has declared the \
         account as the family's or a business's can while no other member may. If it cannot be executed now, it stays pending. If what it was requested against has changed, it becomes `stale` and is never \
         executed.",
    )
    .permission(Permission::ApprovalsDecide)
    .id("approval_id", "The approval's id.")
    .ok::<ApprovalView>("Approved and executed")
    .problems(&[
        Code::ApprovalExpired,
        Code::ApprovalStale,
        Code::CashRoomExceeded,
        Code::CashNotOutstanding,
        Code::RefundRoomExceeded,
        Code::BudgetExceeded,
        Code::OverRefund,
        Code::InsufficientBalance,
        Code::AccountFrozen,
        Code::LegacyRecordUnreadable,
    ])
    .when(Code::Unavailable, "the state at Stripe is not certain yet; retry with the same key")
    .when(Code::FourEyesRequired, "the caller requested it, or an account that it is for is the caller's")
    .when(Code::WrongState, "it is decided on already, its requester may not request it, or its cash was reversed before")
    .when(Code::AlreadyExists, "the merchant has an open settlement or an owner, or the person a record")
    .when(Code::NotFound, "no such command, or no such account")
    .keyed(Operation::ApprovalApprove);

pub(crate) async fn approve(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<ApprovalId>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = APPROVE.claim(&app, &who, key, &[&id], Fields::new()).await?;
    let member = who.member();
    let plan = async |cx| app.approve(&claim, &member, id, &cx).await;
    let (outcome, executed) = app.perform_with_receipt(claim.clone(), admission, plan, decided).await;
    match executed {
        Some(approval) => {
            if let (Command::SettlementReturn(_), Some(_)) = (&approval.command, approval.transaction_id) {
                app.metrics().count(Metric::PayoutReturned, who.tenant(), Operation::SettlementReturn);
            }
            after_approval(&app, &member, &approval).await;
        }
        // The call that executed it may not have ended.
        None if outcome.status() == 200 => {
            if let Ok(approval) = app.approval(who.tenant(), id).await {
                after_approval(&app, &member, &approval).await;
            }
        }
        None => {}
    }
    Ok(outcome)
}

/// What follows an approval and is no part of its transaction.
async fn after_approval(app: &App, member: &Member, approval: &Approval) {
    app.forget_changed(member.tenant(), &approval.command);
    if let Command::StaffChange { id, state: Some(MemberState::Disabled), .. } = approval.command {
        app.withdraw_requests_of(member, id).await;
    }
}

pub(crate) const REJECT: Keyed = Endpoint::post("/v1/admin/approvals/{approval_id}/reject")
    .summary("Rejects a command.")
    .about("The staff member who requested it cannot reject it: they withdraw it.")
    .permission(Permission::ApprovalsDecide)
    .id("approval_id", "The approval's id.")
    .ok::<ApprovalView>("Rejected")
    .problems(&[Code::ApprovalExpired, Code::FourEyesRequired])
    .when(Code::WrongState, "it is already decided on")
    .when(Code::NotFound, "no such command")
    .keyed(Operation::ApprovalReject);

pub(crate) async fn reject(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<ApprovalId>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = REJECT.claim(&app, &who, key, &[&id], Fields::new()).await?;
    let member = who.member();
    let plan = async |cx| app.reject(&claim, &member, id, &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, decided).await)
}

pub(crate) const WITHDRAW: Keyed = Endpoint::post("/v1/admin/approvals/{approval_id}/withdraw")
    .summary("Withdraws a command that the caller requested. An owner withdraws every command.")
    .permission(Permission::ApprovalsRequest)
    .id("approval_id", "The approval's id.")
    .ok::<ApprovalView>("Withdrawn")
    .problems(&[Code::ApprovalExpired])
    .when(
        Code::FourEyesRequired,
        "the caller is an owner who did not request it, and an account that it is for is the caller's",
    )
    .when(Code::WrongState, "it is already decided on")
    .when(Code::NotFound, "no such command")
    .keyed(Operation::ApprovalWithdraw);

pub(crate) async fn withdraw(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<ApprovalId>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    let (claim, admission) = WITHDRAW.claim(&app, &who, key, &[&id], Fields::new()).await?;
    let member = who.member();
    let plan = async |cx| app.withdraw(&claim, &member, id, &cx).await;
    Ok(app.perform(claim.clone(), admission, plan, decided).await)
}

/// The stored response of a decision. It has no reason and no e-mail address: a stored response is not erased. A command
/// that was found to be stale is a refusal.
fn decided(approval: &Approval) -> Answer {
    let at = approval.decided_at.unwrap_or(approval.created_at);
    match approval.state(at) {
        ApprovalState::Stale => Problem::approval_stale().answer(),
        ApprovalState::Pending
        | ApprovalState::Approved
        | ApprovalState::Rejected
        | ApprovalState::Withdrawn
        | ApprovalState::Expired => ok(&ApprovalView::at(approval, at).without_addresses()),
    }
}
