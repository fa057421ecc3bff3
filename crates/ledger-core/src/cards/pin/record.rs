//! The item `PIN` of a card: the proof of its PIN, and the attempts since a right one.

use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::idempotency::Claim;
use crate::keys::attr;
use crate::time::Timestamp;

/// How many attempts may be counted. When none is left, the PIN is locked.
pub const PIN_ATTEMPTS: usize = 5;
/// The attributes of the attempts. An attempt is the first that was absent, so no two requests take the same one.
pub(super) const SLOTS: [&str; PIN_ATTEMPTS] = ["attempt_1", "attempt_2", "attempt_3", "attempt_4", "attempt_5"];

pub(super) const SALT: &str = "salt";
pub(super) const PROOF: &str = "proof";
pub(super) const KEY: &str = "pin_key";

/// A card's PIN as stored. A card whose PIN was never set has no item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinRecord {
    pub(super) set: Option<SetPin>,
    pub(super) attempts: [Option<Attempt>; PIN_ATTEMPTS],
}

/// What is stored of a PIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SetPin {
    /// Random, in hexadecimal. It is another one whenever the PIN is set, so it names the version.
    pub(super) salt: String,
    pub(super) proof: String,
    /// The id of the key of the proof.
    pub(super) key: String,
}

/// A counted attempt: the idempotency key that it was made under, and the proof of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    principal: String,
    operation: String,
    key: String,
    pub(super) proof: String,
}

impl PinRecord {
    /// Reads the item; `None` is that of a card whose PIN was never set.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: Option<&Item>) -> Result<Self, ItemError> {
        let Some(item) = item else { return Ok(Self::default()) };
        let set = match item.opt_string(SALT)? {
            Some(salt) => Some(SetPin { salt, proof: item.string(PROOF)?, key: item.string(KEY)? }),
            None => None,
        };
        let mut attempts: [Option<Attempt>; PIN_ATTEMPTS] = Default::default();
        for (slot, attempt) in SLOTS.iter().zip(&mut attempts) {
            *attempt = item.opt_map(slot)?.map(Attempt::read).transpose()?;
        }
        Ok(Self { set, attempts })
    }

    /// Whether the card has a PIN.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.set.is_some()
    }

    /// Whether no attempt is left.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.attempts.iter().all(Option::is_some)
    }

    /// `set` or `locked`; `None` if the card has no PIN.
    #[must_use]
    pub fn state(&self) -> Option<&'static str> {
        self.is_set().then(|| if self.is_locked() { "locked" } else { "set" })
    }

    /// The version of the PIN; `None` if the card has none.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        self.set.as_ref().map(|set| set.salt.as_str())
    }

    /// How many attempts are left.
    pub(super) fn attempts_left(&self) -> usize {
        self.attempts.iter().filter(|attempt| attempt.is_none()).count()
    }

    /// The attempt that was counted under the key of a claim.
    pub(super) fn attempt_of(&self, claim: &Claim) -> Option<&Attempt> {
        self.attempts.iter().flatten().find(|attempt| attempt.is_of(claim))
    }

    /// The attribute of the next attempt; `None` if the PIN is locked.
    pub(super) fn next_slot(&self) -> Option<&'static str> {
        SLOTS.iter().zip(&self.attempts).find(|(_, attempt)| attempt.is_none()).map(|(slot, _)| *slot)
    }
}

impl Attempt {
    pub(super) fn new(claim: &Claim, proof: String) -> Self {
        Self {
            principal: claim.principal.to_string(),
            operation: claim.operation.name().to_owned(),
            key: claim.key.as_str().to_owned(),
            proof,
        }
    }

    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            principal: item.string("principal")?,
            operation: item.string("operation")?,
            key: item.string("key")?,
            proof: item.string(PROOF)?,
        })
    }

    fn is_of(&self, claim: &Claim) -> bool {
        self.principal == claim.principal.to_string()
            && self.operation == claim.operation.name()
            && self.key == claim.key.as_str()
    }

    pub(super) fn value(&self, at: Timestamp) -> Value {
        Value::M(Item::from([
            ("principal".to_owned(), Value::s(&self.principal)),
            ("operation".to_owned(), Value::s(&self.operation)),
            ("key".to_owned(), Value::s(&self.key)),
            (PROOF.to_owned(), Value::s(&self.proof)),
            ("at".to_owned(), Value::s(at)),
        ]))
    }
}

/// Removes every attempt.
pub(super) fn without_attempts(update: Update) -> Update {
    SLOTS.iter().fold(update, |update, slot| update.remove(*slot))
}

impl SetPin {
    /// Writes the PIN.
    pub(super) fn write(&self, update: Update, now: Timestamp) -> Update {
        update
            .set(SALT, "salt", Value::s(&self.salt))
            .set(PROOF, "proof", Value::s(&self.proof))
            .set(KEY, "key", Value::s(&self.key))
            .set(attr::UPDATED_AT, "now", Value::s(now))
    }
}
