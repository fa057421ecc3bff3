//! A hold that was not captured in time expires and is released to the payer. A worker does it under a key made of
//! the payment, so it happens once even with several workers.

use super::PaymentRecord;
use super::hold::Release;
use super::record::EXPIRES_AT;
use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::idempotency::{CanonicalRequest, Claim, Fields, LedgerKey, Window};
use crate::ids::{Actor, Principal, Tenant};
use crate::operation::Operation;
use crate::payment_state::Move;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Clause, Planned};
use crate::wallets::SeenWallet;

/// The claim under which a payment's hold expires, the same for every worker.
#[must_use]
pub fn claim(tenant: &Tenant, payment: &PaymentRecord, now: Timestamp) -> Claim {
    let operation = Operation::HoldExpire;
    Claim {
        tenant: tenant.clone(),
        principal: Principal::Merchant(payment.merchant),
        actor: Actor::System,
        operation,
        key: LedgerKey::of_expiry(payment.id).into(),
        request: CanonicalRequest {
            method: "POST",
            path: format!("/v1/merchant/payments/{}/expiry", payment.id),
            fields: Fields::new(),
        },
        window: Window::of(operation),
        now,
    }
}

/// Builds the expiry's transaction: the payer's balances, `PAYMENT`, `HOLD` and the journal entry. A freeze does not
/// stop it.
///
/// # Errors
/// [`PlanRefusal`] if nothing is held for the payment, or if the hold has not expired yet. The latter is never stored
/// under the key, which must stay free for the expiry.
pub fn plan(
    tenant: &Tenant,
    (payment, wallet): (&PaymentRecord, &SeenWallet),
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<PaymentRecord>, PlanRefusal> {
    if payment.expires_at.is_some_and(|expires_at| expires_at > cx.now) {
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    let over = Clause {
        condition: Condition::compare(EXPIRES_AT, Cmp::Le, "now", Value::s(cx.now)),
        failure: Failure::StalePlan,
    };
    Release { tenant, payment, wallet, by: Move::Expire, guards: vec![over], reason: None }.plan(terms, cx)
}
