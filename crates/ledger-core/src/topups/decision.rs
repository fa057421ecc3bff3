//! Decisions about a provider's object that contradicts our record: book what the provider says, or give the
//! operation up. One person requests it and another approves it, and the object must not have changed in between.
//! Money that moved otherwise than the books expect is posted to the tenant's account `suspense`. The nightly
//! reconciliation reports it until two people write it off.

use super::decision_effect::{self, Effect};
use super::route::View;
use super::seen as has_state;
use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::idempotency::{Flight, Phase, StoredAnswer};
use crate::ids::{Actor, RefundId, TopupId};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::psp::{Fact, PaymentIntent, PspId, PspRefund};
use crate::transaction::Draft;
use crate::words::words;

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

/// A decision, as it is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopupDecision {
    /// The top-up.
    pub topup: TopupId,
    /// The refund that it is about; `None` if it is about the top-up itself.
    pub refund: Option<RefundId>,
    /// The account that the top-up is for.
    pub wallet: Account,
    /// What is decided.
    pub way: DecisionKind,
    /// The provider's object at the request: its id, state, amount and currency. `None` for a write-off.
    pub object: Option<String>,
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

/// What a decision is carried out from.
#[derive(Clone, Copy, Debug)]
pub struct DecisionSeen<'a> {
    /// The records and the object, as they are at present.
    pub basis: Basis<'a>,
    /// What becomes the stored response of the operation's key, if it has none yet.
    pub answer: &'a StoredAnswer,
}

impl TopupDecision {
    /// The decision about what is seen at present.
    #[must_use]
    pub fn of(basis: &Basis<'_>, way: DecisionKind) -> Self {
        let topup = basis.view.topup;
        Self {
            topup: topup.id,
            refund: basis.view.refund.map(|refund| refund.id),
            wallet: topup.wallet(),
            way,
            object: basis.object(way),
        }
    }

    /// The id of the provider's object.
    #[must_use]
    pub fn object_id(&self) -> Option<PspId> {
        self.object.as_deref().and_then(|object| object.split(' ').next()).and_then(PspId::parse)
    }

    /// The attributes of a stored decision.
    pub(crate) fn item(&self) -> Item {
        let mut item = Item::from([
            ("topup_id".to_owned(), Value::s(self.topup)),
            ("account".to_owned(), Value::s(self.wallet)),
            ("way".to_owned(), Value::s(self.way.name())),
        ]);
        item.extend(self.refund.map(|refund| ("refund_id".to_owned(), Value::s(refund))));
        item.extend(self.object.as_ref().map(|object| ("object".to_owned(), Value::s(object))));
        item
    }

    /// Reads a stored decision.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub(crate) fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            topup: item.parsed("topup_id", TopupId::parse)?,
            refund: item.opt_parsed("refund_id", RefundId::parse)?,
            wallet: item.parsed("account", Account::parse)?,
            way: item.named("way", DecisionKind::parse)?,
            object: item.opt_string("object")?,
        })
    }

    fn act<'a>(&self, by: Actor, reason: &'a FreeText) -> Act<'a> {
        let act = Act::new(by, Operation::TopupDecision, self.wallet)
            .because(Some(reason))
            .with("topup_id", self.topup)
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

/// Carries a decision out; `None` if the provider's object is another than at the request.
///
/// # Errors
/// [`PlanRefusal`] if it cannot be carried out at present.
pub fn plan(
    decision: &TopupDecision,
    seen: &DecisionSeen<'_>,
    (by, reason): (Actor, &FreeText),
    cx: &Context,
) -> Result<Option<Draft>, PlanRefusal> {
    let basis = &seen.basis;
    if TopupDecision::of(basis, decision.way) != *decision {
        return Ok(None);
    }
    let Effect { entry, mut items } = decision_effect::of(basis, decision.way, cx)?;
    if let (Some(flight), DecisionKind::Book | DecisionKind::GiveUp) = (basis.flight, decision.way) {
        let parked = vec![
            has_state("state", "parked", Value::s(Phase::Parked.name())),
            has_state("fence", "fence", Value::int(flight.fence.into())),
        ];
        let refused = decision.way == DecisionKind::GiveUp;
        items.push(flight.land_from_outside(seen.answer.clone(), refused, cx.now).guarded_by(parked));
    }
    items.push(decision.act(by, reason).record(basis.view.tenant, cx));
    Ok(Some(Draft { entry, items }))
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
