//! The marker: what stands under a key, how it is claimed, and what a later request with the key gets.

use super::{CURRENT_FINGERPRINT, CanonicalRequest, Fingerprint, Flight, IdempotencyKey, Phase, Window};
use crate::account::Account;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Principal, Tenant, TransactionId};
use crate::keys::{self, Key, attr};
use crate::operation::Operation;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{Clause, JournalLink, Role, TransactItem};

/// A stored answer: replayed byte for byte.
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
    /// Whose table.
    pub tenant: Tenant,
    /// Whose key.
    pub principal: Principal,
    /// Who acts.
    pub actor: Actor,
    /// On what.
    pub operation: Operation,
    /// The key.
    pub key: IdempotencyKey,
    /// What the key is bound to.
    pub request: CanonicalRequest,
    /// For how long the answer is kept.
    pub window: Window,
    /// When the request came.
    pub now: Timestamp,
}

/// What stands under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// What it says.
    pub state: MarkerState,
    /// When it became so.
    pub processed_at: Timestamp,
    /// After this, in epoch seconds, it is as good as deleted; `None`: never.
    pub ttl: Option<i64>,
    /// For how long it is replayed.
    window: Window,
}

/// What a marker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerState {
    /// The operation has its answer.
    Completed {
        /// What the key is bound to.
        fingerprint: Fingerprint,
        /// The answer.
        answer: Answer,
        /// The journal entry, if value moved.
        journal: Option<JournalLink>,
    },
    /// The operation was taken back, or was forbidden before it came.
    Reversed,
    /// The operation has called the payment provider, or is about to, and has no answer yet.
    InFlight(Box<Flight>),
}

/// What a request gets whose key has been used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyVerdict {
    /// The key was reversed: the request will never be executed.
    Reversed,
    /// Too old to be replayed.
    Expired {
        /// When the key's request was answered.
        original_request_at: Timestamp,
    },
    /// The key is bound to another request.
    Reused,
    /// The stored answer.
    Replay(Answer),
    /// There is no answer yet.
    InFlight(Box<Flight>),
    /// The marker has lapsed: the key is free.
    Free,
}

pub(super) const COMPLETED: &str = "COMPLETED";
/// Completed, too: the payment provider refused for good, and the answer says so.
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
    /// Reads a name.
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

    /// The action that takes the key for good and stores its answer.
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

    /// When the marker lapses, in epoch seconds. `None`, never, for a terminal's: it must be found by a reversal
    /// however late that comes, because only its absence says that the operation has not been executed.
    fn ttl(&self) -> Option<i64> {
        match self.principal {
            Principal::Terminal(_) => None,
            Principal::Customer(_) | Principal::Merchant(_) | Principal::Staff(_) => {
                Some(self.window.ttl(self.now, self.key.born()))
            }
        }
    }

    /// The action that forbids the key of an operation that has not been seen. It has no `ttl`: it
    /// outlives any retry. It never replaces a marker, not even one that has lapsed.
    pub(crate) fn tombstone(&self) -> TransactItem {
        let item = self.base(REVERSED);
        let clause = Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan };
        TransactItem::put(Role::OriginalMarker, self.marker_key(), item, vec![clause])
    }

    /// What a marker that stands means for this request.
    ///
    /// # Errors
    /// [`ItemError`] if it cannot be read, a fingerprint of an unknown version among it.
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

    /// Absent, or lapsed for longer than clocks may differ: a marker that DynamoDB has not yet
    /// deleted behaves exactly as a deleted one. Only a marker with a `ttl` can lapse.
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
    /// [`ItemError`] if it does not look as we write it.
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

    /// Whether it is as good as deleted.
    #[must_use]
    pub fn lapsed(&self, now: Timestamp) -> bool {
        self.ttl.is_some_and(|ttl| ttl < now.minus(CLOCK_SKEW).seconds())
    }

    /// The actions' pieces that turn a completed marker into a reversed one.
    pub(crate) fn reversed_state() -> (&'static str, Value, Value) {
        ("state", Value::s(COMPLETED), Value::s(REVERSED))
    }
}

/// What binds a stored marker to its request.
pub(super) fn read_fingerprint(item: &Item) -> Result<Fingerprint, ItemError> {
    Ok(Fingerprint { version: u32::try_from(item.int::<i64>("fp_v")?).unwrap_or(0), digest: item.string("fp")? })
}
