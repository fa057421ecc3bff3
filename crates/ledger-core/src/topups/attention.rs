//! What needs review: parked operations, and events that contradict our records.

use super::record::TopupRecord;
use super::refund_record::TopupRefund;
use super::{refused, seen};
use crate::audit::Act;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::idempotency::{Flight, Phase, StoredAnswer};
use crate::ids::{Actor, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::psp::EventId;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction, exists};
use crate::wallets::SeenWallet;

/// An event that was not applied and needs review. The provider keeps its content; we keep only the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptEvent {
    /// Its id.
    pub id: EventId,
    /// Its type.
    pub kind: String,
    /// The reason: the name of a contradiction, or `no_record`.
    pub why: String,
    /// The id of the provider's object, for looking it up.
    pub object: Option<String>,
    /// When it was first received.
    pub received_at: Timestamp,
}

/// The staff member who decides, with the reason.
#[derive(Clone, Debug)]
pub struct Decider<'a> {
    /// The actor.
    pub actor: Actor,
    /// The reason.
    pub reason: &'a FreeText,
}

impl KeptEvent {
    /// Keeps an event until its review. A second delivery changes nothing.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn keep(&self, tenant: &Tenant) -> Result<Transaction, BuildError> {
        let mut item = Item::from([
            ("event".to_owned(), Value::s(&self.id)),
            ("kind".to_owned(), Value::s(&self.kind)),
            ("why".to_owned(), Value::s(&self.why)),
            ("received_at".to_owned(), Value::s(self.received_at)),
            (attr::OWNER_PK.to_owned(), Value::S(keys::attention_partition(tenant))),
            (attr::OWNER_SK.to_owned(), Value::S(keys::listed_from(self.received_at, &self.id))),
        ]);
        if let Some(object) = &self.object {
            item.insert("object".to_owned(), Value::s(object));
        }
        let key = keys::kept_event(tenant, &self.id);
        Transaction::unkeyed(vec![TransactItem::put_new(Role::KeptEvent, key, item, Failure::AlreadyExists)])
    }

    /// Whether a stored event was reviewed and dismissed.
    #[must_use]
    pub fn is_dismissed(item: &Item) -> bool {
        item.contains_key("dismissed_at")
    }

    /// Reads a kept event.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.named("event", EventId::parse)?,
            kind: item.string("kind")?,
            why: item.string("why")?,
            object: item.opt_string("object")?,
            received_at: item.timestamp("received_at")?,
        })
    }
}

/// Dismisses a kept event after its review.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn dismiss(
    tenant: &Tenant,
    event: &EventId,
    decider: &Decider<'_>,
    cx: &Context,
) -> Result<Planned<Timestamp>, PlanRefusal> {
    let update = Update::new()
        .set("dismissed_at", "now", Value::s(cx.now))
        .set("dismissed_by", "me", Value::s(decider.actor))
        .remove(attr::OWNER_PK)
        .remove(attr::OWNER_SK);
    let open = Clause { condition: Condition::absent("dismissed_at"), failure: Failure::WrongState };
    let key = keys::kept_event(tenant, event);
    let act = Act::new(decider.actor, Operation::EventDismiss, format!("stripe_event:{event}"));
    let items = vec![
        TransactItem::update(Role::KeptEvent, key, update, vec![exists(), open]),
        act.because(Some(decider.reason)).record(tenant, cx),
    ];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: cx.now })
}

/// Retries a parked operation under its next PSP key. Its effect was proven absent.
///
/// # Errors
/// [`PlanRefusal`] if it is not parked.
pub fn retry(flight: &Flight, decider: &Decider<'_>, cx: &Context) -> Result<Planned<Timestamp>, PlanRefusal> {
    parked(flight)?;
    let items = vec![flight.unpark(cx.now), act(flight, decider, "retry").record(&flight.tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: cx.now })
}

/// Ends a parked operation as refused, and releases what it reserved. Its effect was proven absent. `answer`
/// becomes its stored response.
///
/// # Errors
/// [`PlanRefusal`] if it is not parked, or its record has a later state.
pub fn give_up(
    flight: &Flight,
    (topup, refund): (&TopupRecord, Option<&TopupRefund>),
    wallet: &SeenWallet,
    answer: impl Into<StoredAnswer>,
    decider: &Decider<'_>,
    cx: &Context,
) -> Result<Planned<Timestamp>, PlanRefusal> {
    parked(flight)?;
    let effect = match refund {
        Some(refund) => refused::refund(&flight.tenant, (topup, refund), wallet, cx.now)?,
        None => refused::topup(&flight.tenant, topup, cx.now)?,
    };
    let mut draft = effect.ok_or(PlanRefusal::Refused(Failure::StalePlan))?.draft;
    draft.items.push(flight.land_from_outside(answer, true, cx.now).guarded_by(still_parked(flight)));
    draft.items.push(act(flight, decider, "give_up").record(&flight.tenant, cx));
    Ok(Planned { draft, receipt: cx.now })
}

fn parked(flight: &Flight) -> Result<(), PlanRefusal> {
    match flight.phase {
        Phase::Parked => Ok(()),
        Phase::InFlight | Phase::FailedRetry => Err(PlanRefusal::Refused(Failure::WrongState)),
    }
}

fn still_parked(flight: &Flight) -> Vec<Clause> {
    vec![
        seen("state", "parked", Value::s(Phase::Parked.name())),
        seen("fence", "fence", Value::int(flight.fence.into())),
    ]
}

fn act<'a>(flight: &Flight, decider: &Decider<'a>, action: &'a str) -> Act<'a> {
    Act::new(decider.actor, Operation::ParkedResolve, format!("{}:{}", flight.operation, flight.resource))
        .because(Some(decider.reason))
        .with("action", action)
}
