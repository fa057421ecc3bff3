//! `POST /v1/terminal/cards/{card_id}/topup`, `/pay` and `/refund`: card operations in yen.

use axum::extract::State;
use ledger_core::idempotency::{CanonicalRequest, Fields};
use ledger_core::ids::{CardId, PaymentId};
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::ops::card_pay::{self, CardPay};
use ledger_core::ops::card_topup::{self, CardTopup};
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::Caller;
use ledger_runtime::problem::Problem;
use ledger_runtime::refunds::RefundRequest;
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId};
use ledger_runtime::terminal::Terminal;
use ledger_runtime::views::{PaymentView, RefundView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An amount in yen.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmountBody {
    /// How much, in yen.
    amount: AmountText,
}

/// A refund of a card payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CardRefundBody {
    /// The payment that is refunded.
    payment_id: String,
    /// How much, in yen; all that is left if absent.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    amount: Option<AmountText>,
}

/// A top-up that has been made.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CardTopupView {
    transaction_id: String,
    /// `completed`.
    status: &'static str,
    card_id: String,
    asset: &'static str,
    /// The cash taken.
    amount: String,
    /// What the tenant adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    bonus: Option<String>,
    created_at: String,
}

/// Loads cash onto a card.
#[utoipa::path(post, path = "/v1/terminal/cards/{card_id}/topup", tag = "terminal", security(()),
    request_body = AmountBody,
    params(("card_id" = String, Path, description = "The card"),
        ("Idempotency-Key" = String, Header, description = "`<terminal id>-<epoch>-<sequence>`")),
    responses(
        (status = 201, description = "Loaded", body = CardTopupView),
        (status = 400, description = "`invalid_request`, `cap_exceeded`, `wrong_state`"),
        (status = 401, description = "`signature_invalid`, `signature_expired`"),
        (status = 404, description = "No such card"),
        (status = 409, description = "`operation_reversed`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn topup(
    State(app): State<App>,
    who: Terminal,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<AmountBody>,
) -> Result<Outcome, Problem> {
    let charge = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let fields = Fields::new().with_amount("amount", &charge);
    let request = CanonicalRequest { method: "POST", path: format!("/v1/terminal/cards/{card}/topup"), fields };
    let (claim, admission) = app.claim(&who, Operation::CardTopup, key, request).await?;
    let topup =
        CardTopup { tenant: who.tenant().clone(), terminal: who.id(), merchant: who.merchant_id(), card, charge };
    let plan = async |cx| Ok(card_topup::plan(&topup, &*app.terms(who.tenant()).await?, &cx)?);
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            let view = CardTopupView {
                transaction_id: receipt.transaction_id.to_string(),
                status: "completed",
                card_id: receipt.card.to_string(),
                asset: "ECOPAY",
                amount: receipt.charge.text(),
                bonus: receipt.bonus.as_ref().map(|bonus| bonus.text()),
                created_at: receipt.created_at.to_string(),
            };
            created(format!("/v1/terminal/cards/{card}"), &view)
        })
        .await)
}

/// A card pays the terminal's merchant.
#[utoipa::path(post, path = "/v1/terminal/cards/{card_id}/pay", tag = "terminal", security(()),
    request_body = AmountBody,
    params(("card_id" = String, Path, description = "The card"),
        ("Idempotency-Key" = String, Header, description = "`<terminal id>-<epoch>-<sequence>`")),
    responses(
        (status = 201, description = "Paid", body = PaymentView),
        (status = 400, description = "`invalid_request`, `insufficient_balance`, `account_frozen`, `wrong_state`"),
        (status = 401, description = "`signature_invalid`, `signature_expired`"),
        (status = 404, description = "No such card"),
        (status = 409, description = "`operation_reversed`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn pay(
    State(app): State<App>,
    who: Terminal,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<AmountBody>,
) -> Result<Outcome, Problem> {
    let amount = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let fields = Fields::new().with_amount("amount", &amount);
    let request = CanonicalRequest { method: "POST", path: format!("/v1/terminal/cards/{card}/pay"), fields };
    let (claim, admission) = app.claim(&who, Operation::CardPay, key, request).await?;
    let plan = async |cx| {
        let terms = app.terms(who.tenant()).await?;
        let merchant = app.merchant(who.tenant(), who.merchant_id()).await?;
        let pay = CardPay {
            tenant: who.tenant().clone(),
            terminal: who.id(),
            merchant: (*merchant).clone(),
            card,
            amount: amount.clone(),
        };
        Ok(card_pay::plan(&pay, &terms, &cx)?)
    };
    Ok(app
        .perform(claim, admission, plan, |receipt| {
            created(format!("/v1/terminal/cards/{card}"), &PaymentView::from(receipt))
        })
        .await)
}

/// Refunds a payment of this card at the terminal's merchant.
#[utoipa::path(post, path = "/v1/terminal/cards/{card_id}/refund", tag = "terminal", security(()),
    request_body = CardRefundBody,
    params(("card_id" = String, Path, description = "The card"),
        ("Idempotency-Key" = String, Header, description = "`<terminal id>-<epoch>-<sequence>`")),
    responses(
        (status = 201, description = "Refunded", body = RefundView),
        (status = 400, description = "`invalid_request`, `over_refund`, `wrong_state`"),
        (status = 401, description = "`signature_invalid`, `signature_expired`"),
        (status = 404, description = "No such payment of this card at this merchant"),
        (status = 409, description = "`operation_reversed`"),
        (status = 503, description = "`outcome_unknown` or `busy`: try again with the same key")))]
pub(crate) async fn refund(
    State(app): State<App>,
    who: Terminal,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardRefundBody>,
) -> Result<Outcome, Problem> {
    let payment = request::id("payment_id", &body.payment_id, PaymentId::parse)?;
    let fields = Fields::new()
        .with("payment_id", payment)
        .with_some("amount", body.amount.as_ref().map(AmountText::canonical).transpose()?);
    let request = CanonicalRequest { method: "POST", path: format!("/v1/terminal/cards/{card}/refund"), fields };
    let (claim, admission) = app.claim(&who, Operation::CardRefund, key, request).await?;
    let refund = RefundRequest {
        tenant: who.tenant(),
        merchant: who.merchant_id(),
        payment,
        amount: body.amount.as_ref(),
        reason: None,
        card: Some(card),
        terminal: Some(who.id()),
    };
    let debts = PayerDebts::default();
    let plan = async |cx| refund.plan(&app, &claim, &debts, &cx).await;
    let render = |receipt: &_| created(format!("/v1/terminal/cards/{card}"), &RefundView::from(receipt));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}
