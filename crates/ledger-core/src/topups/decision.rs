//! Decisions about a provider's object that contradicts our record: book what the provider says, or give the
//! operation up. One person requests it and another approves it, and the object must not have changed in between.
//! Money that moved otherwise than the books expect is posted to the tenant's account `suspense`. The nightly
//! reconciliation reports it until two people write it off.

use super::decision_effect::{self, Effect};
use super::route::View;
use super::seen;
use crate::account::{Account, Posting};
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::{Flight, Phase, StoredAnswer};
use crate::ids::{Actor, DecisionId, RefundId, StaffId, TopupId};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::psp::{Fact, PaymentIntent, PspRefund};
use crate::time::Timestamp;
use crate::transaction::{Draft, Planned, Role, TransactItem};
use crate::words::words;

/// The state of a decision that is not approved yet.
const PENDING: &str = "pending";

words! {
    /// The kinds of decisions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DecisionKind {
        /// Book what the provider says.
        Book = "book",
        /// End the operation as refused or failed, and give back what it reserved or held.
        GiveUp = "give_up",
        /// Write off what is on `suspense`, against `adjustments`.
        WriteOff = "write_off",
    }
}

/// A requested decision, `DECISION#<id>` in the top-up's partition. Its content never changes; its state changes
/// once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopupDecision {
    /// Its id.
    pub id: DecisionId,
    /// The top-up.
    pub topup: TopupId,
    /// The refund that it is about; `None` if it is about the top-up itself.
    pub refund: Option<RefundId>,
    /// The requested decision.
    pub way: DecisionKind,
    /// The provider's object at the request: its id, state, amount and currency. `None` for a write-off.
    pub object: Option<String>,
    /// The staff member who requested it.
    pub requested_by: StaffId,
    /// `pending`, `approved` or `rejected`.
    pub state: String,
    /// When it was requested.
    pub created_at: Timestamp,
}

/// The data that a decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    /// Our records.
    pub view: &'a View<'a>,
    /// The fact of the provider's object; not used for a write-off.
    pub fact: Option<&'a Fact>,
    /// The operation, if its key has no response yet.
    pub flight: Option<&'a Flight>,
}

impl TopupDecision {
    /// Reads a stored decision.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("decision_id", DecisionId::parse)?,
            topup: item.parsed("topup_id", TopupId::parse)?,
            refund: item.opt_parsed("refund_id", RefundId::parse)?,
            way: item.named("way", DecisionKind::parse)?,
            object: item.opt_string("object")?,
            requested_by: item.parsed("requested_by", StaffId::parse)?,
            state: item.string("state")?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }

    fn act<'a>(&self, staff: StaffId, operation: Operation, wallet: Account) -> Act<'a> {
        let act = Act::new(Actor::Staff(staff), operation, wallet)
            .with("topup_id", self.topup)
            .with("decision_id", self.id)
            .with("way", self.way.name());
        let act = match self.refund {
            Some(refund) => act.with("refund_id", refund),
            None => act,
        };
        match &self.object {
            Some(object) => act.with("object", object),
            None => act,
        }
    }
}

/// Stores a request for a decision. Nothing happens until another person approves it. The postings are what it would post
/// at present.
///
/// # Errors
/// [`PlanRefusal`] if the decision could not be carried out at present.
pub fn plan_request(
    basis: &Basis<'_>,
    way: DecisionKind,
    (staff, note): (StaffId, &FreeText),
    cx: &Context,
) -> Result<(Planned<TopupDecision>, Vec<Posting>), PlanRefusal> {
    let (tenant, topup) = (basis.view.tenant, basis.view.topup);
    let possible = decision_effect::of(basis, way, cx)?;
    let decision = TopupDecision {
        id: DecisionId::new(cx.resource_id),
        topup: topup.id,
        refund: basis.view.refund.map(|refund| refund.id),
        way,
        object: basis.object(way),
        requested_by: staff,
        state: PENDING.to_owned(),
        created_at: cx.now,
    };
    let mut item = Item::from([
        ("decision_id".to_owned(), Value::s(decision.id)),
        ("topup_id".to_owned(), Value::s(decision.topup)),
        ("way".to_owned(), Value::s(way.name())),
        ("requested_by".to_owned(), Value::s(staff)),
        ("state".to_owned(), Value::s(&decision.state)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(decision.refund.map(|refund| ("refund_id".to_owned(), Value::s(refund))));
    item.extend(decision.object.as_ref().map(|object| ("object".to_owned(), Value::s(object))));
    item.extend(crate::plan::memo_attribute(Some(note)));
    let act = decision.act(staff, Operation::TopupDecisionRequest, topup.wallet()).because(Some(note));
    let key = keys::topup_decision(tenant, topup.id, decision.id);
    let items = vec![TransactItem::put_new(Role::Decision, key, item, Failure::AlreadyExists), act.record(tenant, cx)];
    let postings = possible.entry.map(|entry| entry.postings).unwrap_or_default();
    Ok((Planned { draft: Draft { entry: None, items }, receipt: decision }, postings))
}

/// Carries a decision out. Another person approves it, and the provider's object must be unchanged. `answer` becomes
/// the stored response of the operation's key, if it has none yet.
///
/// # Errors
/// [`PlanRefusal`] if the object or our records have changed, so that it cannot be carried out.
pub fn plan_approve(
    basis: &Basis<'_>,
    decision: &TopupDecision,
    answer: impl Into<StoredAnswer>,
    staff: StaffId,
    cx: &Context,
) -> Result<Planned<TopupDecision>, PlanRefusal> {
    let (tenant, topup) = (basis.view.tenant, basis.view.topup);
    if decision.state != PENDING || basis.object(decision.way) != decision.object {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let Effect { entry, mut items } = decision_effect::of(basis, decision.way, cx)?;
    let update = Update::new()
        .set("state", "approved", Value::s("approved"))
        .set("decided_by", "me", Value::s(staff))
        .set("decided_at", "now", Value::s(cx.now));
    let key = keys::topup_decision(tenant, topup.id, decision.id);
    items.insert(0, TransactItem::update(Role::Decision, key, update, forms::pending_of_another(staff)));
    if let (Some(flight), DecisionKind::Book | DecisionKind::GiveUp) = (basis.flight, decision.way) {
        let parked = vec![
            seen("state", "parked", Value::s(Phase::Parked.name())),
            seen("fence", "fence", Value::int(flight.fence.into())),
        ];
        let refused = decision.way == DecisionKind::GiveUp;
        items.push(flight.land_from_outside(answer, refused, cx.now).guarded_by(parked));
    }
    items.push(decision.act(staff, Operation::TopupDecisionApprove, topup.wallet()).record(tenant, cx));
    let receipt = TopupDecision { state: "approved".to_owned(), ..decision.clone() };
    Ok(Planned { draft: Draft { entry, items }, receipt })
}

impl Basis<'_> {
    /// The part of the provider's object that a decision depends on.
    fn object(&self, way: DecisionKind) -> Option<String> {
        match (way, self.fact) {
            (DecisionKind::WriteOff, _) | (_, None) => None,
            (DecisionKind::Book | DecisionKind::GiveUp, Some(Fact::Intent(intent))) => {
                let PaymentIntent { id, received, amount, .. } = intent;
                Some(format!("{id} {} {received} {}", intent.status.name(), amount.currency))
            }
            (DecisionKind::Book | DecisionKind::GiveUp, Some(Fact::Refund(refund))) => {
                let PspRefund { id, amount, .. } = refund;
                Some(format!("{id} {} {} {}", refund.status.name(), amount.minor, amount.currency))
            }
            (DecisionKind::Book | DecisionKind::GiveUp, Some(Fact::Withdrawn(dispute) | Fact::Reinstated(dispute))) => {
                Some(dispute.id.to_string())
            }
        }
    }
}
