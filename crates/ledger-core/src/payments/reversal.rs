//! What reversals of terminals' operations have in common.

use crate::dynamo::{Cmp, Condition, Update};
use crate::failure::Failure;
use crate::idempotency::{Claim, Marker};
use crate::ids::TransactionId;
use crate::keys::attr;
use crate::operation::Operation;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};
use crate::words::words;
use std::time::Duration;

/// For how long a terminal may reverse its own cash top-up, refund or charge, and a payment without refund room.
pub const REVERSAL_TIME: Duration = Duration::from_secs(10 * 60);

words! {
    /// The result of a reversal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Reversal {
        /// The original had not arrived; its key is now forbidden.
        Forbidden = "forbidden",
        /// The original was refused, so there was nothing to undo.
        NothingMoved = "nothing_moved",
        /// The original was undone.
        Undone = "undone",
        /// The original had been reversed before.
        AlreadyReversed = "already_reversed",
    }
}

/// What a response says about a reversal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReverseReceipt {
    /// The operation that was reversed.
    pub operation: Operation,
    /// The result.
    pub reversal: Reversal,
    /// The journal entry that undid the original.
    pub transaction_id: Option<TransactionId>,
    /// The journal entry that was undone.
    pub original_transaction_id: Option<TransactionId>,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Turns a completed marker into a reversed one. It has no `ttl`, so it never lapses.
pub(crate) fn reversed_marker(original: &Claim) -> TransactItem {
    let (attribute, completed, reversed) = Marker::reversed_state();
    let update = Update::new().set(attribute, "reversed", reversed).remove(attr::TTL);
    let clause = Clause {
        condition: Condition::compare(attribute, Cmp::Eq, "completed", completed),
        failure: Failure::StalePlan,
    };
    TransactItem::update(Role::OriginalMarker, original.marker_key(), update, vec![clause])
}
