//! `POST /v1/merchant/payments/{id}/refunds`: partial and full refunds.

use crate::payments;
use axum::extract::State;
use ledger_core::idempotency::Fields;
use ledger_core::ids::PaymentId;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::staff::StaffAmount;
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Caller, Merchant};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::refunds::RefundRequest;
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId, SentText};
use ledger_runtime::views::RefundView;
use serde::Deserialize;
use utoipa::ToSchema;

/// A request to refund a payment.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"amount": "300", "reason": "one item returned"}))]
pub(crate) struct RefundBody {
    /// The amount to refund, in the asset of the payment's total; all that is left if absent.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    amount: Option<AmountText>,
    /// The reason; at most 140 characters, no card number.
    reason: Option<String>,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/merchant/payments/{id}/refunds")
    .summary("Refunds a payment, in part or in full: money first, then regional currency, then points.")
    .permission(Permission::PaymentsRefund)
    .of_shops()
    .id("id", "The payment's id.")
    .body::<RefundBody>()
    .created::<RefundView>("Refunded")
    .problems(&[
        Code::OverRefund,
        Code::RefundRoomExceeded,
        Code::LimitExceeded,
        Code::WrongState,
        Code::LegacyRecordUnreadable,
    ])
    .when(Code::NotFound, "no such payment of this merchant")
    .keyed(Operation::Refund);

pub(crate) async fn create(
    State(app): State<App>,
    who: Merchant,
    PathId(payment): PathId<PaymentId>,
    KeyedJson(key, body): KeyedJson<RefundBody>,
) -> Result<Outcome, Problem> {
    let reason = body.reason.as_deref().map(|text| request::memo("reason", text));
    let fields = Fields::new()
        .with_some("amount", body.amount.as_ref().map(AmountText::canonical).transpose()?)
        .with_some("reason", reason.as_ref().map(SentText::as_sent));
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&payment], fields).await?;
    let debts = PayerDebts::default();
    let plan = async |cx: Context| {
        let reason = request::text_of(reason.as_ref())?;
        let refund = RefundRequest {
            tenant: who.tenant(),
            merchant: who.merchant_id(),
            payment,
            shop: who.shop(),
            amount: body.amount.as_ref(),
            reason: reason.as_ref(),
            card: None,
            terminal: None,
        };
        let planned = refund.plan(&app, &claim, &debts, &cx).await?;
        let terms = app.terms_at(who.tenant(), cx.now).await?;
        let refunded = (StaffAmount::Refund, &planned.receipt.amount);
        let counted = app.counted(&who.member(), &terms, refunded, &cx).await?;
        Ok(planned.and(counted))
    };
    let render = |receipt: &_| created(payments::GET.path(&[&payment]), &RefundView::from(receipt));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}
