//! `/v1/admin/adjustments`: requests an adjustment, which another person approves or rejects among the approvals.

use crate::approvals;
use axum::Json;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::adjustments::{Adjustment, ReasonCode};
use ledger_core::approvals::{Approval, Command};
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::{ApprovalId, CardId, CustomerId};
use ledger_core::keys;
use ledger_core::money::{Amount, Delta};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::time::Timestamp;
use ledger_core::transaction::Planned;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId};
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
    /// The adjustment's id: that of its approval.
    adjustment_id: String,
    /// `pending`, `approved`, `rejected`, `withdrawn`, `expired` or `stale`.
    #[schema(value_type = words::ApprovalStateWord)]
    status: &'static str,
    /// The account that is adjusted: `customer:<id>` or `card:<id>`.
    account: String,
    /// The asset of the balance.
    asset: String,
    /// The signed change of the balance; negative for a debit. Absent if only the exposure is corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<String>,
    /// What is added to the exposure, which counts against the wallet's cap, beyond the change of the balance; absent unless a
    /// reconciliation found that the exposure is not the sum of its parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    exposure_delta: Option<String>,
    /// Why the balance is adjusted.
    #[schema(value_type = words::AdjustmentReason)]
    reason_code: &'static str,
    /// The staff member who requested it.
    requested_by: String,
    /// The journal entry that posted it; absent unless it is approved and changed the balance.
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
    .permission(Permission::AdjustmentsRequest)
    .body::<AdjustmentBody>()
    .approvable()
    .when(Code::WrongState, "the customer or card is closed, or the card was replaced")
    .when(Code::AccountFrozen, "it is frozen, and would be debited")
    .when(Code::NotFound, "no such account")
    .keyed(Operation::Adjustment);

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
        let adjustment = Adjustment::posting(account, delta_of(&amount), reason);
        request_adjustment(&app, &who, &claim, (adjustment, &note.text()?), &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

/// Plans the request of an adjustment.
pub(crate) async fn request_adjustment(
    app: &App,
    who: &Admin,
    claim: &Claim,
    (adjustment, reason): (Adjustment, &FreeText),
    cx: &Context,
) -> Result<Planned<Approval>, PlanError> {
    let command = Command::Adjustment(adjustment);
    let terms = app.terms_at(who.tenant(), cx.now).await?;
    let keys = command.keys(who.tenant(), &terms);
    let items = if keys.is_empty() { Vec::new() } else { app.ledger().read_for(claim, &keys).await? };
    app.request_approval((claim, &who.member()), (command, Some(reason)), &terms, &items, cx).await
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
    PathId(id): PathId<ApprovalId>,
) -> Result<Json<AdjustmentView>, Problem> {
    let item = app.dynamo().get(&keys::approval(who.tenant(), id)).await?.ok_or_else(Problem::not_found)?;
    let approval = Approval::read(&item)?;
    AdjustmentView::of(&approval, app.now()).map(Json).ok_or_else(Problem::not_found)
}

impl AdjustmentView {
    /// What the API shows of an adjustment; `None` for another command.
    fn of(approval: &Approval, now: Timestamp) -> Option<Self> {
        let Command::Adjustment(adjustment) = &approval.command else { return None };
        Some(Self {
            adjustment_id: approval.id.to_string(),
            status: approval.state(now).name(),
            account: adjustment.account.to_string(),
            asset: adjustment.asset.to_string(),
            delta: adjustment.delta.as_ref().map(Delta::text),
            exposure_delta: adjustment.exposure().map(Delta::text),
            reason_code: adjustment.reason.name(),
            requested_by: approval.requested_by.to_string(),
            transaction_id: approval.transaction_id.map(|id| id.to_string()),
            created_at: approval.created_at.to_string(),
            decided_at: approval.decided_at.map(|at| at.to_string()),
        })
    }
}
