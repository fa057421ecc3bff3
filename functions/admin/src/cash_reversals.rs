//! `POST /v1/admin/terminals/{terminal_id}/cash-reversals`: a cash top-up of a terminal, after its ten minutes too.

use crate::approvals;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::cards::reverse_cash::CashTopup;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{TerminalId, TransactionId};
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::terminals::owner_of;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

/// A cash top-up of the terminal, to be reversed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"transaction_id": "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e", "reason": "another card, slip 1207"}))]
pub(crate) struct CashReversalBody {
    /// The `transaction_id` of the top-up.
    transaction_id: String,
    /// Why it is reversed; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/terminals/{terminal_id}/cash-reversals")
    .summary("Reverses a cash top-up of a terminal, also after its ten minutes.")
    .about(
        "Possible in every state of the terminal, unless its merchant is closing or closed. The card must still have the money, and \
         a counter the cash.",
    )
    .permission(Permission::CashDepositsRecord)
    .id("terminal_id", "The terminal's id.")
    .body::<CashReversalBody>()
    .approvable()
    .when(Code::InsufficientBalance, "the card has less")
    .when(Code::CashNotOutstanding, "the counter has less cash that was not collected")
    .when(Code::WrongState, "it was reversed before, the card is closed, or the merchant is closing or closed")
    .when(Code::NotFound, "no such top-up of this terminal")
    .keyed(Operation::CardReverse);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathId(terminal): PathId<TerminalId>,
    KeyedJson(key, body): KeyedJson<CashReversalBody>,
) -> Result<Outcome, Problem> {
    let topup = request::id("transaction_id", &body.transaction_id, TransactionId::parse)?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new().with("transaction_id", topup).with("reason", reason.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&terminal], fields).await?;
    let partition = Partition::terminal(who.tenant(), terminal);
    let at = [partition.profile(), partition.entry_reference(topup)];
    let plan = async |cx: Context| {
        let (terms, reason) = (app.terms_at(who.tenant(), cx.now).await?, reason.text()?);
        let items = app.ledger().read_for(&claim, &at).await?;
        let [Some(profile), Some(reference)] = items.as_slice() else { return Err(PlanError::Missing) };
        let topup = CashTopup::read(reference, (terminal, owner_of(profile)?))?.ok_or(PlanError::Missing)?;
        let keys = topup.keys(who.tenant());
        let mut items = app.ledger().read_for(&claim, &keys).await?;
        app.follow_card((who.tenant(), Some(topup.card)), &keys, &mut items).await?;
        let command = Command::CashReversal(topup);
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
