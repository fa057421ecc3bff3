//! What an operation that asks somebody outside leaves of each of its steps: the claim, each attempt, each
//! answer and each transition. A record stands beside what it is about and is written once. It names ids,
//! states and outcomes; nothing of a person is in it, and no secret.
//!
//! An operation that stays inside needs none: its claim, its effect and its answer are one transaction, and
//! the journal entry in it is the record.

use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::idempotency::{EventClaim, Flight, Phase};
use crate::ids::{Actor, Principal, Tenant};
use crate::keys::{self, Key, Partition, Shards, Work, attr};
use crate::operation::Operation;
use crate::ops::settlement::{Settlement, Task};
use crate::ops::topup::TopupRecord;
use crate::psp::{PspId, Step};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Role, TransactItem, Transaction};
use std::collections::BTreeMap;
use uuid::Uuid;

/// After everything else that one holder records at one instant.
const LAST: u32 = 99;

/// What was heard from outside since the record before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It has done what it was asked: this is its object.
    Done(PspId),
    /// It refuses, with this code of its own.
    Refused(String),
    /// It did not say; what was met, in a word.
    Unknown(String),
    /// A look showed this object.
    Found(PspId),
    /// A look showed that there is nothing.
    Absent,
    /// It told this without being asked, or a look did, under this event.
    Told {
        /// The event's id.
        event: String,
        /// Its type.
        kind: String,
        /// What it is about.
        object: PspId,
    },
    /// Somebody who checks merchants has passed one, and calls that so.
    Passed(String),
    /// A file is where the bank gets it, under this name.
    Stored(String),
}

/// A step's record, before it is put into a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    key: Key,
    item: Item,
    /// Whether it says more than a journal entry beside it would.
    tells: bool,
}

/// Whose step it is.
struct Whose<'a> {
    tenant: &'a Tenant,
    partition: Partition,
    resource: Uuid,
    shards: Shards,
    operation: Operation,
    principal: Principal,
}

impl Record {
    /// A key is claimed, and the request leaves for the first time after this.
    #[must_use]
    pub fn claimed(flight: &Flight, actor: Actor) -> Self {
        Self::of_flight(flight, "claimed", actor, 0, flight.claimed_at).attempt(1)
    }

    /// A claim has another holder from here on; `seen` is the claim as it was before. If the request may still
    /// be sent, it is after this.
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

    /// A holder sends its request once more after this; `heard` is what came of the sendings before.
    #[must_use]
    pub fn sent_again(flight: &Flight, attempt: u32, heard: &[Heard], now: Timestamp) -> Self {
        Self::of_flight(flight, "sent_again", Actor::System, attempt, now).attempt(attempt).heard(heard)
    }

    /// What a holder has heard: alone if nothing follows from it, else beside what does.
    #[must_use]
    pub fn answered(flight: &Flight, heard: &[Heard], now: Timestamp) -> Self {
        Self::of_flight(flight, "answered", Actor::Stripe, LAST, now).heard(heard)
    }

    /// A fact about one of the provider's objects is brought to the books.
    #[must_use]
    pub fn told(
        topup: &TopupRecord,
        operation: Operation,
        principal: Principal,
        fact: &PspId,
        event: &EventClaim,
    ) -> Self {
        let whose = of_topup(&event.tenant, topup, operation, principal);
        let heard = Heard::Told { event: event.event.to_string(), kind: event.kind.clone(), object: fact.clone() };
        let place = format!("event#{}", event.event);
        Self::new(&whose, "told", Actor::Stripe, &place, event.now).heard(&[heard])
    }

    /// The provider is asked to cancel what nobody has paid, after this.
    #[must_use]
    pub fn canceling(tenant: &Tenant, topup: &TopupRecord, now: Timestamp) -> Self {
        let whose = of_topup(tenant, topup, Operation::Topup, topup.principal());
        let epoch = topup.cancel_epoch;
        let record = Self::new(&whose, "sent", Actor::System, &format!("cancel{epoch:04}.sent"), now);
        record.because("unpaid").asking(Step::CancelIntent, epoch).attempt(1)
    }

    /// What the provider answered to that, where nothing is settled by it.
    #[must_use]
    pub fn not_canceled(tenant: &Tenant, topup: &TopupRecord, heard: &[Heard], now: Timestamp) -> Self {
        let whose = of_topup(tenant, topup, Operation::Topup, topup.principal());
        let epoch = topup.cancel_epoch;
        let record = Self::new(&whose, "answered", Actor::Stripe, &format!("cancel{epoch:04}.told"), now);
        record.asking(Step::CancelIntent, epoch).heard(heard)
    }

    /// A settlement's task asks somebody outside after this, or has written what follows from what it heard.
    #[must_use]
    pub fn of_task(
        tenant: &Tenant,
        settlement: &Settlement,
        task: Task,
        what: &'static str,
        heard: &[Heard],
        now: Timestamp,
    ) -> Self {
        let whose = Whose {
            tenant,
            partition: Partition::merchant(tenant, settlement.merchant),
            resource: settlement.id.uuid(),
            shards: settlement.due_shards,
            operation: Operation::SettlementRun,
            principal: Principal::Merchant(settlement.merchant),
        };
        let name = task.name();
        let mut record = Self::new(&whose, what, Actor::System, &format!("{name}.{what}"), now);
        record.set("settlement_id", Value::s(settlement.id));
        record.set("task", Value::s(name));
        record.heard(heard)
    }

    /// Where it stands.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    fn of_flight(flight: &Flight, what: &str, actor: Actor, order: u32, now: Timestamp) -> Self {
        let whose = Whose {
            tenant: &flight.tenant,
            partition: Partition::topup(&flight.tenant, flight.topup),
            resource: flight.topup.uuid(),
            shards: flight.shards(),
            operation: flight.operation,
            principal: flight.principal,
        };
        let place = format!("{}#{:04}.{order:02}", flight.request.step.name(), flight.fence);
        let mut record = Self::new(&whose, what, actor, &place, now);
        record.set("topup_id", Value::s(flight.topup));
        if flight.resource != flight.topup.uuid() {
            record.set("refund_id", Value::s(flight.resource));
        }
        record.set("fence", Value::int(flight.fence.into()));
        record.asking(flight.request.step, flight.epoch)
    }

    fn new(whose: &Whose<'_>, what: &str, actor: Actor, place: &str, now: Timestamp) -> Self {
        let shard = keys::shard_of(whose.resource, whose.shards);
        let item = Item::from([
            ("what".to_owned(), Value::s(what)),
            ("operation".to_owned(), Value::s(whose.operation)),
            ("principal".to_owned(), Value::s(whose.principal)),
            ("actor".to_owned(), Value::s(actor)),
            (attr::CREATED_AT.to_owned(), Value::s(now)),
            (attr::DUE_PK.to_owned(), Value::S(keys::due_partition(whose.tenant, Work::Seal, shard))),
            (attr::DUE_SK.to_owned(), Value::S(keys::due_from(now, format!("{}#{place}", whose.resource)))),
        ]);
        Self { key: keys::trail(&whose.partition, whose.resource, now, place), item, tells: false }
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
        self.tells = true;
        self
    }

    fn asking(mut self, step: Step, epoch: u32) -> Self {
        self.set("step", Value::s(step.name()));
        self.set("epoch", Value::int(epoch.into()));
        self
    }

    fn heard(mut self, heard: &[Heard]) -> Self {
        if !heard.is_empty() {
            self.set("heard", Value::L(heard.iter().map(Heard::value).collect()));
            self.tells = true;
        }
        self
    }

    /// The record as an action, with the states that the transaction writes.
    fn into_item(mut self, states: BTreeMap<String, Value>) -> TransactItem {
        if !states.is_empty() {
            self.set("states", Value::M(states));
        }
        // Only the same step at the same millisecond has its key: whoever meets it looks again.
        TransactItem::put_new(Role::Trail, self.key, self.item, Failure::StalePlan)
    }
}

impl Heard {
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
            Self::Told { event, kind, object } => {
                map(&[("outcome", "told"), ("event", event), ("kind", kind), ("psp_id", object.as_str())])
            }
            Self::Passed(reference) => map(&[("outcome", "passed"), ("reference", reference)]),
            Self::Stored(name) => map(&[("outcome", "stored"), ("file", name)]),
        }
    }
}

impl Transaction {
    /// The same with a step's record as its last action. The record names every state that the transaction
    /// writes, so that no transition can be forgotten. Beside a journal entry, a record that would say no more
    /// than the entry is left out.
    ///
    /// # Errors
    /// [`BuildError`] if there is no room for it.
    pub fn recorded(self, record: Record) -> Result<Self, BuildError> {
        let has_entry = self.items().iter().any(|item| item.role() == Role::Journal);
        if has_entry && !record.tells {
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
            .find_map(|item| ["parked", "turned_back"].into_iter().find_map(|attribute| item.text_written(attribute)));
        let record = match why {
            Some(why) => record.because(why),
            None => record,
        };
        self.and(record.into_item(states))
    }

    /// A step's record alone: what is asked outside after it, or what was heard and changed nothing.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn record(record: Record) -> Result<Self, BuildError> {
        Self::unkeyed(vec![record.into_item(BTreeMap::new())])
    }
}

fn of_topup<'a>(tenant: &'a Tenant, topup: &TopupRecord, operation: Operation, principal: Principal) -> Whose<'a> {
    let partition = Partition::topup(tenant, topup.id);
    Whose { tenant, partition, resource: topup.id.uuid(), shards: topup.shards, operation, principal }
}

#[cfg(test)]
mod tests;
