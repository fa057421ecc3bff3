//! Facts of an account and asset.

use super::super::num::Num;
use super::text;
use serde::{Deserialize, Serialize};

/// One fact of an account's balance of an asset. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum AccountFact {
    /// A posting to the account, or a record with which a merchant was credited.
    Posted {
        /// Whether it changes what is held; else it changes what may be spent.
        held: bool,
        /// By how much.
        delta: Num,
        /// When.
        at: i64,
    },
    /// A posting to `disputes` by an entry of the account's own: its debt changes.
    Debt {
        /// By how much the debt grows.
        delta: Num,
        /// When.
        at: i64,
    },
    /// A debt that a top-up of an earlier release keeps on its own record.
    TopupDebt {
        /// How much.
        amount: Num,
    },
    /// The amounts of an item that may hold the balance.
    Balance {
        /// Which item.
        item: BalanceItem,
        /// Its amounts.
        amounts: BalanceAmounts,
    },
    /// An item that may hold the balance, and cannot be read.
    UnreadableBalance {
        /// Which item.
        item: BalanceItem,
        /// Its sort key.
        sk: String,
        /// The attribute that cannot be read.
        attribute: String,
    },
    /// The God Record says in which model the balance is.
    Location {
        /// Whether it is in the legacy model.
        in_legacy_model: bool,
    },
    /// A record holds part of the balance.
    Hold {
        /// How much.
        amount: Num,
        /// The record: `payment:<id>` or `topup:<id>`.
        by: String,
    },
    /// An open top-up reserves headroom under the cap.
    Reservation {
        /// How much.
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
    /// The aggregates, which hold points and J-Credits in the half-way model.
    Metrics,
}

/// The amounts of an item that may hold a balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BalanceAmounts {
    /// What may be spent.
    pub balance: Num,
    /// What is held.
    pub held: Num,
    /// What is reserved.
    pub reserved: Num,
    /// The debt.
    pub owed: Num,
    /// What counts against the cap; `None` unless the account is a customer's.
    #[serde(deserialize_with = "text::present")]
    pub exposure: Option<Num>,
    /// How many corrections it has had.
    pub corrections: i64,
    /// When it was corrected last.
    #[serde(deserialize_with = "text::present")]
    pub corrected_at: Option<i64>,
    /// When it last changed.
    pub updated_at: i64,
}
