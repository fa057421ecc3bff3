//! Facts of a terminal's cash room.

use super::super::num::Num;
use super::text;
use crate::ids::MerchantId;
use serde::{Deserialize, Serialize};

/// One fact of a terminal's cash room. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum CashRoomFact {
    /// What its merchant has allotted to it.
    Allotted {
        /// The merchant.
        #[serde(with = "text::one")]
        merchant: MerchantId,
        /// The amount, in yen.
        amount: Num,
    },
    /// What it has left.
    Room {
        /// The terminal's merchant.
        #[serde(with = "text::one")]
        merchant: MerchantId,
        /// The amount, in yen.
        room: Num,
        /// When it last changed.
        changed_at: i64,
    },
    /// Cash that it took, or returned: then below zero.
    Taken {
        /// The amount, in yen.
        amount: Num,
        /// When.
        at: i64,
    },
}
