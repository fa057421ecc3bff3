//! `POST /v1/admin/merchants/{merchant_id}/refunds`: a refund beyond the refund room of the payment's merchant.

use crate::approvals;
use axum::extract::State;
use ledger_core::approvals::Command;
use ledger_core::idempotency::Fields;
use ledger_core::ids::{MerchantId, PaymentId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::payments::PaymentRecord;
use ledger_core::payments::by_operator::OrderedRefund;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, PlanError};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, AmountText, KeyedJson, PathId};
use serde::Deserialize;
use utoipa::ToSchema;

/// A refund of a payment of the merchant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "payment_id": "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e", "amount": "30000", "reason": "goods were never delivered"
}))]
pub(crate) struct OperatorRefundBody {
    /// The payment's id.
    payment_id: String,
    /// The amount to refund, in the asset of the payment's total; all that is left if absent.
    #[serde(default, deserialize_with = "AmountText::if_present")]
    #[schema(value_type = AmountText, required = false)]
    amount: Option<AmountText>,
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/merchants/{merchant_id}/refunds")
    .summary("Refunds a payment of a merchant beyond the merchant's refund room.")
    .about(
        "The room may go below zero: the merchant refunds nothing until settlements that are paid have covered it, or its \
         ceiling is raised.",
    )
    .permission(Permission::RefundRoomsChange)
    .id("merchant_id", "The merchant's id.")
    .body::<OperatorRefundBody>()
    .approvable()
    .problems(&[Code::OverRefund, Code::WrongState, Code::LegacyRecordUnreadable])
    .when(Code::NotFound, "no such payment of this merchant")
    .keyed(Operation::Refund);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    PathId(merchant): PathId<MerchantId>,
    KeyedJson(key, body): KeyedJson<OperatorRefundBody>,
) -> Result<Outcome, Problem> {
    let payment = request::id("payment_id", &body.payment_id, PaymentId::parse)?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new()
        .with("payment_id", payment)
        .with_some("amount", body.amount.as_ref().map(AmountText::canonical).transpose()?)
        .with("reason", reason.as_sent());
    let (claim, admission) = CREATE.claim(&app, &who, key, &[&merchant], fields).await?;
    let at = keys::payment(who.tenant(), payment);
    let plan = async |cx: Context| {
        let (terms, reason) = (app.terms_at(who.tenant(), cx.now).await?, reason.text()?);
        let items = app.ledger().read_for(&claim, std::slice::from_ref(&at)).await?;
        let payment = PaymentRecord::read(items.iter().flatten().next().ok_or(PlanError::Missing)?)?;
        if payment.merchant != merchant {
            return Err(PlanError::Missing);
        }
        let amount = body.amount.as_ref().map(|text| text.to_amount(&payment.spec(), "amount")).transpose()?;
        let order = OrderedRefund::of(&payment, merchant, amount)?;
        let keys = order.keys(who.tenant());
        let mut items = app.ledger().read_for(&claim, &keys).await?;
        app.follow_card((who.tenant(), order.card()), &keys, &mut items).await?;
        let command = Command::Refund(order);
        app.request_approval((&claim, &who.member()), (command, Some(&reason)), &terms, &items, &cx).await
    };
    Ok(app.perform(claim.clone(), admission, plan, approvals::pending).await)
}
