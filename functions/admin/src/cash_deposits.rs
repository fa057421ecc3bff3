//! `/v1/admin/merchants/{merchant_id}/cash-deposits`: money that a merchant brought for the cash that it owes, and its reversal.

use crate::approvals;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::cash_deposits;
use ledger_core::failure::Failure;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{MerchantId, TransactionId};
use ledger_core::journal::JournalEntry;
use ledger_core::keys::Partition;
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::plan::{Context, PlanRefusal};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, PathOf};
use serde::Deserialize;
use utoipa::ToSchema;

/// Money that a merchant brought.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"amount": "50000", "reason": "receipt 1207"}))]
pub(crate) struct CashDepositBody {
    /// The amount, in yen.
    amount: AmountText,
    /// What it is recorded from: a receipt, a line of a bank's statement; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/cash-deposits")
    .summary("Records money that a merchant brought for the cash that its terminals took.")
    .about(
        "The merchant is credited, and its next settlement nets the money. The room of the cash that it covers returns with \
         that settlement, whether it pays or is carried.",
    )
    .permission(Permission::CashDepositsRecord)
    .id("merchant_id", "The merchant's id.")
    .body::<CashDepositBody>()
    .approvable()
    .when(Code::NotFound, "no such merchant")
    .keyed(Operation::CashDeposit);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<CashDepositBody>,
) -> Result<Outcome, Problem> {
    let amount = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with_amount("amount", &amount).with("reason", reason.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&merchant], fields).await?;
    let plan = async |cx: Context| {
        let (terms, reason) = (app.terms_at(who.tenant(), cx.now).await?, reason.text()?);
        let command = Command::CashDeposit { merchant, amount: amount.clone() };
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &[], &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}

/// Why a deposit is taken back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "receipt 1207 is another merchant's"}))]
pub(crate) struct CashDepositReversalBody {
    /// Why it was recorded wrongly; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const REVERSE: Keyed =
    Endpoint::post("/v1/admin/merchants/{merchant_id}/cash-deposits/{deposit_id}/reversal")
        .summary("Takes a deposit back that was recorded wrongly.")
        .about(
            "Once, and whole. The merchant owes the money again, and its next settlement nets that. Room that it \
             covered does not return a second time.",
        )
        .permission(Permission::CashDepositsRecord)
        .id("merchant_id", "The merchant's id.")
        .id("deposit_id", "The `transaction_id` of the deposit.")
        .body::<CashDepositReversalBody>()
        .approvable()
        .when(Code::WrongState, "it was taken back before")
        .when(Code::NotFound, "no such deposit of this merchant")
        .keyed(Operation::CashDepositReversal);

pub(crate) async fn reverse(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, deposit)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<CashDepositReversalBody>,
) -> Result<Outcome, Problem> {
    let merchant = MerchantId::parse(&merchant).map_err(|_| Problem::not_found())?;
    let deposit = TransactionId::parse(&deposit).map_err(|_| Problem::not_found())?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("reason", reason.as_sent());
    let (claim, admission) = REVERSE.claim(&app, &who, key, &[&merchant, &deposit], fields).await?;
    let at = Partition::merchant(who.tenant(), merchant).entry(deposit);
    let plan = async |cx: Context| {
        let (terms, reason) = (app.terms_at(who.tenant(), cx.now).await?, reason.text()?);
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&at)).await?;
        let entry = JournalEntry::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        let amount = cash_deposits::amount_of(&entry, merchant);
        let amount = amount.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
        let command = Command::CashDepositReversal { merchant, deposit, amount };
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
