//! The marker: what is stored under a key, how a request claims the key, and what a later request gets.

use super::{CURRENT_FINGERPRINT, CanonicalRequest, Fingerprint, Flight, IdempotencyKey, Phase, Window};
use crate::account::Account;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Principal, Tenant, TransactionId};
use crate::keys::{self, Key, attr};
use crate::operation::Operation;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{Clause, JournalLink, Role, TransactItem};

/// A stored response, replayed byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: String,
    /// The `Location` header, if there is one.
    pub location: Option<String>,
    /// The body, UTF-8.
    pub body: String,
}

/// A request's claim on its key.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The tenant.
    pub tenant: Tenant,
    /// The principal that the key belongs to.
    pub principal: Principal,
    /// The actor.
    pub actor: Actor,
    /// The operation.
    pub operation: Operation,
    /// The idempotency key.
    pub key: IdempotencyKey,
    /// The request that the key is bound to.
    pub request: CanonicalRequest,
    /// How long the response is replayed, then the key refused.
    pub window: Window,
    /// When the request arrived.
    pub now: Timestamp,
}

/// A marker as read from the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Its state.
    pub state: MarkerState,
    /// When the state was written.
    pub processed_at: Timestamp,
    /// The end of its life, in epoch seconds: after it the marker counts as deleted. `None`: never.
    pub ttl: Option<i64>,
    /// How long the response is replayed.
    window: Window,
}

/// The state of a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerState {
    /// The response is stored.
    Completed {
        /// The fingerprint that the key is bound to.
        fingerprint: Fingerprint,
        /// The stored response.
        answer: Answer,
        /// The journal entry, if value moved.
        journal: Option<JournalLink>,
    },
    /// The operation was reversed, or was forbidden before it arrived.
    Reversed,
    /// The operation has called the payment provider, or is about to, and has no response yet.
    InFlight(Box<Flight>),
}

/// What a request gets if its key has a marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyVerdict {
    /// The key was reversed: the request will never be executed.
    Reversed,
    /// The stored response is too old to be replayed.
    Expired {
        /// When the first request with the key was completed.
        original_request_at: Timestamp,
    },
    /// The key is bound to another request.
    Reused,
    /// The stored response.
    Replay(Answer),
    /// The operation has no response yet.
    InFlight(Box<Flight>),
    /// The marker has lapsed: the key is free.
    Free,
}

pub(super) const COMPLETED: &str = "COMPLETED";
/// Also completed: the payment provider refused for good, and the stored response says so.
pub(super) const FAILED_TERMINAL: &str = "FAILED_TERMINAL";
const REVERSED: &str = "REVERSED";

/// The values of a marker's attribute `state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredState {
    /// The operation has its response.
    Completed,
    /// The payment provider refused for good, and the stored response says so.
    FailedTerminal,
    /// The key is forbidden.
    Reversed,
    /// The operation has no response yet.
    InFlight(Phase),
}

impl StoredState {
    /// Parses a stored name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            COMPLETED => Some(Self::Completed),
            FAILED_TERMINAL => Some(Self::FailedTerminal),
            REVERSED => Some(Self::Reversed),
            other => Phase::parse(other).map(Self::InFlight),
        }
    }
}

impl Claim {
    /// The key of this claim's marker.
    #[must_use]
    pub fn marker_key(&self) -> Key {
        keys::marker(&self.tenant, self.principal, self.operation, self.key.as_str())
    }

    /// The action that takes the key for good and stores the response.
    pub(crate) fn marker(&self, answer: &Answer, journal: Option<JournalLink>) -> TransactItem {
        let mut item = self.base(COMPLETED);
        let fingerprint = self.request.fingerprint(CURRENT_FINGERPRINT, &self.tenant, self.principal);
        if let Some(fingerprint) = fingerprint {
            item.insert("fp".to_owned(), Value::S(fingerprint.digest));
            item.insert("fp_v".to_owned(), Value::int(fingerprint.version.into()));
        }
        if let Some(ttl) = self.ttl() {
            item.insert(attr::TTL.to_owned(), Value::int(ttl));
        }
        item.insert("status".to_owned(), Value::int(answer.status.into()));
        item.insert("content_type".to_owned(), Value::s(&answer.content_type));
        item.insert("body".to_owned(), Value::s(&answer.body));
        if let Some(location) = &answer.location {
            item.insert("location".to_owned(), Value::s(location));
        }
        if let Some(journal) = journal {
            item.insert("entry_home".to_owned(), Value::s(journal.home));
            item.insert("entry_id".to_owned(), Value::s(journal.id));
        }
        TransactItem::put(Role::Marker, self.marker_key(), item, vec![self.free_clause(Failure::AlreadyExists)])
    }

    /// When the marker lapses, in epoch seconds. `None`, never, for a terminal's: only the absence of a marker proves
    /// to a late reversal that the operation was not executed.
    fn ttl(&self) -> Option<i64> {
        match self.principal {
            Principal::Terminal(_) => None,
            Principal::Customer(_) | Principal::Merchant(_) | Principal::Staff(_) => {
                Some(self.window.ttl(self.now, self.key.born()))
            }
        }
    }

    /// The tombstone: forbids the key of an operation that has not arrived. It has no `ttl`, so that it outlives any
    /// retry. It never replaces a marker, not even a lapsed one.
    pub(crate) fn tombstone(&self) -> TransactItem {
        let item = self.base(REVERSED);
        let clause = Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan };
        TransactItem::put(Role::OriginalMarker, self.marker_key(), item, vec![clause])
    }

    /// Decides what an existing marker means for this request.
    ///
    /// # Errors
    /// [`ItemError`] if the fingerprint's version is unknown.
    pub fn verdict(&self, marker: &Marker) -> Result<KeyVerdict, ItemError> {
        if marker.lapsed(self.now) {
            return Ok(KeyVerdict::Free);
        }
        let (fingerprint, verdict) = match &marker.state {
            MarkerState::Reversed => return Ok(KeyVerdict::Reversed),
            MarkerState::Completed { .. } if marker.processed_at.plus(marker.window.replay) <= self.now => {
                return Ok(KeyVerdict::Expired { original_request_at: marker.processed_at });
            }
            MarkerState::Completed { fingerprint, answer, .. } => (fingerprint, KeyVerdict::Replay(answer.clone())),
            MarkerState::InFlight(flight) => (&flight.fingerprint, KeyVerdict::InFlight(flight.clone())),
        };
        let ours = self
            .request
            .fingerprint(fingerprint.version, &self.tenant, self.principal)
            .ok_or_else(|| ItemError::invalid("fp_v"))?;
        Ok(if ours == *fingerprint { verdict } else { KeyVerdict::Reused })
    }

    /// The marker is absent, or lapsed by more than the clock skew. A lapsed marker that DynamoDB has not deleted yet
    /// counts as deleted. Only a marker with a `ttl` can lapse.
    pub(super) fn free_clause(&self, failure: Failure) -> Clause {
        let lapsed = Value::int(self.now.minus(CLOCK_SKEW).seconds());
        let condition =
            Condition::absent(attr::PK).or(Condition::compare(attr::TTL, Cmp::Lt, "expired_before", lapsed));
        Clause { condition, failure }
    }

    pub(super) fn base(&self, state: &str) -> Item {
        Item::from([
            ("state".to_owned(), Value::s(state)),
            ("operation".to_owned(), Value::s(self.operation)),
            ("actor".to_owned(), Value::s(self.actor)),
            ("processed_at".to_owned(), Value::s(self.now)),
        ])
    }
}

impl Marker {
    /// Reads a stored marker.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let state = match item.text("state")? {
            COMPLETED | FAILED_TERMINAL => MarkerState::Completed {
                fingerprint: read_fingerprint(item)?,
                answer: Answer {
                    status: item.int("status")?,
                    content_type: item.string("content_type")?,
                    location: item.opt_string("location")?,
                    body: item.string("body")?,
                },
                journal: match item.opt_text("entry_id")? {
                    Some(_) => Some(JournalLink {
                        home: item.parsed("entry_home", Account::parse)?,
                        id: item.parsed("entry_id", TransactionId::parse)?,
                    }),
                    None => None,
                },
            },
            REVERSED => MarkerState::Reversed,
            _ => MarkerState::InFlight(Box::new(Flight::read(item)?)),
        };
        Ok(Self {
            state,
            processed_at: item.timestamp("processed_at")?,
            ttl: item.opt_int(attr::TTL)?,
            window: Window::of(item.named("operation", Operation::parse)?),
        })
    }

    /// Whether the marker has lapsed by more than the clock skew, and counts as deleted.
    #[must_use]
    pub fn lapsed(&self, now: Timestamp) -> bool {
        self.ttl.is_some_and(|ttl| ttl < now.minus(CLOCK_SKEW).seconds())
    }

    /// The attribute, its completed value and its reversed value, for reversing a completed marker.
    pub(crate) fn reversed_state() -> (&'static str, Value, Value) {
        ("state", Value::s(COMPLETED), Value::s(REVERSED))
    }
}

/// The fingerprint of a stored marker.
pub(super) fn read_fingerprint(item: &Item) -> Result<Fingerprint, ItemError> {
    Ok(Fingerprint { version: u32::try_from(item.int::<i64>("fp_v")?).unwrap_or(0), digest: item.string("fp")? })
}
