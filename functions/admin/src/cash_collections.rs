//! `POST /v1/admin/terminals/{terminal_id}/cash-collections`: cash of a counter that was collected and counted.

use crate::approvals;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::idempotency::Fields;
use ledger_core::ids::TerminalId;
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::Outcome;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

/// Cash that was collected.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"amount": "50000", "reason": "slip 1207"}))]
pub(crate) struct CashCollectionBody {
    /// The cash that was counted, in yen.
    amount: AmountText,
    /// What it is recorded from: a slip, a count; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/terminals/{terminal_id}/cash-collections")
    .summary("Records cash of a counter that was collected and counted.")
    .about("The room of that cash is unallotted again. No balance changes.")
    .permission(Permission::CashDepositsRecord)
    .id("terminal_id", "The counter's id.")
    .body::<CashCollectionBody>()
    .approvable()
    .when(Code::CashNotOutstanding, "the counter has less cash that was not collected")
    .when(Code::WrongState, "the terminal is a till")
    .when(Code::NotFound, "no such terminal")
    .keyed(Operation::CashCollection);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathId(terminal): PathId<TerminalId>,
    KeyedJson(key, body): KeyedJson<CashCollectionBody>,
) -> Result<Outcome, Problem> {
    let amount = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with_amount("amount", &amount).with("reason", reason.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&terminal], fields).await?;
    let plan = async |cx: Context| {
        let (terms, reason) = (app.terms_at(who.tenant(), cx.now).await?, reason.text()?);
        let command = Command::CashCollection { terminal, amount: amount.clone() };
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &[], &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
