//! Facts of journal entries: those of one entry, and those of one idempotency key.

use super::super::num::Num;
use super::text;
use crate::account::Account;
use crate::cards::bonus::BonusState;
use crate::ids::{MerchantId, TransactionId};
use crate::operation::Operation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// A digest of principal, operation and idempotency key. The key itself is not kept, because a client may write
/// anything into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyDigest([u8; 16]);

impl KeyDigest {
    /// Builds a digest from its bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Reads 32 hexadecimal digits in lower case; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digest = Self(hex::decode(text).ok()?.try_into().ok()?);
        (digest.to_string() == text).then_some(digest)
    }
}

impl fmt::Display for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// One fact of a journal entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum EntryFact {
    /// The entry.
    Entry {
        /// The account in whose partition it is.
        #[serde(with = "text::one")]
        home: Account,
        /// The operation that wrote it.
        #[serde(with = "text::one")]
        operation: Operation,
        /// The digest of its key.
        #[serde(with = "text::one")]
        key: KeyDigest,
    },
    /// An item that names the entry.
    Reference {
        /// The item: `payment:<id>`, `customer:<id> marker of pay`.
        by: String,
        /// The account in whose partition the entry is, by this item; `None` if the item does not have it.
        #[serde(with = "text::optional")]
        home: Option<Account>,
        /// The merchant that the entry's amounts are owed to, by this item: without the entry, its periods differ.
        #[serde(with = "text::optional")]
        merchant: Option<MerchantId>,
        /// The entry's operation and key, by this item; `None` if the item does not have them.
        #[serde(deserialize_with = "text::present")]
        claim: Option<EntryClaim>,
    },
    /// What an item says of the bonus on the cash of the top-up that the entry is of.
    Bonus(BonusFact),
}

/// What an item says of a bonus. The amount is in yen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BonusFact {
    /// Which part of it.
    pub part: BonusPart,
    /// The merchant that owes the cash.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// The card.
    #[serde(with = "text::one")]
    pub card: Account,
    /// The amount.
    pub amount: Num,
}

/// A part of a bonus.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum BonusPart {
    /// The entry of the top-up has it due.
    Due,
    /// The stored bonus.
    Recorded {
        /// Its state.
        #[serde(with = "text::one")]
        state: BonusState,
        /// Whether it names the entry that granted it.
        was_granted: bool,
    },
    /// An entry grants it.
    Granted {
        /// The entry.
        #[serde(with = "text::one")]
        entry: TransactionId,
    },
    /// An entry reverses the top-up, and takes it back if it was granted.
    TakenBack {
        /// The entry.
        #[serde(with = "text::one")]
        entry: TransactionId,
    },
}

/// The operation and key of an entry, by a reference to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryClaim {
    /// The operation.
    #[serde(with = "text::one")]
    pub operation: Operation,
    /// The key.
    #[serde(with = "text::one")]
    pub key: KeyDigest,
}

/// The one kind of fact of an idempotency key: an entry under it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFact {
    /// When the entry was written, in milliseconds since 1970.
    pub at: i64,
    /// The entry.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// The operation that wrote it.
    #[serde(with = "text::one")]
    pub operation: Operation,
    /// The principal: `customer:<id>`.
    pub principal: String,
    /// For how long the key may not be used again, in milliseconds; `None`: for ever.
    #[serde(deserialize_with = "text::present")]
    pub window_ms: Option<i64>,
    /// The wallets and cards that the entry posts to.
    #[serde(with = "text::set")]
    pub accounts: BTreeSet<Account>,
}
