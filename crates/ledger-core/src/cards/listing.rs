//! What cards are found by: the tenant's list of cards, and the cards of a customer.

use super::record::CardRecord;
use crate::dynamo::{Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{CardId, CustomerId, Tenant};
use crate::keys::Partition;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem, exists};

/// The most cards of one customer. A replaced card is none of them.
pub const CARDS_MAX: i64 = 20;

/// The attribute of a customer's `PROFILE` with the number of the customer's cards.
pub(crate) const CARDS: &str = "cards";
/// What the name of an attribute that names a card of the customer begins with. The card's id follows.
const CARD: &str = "card_";

/// The cards that a customer's `PROFILE` names, in the order of their ids: all of the customer's, but those that were replaced
/// or closed.
///
/// # Errors
/// [`ItemError`] if a name is malformed.
pub fn cards_of(profile: &Item) -> Result<Vec<CardId>, ItemError> {
    let named = profile.keys().filter_map(|name| name.strip_prefix(CARD));
    named.map(|id| CardId::parse(id).map_err(|_| ItemError::invalid(CARD))).collect()
}

/// Whether an attribute of a `PROFILE` names a card.
pub(crate) fn names_card(attribute: &str) -> bool {
    attribute.strip_prefix(CARD).is_some_and(|id| CardId::parse(id).is_ok())
}

/// Names a card in its owner's `PROFILE`. Fails with `AccountMissing` if the wallet does not exist, and with
/// `LimitExceeded` if it has [`CARDS_MAX`] cards.
pub(super) fn link(tenant: &Tenant, owner: CustomerId, card: CardId, now: Timestamp) -> TransactItem {
    let update = named(Update::new(), card, now).add(CARDS, "one", Value::int(1));
    TransactItem::update(
        Role::Profile,
        Partition::customer(tenant, owner).profile(),
        update,
        vec![exists(), has_room()],
    )
}

/// Names a card in its owner's `PROFILE` in the place of the one that it replaces.
pub(super) fn link_instead(
    tenant: &Tenant,
    owner: CustomerId,
    (old, card): (CardId, CardId),
    now: Timestamp,
) -> TransactItem {
    let name = format!("{CARD}{old}");
    let present = Clause { condition: Condition::exists(name.clone()), failure: Failure::StalePlan };
    let update = named(Update::new(), card, now).remove(name);
    TransactItem::update(Role::Profile, Partition::customer(tenant, owner).profile(), update, vec![exists(), present])
}

/// Removes a card that is closed from its owner's `PROFILE`.
pub(crate) fn unlink(tenant: &Tenant, owner: CustomerId, card: CardId) -> TransactItem {
    let name = format!("{CARD}{card}");
    let present = Clause { condition: Condition::exists(name.clone()), failure: Failure::StalePlan };
    let update = Update::new().remove(name).add(CARDS, "one_less", Value::int(-1));
    TransactItem::update(Role::Profile, Partition::customer(tenant, owner).profile(), update, vec![exists(), present])
}

/// The condition that a `PROFILE` names no card.
pub(crate) fn has_no_cards() -> Condition {
    Condition::absent(CARDS).or(Condition::compare(CARDS, Cmp::Eq, "no_cards", Value::int(0)))
}

/// Leaves no room for a card in a `PROFILE`: a closed wallet gets none.
pub(crate) fn without_room(update: Update) -> Update {
    update.set(CARDS, "cards_max", Value::int(CARDS_MAX))
}

fn named(update: Update, card: CardId, now: Timestamp) -> Update {
    update.set(format!("{CARD}{card}"), "now", Value::s(now))
}

fn has_room() -> Clause {
    let fewer = Condition::compare(CARDS, Cmp::Lt, "cards_max", Value::int(CARDS_MAX));
    Clause { condition: Condition::absent(CARDS).or(fewer), failure: Failure::LimitExceeded }
}

/// Whether a card is one that a request asks for.
#[derive(Clone, Copy, Debug, Default)]
pub struct CardFilter {
    /// The status at the time of the request.
    pub status: Option<super::record::CardStatus>,
    /// The earliest time of issue.
    pub from: Option<Timestamp>,
    /// The latest time of issue, exclusive.
    pub to: Option<Timestamp>,
}

impl CardFilter {
    /// Whether a card passes the filter.
    #[must_use]
    pub fn admits(&self, card: &CardRecord, now: Timestamp) -> bool {
        self.status.is_none_or(|status| card.status(now) == status)
            && self.from.is_none_or(|from| card.created_at >= from)
            && self.to.is_none_or(|to| card.created_at < to)
    }
}
