//! Requests to send the bank file of a settlement again. One person requests and another approves. A bank pays a file each time
//! it gets it.

use super::destination::Destination;
use super::record::{Settlement, SettlementState};
use super::resend;
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, MerchantId, PayoutRequestId, SettlementId, StaffId, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Draft, Planned, Role, TransactItem};

/// A stored request. Its content never changes; its state changes once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayoutRequest {
    /// Its id.
    pub id: PayoutRequestId,
    /// The settlement's merchant.
    pub merchant: MerchantId,
    /// The settlement.
    pub settlement: SettlementId,
    /// The staff member who requested it.
    pub requested_by: StaffId,
    /// `pending`, `approved` or `rejected`.
    pub state: String,
    /// When it was requested.
    pub created_at: Timestamp,
}

impl PayoutRequest {
    /// Reads a stored request.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("resend_id", PayoutRequestId::parse)?,
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            settlement: item.parsed("settlement_id", SettlementId::parse)?,
            requested_by: item.parsed("requested_by", StaffId::parse)?,
            state: item.string("state")?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }

    fn act<'a>(&self, actor: Actor, operation: Operation) -> Act<'a> {
        Act::new(actor, operation, format!("merchant:{}", self.merchant))
            .with("settlement_id", self.settlement)
            .with("resend_id", self.id)
    }
}

/// Stores a request. Nothing happens until another person approves it.
///
/// # Errors
/// [`PlanRefusal`] unless the settlement is paid by a bank file.
pub fn plan_request(
    tenant: &Tenant,
    settlement: &Settlement,
    staff: StaffId,
    note: &FreeText,
    cx: &Context,
) -> Result<Planned<PayoutRequest>, PlanRefusal> {
    if !is_paid_by_file(settlement) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let request = PayoutRequest {
        id: PayoutRequestId::new(cx.resource_id),
        merchant: settlement.merchant,
        settlement: settlement.id,
        requested_by: staff,
        state: "pending".to_owned(),
        created_at: cx.now,
    };
    let mut item = Item::from([
        ("resend_id".to_owned(), Value::s(request.id)),
        ("merchant_id".to_owned(), Value::s(request.merchant)),
        ("settlement_id".to_owned(), Value::s(request.settlement)),
        ("requested_by".to_owned(), Value::s(request.requested_by)),
        ("state".to_owned(), Value::s(&request.state)),
        (attr::CREATED_AT.to_owned(), Value::s(request.created_at)),
    ]);
    item.extend(crate::plan::memo_attribute(Some(note)));
    let key = keys::payout_file_resend(tenant, request.merchant, request.id);
    let act = request.act(Actor::Staff(staff), Operation::FileResendRequest).because(Some(note));
    let items = vec![TransactItem::put_new(Role::Resend, key, item, Failure::AlreadyExists), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: request })
}

/// Another person approves a request. The settlement must be paid, and its file must not be in the middle of a
/// resend, because it is then unknown whether the bank has it.
///
/// # Errors
/// [`PlanRefusal`] unless the settlement is still paid by a bank file that is not being sent again.
pub fn plan_approve(
    tenant: &Tenant,
    request: &PayoutRequest,
    settlement: &Settlement,
    staff: StaffId,
    cx: &Context,
) -> Result<Planned<PayoutRequest>, PlanRefusal> {
    if !is_paid_by_file(settlement) || settlement.resend.is_some() {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let update = Update::new()
        .set("state", "approved", Value::s("approved"))
        .set("decided_by", "me", Value::s(staff))
        .set("decided_at", "now", Value::s(cx.now));
    let key = keys::payout_file_resend(tenant, request.merchant, request.id);
    let mut draft = Draft { entry: None, items: vec![resend::approved(tenant, settlement, request.id, cx.now)] };
    draft.items.insert(0, TransactItem::update(Role::Resend, key, update, forms::pending_of_another(staff)));
    draft.items.push(request.act(Actor::Staff(staff), Operation::FileResendApprove).record(tenant, cx));
    let receipt = PayoutRequest { state: "approved".to_owned(), ..request.clone() };
    Ok(Planned { draft, receipt })
}

/// Whether the settlement's file may be sent again, or its transfer booked as returned.
#[must_use]
pub fn is_paid_by_file(settlement: &Settlement) -> bool {
    let by_file = match &settlement.destination {
        Destination::Bank(_) => true,
        Destination::Stripe { .. } => false,
    };
    by_file && settlement.state == SettlementState::Paid && settlement.payable.is_some()
}
