//! `POST /v1/me/transfers`: the customer sends to another customer.

use crate::transactions;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::customers::transfer::{self, Transfer, TransferReceipt};
use ledger_core::idempotency::Fields;
use ledger_core::ids::CustomerId;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Customer};
use ledger_runtime::limits::LimitedAccount;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, SentText};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A transfer to another customer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"to_customer_id": "019aa7fe-3c00-7000-8000-000000000001", "amount": "500", "memo": "for the taxi"}))]
pub(crate) struct TransferBody {
    /// The recipient.
    to_customer_id: String,
    /// The amount to send.
    amount: AmountText,
    /// The asset of the amount; `ECOPAY` if absent.
    asset: Option<String>,
    /// The sender's memo; at most 140 characters, no card number.
    memo: Option<String>,
}

/// A completed transfer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TransferView {
    /// The journal entry's id.
    transaction_id: String,
    /// `completed`.
    #[schema(value_type = words::CompletedStatus)]
    status: &'static str,
    /// The recipient.
    to_customer_id: String,
    /// The asset of the amount.
    asset: String,
    /// The amount that was sent.
    amount: String,
    /// The time of the transfer.
    created_at: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/me/transfers")
    .summary("Transfers an amount to another customer.")
    .open()
    .body::<TransferBody>()
    .created::<TransferView>("Transferred")
    .problems(&[
        Code::InsufficientBalance,
        Code::LimitExceeded,
        Code::CapExceeded,
        Code::RecipientUnavailable,
        Code::AccountFrozen,
        Code::LegacyRecordUnreadable,
    ])
    .when(Code::NotFound, "no such recipient")
    .keyed(Operation::Transfer);

pub(crate) async fn create(
    State(app): State<App>,
    who: Customer,
    KeyedJson(key, body): KeyedJson<TransferBody>,
) -> Result<Outcome, Problem> {
    let to = CustomerId::parse(&body.to_customer_id).map_err(|why| Problem::invalid_field("to_customer_id", why))?;
    let amount = request::amount(body.asset.as_deref(), &body.amount)?;
    let memo = body.memo.as_deref().map(|text| request::memo("memo", text));
    let fields = Fields::new()
        .with("to_customer_id", to)
        .with_requested("amount", &amount)
        .with_some("memo", memo.as_ref().map(SentText::as_sent));
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let sender = LimitedAccount::new(Account::Customer(who.id()));
    let plan = async |cx: Context| {
        let terms = sender.terms(&app, (who.tenant(), cx.now)).await?;
        let transfer = Transfer {
            tenant: who.tenant().clone(),
            from: who.id(),
            to,
            amount: request::amount_in(&terms, &amount)?,
            memo: request::text_of(memo.as_ref())?,
        };
        Ok(transfer::plan(&transfer, &terms, &cx)?)
    };
    Ok(app.perform(claim, admission, plan, answer).await)
}

fn answer(receipt: &TransferReceipt) -> ledger_core::idempotency::Answer {
    let view = TransferView {
        transaction_id: receipt.transaction_id.to_string(),
        status: "completed",
        to_customer_id: receipt.to.to_string(),
        asset: receipt.amount.asset().to_string(),
        amount: receipt.amount.text(),
        created_at: receipt.created_at.to_string(),
    };
    created(transactions::GET.path(&[&receipt.transaction_id]), &view)
}
