//! `/v1/admin/settlements` closes a merchant's period. Listing settlements and resuming a stopped one are under the
//! merchant's path.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::approvals::{Command, destination_digest};
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{MerchantId, SettlementId};
use ledger_core::keys::{self, Partition};
use ledger_core::merchants;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::settlements::{self, Settlement, SettlementState};
use ledger_core::time::BusinessDate;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Kind, Parameter, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, Listing, Params, PathOf};
use ledger_runtime::views::{Page, SettlementView};
use serde::Deserialize;
use utoipa::ToSchema;

/// The statuses of settlements.
const STATUSES: &[&str] = &[
    "collecting",
    "held",
    "verified",
    "released",
    "charged",
    "paying",
    "booked",
    "paid",
    "carried",
    "undone",
    "returned",
];

/// A request to close a period of a merchant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"merchant_id": "019aa7fe-3c00-7000-8000-000000000001", "pay_on": "2026-11-30"}))]
pub(crate) struct SettlementBody {
    /// The merchant whose period is closed.
    merchant_id: String,
    /// The date on which the merchant is paid, for example `2026-11-30`; if absent, the first possible one when the settlement
    /// is approved. By bank file: a date on which banks are open, as soon as the bank takes the file, and at most the term
    /// `settlement.bank_ahead_days` ahead. Through Stripe: any date from today in Japan on, up to the same; the payout is made
    /// when it begins.
    pay_on: Option<String>,
}

/// The reason for resuming a stopped settlement.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "the bank account was corrected"}))]
pub(crate) struct ResumeBody {
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/settlements")
    .summary("Closes a merchant's period: settles the credited records that are in no settlement yet.")
    .about(
        "The settlement runs in the background once it is approved. The payment day is checked at the request and again at the \
         approval: once a stated day is too early, the command is stale.",
    )
    .permission(Permission::SettlementsOpen)
    .body::<SettlementBody>()
    .approvable()
    .when(Code::InvalidRequest, "the request is not valid, or there is no payout destination or no account to pay from, or none is paid on the day")
    .when(Code::NotFound, "no such merchant")
    .when(Code::AlreadyExists, "the merchant has an open settlement")
    .keyed(Operation::SettlementOpen);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<SettlementBody>,
) -> Result<Outcome, Problem> {
    let id = request::id("merchant_id", &body.merchant_id, MerchantId::parse)?;
    let date = |text: &str| BusinessDate::parse(text).map_err(|_| Problem::invalid_field("pay_on", "is not a date"));
    let pay_on = body.pay_on.as_deref().map(date).transpose()?;
    let fields = Fields::new().with("merchant_id", id).with_some("pay_on", pay_on);
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let keys = [Partition::merchant(who.tenant(), id).profile(), keys::settling(who.tenant(), id)];
    let plan = async |cx: Context| {
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let items = app.ledger().read_for(&claim, &keys).await?;
        let profile = items.first().and_then(Option::as_ref).ok_or(PlanError::Missing)?;
        let seen = destination_digest(merchants::destination(profile)?.as_ref());
        let command = Command::SettlementOpen { merchant: id, pay_on, seen };
        app.request_approval((&claim, &who.member()), (command, None), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

pub(crate) const LIST: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/settlements")
    .summary("Lists a merchant's settlements, newest first.")
    .permission(Permission::SettlementsRead)
    .id("merchant_id", "The merchant's id.")
    .pages_of::<SettlementView>();

pub(crate) async fn list(
    State(app): State<App>,
    who: Admin,
    request::PathId(id): request::PathId<MerchantId>,
    page: request::Page,
) -> Result<Json<Page<SettlementView>>, Problem> {
    Ok(Json(app.settlements(who.tenant(), id, page).await?))
}

pub(crate) const OF_TENANT: Endpoint = Endpoint::get("/v1/admin/settlements")
    .summary("Lists the settlements of all merchants, newest first.")
    .about(
        "The most recent settlements may be missing for a moment: the list of their merchant has them. With `status` or `to_review`, a page \
         may have fewer items than `limit`, or none, and still a `next_cursor`.",
    )
    .permission(Permission::SettlementsRead)
    .pages_of::<SettlementView>()
    .parameter(Parameter::in_query("status", "Settlements with this status.", Kind::Word(STATUSES)))
    .parameter(Parameter::in_query("to_review", "`true`: settlements that need review.", Kind::Word(&["true"])))
    .parameter(Listing::FROM)
    .parameter(Listing::TO);

pub(crate) async fn of_tenant(
    State(app): State<App>,
    who: Admin,
    mut params: Params,
) -> Result<Json<Page<SettlementView>>, Problem> {
    let words = "a status of a settlement, for example paid";
    let status = params.take("status")?;
    let status = status.map(|word| request::word("status", &word, SettlementState::parse, words)).transpose()?;
    let to_review = params.take("to_review")?;
    let is_true = |word: &str| (word == "true").then_some(());
    let to_review = to_review.map(|word| request::word("to_review", &word, is_true, "true")).transpose()?.is_some();
    let listing = params.listing()?;
    params.finish()?;
    app.settlements_of_tenant(who.tenant(), listing, (status, to_review)).await.map(Json)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/merchants/{merchant_id}/settlements/{id}")
    .summary("Returns a settlement.")
    .permission(Permission::SettlementsRead)
    .id("merchant_id", "The merchant's id.")
    .id("id", "The settlement's id.")
    .ok::<SettlementView>("The settlement")
    .when(Code::NotFound, "no such settlement");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
) -> Result<Json<SettlementView>, Problem> {
    let (merchant, id) = ids(&merchant, &id)?;
    let settlement = app.settlement(who.tenant(), merchant, id).await?;
    app.settlement_view(who.tenant(), &settlement).await.map(Json)
}

pub(crate) const RESUME: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/resume")
    .summary("Resumes a stopped settlement from its present state.")
    .permission(Permission::SettlementsOpen)
    .id("merchant_id", "The merchant's id.")
    .id("id", "The settlement's id.")
    .body::<ResumeBody>()
    .ok::<SettlementView>("Resumed")
    .when(Code::WrongState, "the settlement is not stopped")
    .when(Code::NotFound, "no such settlement")
    .asks_ties()
    .keyed(Operation::SettlementResume);

pub(crate) async fn resume(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ResumeBody>,
) -> Result<Outcome, Problem> {
    let (merchant, id) = ids(&merchant, &id)?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("reason", reason.as_sent());
    let (claim, admission) = RESUME.claim(&app, &who, key, &[&merchant, &id], fields).await?;
    let plan = async |cx| {
        let settlement = read(&app, &who, (merchant, id), &claim).await?;
        let planned = settlements::plan_resume(who.tenant(), &settlement, who.actor(), Some(&reason.text()?), &cx)?;
        let of = (vec![Account::Merchant(merchant)], Permission::SettlementsOpen);
        app.alone((&claim, &who.member()), of, planned).await
    };
    let render = |settlement: &Settlement| ok(&SettlementView::from(settlement));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

pub(crate) async fn read(
    app: &App,
    who: &Admin,
    (merchant, id): (MerchantId, SettlementId),
    claim: &Claim,
) -> Result<Settlement, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::settlement(who.tenant(), merchant, id)]).await?;
    Ok(Settlement::read(&items.into_iter().flatten().next().ok_or(PlanError::Missing)?)?)
}

pub(crate) fn ids(merchant: &str, id: &str) -> Result<(MerchantId, SettlementId), Problem> {
    let missing = |_| Problem::not_found();
    Ok((MerchantId::parse(merchant).map_err(missing)?, SettlementId::parse(id).map_err(missing)?))
}
