//! The operator replaces a card: another one gets its owner, its balance and what it has used of its limits.

use super::listing;
use super::record::{CardRecord, REPLACEMENTS};
use crate::account::{Account, Posting};
use crate::audit::Act;
use crate::card_state::{CardState, REPLACED_BY, REPLACEMENTS_MAX};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, CardId, CustomerId, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::limits;
use crate::money::Amount;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::{Clause, Draft, Entry, Reference, Role, TransactItem, exists};

/// The attribute of a card with the card that it replaced.
const REPLACES: &str = "replaces";
/// The attribute of a card with the counts of its limits that it took over, by name.
const USES_TAKEN_OVER: &str = "uses_taken_over";

/// Which card replaces which, and who owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacedCard {
    /// The card that is replaced.
    pub card: CardId,
    /// The card that replaces it.
    pub by: CardId,
    /// The owner of the card that is replaced, if it has one.
    pub owner: Option<CustomerId>,
}

/// The replacement of a card.
#[derive(Clone, Debug)]
pub struct CardReplacement<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who replaces it.
    pub actor: Actor,
    /// The cards.
    pub of: ReplacedCard,
    /// Why.
    pub reason: Option<&'a FreeText>,
}

/// The card that the card of an item replaced; `None` if it replaced none.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn predecessor(card: &Item) -> Result<Option<CardId>, ItemError> {
    card.opt_parsed(REPLACES, CardId::parse)
}

impl ReplacedCard {
    /// The items that it is planned from.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![keys::card(tenant, self.card), keys::card(tenant, self.by)]
    }

    /// Whether `card` is the item of the card that is replaced, with another owner than was seen.
    ///
    /// # Errors
    /// [`PlanRefusal`] if the item is missing or malformed.
    pub fn has_other_owner(&self, card: Option<&Item>) -> Result<bool, PlanRefusal> {
        Ok(CardRecord::read(card.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?)?.owner != self.owner)
    }
}

/// Builds the replacement's transaction: both cards, the journal entry, the owner's `PROFILE` and the audit record. `items` are
/// those of [`ReplacedCard::keys`], as read, in their order. The balance is guarded: if it has changed since, the plan is stale.
///
/// # Errors
/// `AccountFrozen` if the operator has frozen the card; `WrongState` if it is replaced or closed, or the other card has an owner, a
/// balance or a card that it replaced, cannot be used, or is the ninth in a row. [`PlanRefusal`] if an item is missing.
pub fn plan(
    command: &CardReplacement<'_>,
    items: &[Option<Item>],
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let CardReplacement { tenant, actor, of, reason } = command;
    let (missing, wrong) = (PlanRefusal::Refused(Failure::AccountMissing), PlanRefusal::Refused(Failure::WrongState));
    let [Some(old_item), Some(new_item)] = items else { return Err(missing) };
    if of.card == of.by {
        return Err(PlanRefusal::Invalid { field: "new_card_id", why: "is the card itself" });
    }
    let (old, new) = (CardRecord::read(old_item)?, CardRecord::read(new_item)?);
    if old_item.contains_key(attr::FROZEN) {
        return Err(PlanRefusal::Refused(Failure::AccountFrozen));
    }
    let may_be_replaced = match old.state {
        CardState::Active | CardState::Blocked => old.replacements < REPLACEMENTS_MAX,
        CardState::Replaced | CardState::Closed => false,
    };
    let is_fresh = new.state == CardState::Active
        && new.owner.is_none()
        && !new.frozen
        && !new.is_expired(cx.now)
        && new.replacements == 0
        && new.balance.as_amount().is_none();
    if !may_be_replaced || !is_fresh || old.balance.value().is_sign_negative() {
        return Err(wrong);
    }
    if old.owner != of.owner {
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    let amount = old.balance.as_amount();
    let mut act = Act::new(*actor, Operation::CardReplace, format!("card:{}", of.card)).because(*reason);
    act = act.with("new_card_id", of.by);
    if let Some(amount) = &amount {
        act = act.with("amount", amount.text());
    }
    let mut changed = vec![
        replaced(command, (&old, old_item), amount.as_ref(), cx).ok_or(missing.clone())?,
        replacing(command, (&old, old_item), (new_item, amount.as_ref()), cx).ok_or(missing)?,
    ];
    if let Some(owner) = of.owner {
        changed.push(listing::link_instead(tenant, owner, (of.card, of.by), cx.now));
    }
    changed.push(act.record(tenant, cx));
    let entry = amount.as_ref().map(|amount| {
        let (from, to) = (Account::Card(of.card), Account::Card(of.by));
        Entry {
            id: cx.transaction_id,
            home: from,
            postings: vec![Posting::new(from, amount.debit()), Posting::new(to, amount.credit())],
            references: vec![Reference { partition: Partition::card(tenant, of.by), changes: vec![amount.credit()] }],
            details: Item::from([(REPLACED_BY.to_owned(), Value::s(of.by))]),
            memo: None,
            terms: terms.of_entry(),
        }
    });
    Ok(Draft { entry, items: changed })
}

/// The card that is replaced, guarded on what was read of it.
fn replaced(
    command: &CardReplacement<'_>,
    (old, item): (&CardRecord, &Item),
    amount: Option<&Amount>,
    cx: &Context,
) -> Option<TransactItem> {
    let CardReplacement { tenant, of, .. } = command;
    let owner = match of.owner {
        Some(owner) => Condition::compare("owner", Cmp::Eq, "seen_owner", Value::s(owner)),
        None => Condition::absent("owner"),
    };
    // Each change of the balance or of a count changes the time too.
    let guards = vec![
        exists(),
        forms::not_frozen(),
        stale(Condition::compare("state", Cmp::Eq, "seen_state", Value::s(old.state.name()))),
        stale(owner),
        stale(Condition::compare(attr::BALANCE, Cmp::Eq, "seen", Value::N(old.balance.text()))),
        stale(as_read(item, attr::UPDATED_AT)),
    ];
    let update = |update: Update| {
        let update = update.set("state", "replaced", Value::s(CardState::Replaced.name()));
        update.set(REPLACED_BY, "by", Value::s(of.by)).set("replaced_at", "ua", Value::s(cx.now))
    };
    let changed = match amount {
        Some(amount) => {
            let account = Account::Card(of.card);
            let parts = (Some(amount), None);
            forms::settle(tenant, Role::Payer, account, parts, Failure::StalePlan, false, cx.now)?.changing(update)
        }
        None => {
            let time = Update::new().set(attr::UPDATED_AT, "ua", Value::s(cx.now));
            TransactItem::update(Role::Payer, keys::card(tenant, of.card), update(time), Vec::new())
        }
    };
    Some(changed.guarded_by(guards))
}

/// The card that replaces it: the owner, the balance, the counts of limits and the card's own limits.
fn replacing(
    command: &CardReplacement<'_>,
    (old, item): (&CardRecord, &Item),
    (new, amount): (&Item, Option<&Amount>),
    cx: &Context,
) -> Option<TransactItem> {
    let CardReplacement { tenant, of, .. } = command;
    let guards = vec![
        exists(),
        forms::not_frozen(),
        forms::card_active(),
        stale(Condition::absent("owner")),
        stale(Condition::absent(REPLACEMENTS)),
        stale(Condition::compare(attr::BALANCE, Cmp::Eq, "seen", Value::int(0))),
        stale(as_read(new, attr::UPDATED_AT)),
    ];
    let uses: Item =
        item.iter().filter(|(name, _)| limits::is_use(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    let update = |mut update: Update| {
        for (place, (name, used)) in uses.iter().enumerate() {
            update = update.add(name.clone(), format!("use_{place}"), used.clone());
        }
        if !uses.is_empty() {
            update = update.set(USES_TAKEN_OVER, "uses", Value::M(uses.clone()));
        }
        if let Some(owner) = of.owner {
            update = update.set("owner", "owner", Value::s(owner));
        }
        match (item.get(limits::OWN), new.contains_key(limits::OWN)) {
            (Some(own), _) => update = update.set(limits::OWN, "limits", own.clone()),
            (None, true) => update = update.remove(limits::OWN),
            (None, false) => {}
        }
        let replacements = Value::int(old.replacements.saturating_add(1));
        update.set(REPLACEMENTS, "replacements", replacements).set(REPLACES, "replaces", Value::s(of.card))
    };
    let changed = match amount {
        Some(amount) => forms::credit(tenant, Role::Payee, Account::Card(of.by), amount, cx.now)?.changing(update),
        None => {
            let time = Update::new().set(attr::UPDATED_AT, "ua", Value::s(cx.now));
            TransactItem::update(Role::Payee, keys::card(tenant, of.by), update(time), Vec::new())
        }
    };
    Some(changed.guarded_by(guards))
}

fn as_read(item: &Item, attribute: &'static str) -> Condition {
    match item.get(attribute) {
        Some(seen) => Condition::compare(attribute, Cmp::Eq, "seen_at", seen.clone()),
        None => Condition::absent(attribute),
    }
}

fn stale(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::StalePlan }
}
