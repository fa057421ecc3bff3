//! The provider has refused for good: the reservation is given back.

use super::record::{TopupRecord, TopupState};
use super::refund_record::{RefundState, TopupRefund};
use super::route::{self, Effect};
use super::seen;
use crate::dynamo::{Update, Value};
use crate::forms;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::plan::PlanRefusal;
use crate::time::Timestamp;
use crate::transaction::{Draft, Role, TransactItem};
use crate::wallets::SeenWallet;

/// Frees the headroom of a top-up that the provider refused. `None` unless the top-up is still `requested`.
///
/// # Errors
/// Never, at present; the signature is that of every effect.
pub fn topup(tenant: &Tenant, topup: &TopupRecord, now: Timestamp) -> Result<Option<Effect>, PlanRefusal> {
    if topup.state != TopupState::Requested {
        return Ok(None);
    }
    let update = Update::new()
        .set("state", "refused", Value::s(TopupState::Refused))
        .set(attr::UPDATED_AT, "ua", Value::s(now))
        .remove(attr::DUE_PK)
        .remove(attr::DUE_SK);
    let clauses = vec![seen("state", "requested", Value::s(TopupState::Requested))];
    let mut items = vec![TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses)];
    items.extend(forms::release(tenant, topup.wallet(), &topup.charge, now));
    Ok(Some(Effect {
        draft: Draft { entry: None, items },
        operation: Operation::Topup,
        principal: topup.principal(),
        key: topup.key.clone(),
        lands: true,
    }))
}

/// Returns the money of a refund that the provider refused. `None` unless the refund is still `requested`.
///
/// # Errors
/// [`PlanRefusal`] if the sums do not fit.
pub fn refund(
    tenant: &Tenant,
    (topup, refund): (&TopupRecord, &TopupRefund),
    wallet: &SeenWallet,
    now: Timestamp,
) -> Result<Option<Effect>, PlanRefusal> {
    match refund.state {
        RefundState::Requested => route::refund_failed(tenant, (topup, refund), wallet, None, now).map(Some),
        RefundState::Pending | RefundState::Succeeded | RefundState::Failed => Ok(None),
    }
}
