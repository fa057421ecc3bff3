//! Stored-value cards: the record, issuing one, and freezing and unfreezing it.

use super::listing;
use crate::audit::Act;
use crate::card_state::{self, CardState};
use crate::customers::profile::{Status, set_frozen};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::finding;
use crate::forms;
use crate::ids::{Actor, CardId, CustomerId, Tenant};
use crate::keys::{self, attr};
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};
use crate::words::words;

/// The attribute with the number of replacements before a card.
pub(super) const REPLACEMENTS: &str = "replacements";

words! {
    /// What a card's state, its freeze and its expiry amount to.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CardStatus {
        /// It can be used.
        Active = "active",
        /// Its owner or the operator has frozen it.
        Frozen = "frozen",
        /// It is lost.
        Blocked = "blocked",
        /// Its time is over.
        Expired = "expired",
        /// Another card has its place.
        Replaced = "replaced",
        /// It is closed. What is returned to it is unclaimed.
        Closed = "closed",
    }
}

/// A stored card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardRecord {
    /// Its id.
    pub id: CardId,
    /// The customer who owns it, if one does.
    pub owner: Option<CustomerId>,
    /// The balance, in yen.
    pub balance: Balance,
    /// The stored state.
    pub state: CardState,
    /// Whether its owner or the operator has frozen it.
    pub frozen: bool,
    /// When it was issued.
    pub created_at: Timestamp,
    /// From when no terminal debits or loads it; `None`: it does not expire.
    pub expires_at: Option<Timestamp>,
    /// The card that replaced it.
    pub replaced_by: Option<CardId>,
    /// The number of cards that were replaced one by another before it.
    pub replacements: i64,
}

/// A card to be issued.
#[derive(Clone, Debug)]
pub struct CardIssue<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Its id; `None`: a new one is generated.
    pub card: Option<CardId>,
    /// The customer who gets it, if one does.
    pub owner: Option<CustomerId>,
    /// From when it cannot be used.
    pub expires_at: Option<Timestamp>,
    /// Who issues it.
    pub actor: Actor,
}

/// What a response says about a card that was issued or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardReceipt {
    /// The card.
    pub card: CardId,
    /// The new status, if it was changed.
    pub status: Option<Status>,
    /// When it was issued or changed.
    pub at: Timestamp,
}

impl CardRecord {
    /// Reads a stored card.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("card_id", CardId::parse)?,
            owner: item.opt_parsed("owner", CustomerId::parse)?,
            balance: item.balance(attr::BALANCE, Asset::Ecopay)?,
            state: item.named("state", CardState::parse)?,
            frozen: item.contains_key(attr::FROZEN) || item.contains_key(attr::FROZEN_BY_OWNER),
            created_at: item.timestamp(attr::CREATED_AT)?,
            expires_at: item.opt_timestamp(forms::EXPIRES_AT)?,
            replaced_by: card_state::successor(item)?,
            replacements: item.opt_int(REPLACEMENTS)?.unwrap_or_default(),
        })
    }

    /// The status at an instant: what stops the card for longest comes first.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> CardStatus {
        match self.state {
            CardState::Closed => CardStatus::Closed,
            CardState::Replaced => CardStatus::Replaced,
            CardState::Blocked => CardStatus::Blocked,
            CardState::Active if self.is_expired(now) => CardStatus::Expired,
            CardState::Active if self.frozen => CardStatus::Frozen,
            CardState::Active => CardStatus::Active,
        }
    }

    /// Whether its time is over.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now)
    }
}

/// Issues a card, with or without an owner. An owner's wallet must exist, and have fewer than [`listing::CARDS_MAX`] cards.
///
/// # Errors
/// [`PlanRefusal`] if the card would be expired already.
pub fn plan_issue(command: &CardIssue<'_>, cx: &Context) -> Result<Planned<CardReceipt>, PlanRefusal> {
    let CardIssue { tenant, card, owner, expires_at, actor } = command;
    check_expiry(*expires_at, cx.now)?;
    let card = card.unwrap_or(CardId::new(cx.resource_id));
    let mut items = Vec::new();
    if let Some(owner) = owner {
        items.push(listing::link(tenant, *owner, card, cx.now));
    }
    let item = issued(tenant, (card, *owner, *expires_at), cx.now);
    items.push(TransactItem::put_new(Role::Card, keys::card(tenant, card), item, Failure::AlreadyExists));
    items.push(Act::new(*actor, Operation::CardIssue, format!("card:{card}")).record(tenant, cx));
    Ok(planned(card, None, items, cx))
}

/// The item of a card that is issued.
pub(super) fn issued(
    tenant: &Tenant,
    (card, owner, expires_at): (CardId, Option<CustomerId>, Option<Timestamp>),
    now: Timestamp,
) -> Item {
    let mut item = Item::from([
        ("card_id".to_owned(), Value::s(card)),
        (attr::BALANCE.to_owned(), Value::int(0)),
        ("state".to_owned(), Value::s(CardState::Active.name())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
        (attr::UPDATED_AT.to_owned(), Value::s(now)),
    ]);
    item.extend(owner.map(|owner| ("owner".to_owned(), Value::s(owner))));
    item.extend(finding::card(tenant, card));
    item.extend(expires_at.map(|at| (forms::EXPIRES_AT.to_owned(), Value::s(at))));
    item
}

/// Refuses a time that is past.
pub(super) fn check_expiry(expires_at: Option<Timestamp>, now: Timestamp) -> Result<(), PlanRefusal> {
    if expires_at.is_some_and(|at| at <= now) {
        return Err(PlanRefusal::Invalid { field: "expires_at", why: "must be later than now" });
    }
    Ok(())
}

/// A customer freezes or unfreezes their own card. Only the operator can lift the operator's freeze.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_own_status(
    tenant: &Tenant,
    customer: CustomerId,
    card: CardId,
    status: Status,
    cx: &Context,
) -> Result<Planned<CardReceipt>, PlanRefusal> {
    let owner = Condition::compare("owner", Cmp::Eq, "owner", Value::s(customer));
    let mut clauses = vec![Clause { condition: owner, failure: Failure::AccountMissing }, forms::card_active()];
    let update = match status {
        Status::Frozen => Update::new().set(attr::FROZEN_BY_OWNER, "now", Value::s(cx.now)),
        Status::Active => {
            clauses.push(Clause { condition: Condition::absent(attr::FROZEN), failure: Failure::WrongState });
            Update::new().remove(attr::FROZEN_BY_OWNER)
        }
    };
    let items = vec![status_update(tenant, card, update, clauses, cx)];
    Ok(planned(card, Some(status), items, cx))
}

/// The operator freezes or unfreezes a card. The owner's freeze is not changed.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_status(
    tenant: &Tenant,
    card: CardId,
    status: Status,
    actor: Actor,
    reason: Option<&FreeText>,
    cx: &Context,
) -> Result<Planned<CardReceipt>, PlanRefusal> {
    let act = Act::new(actor, Operation::CardAdminPatch, format!("card:{card}"))
        .because(reason)
        .with("status", status.name());
    let clauses = vec![exists(), forms::card_active()];
    let update = set_frozen(Update::new(), status, actor);
    let items = vec![status_update(tenant, card, update, clauses, cx), act.record(tenant, cx)];
    Ok(planned(card, Some(status), items, cx))
}

fn status_update(tenant: &Tenant, card: CardId, update: Update, clauses: Vec<Clause>, cx: &Context) -> TransactItem {
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    TransactItem::update(Role::Card, keys::card(tenant, card), update, clauses)
}

pub(super) fn planned(
    card: CardId,
    status: Option<Status>,
    items: Vec<TransactItem>,
    cx: &Context,
) -> Planned<CardReceipt> {
    Planned { draft: Draft { entry: None, items }, receipt: CardReceipt { card, status, at: cx.now } }
}
