//! Facts of a terminal's cash room.

use super::super::num::Num;
use super::text;
use crate::ids::TerminalOwner;
use serde::{Deserialize, Serialize};

/// One fact of a terminal's cash room. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum CashRoomFact {
    /// What a merchant or the operator has allotted to it.
    Allotted {
        /// Who.
        #[serde(with = "text::one")]
        owner: TerminalOwner,
        /// The amount, in yen.
        amount: Num,
    },
    /// What it has left.
    Room {
        /// Whose terminal it is.
        #[serde(with = "text::one")]
        owner: TerminalOwner,
        /// The amount, in yen.
        room: Num,
        /// When it last changed.
        changed_at: i64,
    },
    /// What of its cash was not collected, by its own item: of a counter only.
    Outstanding {
        /// The amount, in yen.
        amount: Num,
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
    /// Cash of it that was collected.
    Collected {
        /// The amount, in yen.
        amount: Num,
        /// When.
        at: i64,
    },
}
