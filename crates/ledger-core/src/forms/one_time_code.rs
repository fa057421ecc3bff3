//! The slot of a one-time code: replaced on issue, consumed once. The table stores the code's hash.

use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::keys::{Key, attr};
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};
use sha2::{Digest, Sha256};
use std::time::Duration;

/// How long an expired slot is kept before DynamoDB may delete it.
const USED_CODE_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// The hash that the table and a fingerprint hold instead of a code: SHA-256 in hexadecimal.
#[must_use]
pub fn code_hash(code: &str) -> String {
    hex::encode(Sha256::digest(code.as_bytes()))
}

/// Puts a code into its slot. An earlier code becomes invalid.
#[must_use]
pub fn issue_code(slot: Key, hash: String, expires_at: Timestamp, now: Timestamp) -> TransactItem {
    let item = Item::from([
        ("token_hash".to_owned(), Value::S(hash)),
        ("state".to_owned(), Value::s("active")),
        ("expires_at".to_owned(), Value::s(expires_at)),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
        (attr::TTL.to_owned(), Value::int(expires_at.plus(USED_CODE_KEPT).seconds())),
    ]);
    TransactItem::put(Role::Code, slot, item, Vec::new())
}

/// Ends the code of a slot, if there is one: what is presented from then on was never issued.
#[must_use]
pub fn end_code(slot: Key, now: Timestamp) -> TransactItem {
    let item = Item::from([
        ("state".to_owned(), Value::s("used")),
        ("used_at".to_owned(), Value::s(now)),
        (attr::TTL.to_owned(), Value::int(now.plus(USED_CODE_KEPT).seconds())),
    ]);
    TransactItem::put(Role::Code, slot, item, Vec::new())
}

/// Consumes a code in the transaction that it allows.
///
/// A code that was never issued and one that was replaced fail in the same way.
#[must_use]
pub fn consume_code(slot: Key, hash: String, now: Timestamp) -> TransactItem {
    let clause = |condition, failure| Clause { condition, failure };
    TransactItem::update(
        Role::Code,
        slot,
        Update::new().set("state", "used", Value::s("used")).set("used_at", "now", Value::s(now)),
        vec![
            clause(Condition::compare("token_hash", Cmp::Eq, "token_hash", Value::S(hash)), Failure::AccountMissing),
            clause(Condition::compare("state", Cmp::Eq, "active", Value::s("active")), Failure::WrongState),
            clause(Condition::compare("expires_at", Cmp::Gt, "now", Value::s(now)), Failure::WrongState),
        ],
    )
}
