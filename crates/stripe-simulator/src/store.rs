//! The state of the simulator, with objects in the order of creation.

use crate::error::StripeError;
use crate::events::Event;
use crate::idempotency::KeptAnswers;
use crate::ids;
use crate::objects::{Charge, Dispute, Object, PaymentIntent, Payout, Refund};
use crate::statuses::RefundStatus;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::HashMap;
use tokio::time::Instant;

/// How long Stripe keeps events: 30 days.
const EVENTS_KEPT_S: i64 = 30 * 24 * 3600;

/// The state that is kept across restarts.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct State {
    pub(crate) payment_intents: Collection<PaymentIntent>,
    pub(crate) charges: Collection<Charge>,
    pub(crate) refunds: Collection<Refund>,
    pub(crate) disputes: Collection<Dispute>,
    pub(crate) payouts: Collection<Payout>,
    pub(crate) events: Collection<Event>,
    pub(crate) kept: KeptAnswers,
    /// Events that the webhook has not accepted, oldest first.
    pub(crate) pending: Vec<Pending>,
    pub(crate) next_refunds: Option<NextRefunds>,
    sequence: u64,
}

/// An event that waits for delivery.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Pending {
    pub(crate) event: String,
    /// The number of failed attempts.
    pub(crate) attempts: u32,
    /// When to retry; at once if absent, as after a restart.
    #[serde(skip)]
    pub(crate) due: Option<Instant>,
}

/// The initial status of the next refunds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct NextRefunds {
    pub(crate) status: RefundStatus,
    /// The number of refunds; all further ones if absent.
    pub(crate) times: Option<u32>,
}

impl State {
    /// A new sequence number.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence = self.sequence.saturating_add(1);
        self.sequence
    }

    /// The number of webhooks that have not accepted an event: Stripe's `pending_webhooks`.
    pub(crate) fn waiting(&self, event: &str) -> u32 {
        u32::from(self.pending.iter().any(|pending| pending.event == event))
    }

    /// Removes events and stored responses that Stripe would have removed. Waiting events stay.
    pub(crate) fn prune(&mut self, now_s: i64) {
        self.kept.retain(|_, kept| kept.is_fresh(now_s));
        let oldest_s = now_s.saturating_sub(EVENTS_KEPT_S);
        let pending = &self.pending;
        let waits = |id: &str| pending.iter().any(|pending| pending.event == id);
        self.events.retain(|event| event.created() >= oldest_s || waits(event.id()));
    }
}

/// The caller of a change, as events record it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Caller {
    /// Absent if it was not an API call.
    pub(crate) request_id: Option<String>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) account: Option<String>,
}

/// One change of the state, with its caller and time.
pub(crate) struct Change<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) now_s: i64,
    pub(crate) caller: Caller,
    /// Whether a webhook is set, so that events are queued.
    pub(crate) queue_events: bool,
}

impl Change<'_> {
    /// A new unique id.
    pub(crate) fn fresh(&mut self, prefix: &str) -> String {
        let sequence = self.state.next_sequence();
        ids::fresh(prefix, sequence)
    }

    /// Records an event, and queues it for the webhook.
    pub(crate) fn emit(&mut self, kind: &str, account: Option<String>, object: Value, previous: Option<Value>) {
        let event = Event {
            id: self.fresh("evt"),
            kind: kind.to_owned(),
            created: self.now_s,
            account,
            request_id: self.caller.request_id.clone(),
            idempotency_key: self.caller.idempotency_key.clone(),
            object,
            previous,
        };
        if self.queue_events {
            self.state.pending.push(Pending { event: event.id.clone(), attempts: 0, due: None });
        }
        self.state.events.insert(event);
    }
}

/// The members of `before` that differ in `after`, with their previous values.
pub(crate) fn previous_attributes(before: &Value, after: &Value) -> Option<Value> {
    let (before, after) = (before.as_object()?, after.as_object()?);
    let changed: Map<String, Value> = before
        .iter()
        .filter(|(name, value)| after.get(*name) != Some(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Some(Value::Object(changed))
}

/// Objects of one kind, oldest first.
#[derive(Debug)]
pub(crate) struct Collection<T> {
    items: Vec<T>,
    places: HashMap<String, usize>,
}

impl<T: Object> Collection<T> {
    pub(crate) fn get(&self, id: &str) -> Option<&T> {
        self.items.get(*self.places.get(id)?)
    }

    pub(crate) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.items.get_mut(*self.places.get(id)?)
    }

    /// The object, or Stripe's error that names `param`.
    pub(crate) fn find(&self, id: &str, param: &str) -> Result<&T, StripeError> {
        self.get(id).ok_or_else(|| StripeError::missing(T::NOUN, id, param))
    }

    /// The object to change, or Stripe's error that names `param`.
    pub(crate) fn find_mut(&mut self, id: &str, param: &str) -> Result<&mut T, StripeError> {
        self.get_mut(id).ok_or_else(|| StripeError::missing(T::NOUN, id, param))
    }

    pub(crate) fn insert(&mut self, item: T) {
        self.places.insert(item.id().to_owned(), self.items.len());
        self.items.push(item);
    }

    pub(crate) fn newest_first(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.items.iter().rev()
    }

    fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        let mut items = std::mem::take(&mut self.items);
        items.retain(keep);
        *self = items.into();
    }
}

impl<T> Default for Collection<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Object> From<Vec<T>> for Collection<T> {
    fn from(items: Vec<T>) -> Self {
        let places = items.iter().enumerate().map(|(place, item)| (item.id().to_owned(), place)).collect();
        Self { items, places }
    }
}

impl<T: Serialize> Serialize for Collection<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(serializer)
    }
}

impl<'de, T: Object + Deserialize<'de>> Deserialize<'de> for Collection<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}
