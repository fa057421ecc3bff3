//! Keys of cards.

use super::{Key, Partition};
use crate::ids::{CardId, Tenant};

/// A stored-value card.
#[must_use]
pub fn card(tenant: &Tenant, id: CardId) -> Key {
    Partition::card(tenant, id).item("card")
}

/// The PIN of a card, with its attempts. A payment without a PIN neither reads nor writes it.
#[must_use]
pub fn card_pin(tenant: &Tenant, id: CardId) -> Key {
    Partition::card(tenant, id).item("PIN")
}
