//! `POST /v1/admin/merchants/{merchant_id}/cash-deposits`: money that a merchant brought for the cash that it owes.

use crate::{approvals, merchants};
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::cash_deposits::{self, CashDeposit, CashDepositReceipt};
use ledger_core::idempotency::Fields;
use ledger_core::ids::MerchantId;
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_runtime::app::App;
use ledger_runtime::approvals::Requested;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId};
use serde::{Deserialize, Serialize};
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

/// A recorded deposit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CashDepositView {
    /// The journal entry's id.
    transaction_id: String,
    /// The merchant's id.
    merchant_id: String,
    /// The amount, in yen.
    amount: String,
    /// The time of the record.
    created_at: String,
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
    .created::<CashDepositView>("Recorded")
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
    let plan = async |cx| {
        let (terms, reason) = (app.terms(who.tenant()).await?, reason.text()?);
        if terms.approvals.are_required() {
            let command = Command::CashDeposit { merchant, amount: amount.clone() };
            return app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &[], &cx).await;
        }
        let (tenant, actor) = (who.tenant(), who.actor());
        let deposit = CashDeposit { tenant, actor, merchant, amount: &amount, reason: &reason };
        Ok(Requested::executed(cash_deposits::plan(&deposit, &terms, &cx)?))
    };
    let recorded = |receipt: &CashDepositReceipt| {
        let view = CashDepositView {
            transaction_id: receipt.transaction_id.to_string(),
            merchant_id: receipt.merchant.to_string(),
            amount: receipt.amount.text(),
            created_at: receipt.created_at.to_string(),
        };
        created(merchants::GET.path(&[&receipt.merchant]), &view)
    };
    let render = |requested: &Requested<CashDepositReceipt>| requested.answer(&approvals::GET, recorded);
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}
