//! `POST /v1/terminal/cards/{card_id}/topup`, `/pay` and `/refund`: card operations in yen.

use crate::cards;
use crate::operations::terms_of;
use axum::extract::State;
use ledger_core::account::Account;
use ledger_core::cards::{self as rules, pay::CardPay, topup::CardTopup};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{CardId, PaymentId};
use ledger_core::money::AssetSpec;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::card_pins::{CardPinCheck, PIN_FIELD, SentPin};
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::endpoint::{Endpoint, Keyed};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::Caller;
use ledger_runtime::limits::LimitedAccount;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::refunds::RefundRequest;
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, PinText};
use ledger_runtime::terminal::Terminal;
use ledger_runtime::views::{PaymentView, RefundView, words};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

// Top-ups and payments share it: generated clients name a type by it.
/// An amount in yen.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AmountBody {
    /// The amount, in yen.
    amount: AmountText,
    /// The card's PIN as its holder typed it: required of a payment above the amount that the tenant sets, refused of a
    /// top-up.
    pin: Option<PinText>,
}

/// A request to refund a card payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"payment_id": "019aa7fe-3c00-7000-8000-000000000001", "amount": "300"}))]
pub(crate) struct CardRefundBody {
    /// The payment to refund.
    payment_id: String,
    /// The amount to refund, in yen; all that is left if absent.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    amount: Option<AmountText>,
}

/// A completed top-up of a card.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CardTopupView {
    /// The journal entry's id.
    transaction_id: String,
    /// `completed`.
    #[schema(value_type = words::CompletedStatus)]
    status: &'static str,
    /// The card's id.
    card_id: String,
    /// `ECOPAY`.
    #[schema(value_type = words::EcopayOnly)]
    asset: &'static str,
    /// The cash taken, in yen.
    amount: String,
    /// The bonus that the card gets at once, in yen; absent if there is none. On cash that is owed it comes later.
    #[serde(skip_serializing_if = "Option::is_none")]
    bonus: Option<String>,
    /// The time of the top-up.
    created_at: String,
}

pub(crate) const TOPUP: Keyed = Endpoint::post("/v1/terminal/cards/{card_id}/topup")
    .summary("Loads cash onto a card.")
    .open()
    .id("card_id", "The card's id.")
    .body::<AmountBody>()
    .created::<CardTopupView>("Loaded")
    .problems(&[Code::CapExceeded, Code::LimitExceeded, Code::CashRoomExceeded, Code::OperationReversed])
    .when(Code::WrongState, "the card was replaced, the merchant is suspended, or the terminal is frozen")
    .when(Code::NotFound, "no such card")
    .keyed(Operation::CardTopup);

pub(crate) async fn topup(
    State(app): State<App>,
    who: Terminal,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<AmountBody>,
) -> Result<Outcome, Problem> {
    if body.pin.is_some() {
        return Err(Problem::invalid_field(PIN_FIELD, "is not a field of a top-up"));
    }
    let charge = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let fields = Fields::new().with_amount("amount", &charge);
    let (claim, admission) = TOPUP.claim(&app, &who, key, &[&card], fields).await?;
    let payee = LimitedAccount::new(Account::Card(card));
    let plan = async |cx: Context| {
        let terms = payee.terms(&app, (who.tenant(), cx.now)).await?;
        let topup = CardTopup {
            tenant: who.tenant().clone(),
            terminal: who.id(),
            at: terms_of(&app, &who).await?,
            card,
            charge: charge.clone(),
        };
        Ok(rules::topup::plan(&topup, &terms, &cx)?)
    };
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
            created(cards::GET.path(&[&card]), &view)
        })
        .await)
}

pub(crate) const PAY: Keyed = Endpoint::post("/v1/terminal/cards/{card_id}/pay")
    .summary("Pays the terminal's merchant from a card.")
    .about("A wrong PIN costs one of five attempts, once per idempotency key. A right one gives all of them back.")
    .open()
    .id("card_id", "The card's id.")
    .body::<AmountBody>()
    .created::<PaymentView>("Paid")
    .problems(&[
        Code::InsufficientBalance,
        Code::LimitExceeded,
        Code::AccountFrozen,
        Code::WrongState,
        Code::OperationReversed,
        Code::PinLocked,
        Code::PinWrong,
        Code::NotAtCounter,
    ])
    .when(Code::PinRequired, "the amount needs the card's PIN, and none was sent or the card has none")
    .when(Code::NotFound, "no such card")
    .keyed(Operation::CardPay);

pub(crate) async fn pay(
    State(app): State<App>,
    who: Terminal,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<AmountBody>,
) -> Result<Outcome, Problem> {
    let merchant_id = who.merchant_id()?;
    let amount = body.amount.to_amount(&AssetSpec::ECOPAY, "amount")?;
    let sent = match &body.pin {
        Some(text) => Some(SentPin::new(&app, text.typed(PIN_FIELD)?).await?),
        None => None,
    };
    let digest = sent.as_ref().map(|sent| sent.digest(who.tenant(), card));
    let fields = Fields::new().with_amount("amount", &amount).with_some(PIN_FIELD, digest);
    let (claim, admission) = PAY.claim(&app, &who, key, &[&card], fields).await?;
    let payer = LimitedAccount::new(Account::Card(card));
    let pin = CardPinCheck::new(card, sent.as_ref());
    let plan = async |cx: Context| {
        let terms = payer.terms(&app, (who.tenant(), cx.now)).await?;
        pin.of_payment(&app, &claim, &terms, &amount, &cx).await?;
        let merchant = app.merchant(who.tenant(), merchant_id).await?;
        let pay = CardPay {
            tenant: who.tenant().clone(),
            terminal: who.id(),
            shop: who.shop(),
            merchant: (*merchant).clone(),
            card,
            amount: amount.clone(),
        };
        Ok(rules::pay::plan(&pay, &terms, &cx)?)
    };
    Ok(app
        .perform(claim.clone(), admission, plan, |receipt| {
            created(cards::GET.path(&[&card]), &PaymentView::from(receipt))
        })
        .await)
}

pub(crate) const REFUND: Keyed = Endpoint::post("/v1/terminal/cards/{card_id}/refund")
    .summary("Refunds a payment of this card at the terminal's merchant.")
    .open()
    .id("card_id", "The card's id.")
    .body::<CardRefundBody>()
    .created::<RefundView>("Refunded")
    .problems(&[
        Code::OverRefund,
        Code::RefundRoomExceeded,
        Code::WrongState,
        Code::OperationReversed,
        Code::NotAtCounter,
    ])
    .when(Code::NotFound, "no such payment of this card at this merchant")
    .keyed(Operation::CardRefund);

pub(crate) async fn refund(
    State(app): State<App>,
    who: Terminal,
    PathId(card): PathId<CardId>,
    KeyedJson(key, body): KeyedJson<CardRefundBody>,
) -> Result<Outcome, Problem> {
    let merchant_id = who.merchant_id()?;
    let payment = request::id("payment_id", &body.payment_id, PaymentId::parse)?;
    let fields = Fields::new()
        .with("payment_id", payment)
        .with_some("amount", body.amount.as_ref().map(AmountText::canonical).transpose()?);
    let (claim, admission) = REFUND.claim(&app, &who, key, &[&card], fields).await?;
    let refund = RefundRequest {
        tenant: who.tenant(),
        merchant: merchant_id,
        payment,
        // Goods are returned in any shop of the merchant.
        shop: None,
        amount: body.amount.as_ref(),
        reason: None,
        card: Some(card),
        terminal: Some(who.id()),
    };
    let debts = PayerDebts::default();
    let plan = async |cx| refund.plan(&app, &claim, &debts, &cx).await;
    let render = |receipt: &_| created(cards::GET.path(&[&card]), &RefundView::from(receipt));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}
