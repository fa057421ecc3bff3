//! Facts of a group of an account and an asset.

use super::super::num::Num;
use super::text;
use serde::{Deserialize, Serialize};

/// One fact of an account's balance of an asset. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum AccountFact {
    /// A posting to the account, or a record that was credited to a merchant.
    Posted {
        /// Whether it changes the held part; else it changes the available part.
        held: bool,
        /// The signed change.
        delta: Num,
        /// When it was written.
        at: i64,
    },
    /// A posting to `disputes` by one of the account's entries: the debt changes.
    Debt {
        /// The growth of the debt.
        delta: Num,
        /// When it was written.
        at: i64,
    },
    /// The amounts of an item that may hold the balance.
    Balance {
        /// The item.
        item: BalanceItem,
        /// Its amounts.
        amounts: BalanceAmounts,
    },
    /// An item that may hold the balance and cannot be read.
    UnreadableBalance {
        /// The item.
        item: BalanceItem,
        /// Its sort key.
        sk: String,
        /// The attribute that cannot be read.
        attribute: String,
    },
    /// The model that has the balance, by the God Record.
    Location {
        /// Whether it is in the legacy model.
        in_legacy_model: bool,
    },
    /// A record that holds part of the balance.
    Hold {
        /// The amount.
        amount: Num,
        /// The record: `payment:<id>` or `topup:<id>`.
        by: String,
    },
    /// An open top-up that reserves headroom under the cap.
    Reservation {
        /// The amount.
        amount: Num,
        /// The top-up: `topup:<id>`.
        by: String,
    },
}

/// The items that may hold an account's balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum BalanceItem {
    /// The account's balance item, or the card.
    Own,
    /// The God Record.
    GodRecord,
    /// The aggregates. They hold points and J-Credits in the half-way legacy model.
    Metrics,
}

/// The amounts of an item that may hold a balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalanceAmounts {
    /// The available part.
    pub balance: Num,
    /// The held part.
    pub held: Num,
    /// The reserved headroom.
    pub reserved: Num,
    /// The debt.
    pub owed: Num,
    /// The sum that the cap applies to; `None` unless the account is a customer's.
    #[serde(deserialize_with = "text::present")]
    pub exposure: Option<Num>,
    /// The number of its corrections.
    pub corrections: i64,
    /// When it was last corrected.
    #[serde(deserialize_with = "text::present")]
    pub corrected_at: Option<i64>,
    /// When it last changed.
    pub updated_at: i64,
}

impl BalanceAmounts {
    /// The sum of the parts that the cap applies to.
    pub(in crate::reconcile) fn exposed(&self) -> Num {
        self.balance.plus(self.held).plus(self.reserved)
    }
}
