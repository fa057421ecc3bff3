//! The operator closes a card. What it had, and what is returned to it later, is in `unclaimed`.

use super::customer::{self, ClosingReceipt};
use crate::account::Account;
use crate::audit::Act;
use crate::card_state::CardState;
use crate::cards::listing;
use crate::cards::record::CardRecord;
use crate::dynamo::{Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, CardId, CustomerId, Tenant};
use crate::keys::{self, Key, attr};
use crate::money::{Amount, Balance};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::{Clause, Planned, Role, TransactItem, exists};
use crate::unclaimed;

/// A card to be closed, with what was seen of it. The close takes what is there, which another party can only add to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardClosing {
    /// The card.
    pub card: CardId,
    /// The owner that was seen.
    pub owner: Option<CustomerId>,
    /// The balance that was seen, in yen.
    pub seen: Balance,
}

/// The closing of a card.
#[derive(Clone, Debug)]
pub struct CardClose<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who closes it.
    pub actor: Actor,
    /// The card.
    pub of: &'a CardClosing,
    /// Whether what it has goes to the tenant. If not, a balance that is not zero is a refusal.
    pub clears: bool,
    /// Why.
    pub reason: Option<&'a FreeText>,
}

impl CardClosing {
    /// Reads what is to be closed from the card's item.
    ///
    /// # Errors
    /// [`ItemError`] if the item is malformed.
    pub fn read(card: &Item) -> Result<Self, ItemError> {
        let card = CardRecord::read(card)?;
        Ok(Self { card: card.id, owner: card.owner, seen: card.balance })
    }

    /// The item that it is planned from: the card.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![keys::card(tenant, self.card)]
    }

    /// Whether the owner differs from what was seen, or the balance is less. `items` are those of [`CardClosing::keys`].
    ///
    /// # Errors
    /// [`ItemError`] if the card is malformed.
    pub fn is_stale(&self, items: &[Option<Item>]) -> Result<bool, ItemError> {
        let card = items.iter().take(1).flatten().next().map(Self::read).transpose()?;
        Ok(card.is_some_and(|card| card.owner != self.owner || card.seen.value() < self.seen.value()))
    }
}

/// Builds the closing's transaction: the card, the owner's `PROFILE`, which does not name it any more, the journal entry if the
/// card had a balance, and the audit record. `items` are those of [`CardClosing::keys`], as read, in their order. If the card
/// has changed since, or has less than was seen, the plan is stale.
///
/// # Errors
/// `WrongState` if it is closed or replaced; [`PlanRefusal::StillOpen`] if its balance is not zero.
pub fn plan(
    command: &CardClose<'_>,
    items: &[Option<Item>],
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<ClosingReceipt>, PlanRefusal> {
    let CardClose { tenant, actor, of, clears, reason } = command;
    let missing = PlanRefusal::Refused(Failure::AccountMissing);
    let [Some(item)] = items else { return Err(missing) };
    let card = CardRecord::read(item)?;
    match card.state {
        CardState::Active | CardState::Blocked => {}
        CardState::Replaced | CardState::Closed => return Err(PlanRefusal::Refused(Failure::WrongState)),
    }
    if of.is_stale(items)? {
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    let (account, rest) = (Account::Card(of.card), card.balance.as_amount());
    if !card.balance.value().is_zero() && (!*clears || rest.is_none()) {
        return Err(PlanRefusal::StillOpen(vec![format!("{}:{}", attr::BALANCE, card.balance.asset())]));
    }
    let mut changed = vec![closed(command, (&card, item), rest.as_ref(), cx).ok_or(missing)?];
    if let Some(owner) = of.owner {
        changed.push(listing::unlink(tenant, owner, of.card));
    }
    let mut act = Act::new(*actor, Operation::CardClose, account).because(*reason);
    if let Some(amount) = &rest {
        act = act.with("amount", amount.text());
    }
    changed.push(act.record(tenant, cx));
    Ok(customer::planned(account, Vec::from_iter(rest), changed, terms, cx))
}

/// The closed card, guarded on what was read of it.
fn closed(
    command: &CardClose<'_>,
    (card, item): (&CardRecord, &Item),
    rest: Option<&Amount>,
    cx: &Context,
) -> Option<TransactItem> {
    let CardClose { tenant, of, .. } = command;
    let owner = match of.owner {
        Some(owner) => Condition::compare("owner", Cmp::Eq, "seen_owner", Value::s(owner)),
        None => Condition::absent("owner"),
    };
    let time = match item.get(attr::UPDATED_AT) {
        Some(seen) => Condition::compare(attr::UPDATED_AT, Cmp::Eq, "seen_at", seen.clone()),
        None => Condition::absent(attr::UPDATED_AT),
    };
    // Each change of the balance changes the time too.
    let guards = vec![
        exists(),
        stale(Condition::compare("state", Cmp::Eq, "seen_state", Value::s(card.state.name()))),
        stale(owner),
        stale(Condition::compare(attr::BALANCE, Cmp::Eq, "seen", Value::N(card.balance.text()))),
        stale(time),
    ];
    let update = |update: Update| {
        let update = update.set("state", "closed", Value::s(CardState::Closed.name()));
        unclaimed::with_rest(
            update.set(attr::CLOSED_AT, "ua", Value::s(cx.now)),
            rest.map_or(&[], std::slice::from_ref),
        )
    };
    let changed = match rest {
        Some(amount) => {
            let (account, parts) = (Account::Card(of.card), (Some(amount), None));
            forms::settle(tenant, Role::Payer, account, parts, Failure::StalePlan, false, cx.now)?.changing(update)
        }
        None => {
            let time = Update::new().set(attr::UPDATED_AT, "ua", Value::s(cx.now));
            TransactItem::update(Role::Payer, keys::card(tenant, of.card), update(time), Vec::new())
        }
    };
    Some(changed.guarded_by(guards))
}

fn stale(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::StalePlan }
}
