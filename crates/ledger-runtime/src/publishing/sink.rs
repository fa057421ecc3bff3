//! The port to whatever carries events: a queue, or the local stack's list.

use futures::future::BoxFuture;
use ledger_core::events::{DeadLetter, Event};

/// How many events are sent at once, each of another account.
pub const BATCH: usize = 10;

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is kept, and will be delivered.
    Taken,
    /// It is not known to be: it may be sent again. A code says why.
    Later(String),
    /// As it is, it will never be taken. A code says why.
    Never(String),
}

/// A dead letter is not known to be kept; a code says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it was not taken: {0}")]
pub struct SinkError(pub String);

/// Where events go.
pub trait EventSink: Send + Sync {
    /// Sends at most [`BATCH`] events, each of another group, and says in their order what became of them.
    /// Of one group each is sent only once the one before has been taken.
    fn send<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Vec<Sent>>;

    /// Keeps a reference to an entry that cannot be told, for a person.
    ///
    /// # Errors
    /// [`SinkError`] if it may not be kept.
    fn keep<'a>(&'a self, letter: &'a DeadLetter) -> BoxFuture<'a, Result<(), SinkError>>;
}
