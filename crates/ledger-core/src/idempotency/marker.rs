//! The marker: what is stored under a key, how a request claims the key, and what a later request gets.

use super::marker_keys::{KeyId, MarkerForm, MarkerKeys, SealError};
use super::{Answer, CanonicalRequest, Fingerprint, Flight, IdempotencyKey, NewAnswer, Phase, StoredAnswer, Window};
use crate::account::Account;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Principal, Tenant, TransactionId};
use crate::keys::{self, Key, attr};
use crate::operation::Operation;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{BuildError, Clause, JournalLink, Role, TransactItem};

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
    Sealed(#[from] SealError),
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
    ///
    /// # Errors
    /// [`BuildError::SecretInClear`] if the response of an operation that answers with a one-time secret is not declared
    /// to have one.
    pub(crate) fn marker(&self, new: NewAnswer<'_>, journal: Option<JournalLink>) -> Result<TransactItem, BuildError> {
        let mut item = self.base(COMPLETED);
        // A 202 names an approval, and a problem has no secret.
        if matches!(new.answer().status, 200 | 201) && self.operation.answers_with_secret() && !new.has_secret() {
            return Err(BuildError::SecretInClear(self.operation));
        }
        let fingerprint = self.request.fingerprint_in(new.form(), &self.tenant, self.principal);
        let fingerprint = fingerprint.ok_or(BuildError::Empty)?;
        let keys = match new.form() {
            MarkerForm::Plain => None,
            MarkerForm::Keyed(keys) => Some(&**keys),
        };
        let answer = StoredAnswer::new(new, &self.marker_key(), &fingerprint, keys);
        item.extend(answer.map_err(|_| BuildError::Unsealed)?.item());
        item.extend(fingerprint.item());
        if let Some(ttl) = self.ttl() {
            item.insert(attr::TTL.to_owned(), Value::int(ttl));
        }
        if let Some(journal) = journal {
            item.insert("entry_home".to_owned(), Value::s(journal.home));
            item.insert("entry_id".to_owned(), Value::s(journal.id));
        }
        let clauses = vec![self.free_clause(Failure::AlreadyExists)];
        Ok(TransactItem::put(Role::Marker, self.marker_key(), item, clauses))
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

    /// Decides what an existing marker means for this request. `keys` are needed for a marker of the keyed form only.
    ///
    /// # Errors
    /// [`MarkerError`] if the fingerprint's version is unknown, its key is not among `keys`, or the response cannot be
    /// decrypted.
    pub fn verdict(&self, marker: &Marker, keys: Option<&MarkerKeys>) -> Result<KeyVerdict, MarkerError> {
        if marker.lapsed(self.now) {
            return Ok(KeyVerdict::Free);
        }
        let fingerprint = match &marker.state {
            MarkerState::Reversed => return Ok(KeyVerdict::Reversed),
            MarkerState::Completed { .. } if marker.processed_at.plus(marker.window.replay) <= self.now => {
                return Ok(KeyVerdict::Expired { original_request_at: marker.processed_at });
            }
            MarkerState::Completed { fingerprint, .. } => fingerprint,
            MarkerState::InFlight(flight) => &flight.fingerprint,
        };
        if self.fingerprint_as(fingerprint, keys)? != *fingerprint {
            return Ok(KeyVerdict::Reused);
        }
        Ok(match &marker.state {
            MarkerState::Reversed => KeyVerdict::Reversed,
            MarkerState::Completed { answer, .. } => {
                KeyVerdict::Replay(answer.open(&self.marker_key(), fingerprint, keys)?)
            }
            MarkerState::InFlight(flight) => KeyVerdict::InFlight(flight.clone()),
        })
    }

    /// The fingerprint of this request, in the version and with the key of a stored one.
    fn fingerprint_as(&self, stored: &Fingerprint, keys: Option<&MarkerKeys>) -> Result<Fingerprint, MarkerError> {
        let (request, tenant) = (&self.request, &self.tenant);
        match &stored.key {
            Some(id) => keys
                .and_then(|keys| request.keyed_fingerprint(tenant, self.principal, keys, id))
                .ok_or_else(|| MarkerError::KeyAbsent(id.clone())),
            None => request
                .fingerprint(stored.version, tenant, self.principal)
                .ok_or_else(|| Fingerprint::unknown_version().into()),
        }
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
                fingerprint: Fingerprint::read(item)?,
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
