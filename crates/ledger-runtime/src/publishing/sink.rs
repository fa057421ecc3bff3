//! The port to the carrier of events: a queue, or the local stack's list.

use futures::future::BoxFuture;
use ledger_core::events::{DeadLetter, Event};

/// The most events of one batch, each of another account.
pub const BATCH_ITEMS: usize = 10;

/// The result of sending an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The event is stored and will be delivered.
    Taken,
    /// The event may not be stored, and can be sent again. Holds a code with the reason.
    Later(String),
    /// The event will never be accepted as it is. Holds a code with the reason.
    Never(String),
}

/// A dead letter may not be stored. Holds a code with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not accepted: {0}")]
pub struct SinkError(pub String);

/// The port that events are sent to.
pub trait EventSink: Send + Sync {
    /// Sends at most [`BATCH_ITEMS`] events, each of another group, and returns their results in the same order.
    ///
    /// INVARIANT: of one group, an event is sent only after the one before it was taken.
    fn send<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Vec<Sent>>;

    /// Stores a reference to an entry that can never be published, for review.
    ///
    /// # Errors
    /// [`SinkError`] if the reference may not be stored.
    fn keep<'a>(&'a self, letter: &'a DeadLetter) -> BoxFuture<'a, Result<(), SinkError>>;
}
