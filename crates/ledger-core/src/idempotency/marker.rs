//! The marker: what is stored under a key, how a request claims the key, and what a later request gets.

use super::marker_keys::{EncryptionError, KeyId, MarkerKeys};
use super::{Answer, CanonicalRequest, ClaimKey, Fingerprint, Flight, NewAnswer, Phase, StoredAnswer, Window};
use crate::account::Account;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Principal, Tenant, TransactionId};
use crate::keys::{self, Key, attr};
use crate::operation::Operation;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{BuildError, Clause, JournalLink, Provenance, Role, TransactItem};

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
    /// The key.
    pub key: ClaimKey,
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
        /// The fingerprint that the key is bound to; `None` for a step that no request carries.
        fingerprint: Option<Fingerprint>,
        /// The stored response.
        answer: StoredAnswer,
        /// The journal entry, if value moved.
        journal: Option<JournalLink>,
    },
    /// The operation was reversed, or was forbidden before it arrived.
    Reversed,
    /// The operation has called the payment provider, or is about to, and has no response yet.
    InFlight(Box<Flight>),
}

/// A marker whose meaning for a request cannot be determined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// An attribute is missing or malformed.
    #[error(transparent)]
    Item(#[from] ItemError),
    /// Its key is not among those that were given.
    #[error("a marker names the key {0}, which is not there")]
    KeyAbsent(KeyId),
    /// Its response cannot be decrypted.
    #[error(transparent)]
    Encrypted(#[from] EncryptionError),
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
        keys::marker(&self.tenant, self.principal, self.operation, &self.key)
    }

    /// The action that takes the key for good and stores the response, with a fingerprint of the current key.
    ///
    /// # Errors
    /// [`BuildError::SecretInClear`] if the response of an operation that answers with a one-time secret is not declared
    /// to have one.
    pub(crate) fn marker(
        &self,
        new: NewAnswer<'_>,
        keys: &MarkerKeys,
        journal: Option<JournalLink>,
    ) -> Result<TransactItem, BuildError> {
        let mut item = self.base(COMPLETED);
        // A 202 names an approval, and a problem has no secret.
        if matches!(new.answer().status, 200 | 201) && self.operation.answers_with_secret() && !new.has_secret() {
            return Err(BuildError::SecretInClear(self.operation));
        }
        let fingerprint = self.fingerprint(keys)?;
        let answer = StoredAnswer::new(new, &self.marker_key(), &fingerprint, Some(keys));
        item.extend(answer.map_err(|_| BuildError::Unencrypted)?.item());
        item.extend(fingerprint.item());
        if let Some(ttl) = self.ttl() {
            item.insert(attr::TTL.to_owned(), Value::int(ttl));
        }
        item.extend(journal.into_iter().flat_map(names_of));
        let clauses = vec![free(self.now, Failure::AlreadyExists)];
        Ok(TransactItem::put(Role::Marker, self.marker_key(), item, clauses))
    }

    /// The request's fingerprint with the current key.
    pub(super) fn fingerprint(&self, keys: &MarkerKeys) -> Result<Fingerprint, BuildError> {
        let fingerprint = self.request.fingerprint(&self.tenant, self.principal, keys, keys.current());
        fingerprint.ok_or(BuildError::Empty)
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

    /// Decides what an existing marker means for this request. Without `keys` the error names the key that is needed.
    ///
    /// # Errors
    /// [`MarkerError`] if the fingerprint's key is not among `keys`, or the response cannot be decrypted.
    pub fn verdict(&self, marker: &Marker, keys: Option<&MarkerKeys>) -> Result<KeyVerdict, MarkerError> {
        if marker.lapsed(self.now) {
            return Ok(KeyVerdict::Free);
        }
        let fingerprint = match &marker.state {
            MarkerState::Reversed => return Ok(KeyVerdict::Reversed),
            MarkerState::Completed { .. } if marker.processed_at.plus(marker.window.replay) <= self.now => {
                return Ok(KeyVerdict::Expired { original_request_at: marker.processed_at });
            }
            MarkerState::Completed { fingerprint: None, .. } => return Ok(KeyVerdict::Reused),
            MarkerState::Completed { fingerprint: Some(fingerprint), .. } => fingerprint,
            MarkerState::InFlight(flight) => &flight.fingerprint,
        };
        if self.fingerprint_as(fingerprint, keys)? != *fingerprint {
            return Ok(KeyVerdict::Reused);
        }
        Ok(match &marker.state {
            MarkerState::Reversed => KeyVerdict::Reversed,
            MarkerState::Completed { answer, .. } => {
                KeyVerdict::Replay(answer.open(&self.marker_key(), Some(fingerprint), keys)?)
            }
            MarkerState::InFlight(flight) => KeyVerdict::InFlight(flight.clone()),
        })
    }

    /// The fingerprint of this request with the key of a stored one.
    fn fingerprint_as(&self, stored: &Fingerprint, keys: Option<&MarkerKeys>) -> Result<Fingerprint, MarkerError> {
        keys.and_then(|keys| self.request.fingerprint(&self.tenant, self.principal, keys, &stored.key))
            .ok_or_else(|| MarkerError::KeyAbsent(stored.key.clone()))
    }

    pub(super) fn base(&self, state: &str) -> Item {
        base((self.operation, self.actor, self.now), state)
    }
}

impl Provenance {
    /// The action that takes the key of a step that no request carries, and stores what was done. The key follows from
    /// the step, so there is no request that it could be bound to, and no fingerprint.
    pub(crate) fn step_marker(&self, done: &Answer, journal: Option<JournalLink>) -> TransactItem {
        let mut item = base((self.operation, self.actor, self.now), COMPLETED);
        item.extend(StoredAnswer::from(done).item());
        item.insert(attr::TTL.to_owned(), Value::int(Window::WALLET.ttl(self.now, None)));
        item.extend(journal.into_iter().flat_map(names_of));
        let key = keys::marker(&self.tenant, self.principal, self.operation, &self.key);
        TransactItem::put(Role::Marker, key, item, vec![free(self.now, Failure::AlreadyExists)])
    }
}

fn base((operation, actor, now): (Operation, Actor, Timestamp), state: &str) -> Item {
    Item::from([
        ("state".to_owned(), Value::s(state)),
        ("operation".to_owned(), Value::s(operation)),
        ("actor".to_owned(), Value::s(actor)),
        ("processed_at".to_owned(), Value::s(now)),
    ])
}

/// The attributes that name the journal entry.
pub(super) fn names_of(JournalLink { home, id }: JournalLink) -> [(String, Value); 2] {
    [("entry_home".to_owned(), Value::s(home)), ("entry_id".to_owned(), Value::s(id))]
}

/// The marker is absent, or lapsed by more than the clock skew. A lapsed marker that DynamoDB has not deleted yet
/// counts as deleted. Only a marker with a `ttl` can lapse.
pub(super) fn free(now: Timestamp, failure: Failure) -> Clause {
    let lapsed = Value::int(now.minus(CLOCK_SKEW).seconds());
    let condition = Condition::absent(attr::PK).or(Condition::compare(attr::TTL, Cmp::Lt, "expired_before", lapsed));
    Clause { condition, failure }
}

impl Marker {
    /// Reads a stored marker.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let state = match item.text("state")? {
            COMPLETED | FAILED_TERMINAL => MarkerState::Completed {
                fingerprint: Fingerprint::read_if_any(item)?,
                answer: StoredAnswer::read(item)?,
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
