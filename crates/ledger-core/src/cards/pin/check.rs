//! Checks a typed PIN: first counts the attempt, then compares, then takes the count back if it was right.

use super::keys::{Pin, PinKeyAbsent, PinKeys, Proven};
use super::record::{Attempt, PinRecord, SALT, SetPin, without_attempts};
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::idempotency::Claim;
use crate::ids::CardId;
use crate::keys::{self, attr};
use crate::plan::Context;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use sha2::{Digest, Sha256};

/// The bytes of a salt.
const SALT_BYTES: usize = 16;

/// What to do with a typed PIN.
#[derive(Clone, Debug)]
pub enum PinCheck {
    /// The card has no PIN.
    NotSet,
    /// No attempt is left. The PIN has not been compared.
    Locked,
    /// An attempt with another PIN was counted under this key: the key belongs to another request.
    AnotherPin,
    /// Write the reservation first.
    Reserve(Box<Reservation>),
    /// The attempt was counted under this key before.
    Verdict(PinVerdict),
}

/// An attempt to be counted. The verdict is taken out once it is written.
#[derive(Clone, Debug)]
pub struct Reservation {
    transaction: Transaction,
    verdict: PinVerdict,
}

/// The result of a comparison.
#[derive(Clone, Debug)]
pub enum PinVerdict {
    /// The PIN is right.
    Right {
        /// Takes every attempt back. If the PIN's key is not the current one, replaces the proof too.
        take_back: Box<Transaction>,
        /// The version of the PIN after that.
        version: String,
    },
    /// The PIN is wrong.
    Wrong {
        /// How many attempts are left.
        attempts_left: usize,
    },
}

/// Why a PIN cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The key of the card's PIN is absent.
    #[error(transparent)]
    KeyAbsent(#[from] PinKeyAbsent),
    /// A transaction of a form that is never refused.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Reservation {
    /// The write that counts the attempt. Fails with `StalePlan` if another request has taken this one, or the PIN has
    /// changed.
    #[must_use]
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// The verdict, for use after the write.
    #[must_use]
    pub fn into_verdict(self) -> PinVerdict {
        self.verdict
    }
}

/// Decides what to do with a PIN that was typed for a claim's request. `record` is the card's PIN as read.
///
/// # Errors
/// [`CheckError`] if the key of the card's PIN is absent.
pub fn check(
    (card, record): (CardId, &PinRecord),
    keys: &PinKeys,
    claim: &Claim,
    pin: &Pin,
    cx: &Context,
) -> Result<PinCheck, CheckError> {
    let Some(set) = &record.set else { return Ok(PinCheck::NotSet) };
    let of = Proven { tenant: &claim.tenant, card, salt: &set.salt };
    if let Some(attempt) = record.attempt_of(claim) {
        // INVARIANT: what is compared under a key is what was counted under it.
        return Ok(match keys.proves(&set.key, &of, pin, &attempt.proof)? {
            true => PinCheck::Verdict(verdict((card, set), keys, claim, pin, record.attempts_left(), cx)?),
            false => PinCheck::AnotherPin,
        });
    }
    let Some(slot) = record.next_slot() else { return Ok(PinCheck::Locked) };
    let attempt = Attempt::new(claim, keys.proof(&set.key, &of, pin)?);
    let update =
        Update::new().set(slot, "attempt", attempt.value(cx.now)).set(attr::UPDATED_AT, "now", Value::s(cx.now));
    let free = Clause { condition: Condition::absent(slot), failure: Failure::StalePlan };
    let item = TransactItem::update(Role::CardPin, keys::card_pin(&claim.tenant, card), update, vec![seen(set), free]);
    let attempts_left = record.attempts_left().saturating_sub(1);
    Ok(PinCheck::Reserve(Box::new(Reservation {
        transaction: Transaction::unkeyed(vec![item])?,
        verdict: verdict((card, set), keys, claim, pin, attempts_left, cx)?,
    })))
}

fn verdict(
    (card, set): (CardId, &SetPin),
    keys: &PinKeys,
    claim: &Claim,
    pin: &Pin,
    attempts_left: usize,
    cx: &Context,
) -> Result<PinVerdict, CheckError> {
    let of = Proven { tenant: &claim.tenant, card, salt: &set.salt };
    if !keys.proves(&set.key, &of, pin, &set.proof)? {
        return Ok(PinVerdict::Wrong { attempts_left });
    }
    let update = without_attempts(Update::new());
    let (update, version) = if set.key == keys.current() {
        (update.set(attr::UPDATED_AT, "now", Value::s(cx.now)), set.salt.clone())
    } else {
        let raised = proven((card, keys), claim, pin, SaltOf::RaisedKey, cx)?;
        (raised.write(update, cx.now), raised.salt)
    };
    let item = TransactItem::update(Role::CardPin, keys::card_pin(&claim.tenant, card), update, vec![seen(set)]);
    Ok(PinVerdict::Right { take_back: Box::new(Transaction::unkeyed(vec![item])?), version })
}

/// What a salt is for. One request may need both: it checks a PIN of an earlier key, and sets another.
#[derive(Clone, Copy)]
pub(super) enum SaltOf {
    ChosenPin,
    RaisedKey,
}

impl SaltOf {
    fn text(self, cx: &Context) -> String {
        let purpose: &[u8] = match self {
            Self::ChosenPin => b"chosen pin",
            Self::RaisedKey => b"raised key",
        };
        let digest = Sha256::new().chain_update(purpose).chain_update(cx.secret).finalize();
        hex::encode(digest.iter().take(SALT_BYTES).copied().collect::<Vec<u8>>())
    }
}

/// What is to be stored of a PIN, with the current key and a salt of the context's randomness.
pub(super) fn proven(
    (card, keys): (CardId, &PinKeys),
    claim: &Claim,
    pin: &Pin,
    salt: SaltOf,
    cx: &Context,
) -> Result<SetPin, PinKeyAbsent> {
    let salt = salt.text(cx);
    let of = Proven { tenant: &claim.tenant, card, salt: &salt };
    let proof = keys.proof(keys.current(), &of, pin)?;
    Ok(SetPin { proof, key: keys.current().to_owned(), salt })
}

/// The PIN is the one that was read.
pub(super) fn seen(set: &SetPin) -> Clause {
    let condition = Condition::compare(SALT, Cmp::Eq, "seen", Value::s(&set.salt));
    Clause { condition, failure: Failure::StalePlan }
}
