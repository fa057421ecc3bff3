//! Facts of the rooms of a merchant or of the operator, beside those of its terminals.

use super::super::num::Num;
use serde::{Deserialize, Serialize};

/// One fact of the rooms of a merchant or of the operator. Instants are milliseconds since 1970, amounts are in yen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum RoomsFact {
    /// A sum, by the owner's item.
    Recorded {
        /// Which.
        of: RoomSum,
        /// The amount.
        amount: Num,
        /// When the item last changed.
        changed_at: i64,
    },
    /// What a return, a settlement or a collection adds to a sum.
    Changed {
        /// Which.
        of: RoomSum,
        /// The amount; below zero if it is taken off.
        amount: Num,
        /// When.
        at: i64,
    },
}

/// A sum of an owner's rooms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RoomSum {
    /// Cash that settlements have covered, or that was collected of counters.
    CoveredCash,
    /// Refunds that no settlement has covered.
    OutstandingRefunds,
}

impl RoomSum {
    /// Both sums.
    pub const ALL: [Self; 2] = [Self::CoveredCash, Self::OutstandingRefunds];
}
