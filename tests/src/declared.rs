//! Responses of operations, declared as the functions declare them, and the keys of markers in vectors.

use ledger_core::idempotency::{Answer, AnyAnswer, Flight, MarkerKeys, SecretAnswer, StoredAnswer};
use ledger_core::operation::Operation;

/// The secret of vectors, whose current key is `k2`.
pub const SECRET: &str = r#"{
    "current": "k2",
    "k1": "golden-key-1-of-markers-which-is-not-a-secret-0",
    "k2": "golden-key-2-of-markers-which-is-not-a-secret-0"
}"#;

/// The keys of vectors.
///
/// # Panics
/// Never.
#[must_use]
pub fn keys() -> MarkerKeys {
    MarkerKeys::parse(SECRET).expect("keys")
}

/// The response of an operation: with a one-time secret if the operation answers with one.
#[must_use]
pub fn declared(operation: Operation, answer: Answer) -> AnyAnswer {
    if operation.answers_with_secret() { SecretAnswer::new(answer).into() } else { answer.into() }
}

/// What the marker of an operation in flight stores of its response.
///
/// # Panics
/// If the marker names a key that vectors do not have.
#[must_use]
pub fn stored(flight: &Flight, answer: &Answer) -> StoredAnswer {
    flight.stored(&declared(flight.operation, answer.clone()), Some(&keys())).expect("a key")
}
