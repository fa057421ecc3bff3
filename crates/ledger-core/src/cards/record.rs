//! Stored-value cards: issuing one, and freezing and unfreezing it.

use crate::audit::Act;
use crate::customers::profile::{Status, set_frozen};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, CardId, CustomerId, Tenant};
use crate::keys::{self, attr};
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};

/// The one stored state of a card: in use, frozen or not.
pub(crate) const CARD_ACTIVE: &str = "active";

/// A stored card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardRecord {
    /// Its id.
    pub id: CardId,
    /// The customer who owns it, if one does.
    pub owner: Option<CustomerId>,
    /// The balance, in yen.
    pub balance: Balance,
    /// Always `active`.
    pub state: String,
    /// Whether its owner or the operator has frozen it.
    pub frozen: bool,
    /// When it was issued.
    pub created_at: Timestamp,
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
            state: item.string("state")?,
            frozen: item.contains_key(attr::FROZEN) || item.contains_key(attr::FROZEN_BY_OWNER),
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }

    /// `frozen`, or the stored state.
    #[must_use]
    pub fn status(&self) -> &str {
        if self.frozen { Status::Frozen.name() } else { &self.state }
    }
}

/// Issues a card, with or without an owner. An owner's wallet must exist.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_issue(
    tenant: &Tenant,
    card: Option<CardId>,
    owner: Option<CustomerId>,
    actor: Actor,
    cx: &Context,
) -> Result<Planned<CardReceipt>, PlanRefusal> {
    let card = card.unwrap_or(CardId::new(cx.resource_id));
    let mut item = Item::from([
        ("card_id".to_owned(), Value::s(card)),
        (attr::BALANCE.to_owned(), Value::int(0)),
        ("state".to_owned(), Value::s(CARD_ACTIVE)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    let mut items = Vec::new();
    if let Some(owner) = owner {
        item.insert("owner".to_owned(), Value::s(owner));
        let profile = keys::Partition::customer(tenant, owner).profile();
        items.push(TransactItem::check(Role::Profile, profile, vec![exists()]));
    }
    items.push(TransactItem::put_new(Role::Card, keys::card(tenant, card), item, Failure::AlreadyExists));
    items.push(Act::new(actor, Operation::CardIssue, format!("card:{card}")).record(tenant, cx));
    Ok(planned(card, None, items, cx))
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

fn planned(card: CardId, status: Option<Status>, items: Vec<TransactItem>, cx: &Context) -> Planned<CardReceipt> {
    Planned { draft: Draft { entry: None, items }, receipt: CardReceipt { card, status, at: cx.now } }
}
