//! Sending the bank file of a settlement again. A bank pays a file as often as it gets it, so one person asks
//! and another approves.

use super::record::{Destination, Settlement, SettlementState};
use crate::dynamo::{Cmp, Condition, Item, ItemError, Update, Value, read};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, MerchantId, ResendId, SettlementId, StaffId, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::ops::audit::Act;
use crate::ops::{Context, PlanRefusal};
use crate::personal::FreeText;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem};

/// A request to send a file again. Its content never changes, its state does once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resend {
    /// Its id.
    pub id: ResendId,
    /// Whose settlement.
    pub merchant: MerchantId,
    /// Which settlement.
    pub settlement: SettlementId,
    /// Who asked.
    pub requested_by: StaffId,
    /// `pending` or `approved`.
    pub state: String,
    /// When it was asked for.
    pub created_at: Timestamp,
}

impl Resend {
    /// Reads a stored request.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: read::parsed(item, "resend_id", ResendId::parse)?,
            merchant: read::parsed(item, "merchant_id", MerchantId::parse)?,
            settlement: read::parsed(item, "settlement_id", SettlementId::parse)?,
            requested_by: read::parsed(item, "requested_by", StaffId::parse)?,
            state: read::text(item, "state")?.to_owned(),
            created_at: read::parsed(item, attr::CREATED_AT, Timestamp::parse)?,
        })
    }

    fn act<'a>(&self, actor: Actor, operation: Operation) -> Act<'a> {
        Act::new(actor, operation, format!("merchant:{}", self.merchant))
            .with("settlement_id", self.settlement)
            .with("resend_id", self.id)
    }
}

/// Asks for a paid settlement's file to be sent again. Nothing is sent until another person approves it.
///
/// # Errors
/// [`PlanRefusal`] unless the settlement was paid by a file.
pub fn plan_request(
    tenant: &Tenant,
    settlement: &Settlement,
    staff: StaffId,
    note: &FreeText,
    cx: &Context,
) -> Result<Planned<Resend>, PlanRefusal> {
    let Destination::Bank(_) = &settlement.destination;
    if settlement.state != SettlementState::Paid || settlement.payable.is_none() {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let resend = Resend {
        id: ResendId::new(cx.resource_id),
        merchant: settlement.merchant,
        settlement: settlement.id,
        requested_by: staff,
        state: "pending".to_owned(),
        created_at: cx.now,
    };
    let mut item = Item::from([
        ("resend_id".to_owned(), Value::s(resend.id)),
        ("merchant_id".to_owned(), Value::s(resend.merchant)),
        ("settlement_id".to_owned(), Value::s(resend.settlement)),
        ("requested_by".to_owned(), Value::s(resend.requested_by)),
        ("state".to_owned(), Value::s(&resend.state)),
        (attr::CREATED_AT.to_owned(), Value::s(resend.created_at)),
    ]);
    item.extend(crate::ops::memo_details(Some(note)));
    let key = keys::payout_file_resend(tenant, resend.merchant, resend.id);
    let act = resend.act(Actor::Staff(staff), Operation::FileResendRequest).because(Some(note));
    let items = vec![TransactItem::put_new(Role::Resend, key, item, Failure::AlreadyExists), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: resend })
}

/// Approves a request, by another person than who asked.
///
/// # Errors
/// None today; the signature is that of every builder.
pub fn plan_approve(
    tenant: &Tenant,
    resend: &Resend,
    staff: StaffId,
    cx: &Context,
) -> Result<Planned<Resend>, PlanRefusal> {
    let update = Update::new()
        .set("state", "approved", Value::s("approved"))
        .set("decided_by", "me", Value::s(staff))
        .set("decided_at", "now", Value::s(cx.now));
    let clauses = vec![
        forms::exists(),
        Clause { condition: Condition::is_not("requested_by", "me", Value::s(staff)), failure: Failure::FourEyes },
        Clause {
            condition: Condition::compare("state", Cmp::Eq, "pending", Value::s("pending")),
            failure: Failure::WrongState,
        },
    ];
    let key = keys::payout_file_resend(tenant, resend.merchant, resend.id);
    let items = vec![
        TransactItem::update(Role::Resend, key, update, clauses),
        resend.act(Actor::Staff(staff), Operation::FileResendApprove).record(tenant, cx),
    ];
    let receipt = Resend { state: "approved".to_owned(), ..resend.clone() };
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}
