//! Requests that a settlement's transfer is booked as returned by the bank. One person requests, another approves it among the
//! approvals.

use crate::approvals;
use crate::settlements::{ids, read};
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::bank_files::BankTransfer;
use ledger_core::failure::Failure;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{MerchantId, SettlementId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::settlements::{ReturnedTransfer, SettlementState};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathOf};
use serde::Deserialize;
use utoipa::ToSchema;

/// The evidence that the bank returned a transfer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"note": "the bank returned it: the account is closed"}))]
pub(crate) struct ReturnBody {
    /// How the return is known; at most 140 characters, no card number.
    note: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/settlements/{id}/returns")
    .summary("Requests that a settlement's transfer is booked as returned by the bank.")
    .about(
        "The bank returned it, or it is not to leave. Once that is approved, the merchant is owed the amount again, and its next \
         settlement pays it. A file that has it and was not accepted is withdrawn first.",
    )
    .permission(Permission::SettlementsReturn)
    .id("merchant_id", "The merchant's id.")
    .id("id", "The settlement's id.")
    .body::<ReturnBody>()
    .approvable()
    .when(Code::WrongState, "the settlement is not booked for the bank, or a file with it is being written or waits for the bank")
    .when(Code::NotFound, "no such settlement")
    .keyed(Operation::SettlementReturn);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathOf((merchant, id)): PathOf<(String, String)>,
    KeyedJson(key, body): KeyedJson<ReturnBody>,
) -> Result<Outcome, Problem> {
    let (merchant, settlement): (MerchantId, SettlementId) = ids(&merchant, &id)?;
    let note = request::memo("note", &body.note);
    let fields = Fields::new().with("note", note.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&merchant, &settlement], fields).await?;
    let plan = async |cx: Context| {
        let found = read(&app, &who, (merchant, settlement), &claim).await?;
        let (amount, day) = found.payable.clone().zip(found.transfer_on).ok_or(Failure::WrongState)?;
        if found.state != SettlementState::Booked {
            return Err(Failure::WrongState.into());
        }
        let place = keys::bank_transfer(who.tenant(), day, settlement);
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&place)).await?;
        let transfer = BankTransfer::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        let returned = ReturnedTransfer { merchant, settlement, amount, day, file: transfer.file };
        let command = Command::SettlementReturn(returned);
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let items = app.ledger().read_for(&claim, &command.keys(who.tenant(), &terms)).await?;
        app.request_approval((&claim, &who.member()), (command, Some(&note.text()?)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
