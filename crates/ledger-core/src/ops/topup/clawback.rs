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

/// Where a clawback stands. What came back is not taken again.
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
}

impl Clawback {
    /// Reads a stored clawback.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let wrong = |attribute: &str| ItemError::invalid(attribute);
        let state = read::text(item, "state")?;
        Ok(Self {
            id: psp_id(item, "psp_id")?.ok_or_else(|| wrong("psp_id"))?,
            amount: stored_amount(Asset::Ecopay, read::number(item, "amount")?).ok_or_else(|| wrong("amount"))?,
            state: [ClawbackState::Taken, ClawbackState::Returned]
                .into_iter()
                .find(|s| s.name() == state)
                .ok_or_else(|| wrong("state"))?,
        })
    }
}

/// The provider takes `amount`. `None` if it has been taken, or even come back.
pub(super) fn take(
    view: &View<'_>,
    id: &PspId,
    amount: &Amount,
    now: Timestamp,
) -> Result<Option<Effect>, PlanRefusal> {
    if view.clawback.is_some() {
        return Ok(None);
    }
    let (tenant, topup, wallet) = (view.tenant, view.topup, view.topup.wallet());
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
    let mut update = Update::new();
    if let Some(owed) = &owed {
        update = update.add("owed", "owed", Value::N(owed.text()));
    }
    items.push(topup_item(tenant, topup, update, now));
    items.push(record(tenant, topup, id, amount, ClawbackState::Taken, now));
    let mut postings = vec![Posting::new(Account::Tenant(TenantAccount::StripeClearing), amount.credit())];
    postings.extend(borne.map(|borne| Posting::new(wallet, borne.debit())));
    postings.extend(owed.map(|owed| Posting::new(Account::Tenant(TenantAccount::Disputes), owed.debit())));
    let entry = entry(view, id, ClawbackState::Taken, postings, now);
    Ok(Some(effect(view, Operation::Clawback, id, Draft { entry: Some(entry), items })))
}

/// The provider gives `amount` back. Where it had not been taken, it will not be.
pub(super) fn give_back(
    view: &View<'_>,
    id: &PspId,
    amount: &Amount,
    now: Timestamp,
) -> Result<Option<Effect>, PlanRefusal> {
    let (tenant, topup, wallet) = (view.tenant, view.topup, view.topup.wallet());
    match view.clawback.map(|clawback| clawback.state) {
        Some(ClawbackState::Returned) => return Ok(None),
        None => {
            let items = vec![record(tenant, topup, id, amount, ClawbackState::Returned, now)];
            return Ok(Some(effect(view, Operation::ClawbackReturned, id, Draft { entry: None, items })));
        }
        Some(ClawbackState::Taken) => {}
    }
    let repaid = match topup.owed.as_amount() {
        Some(owed) => amount.at_most(&owed.as_balance())?,
        None => None,
    };
    let credited = match &repaid {
        Some(repaid) => amount.checked_sub(repaid)?,
        None => Some(amount.clone()),
    };
    let mut update = Update::new();
    if let Some(repaid) = &repaid {
        update = update.add("owed", "repaid", Value::N(repaid.debit().text()));
    }
    let mut items = vec![topup_item(tenant, topup, update, now)];
    if let Some(credited) = &credited {
        items.extend(forms::credit(tenant, Role::Payee, wallet, credited, now));
    }
    let returned = ClawbackState::Returned.name();
    let change = Update::new().set("state", "returned", Value::s(returned)).set(attr::UPDATED_AT, "ua", Value::s(now));
    let taken = seen("state", "taken", Value::s(ClawbackState::Taken.name()));
    items.push(TransactItem::update(Role::Clawback, keys::clawback(tenant, topup.id, id), change, vec![taken]));
    let mut postings = vec![Posting::new(Account::Tenant(TenantAccount::StripeClearing), amount.debit())];
    postings.extend(credited.map(|credited| Posting::new(wallet, credited.credit())));
    postings.extend(repaid.map(|repaid| Posting::new(Account::Tenant(TenantAccount::Disputes), repaid.credit())));
    let entry = entry(view, id, ClawbackState::Returned, postings, now);
    Ok(Some(effect(view, Operation::ClawbackReturned, id, Draft { entry: Some(entry), items })))
}

/// What stands on `disputes` for this top-up, guarded on what was read.
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
    id: &PspId,
    amount: &Amount,
    state: ClawbackState,
    now: Timestamp,
) -> TransactItem {
    let item = Item::from([
        ("psp_id".to_owned(), Value::s(id)),
        ("topup_id".to_owned(), Value::s(topup.id)),
        ("customer_id".to_owned(), Value::s(topup.customer)),
        ("amount".to_owned(), Value::N(amount.text())),
        ("state".to_owned(), Value::s(state.name())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
        (attr::UPDATED_AT.to_owned(), Value::s(now)),
    ]);
    let clause = Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan };
    TransactItem::put(Role::Clawback, keys::clawback(tenant, topup.id, id), item, vec![clause])
}

/// It stands in the history when it happened, which may be months after the top-up; the clawback's own
/// record lets it happen once.
fn entry(view: &View<'_>, id: &PspId, state: ClawbackState, postings: Vec<Posting>, now: Timestamp) -> Entry {
    Entry {
        id: TransactionId::of_step(view.topup.id.uuid(), &format!("{id}/{}", state.name()), now),
        home: view.topup.wallet(),
        postings,
        references: Vec::new(),
        details: Item::from([("topup_id".to_owned(), Value::s(view.topup.id)), ("psp_id".to_owned(), Value::s(id))]),
        due_shards: view.topup.shards,
    }
}

fn effect(view: &View<'_>, operation: Operation, id: &PspId, draft: Draft) -> Effect {
    Effect { draft, operation, principal: view.topup.principal(), key: id.to_string(), lands: false }
}
