//! The stored states of cards.

use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::CardId;
use crate::words::words;

/// The most cards that replace one another in a row, so that following them takes few reads.
pub const REPLACEMENTS_MAX: i64 = 8;

/// The attribute with the card that replaced a card.
pub(crate) const REPLACED_BY: &str = "replaced_by";

words! {
    /// The stored state of a card. A freeze is kept beside it, and an expiry follows from the time.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CardState {
        /// It can be used, with or without an owner.
        Active = "active",
        /// It is lost: no terminal debits or loads it. What is returned to it still arrives. A replacement or a close ends this.
        Blocked = "blocked",
        /// Another card has its place, and gets what is returned to it. Final.
        Replaced = "replaced",
        /// It is closed: what is returned to it is unclaimed. Final.
        Closed = "closed",
    }
}

/// The card that replaced the card of an item; `None` if none did.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn successor(card: &Item) -> Result<Option<CardId>, ItemError> {
    card.opt_parsed(REPLACED_BY, CardId::parse)
}
