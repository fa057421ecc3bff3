//! Money that the provider takes without our asking: a dispute, or a refund made at the provider. The
//! wallet bears what it holds; the rest stands on the tenant's account `disputes`, never on a balance
//! below zero. Money that comes back pays that account first, so that the order of such events does
//! not matter.

use super::record::{TopupRecord, psp_id};
use super::route::{Effect, View};
use super::seen;
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Condition, Item, ItemError, Update, Value, read};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Tenant, TransactionId};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset};
use crate::operation::Operation;
use crate::ops::PlanRefusal;
use crate::ops::terms::stored_amount;
use crate::psp::PspId;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Role, TransactItem};

/// The attribute of the latest movement, where it is not the first one to the state.
const ROUND: &str = "round";
/// The attribute of what the top-up's remainder is lowered by.
const LOWERED: &str = "refundable_lowered";

/// Where a clawback stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClawbackState {
    /// The provider has the money.
    Taken,
    /// It gave it back.
    Returned,
}

/// A clawback, `CLAWBACK#<the provider's id>` in the top-up's partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clawback {
    /// The provider's id of the dispute or refund.
    pub id: PspId,
    /// How much.
    pub amount: Amount,
    /// Where it stands.
    pub state: ClawbackState,
    /// The latest movement of its money that is known: odd ones take it, even ones give it back. An event of an
    /// earlier one, or of the same, has no effect.
    pub round: u32,
    /// By how much the top-up's remainder is lower while it is taken; `None` of one that an earlier release took.
    pub lowered: Option<Amount>,
}

/// What the provider says of a clawback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved<'a> {
    /// The provider's id of the dispute or refund.
    pub(super) id: &'a PspId,
    /// How much.
    pub(super) amount: &'a Amount,
    /// Which movement of its money it is, from 1 on: odd ones take it, even ones give it back.
    pub(super) round: u32,
}

/// Which movement of a clawback's money a fact is about, where the object lists so many.
pub(super) fn round_of(back: bool, movements: u32) -> u32 {
    let least = movements.max(if back { 2 } else { 1 });
    if least.is_multiple_of(2) == back { least } else { least.saturating_add(1) }
}

impl ClawbackState {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Returned => "returned",
        }
    }

    /// The first movement that leads to it.
    const fn first_round(self) -> u32 {
        match self {
            Self::Taken => 1,
            Self::Returned => 2,
        }
    }
}

impl Clawback {
    /// Reads a stored clawback.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let wrong = |attribute: &str| ItemError::invalid(attribute);
        let state = read::text(item, "state")?;
        let state = [ClawbackState::Taken, ClawbackState::Returned].into_iter().find(|s| s.name() == state);
        let state = state.ok_or_else(|| wrong("state"))?;
        let lowered = read::opt_number(item, LOWERED)?.map(|number| stored_amount(Asset::Ecopay, number));
        Ok(Self {
            id: psp_id(item, "psp_id")?.ok_or_else(|| wrong("psp_id"))?,
            amount: stored_amount(Asset::Ecopay, read::number(item, "amount")?).ok_or_else(|| wrong("amount"))?,
            state,
            round: match item.get(ROUND) {
                Some(_) => u32::try_from(read::int(item, ROUND)?).map_err(|_| wrong(ROUND))?,
                None => state.first_round(),
            },
            lowered: lowered.map(|amount| amount.ok_or_else(|| wrong(LOWERED))).transpose()?,
        })
    }
}

/// The provider takes the money. `None` if a later movement is known, or this one.
pub(super) fn take(view: &View<'_>, moved: &Moved<'_>, now: Timestamp) -> Result<Option<Effect>, PlanRefusal> {
    match view.clawback {
        Some(clawback) if clawback.round >= moved.round => return Ok(None),
        Some(clawback) if clawback.state == ClawbackState::Taken => {
            return Ok(Some(passed_over(view, clawback, moved, now)));
        }
        Some(_) | None => {}
    }
    let (tenant, topup, wallet, amount) = (view.tenant, view.topup, view.topup.wallet(), moved.amount);
    let balance = view.balance.ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
    let borne = amount.at_most(balance)?;
    let owed = match &borne {
        Some(borne) => amount.checked_sub(borne)?,
        None => Some(amount.clone()),
    };
    // What is short came from the read.
    let guard = match &owed {
        None => forms::holds(amount, Failure::StalePlan),
        Some(_) => seen(attr::BALANCE, "seen", Value::N(balance.text())),
    };
    let item = match &borne {
        Some(borne) => forms::debit(tenant, Role::Payer, wallet, borne, now),
        None => forms::look(tenant, Role::Payer, wallet, amount.asset()),
    };
    let mut items = Vec::from_iter(item.map(|item| item.guarded_by(vec![forms::exists(), guard])));
    let mut update = Update::new().add("refundable", "lowered", Value::N(amount.debit().text()));
    if let Some(owed) = &owed {
        update = update.add("owed", "owed", Value::N(owed.text()));
    }
    items.push(topup_item(tenant, topup, update, now));
    items.push(match view.clawback {
        None => record(tenant, topup, moved, ClawbackState::Taken, now),
        Some(clawback) => {
            let change = moved_on(ClawbackState::Taken, moved, now).set(LOWERED, "amount", Value::N(amount.text()));
            as_seen(tenant, topup, clawback, change)
        }
    });
    let mut postings = vec![Posting::new(Account::Tenant(TenantAccount::StripeClearing), amount.credit())];
    postings.extend(borne.map(|borne| Posting::new(wallet, borne.debit())));
    postings.extend(owed.map(|owed| Posting::new(Account::Tenant(TenantAccount::Disputes), owed.debit())));
    let entry = entry(view, moved, ClawbackState::Taken, postings, now);
    Ok(Some(effect(view, Operation::Clawback, moved, Draft { entry: Some(entry), items })))
}

/// The provider gives the money back. Where it had not been taken, nothing moves, and the movement before is not
/// made up for.
pub(super) fn give_back(view: &View<'_>, moved: &Moved<'_>, now: Timestamp) -> Result<Option<Effect>, PlanRefusal> {
    let (tenant, topup, wallet, amount) = (view.tenant, view.topup, view.topup.wallet(), moved.amount);
    let clawback = match view.clawback {
        Some(clawback) if clawback.round >= moved.round => return Ok(None),
        Some(clawback) if clawback.state == ClawbackState::Returned => {
            return Ok(Some(passed_over(view, clawback, moved, now)));
        }
        None => {
            let items = vec![record(tenant, topup, moved, ClawbackState::Returned, now)];
            return Ok(Some(effect(view, Operation::ClawbackReturned, moved, Draft { entry: None, items })));
        }
        Some(clawback) => clawback,
    };
    let repaid = match topup.owed.as_amount() {
        Some(owed) => amount.at_most(&owed.as_balance())?,
        None => None,
    };
    let credited = match &repaid {
        Some(repaid) => amount.checked_sub(repaid)?,
        None => Some(amount.clone()),
    };
    let mut update = Update::new();
    if let Some(lowered) = &clawback.lowered {
        update = update.add("refundable", "raised", Value::N(lowered.text()));
    }
    if let Some(repaid) = &repaid {
        update = update.add("owed", "repaid", Value::N(repaid.debit().text()));
    }
    let mut items = vec![topup_item(tenant, topup, update, now)];
    if let Some(credited) = &credited {
        items.extend(forms::credit(tenant, Role::Payee, wallet, credited, now));
    }
    items.push(as_seen(tenant, topup, clawback, moved_on(ClawbackState::Returned, moved, now)));
    let mut postings = vec![Posting::new(Account::Tenant(TenantAccount::StripeClearing), amount.debit())];
    postings.extend(credited.map(|credited| Posting::new(wallet, credited.credit())));
    postings.extend(repaid.map(|repaid| Posting::new(Account::Tenant(TenantAccount::Disputes), repaid.credit())));
    let entry = entry(view, moved, ClawbackState::Returned, postings, now);
    Ok(Some(effect(view, Operation::ClawbackReturned, moved, Draft { entry: Some(entry), items })))
}

/// A later movement that leads to where the clawback stands: those between did not change the sum, and are behind
/// from now on.
fn passed_over(view: &View<'_>, clawback: &Clawback, moved: &Moved<'_>, now: Timestamp) -> Effect {
    let items = vec![as_seen(view.tenant, view.topup, clawback, moved_on(clawback.state, moved, now))];
    let operation = match clawback.state {
        ClawbackState::Taken => Operation::Clawback,
        ClawbackState::Returned => Operation::ClawbackReturned,
    };
    effect(view, operation, moved, Draft { entry: None, items })
}

fn moved_on(to: ClawbackState, moved: &Moved<'_>, now: Timestamp) -> Update {
    let update = Update::new().set("state", to.name(), Value::s(to.name())).set(attr::UPDATED_AT, "ua", Value::s(now));
    if moved.round == to.first_round() { update } else { update.set(ROUND, "round", Value::int(moved.round.into())) }
}

/// Changes a clawback's record, which is as it was read.
fn as_seen(tenant: &Tenant, topup: &TopupRecord, clawback: &Clawback, change: Update) -> TransactItem {
    let state = clawback.state;
    let round = if clawback.round == state.first_round() {
        Clause { condition: Condition::absent(ROUND), failure: Failure::StalePlan }
    } else {
        seen(ROUND, "seen_round", Value::int(clawback.round.into()))
    };
    let clauses = vec![seen("state", state.name(), Value::s(state.name())), round];
    TransactItem::update(Role::Clawback, keys::clawback(tenant, topup.id, &clawback.id), change, clauses)
}

/// The top-up: what stands on `disputes` for it, guarded on what was read, and what may be refunded, which is below zero
/// where refunds and clawbacks together are more than was charged.
fn topup_item(tenant: &Tenant, topup: &TopupRecord, update: Update, now: Timestamp) -> TransactItem {
    let clauses = vec![
        seen("state", "seen_state", Value::s(topup.state)),
        seen("owed", "seen_owed", Value::N(topup.owed.text())),
    ];
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses)
}

fn record(
    tenant: &Tenant,
    topup: &TopupRecord,
    moved: &Moved<'_>,
    state: ClawbackState,
    now: Timestamp,
) -> TransactItem {
    let mut item = Item::from([
        ("psp_id".to_owned(), Value::s(moved.id)),
        ("topup_id".to_owned(), Value::s(topup.id)),
        ("customer_id".to_owned(), Value::s(topup.customer)),
        ("amount".to_owned(), Value::N(moved.amount.text())),
        ("state".to_owned(), Value::s(state.name())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
        (attr::UPDATED_AT.to_owned(), Value::s(now)),
    ]);
    if state == ClawbackState::Taken {
        item.insert(LOWERED.to_owned(), Value::N(moved.amount.text()));
    }
    if moved.round != state.first_round() {
        item.insert(ROUND.to_owned(), Value::int(moved.round.into()));
    }
    let clause = Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan };
    TransactItem::put(Role::Clawback, keys::clawback(tenant, topup.id, moved.id), item, vec![clause])
}

/// It stands in the history when it happened, which may be months after the top-up; the clawback's own
/// record lets it happen once.
fn entry(view: &View<'_>, moved: &Moved<'_>, state: ClawbackState, postings: Vec<Posting>, now: Timestamp) -> Entry {
    let id = moved.id;
    let step = match moved.round {
        round if round == state.first_round() => format!("{id}/{}", state.name()),
        round => format!("{id}/{}/{round}", state.name()),
    };
    Entry {
        id: TransactionId::of_step(view.topup.id.uuid(), &step, now),
        home: view.topup.wallet(),
        postings,
        references: Vec::new(),
        details: Item::from([("topup_id".to_owned(), Value::s(view.topup.id)), ("psp_id".to_owned(), Value::s(id))]),
        due_shards: view.topup.shards,
    }
}

fn effect(view: &View<'_>, operation: Operation, moved: &Moved<'_>, draft: Draft) -> Effect {
    let key = match moved.round {
        0..=2 => moved.id.to_string(),
        round => format!("{}/{round}", moved.id),
    };
    Effect { draft, operation, principal: view.topup.principal(), key, lands: false }
}
