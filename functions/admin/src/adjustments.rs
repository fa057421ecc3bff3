//! `/v1/admin/adjustments`: one person requests, another approves or rejects.

use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::adjustments::decide::{Decision, DecisionReceipt};
use ledger_core::adjustments::record::{Adjustment, ReasonCode};
use ledger_core::adjustments::request::AdjustmentRequest;
use ledger_core::approvals::{RecordedRequest, RequestSummary};
use ledger_core::dynamo::Attributes;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{AdjustmentId, CardId, CustomerId};
use ledger_core::money::{Amount, Delta};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::transaction::Planned;
use ledger_core::{adjustments, keys};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, created, ok};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, Empty, KeyedJson, PathId, RequestKey};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request to adjust the balance of a customer or a card. Exactly one of `customer_id` and `card_id` is set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"customer_id": "019aa7fe-3c00-7000-8000-000000000001", "direction": "credit", "amount": "300", "reason_code": "correction", "note": "charged twice"}))]
pub(crate) struct AdjustmentBody {
    /// The customer whose balance is adjusted; absent if `card_id` is set.
    customer_id: Option<String>,
    /// The card whose balance is adjusted; absent if `customer_id` is set.
    card_id: Option<String>,
    /// The asset of the balance; `ECOPAY` if absent. A card holds `ECOPAY` only.
    asset: Option<String>,
    /// `credit` adds to the balance, `debit` takes from it.
    #[schema(value_type = words::Direction)]
    direction: String,
    /// The amount of the change.
    amount: AmountText,
    /// `correction`, `goodwill`, `fraud`, `reconciliation` or `opening`.
    #[schema(value_type = words::AdjustmentReason)]
    reason_code: String,
    /// Why the adjustment is requested; at most 140 characters, no card number.
    note: String,
}

/// An adjustment of the balance of a customer or a card.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AdjustmentView {
    /// The adjustment's id.
    adjustment_id: String,
    /// `pending`, `approved`, `rejected` or `withdrawn`.
    #[schema(value_type = words::AdjustmentStatus)]
    status: String,
    /// The account that is adjusted: `customer:<id>` or `card:<id>`.
    account: String,
    /// The asset of the balance.
    asset: String,
    /// The signed change of the balance; negative for a debit.
    delta: String,
    /// Why the balance is adjusted.
    #[schema(value_type = words::AdjustmentReason)]
    reason_code: String,
    /// The staff member who requested it.
    requested_by: String,
    /// The journal entry that posted it; absent unless it is approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// The time of the request.
    created_at: String,
    /// The time of the approval, rejection or withdrawal; absent while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    decided_at: Option<String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/adjustments")
    .summary("Requests an adjustment.")
    .about("No balance changes until another staff member approves it.")
    .permission(Permission::AdjustmentsRequest)
    .body::<AdjustmentBody>()
    .created::<AdjustmentView>("Requested; pending approval")
    .keyed(Operation::AdjustmentRequest);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<AdjustmentBody>,
) -> Result<Outcome, Problem> {
    let account = match (&body.customer_id, &body.card_id) {
        (Some(id), None) => Account::Customer(request::id("customer_id", id, CustomerId::parse)?),
        (None, Some(id)) => Account::Card(request::id("card_id", id, CardId::parse)?),
        (Some(_), Some(_)) => return Err(Problem::invalid_field("card_id", "cannot be sent with customer_id")),
        (None, None) => return Err(Problem::invalid_field("customer_id", "is missing")),
    };
    if body.card_id.is_some() && body.asset.as_deref().is_some_and(|asset| asset != "ECOPAY") {
        return Err(Problem::invalid_field("asset", "must be ECOPAY for a card"));
    }
    let amount = request::amount(body.asset.as_deref(), &body.amount)?;
    let delta_of: fn(&Amount) -> Delta = match body.direction.as_str() {
        "credit" => Amount::credit,
        "debit" => Amount::debit,
        _ => return Err(Problem::invalid_field("direction", "must be credit or debit")),
    };
    let words = "correction, goodwill, fraud, reconciliation or opening";
    let reason = request::word("reason_code", &body.reason_code, ReasonCode::parse, words)?;
    let note = request::memo("note", &body.note);
    let fields = Fields::new()
        .with("account", account)
        .with("asset", amount.asset())
        .with("delta", amount.change_text(delta_of))
        .with("reason_code", reason.name())
        .with("note", note.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let amount = request::amount_in(&*app.terms_at(who.tenant(), cx.now).await?, &amount)?;
        let ask = AdjustmentRequest {
            tenant: who.tenant().clone(),
            staff: who.staff_id(),
            account,
            delta: delta_of(&amount),
            reason,
            note: note.text()?,
            finding: None,
        };
        request_adjustment(&app, &who, &claim, &ask, &cx).await
    };
    Ok(app
        .perform(claim.clone(), admission, plan, |adjustment| {
            created(GET.path(&[&adjustment.id]), &AdjustmentView::from(adjustment))
        })
        .await)
}

/// Plans the request of an adjustment, which the inbox lists.
pub(crate) async fn request_adjustment(
    app: &App,
    who: &Admin,
    claim: &Claim,
    ask: &AdjustmentRequest,
    cx: &Context,
) -> Result<Planned<Adjustment>, PlanError> {
    let planned = adjustments::request::plan(ask, cx)?;
    let summary = RequestSummary::of_adjustment(&planned.receipt, Some(&ask.note));
    app.list_request((claim, &who.member()), &summary, planned).await
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/adjustments/{id}")
    .summary("Returns an adjustment.")
    .permission(Permission::AdjustmentsRead)
    .id("id", "The adjustment's id.")
    .ok::<AdjustmentView>("The adjustment")
    .when(Code::NotFound, "no such adjustment");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<AdjustmentId>,
) -> Result<Json<AdjustmentView>, Problem> {
    let item = app.dynamo().get(&keys::adjustment(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let view = AdjustmentView::from(&Adjustment::read(&item)?);
    let transaction_id = item.opt_string("transaction_id")?;
    Ok(Json(AdjustmentView { transaction_id, decided_at: item.opt_string("decided_at")?, ..view }))
}

pub(crate) const APPROVE: Keyed = Endpoint::post("/v1/admin/adjustments/{id}/approve")
    .summary("Approves an adjustment and posts it.")
    .about("The staff member who requested it cannot approve it.")
    .permission(Permission::ApprovalsDecide)
    .id("id", "The adjustment's id.")
    .ok::<AdjustmentView>("Approved and posted")
    .problems(&[
        Code::InsufficientBalance,
        Code::AccountFrozen,
        Code::ApprovalExpired,
        Code::FourEyesRequired,
        Code::LegacyRecordUnreadable,
    ])
    .when(Code::WrongState, "the adjustment is already approved or rejected, or the customer is closed")
    .when(Code::NotFound, "no such adjustment, or no such account")
    .keyed(Operation::AdjustmentApprove);

pub(crate) async fn approve(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<AdjustmentId>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    decide(&app, &who, id, key, (Decision::Approve, &APPROVE)).await
}

pub(crate) const REJECT: Keyed = Endpoint::post("/v1/admin/adjustments/{id}/reject")
    .summary("Rejects an adjustment.")
    .about("The staff member who requested it cannot reject it.")
    .permission(Permission::ApprovalsDecide)
    .id("id", "The adjustment's id.")
    .ok::<AdjustmentView>("Rejected")
    .problems(&[Code::ApprovalExpired, Code::FourEyesRequired])
    .when(Code::WrongState, "the adjustment is already approved or rejected")
    .when(Code::NotFound, "no such adjustment")
    .keyed(Operation::AdjustmentReject);

pub(crate) async fn reject(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<AdjustmentId>,
    KeyedJson(key, Empty {}): KeyedJson<Empty>,
) -> Result<Outcome, Problem> {
    decide(&app, &who, id, key, (Decision::Reject, &REJECT)).await
}

async fn decide(
    app: &App,
    who: &Admin,
    id: AdjustmentId,
    key: RequestKey,
    (decision, endpoint): (Decision, &Keyed),
) -> Result<Outcome, Problem> {
    let (claim, admission) = endpoint.claim(app, who, key, &[&id], Fields::new()).await?;
    let plan = async |cx| plan(app, who, id, decision, &claim, &cx).await;
    let render = |receipt: &DecisionReceipt| ok(&AdjustmentView::from(receipt));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

async fn plan(
    app: &App,
    who: &Admin,
    id: AdjustmentId,
    decision: Decision,
    claim: &Claim,
    cx: &Context,
) -> Result<Planned<DecisionReceipt>, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::adjustment(who.tenant(), id)]).await?;
    let item = items.into_iter().flatten().next().ok_or(PlanError::Missing)?;
    let adjustment = Adjustment::read(&item)?;
    let request = RecordedRequest::read(RequestSummary::of_adjustment(&adjustment, None), &item)?;
    let (terms, by) = (app.terms_at(who.tenant(), cx.now).await?, who.member());
    let planned = adjustments::decide::plan(who.tenant(), who.staff_id(), decision, &adjustment, &terms, cx)?;
    match decision {
        Decision::Approve => app.guarded_approval((claim, &by), &request, planned, cx).await,
        Decision::Reject => app.guarded_rejection((claim, &by), &request, planned, cx).await,
    }
}

impl From<&Adjustment> for AdjustmentView {
    fn from(adjustment: &Adjustment) -> Self {
        Self {
            adjustment_id: adjustment.id.to_string(),
            status: adjustment.state.clone(),
            account: adjustment.account.to_string(),
            asset: adjustment.delta.asset().to_string(),
            delta: adjustment.delta.text(),
            reason_code: adjustment.reason.name().to_owned(),
            requested_by: adjustment.requested_by.to_string(),
            transaction_id: None,
            created_at: adjustment.created_at.to_string(),
            decided_at: None,
        }
    }
}

impl From<&DecisionReceipt> for AdjustmentView {
    fn from(receipt: &DecisionReceipt) -> Self {
        Self {
            status: receipt.decision.state().to_owned(),
            transaction_id: receipt.transaction_id.map(|id| id.to_string()),
            decided_at: Some(receipt.decided_at.to_string()),
            ..Self::from(&receipt.adjustment)
        }
    }
}
