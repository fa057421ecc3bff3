//! `POST /v1/merchant/payments/{id}/capture` and `/void`: captures or voids an authorized payment.

use axum::extract::State;
use ledger_core::idempotency::{Claim, Fields};
use ledger_core::ids::PaymentId;
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::payments::PaymentRecord;
use ledger_core::payments::capture::{self, Capture};
use ledger_core::payments::void::{self, Void};
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError, ok};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, SentText};
use ledger_runtime::views::PaymentStateView;
use serde::Deserialize;
use utoipa::ToSchema;

/// A request to capture an authorized payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"amount": "1000"}))]
pub(crate) struct CaptureBody {
    /// The amount to capture, in the asset of the payment's total; all that is held if absent. The rest is released.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    amount: Option<AmountText>,
}

/// A request to void an authorized payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "sold out"}))]
pub(crate) struct VoidBody {
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

pub(crate) const CAPTURE: Keyed = Endpoint::post("/v1/merchant/payments/{id}/capture")
    .summary("Captures an authorized payment in whole or in part; the rest is released to the customer.")
    .about(
        "If the payment is already captured, and with the same amount if one is sent, the response shows it \
         unchanged.",
    )
    .permission(Permission::ShopCharge)
    .of_shops()
    .id("id", "The payment's id.")
    .body::<CaptureBody>()
    .ok::<PaymentStateView>("The payment, captured")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::InvalidRequest, "the request is not valid, or the amount is above the authorized amount")
    .when(
        Code::WrongState,
        "the payment is in another state, which `payment_status` names; `expired_at` is set if its hold has expired",
    )
    .when(Code::NotFound, "no such payment of this merchant")
    .keyed(Operation::Capture);

pub(crate) async fn capture(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<PaymentId>,
    KeyedJson(key, body): KeyedJson<CaptureBody>,
) -> Result<Outcome, Problem> {
    let fields = Fields::new().with_some("amount", body.amount.as_ref().map(AmountText::canonical).transpose()?);
    let (claim, admission) = CAPTURE.claim(&app, &who, key, &[&id], fields).await?;
    let debts = PayerDebts::default();
    let plan = async |cx: Context| {
        let payment = own_payment(&app, &who, &claim, id).await?;
        let wallet = debts.wallet(&app, who.tenant(), payment.payer).await?;
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let merchant = app.merchant(who.tenant(), who.merchant_id()).await?;
        let amount = match &body.amount {
            Some(text) => Some(text.to_amount(&payment.spec(), "amount")?),
            None => None,
        };
        let capture = Capture {
            tenant: who.tenant(),
            merchant: &merchant,
            payment: &payment,
            wallet: &wallet,
            amount: amount.as_ref(),
        };
        Ok(capture::plan(&capture, &terms, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |payment| ok(&PaymentStateView::from(payment))).await)
}

pub(crate) const VOID: Keyed = Endpoint::post("/v1/merchant/payments/{id}/void")
    .summary("Voids an authorized payment: all that is held is released to the customer.")
    .about("If the hold is already released, the response shows the payment unchanged.")
    .permission(Permission::ShopCharge)
    .of_shops()
    .id("id", "The payment's id.")
    .body::<VoidBody>()
    .ok::<PaymentStateView>("The payment, canceled")
    .problems(&[Code::LegacyRecordUnreadable])
    .when(Code::WrongState, "the payment is in another state, which `payment_status` names")
    .when(Code::NotFound, "no such payment of this merchant")
    .keyed(Operation::Void);

pub(crate) async fn void(
    State(app): State<App>,
    who: Merchant,
    PathId(id): PathId<PaymentId>,
    KeyedJson(key, body): KeyedJson<VoidBody>,
) -> Result<Outcome, Problem> {
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new().with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = VOID.claim(&app, &who, key, &[&id], fields).await?;
    let debts = PayerDebts::default();
    let plan = async |cx: Context| {
        let payment = own_payment(&app, &who, &claim, id).await?;
        let wallet = debts.wallet(&app, who.tenant(), payment.payer).await?;
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let reason = request::text_of(reason.as_ref())?;
        let void = Void { tenant: who.tenant(), payment: &payment, wallet: &wallet, reason: reason.as_ref() };
        Ok(void::plan(&void, &terms, &cx)?)
    };
    Ok(app.perform(claim.clone(), admission, plan, |payment| ok(&PaymentStateView::from(payment))).await)
}

/// Reads a payment of the merchant, unless the key has been used. A payment of another merchant, or of a shop that is not
/// the caller's, counts as missing.
async fn own_payment(app: &App, who: &Merchant, claim: &Claim, id: PaymentId) -> Result<PaymentRecord, PlanError> {
    let items = app.ledger().read_for(claim, &[keys::payment(who.tenant(), id)]).await?;
    let payment = PaymentRecord::read(&items.into_iter().flatten().next().ok_or(PlanError::Missing)?)?;
    if who.owns(&payment) { Ok(payment) } else { Err(PlanError::Missing) }
}
