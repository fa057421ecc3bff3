//! The trail records of operations that call outside: one for each claim, attempt, answer and transition. A record is
//! kept in the partition of its subject and is written once. It holds ids, states and outcomes, and no personal data
//! and no secret.
//!
//! An operation without calls to the outside needs none: its claim, effect and response are one transaction, and its
//! journal entry is the record.

use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::idempotency::{EventClaim, Flight, Phase};
use crate::ids::{Actor, Principal, Tenant};
use crate::keys::{self, DueKeys, Key, Partition, Shards, attr};
use crate::operation::Operation;
use crate::psp::{PspId, Step};
use crate::settlements::{Settlement, Task};
use crate::time::Timestamp;
use crate::topups::TopupRecord;
use crate::transaction::{BuildError, Role, TransactItem, Transaction};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The order of a record after all others of one holder at one instant.
const LAST: u32 = 99;

/// An answer from outside since the last record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderAnswer {
    /// The request took effect, with this object.
    Done(PspId),
    /// The request was refused, with the provider's code.
    Refused(String),
    /// The outcome is unknown; the text names what happened instead.
    Unknown(String),
    /// A lookup found this object.
    Found(PspId),
    /// A lookup found that there is no object.
    Absent,
    /// An event or a lookup reported a fact.
    Event {
        /// The event's id.
        event: String,
        /// Its type.
        kind: String,
        /// The object of the fact.
        object: PspId,
    },
    /// The KYC check passed, with the KYC provider's reference.
    Passed(String),
}

/// A step's trail record, before it is added to a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    key: Key,
    item: Item,
    /// Whether it holds more than a journal entry in the same transaction.
    exceeds_entry: bool,
}

/// The operation that a step belongs to.
struct StepOwner<'a> {
    tenant: &'a Tenant,
    partition: Partition,
    resource: Uuid,
    shards: Shards,
    operation: Operation,
    principal: Principal,
}

impl Record {
    /// A key was claimed. The first sending comes after this record.
    #[must_use]
    pub fn claimed(flight: &Flight, actor: Actor) -> Self {
        Self::of_flight(flight, "claimed", actor, 0, flight.claimed_at).attempt(1)
    }

    /// A claim has a new holder; `seen` is the claim before that. If the request may still be sent, the sending comes
    /// after this record.
    #[must_use]
    pub fn taken_over(seen: &Flight, next: &Flight, now: Timestamp) -> Self {
        let why = match seen.phase {
            Phase::InFlight => "lease_over",
            Phase::FailedRetry => "pause_over",
            Phase::Parked => "parked",
        };
        let record = Self::of_flight(next, "taken_over", Actor::System, 0, now).because(why);
        if next.may_send(now) { record.attempt(1) } else { record }
    }

    /// A holder sends its request again after this record; `answers` has the answers to earlier sendings.
    #[must_use]
    pub fn sent_again(flight: &Flight, attempt: u32, answers: &[ProviderAnswer], now: Timestamp) -> Self {
        Self::of_flight(flight, "sent_again", Actor::System, attempt, now).attempt(attempt).answers(answers)
    }

    /// The answers that a holder got: by themselves if nothing changes, else in the transaction of the change.
    #[must_use]
    pub fn answered(flight: &Flight, answers: &[ProviderAnswer], now: Timestamp) -> Self {
        Self::of_flight(flight, "answered", Actor::Stripe, LAST, now).answers(answers)
    }

    /// A fact about one of the provider's objects is booked.
    #[must_use]
    pub fn event_received(
        topup: &TopupRecord,
        operation: Operation,
        principal: Principal,
        fact: &PspId,
        event: &EventClaim,
    ) -> Self {
        let owner = of_topup(&event.tenant, topup, operation, principal);
        let answers =
            ProviderAnswer::Event { event: event.event.to_string(), kind: event.kind.clone(), object: fact.clone() };
        let place = format!("event#{}", event.event);
        Self::new(&owner, "reported", Actor::Stripe, &place, event.now).answers(&[answers])
    }

    /// The provider is asked to cancel an unpaid top-up, after this record.
    #[must_use]
    pub fn canceling(tenant: &Tenant, topup: &TopupRecord, now: Timestamp) -> Self {
        let owner = of_topup(tenant, topup, Operation::Topup, topup.principal());
        let epoch = topup.cancel_epoch;
        let record = Self::new(&owner, "sent", Actor::System, &format!("cancel{epoch:04}.sent"), now);
        record.because("unpaid").asking(Step::CancelIntent, epoch).attempt(1)
    }

    /// The provider's answer to that, if it does not end the top-up.
    #[must_use]
    pub fn not_canceled(tenant: &Tenant, topup: &TopupRecord, answers: &[ProviderAnswer], now: Timestamp) -> Self {
        let owner = of_topup(tenant, topup, Operation::Topup, topup.principal());
        let epoch = topup.cancel_epoch;
        let record = Self::new(&owner, "answered", Actor::Stripe, &format!("cancel{epoch:04}.answered"), now);
        record.asking(Step::CancelIntent, epoch).answers(answers)
    }

    /// A settlement's task calls outside after this record, or writes the result of its call.
    #[must_use]
    pub fn of_task(
        tenant: &Tenant,
        settlement: &Settlement,
        task: Task,
        what: &'static str,
        answers: &[ProviderAnswer],
        now: Timestamp,
    ) -> Self {
        let owner = StepOwner {
            tenant,
            partition: Partition::merchant(tenant, settlement.merchant),
            resource: settlement.id.uuid(),
            shards: settlement.due_shards,
            operation: Operation::SettlementRun,
            principal: Principal::Merchant(settlement.merchant),
        };
        let name = task.name();
        let mut record = Self::new(&owner, what, Actor::System, &format!("{name}.{what}"), now);
        record.set("settlement_id", Value::s(settlement.id));
        record.set("task", Value::s(name));
        record.answers(answers)
    }

    /// The record's key.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    fn of_flight(flight: &Flight, what: &str, actor: Actor, order: u32, now: Timestamp) -> Self {
        let owner = StepOwner {
            tenant: &flight.tenant,
            partition: Partition::topup(&flight.tenant, flight.topup),
            resource: flight.topup.uuid(),
            shards: flight.shards(),
            operation: flight.operation,
            principal: flight.principal,
        };
        let place = format!("{}#{:04}.{order:02}", flight.request.step.name(), flight.fence);
        let mut record = Self::new(&owner, what, actor, &place, now);
        record.set("topup_id", Value::s(flight.topup));
        if flight.resource != flight.topup.uuid() {
            record.set("refund_id", Value::s(flight.resource));
        }
        record.set("fence", Value::int(flight.fence.into()));
        record.asking(flight.request.step, flight.epoch)
    }

    fn new(owner: &StepOwner<'_>, what: &str, actor: Actor, place: &str, now: Timestamp) -> Self {
        let shard = keys::shard_of(owner.resource, owner.shards);
        let mut item = Item::from([
            ("what".to_owned(), Value::s(what)),
            ("operation".to_owned(), Value::s(owner.operation)),
            ("principal".to_owned(), Value::s(owner.principal)),
            ("actor".to_owned(), Value::s(actor)),
            (attr::CREATED_AT.to_owned(), Value::s(now)),
        ]);
        let due = DueKeys::step((owner.tenant, shard), now, format_args!("{}#{place}", owner.resource));
        item.extend(due.attributes());
        Self { key: keys::trail(&owner.partition, owner.resource, now, place), item, exceeds_entry: false }
    }

    fn set(&mut self, name: &str, value: Value) {
        self.item.insert(name.to_owned(), value);
    }

    fn because(mut self, why: &str) -> Self {
        self.set("why", Value::s(why));
        self
    }

    fn attempt(mut self, number: u32) -> Self {
        self.set("attempt", Value::int(number.into()));
        self.exceeds_entry = true;
        self
    }

    fn asking(mut self, step: Step, epoch: u32) -> Self {
        self.set("step", Value::s(step.name()));
        self.set("epoch", Value::int(epoch.into()));
        self
    }

    fn answers(mut self, answers: &[ProviderAnswer]) -> Self {
        if !answers.is_empty() {
            self.set("answers", Value::L(answers.iter().map(ProviderAnswer::value).collect()));
            self.exceeds_entry = true;
        }
        self
    }

    /// The record as an action, with the states that the transaction writes.
    fn into_item(mut self, states: BTreeMap<String, Value>) -> TransactItem {
        if !states.is_empty() {
            self.set("states", Value::M(states));
        }
        // Only the same step at the same millisecond has this key. A worker whose write fails on it reads again and
        // plans anew.
        TransactItem::put_new(Role::Trail, self.key, self.item, Failure::StalePlan)
    }
}

impl ProviderAnswer {
    fn value(&self) -> Value {
        let map = |pairs: &[(&str, &str)]| {
            Value::M(pairs.iter().map(|(name, text)| ((*name).to_owned(), Value::s(text))).collect())
        };
        match self {
            Self::Done(id) => map(&[("outcome", "done"), ("psp_id", id.as_str())]),
            Self::Refused(code) => map(&[("outcome", "refused"), ("code", code)]),
            Self::Unknown(why) => map(&[("outcome", "unknown"), ("code", why)]),
            Self::Found(id) => map(&[("outcome", "found"), ("psp_id", id.as_str())]),
            Self::Absent => map(&[("outcome", "absent")]),
            Self::Event { event, kind, object } => {
                map(&[("outcome", "reported"), ("event", event), ("kind", kind), ("psp_id", object.as_str())])
            }
            Self::Passed(reference) => map(&[("outcome", "passed"), ("reference", reference)]),
        }
    }
}

impl Transaction {
    /// Adds a step's record as the transaction's last action. The record has every state that the transaction writes,
    /// so that no transition is left out. If the transaction has a journal entry and the record holds no more than
    /// that, it is not added.
    ///
    /// # Errors
    /// [`BuildError`] if the transaction has no room for it.
    pub fn recorded(self, record: Record) -> Result<Self, BuildError> {
        let has_entry = self.items().iter().any(|item| item.role() == Role::Journal);
        if has_entry && !record.exceeds_entry {
            return Ok(self);
        }
        let states = self.items().iter().filter_map(|item| {
            let is_claim = matches!(item.role(), Role::Marker | Role::Flight);
            let of = if is_claim { "claim" } else { item.key().sk().split('#').next().unwrap_or_default() };
            Some((of.to_lowercase(), Value::s(item.text_written("state")?)))
        });
        let states = states.collect();
        let why = self
            .items()
            .iter()
            .find_map(|item| ["parked", "undo_reason"].into_iter().find_map(|attribute| item.text_written(attribute)));
        let record = match why {
            Some(why) => record.because(why),
            None => record,
        };
        self.and(record.into_item(states))
    }

    /// A transaction of a step's record alone: before a call outside, or for an answer that changes nothing.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn record(record: Record) -> Result<Self, BuildError> {
        Self::unkeyed(vec![record.into_item(BTreeMap::new())])
    }
}

fn of_topup<'a>(tenant: &'a Tenant, topup: &TopupRecord, operation: Operation, principal: Principal) -> StepOwner<'a> {
    let partition = Partition::topup(tenant, topup.id);
    StepOwner { tenant, partition, resource: topup.id.uuid(), shards: topup.shards, operation, principal }
}

#[cfg(test)]
mod tests;
