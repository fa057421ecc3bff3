//! Everything that the simulator remembers, in the order of creation, and its file.
//! The file is written whole and renamed into place, so that a killed process leaves a good one.

use super::error::StripeError;
use super::events::Event;
use super::idempotency::Kept;
use super::ids;
use super::objects::{Charge, Dispute, Object, PaymentIntent, Payout, Refund};
use super::statuses::RefundStatus;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};
use tokio::time::Instant;

/// Stripe keeps events for 30 days.
const EVENTS_KEPT_S: i64 = 30 * 24 * 3600;

/// What outlives a restart.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct State {
    pub(super) payment_intents: Collection<PaymentIntent>,
    pub(super) charges: Collection<Charge>,
    pub(super) refunds: Collection<Refund>,
    pub(super) disputes: Collection<Dispute>,
    pub(super) payouts: Collection<Payout>,
    pub(super) events: Collection<Event>,
    /// By account and key.
    pub(super) kept: BTreeMap<String, Kept>,
    /// Events that the webhook has not taken, oldest first.
    pub(super) pending: Vec<Pending>,
    pub(super) next_refunds: Option<NextRefunds>,
    sequence: u64,
}

/// An event on its way to the webhook.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) event: String,
    /// How often it was tried.
    pub(super) attempts: u32,
    /// When to try again; at once when absent, as after a restart.
    #[serde(skip)]
    pub(super) due: Option<Instant>,
}

/// Which status the next refunds begin with.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct NextRefunds {
    pub(super) status: RefundStatus,
    /// For how many refunds; for all from here on when absent.
    pub(super) times: Option<u32>,
}

impl State {
    /// A number that was not given before.
    pub(super) fn next_sequence(&mut self) -> u64 {
        self.sequence = self.sequence.saturating_add(1);
        self.sequence
    }

    /// How many webhooks have not taken an event: Stripe's `pending_webhooks`.
    pub(super) fn waiting(&self, event: &str) -> u32 {
        u32::from(self.pending.iter().any(|pending| pending.event == event))
    }

    /// Forgets events and answers that Stripe would have forgotten.
    pub(super) fn prune(&mut self, now_s: i64) {
        self.kept.retain(|_, kept| kept.is_fresh(now_s));
        let oldest_s = now_s.saturating_sub(EVENTS_KEPT_S);
        let pending = &self.pending;
        let waits = |id: &str| pending.iter().any(|pending| pending.event == id);
        self.events.retain(|event| event.created() >= oldest_s || waits(event.id()));
    }
}

/// Who asks, as far as events tell it.
#[derive(Debug, Clone, Default)]
pub(super) struct Caller {
    /// Absent when it was not an API call.
    pub(super) request_id: Option<String>,
    pub(super) idempotency_key: Option<String>,
    pub(super) account: Option<String>,
}

/// One change of the state: by whom and when.
pub(super) struct Change<'a> {
    pub(super) state: &'a mut State,
    pub(super) now_s: i64,
    pub(super) caller: Caller,
    /// Whether there is a webhook that wants the events.
    pub(super) queue_events: bool,
}

impl Change<'_> {
    /// An id that nothing else has.
    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        let sequence = self.state.next_sequence();
        ids::fresh(prefix, sequence)
    }

    /// Records that something happened, and queues it for the webhook.
    pub(super) fn emit(&mut self, kind: &str, account: Option<String>, object: Value, previous: Option<Value>) {
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

/// What an update took away: the members of `before` that `after` has otherwise.
pub(super) fn previous_attributes(before: &Value, after: &Value) -> Option<Value> {
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
pub(super) struct Collection<T> {
    items: Vec<T>,
    places: HashMap<String, usize>,
}

impl<T: Object> Collection<T> {
    pub(super) fn get(&self, id: &str) -> Option<&T> {
        self.items.get(*self.places.get(id)?)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut T> {
        self.items.get_mut(*self.places.get(id)?)
    }

    /// The object, or Stripe's error that blames `param`.
    pub(super) fn find(&self, id: &str, param: &str) -> Result<&T, StripeError> {
        self.get(id).ok_or_else(|| StripeError::missing(T::NOUN, id, param))
    }

    /// The object to change, or Stripe's error that blames `param`.
    pub(super) fn find_mut(&mut self, id: &str, param: &str) -> Result<&mut T, StripeError> {
        self.get_mut(id).ok_or_else(|| StripeError::missing(T::NOUN, id, param))
    }

    pub(super) fn insert(&mut self, item: T) {
        self.places.insert(item.id().to_owned(), self.items.len());
        self.items.push(item);
    }

    pub(super) fn newest_first(&self) -> impl DoubleEndedIterator<Item = &T> {
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
