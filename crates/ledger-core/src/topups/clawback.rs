//! Clawbacks: money that the provider takes without our request, by a dispute or a refund made at the provider.
//! Points that came with the money are taken back in proportion, as by our own refunds. The wallet gives what is
//! available. The rest is its debt, posted to the tenant's account `disputes`, so that no balance falls below zero.
//! Value returned to the wallet pays the debt first (`wallets/debt.rs`), so the order of such events does not
//! matter.

use super::record::TopupRecord;
use super::route::{Effect, View};
use super::seen;
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Attributes, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::LedgerKey;
use crate::ids::{Tenant, TransactionId};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset, AssetSpec, Balance};
use crate::operation::Operation;
use crate::plan::PlanRefusal;
use crate::psp::PspId;
use crate::terms::EntryTerms;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Role, TransactItem};
use crate::wallets::earned::TakenBack;
use crate::wallets::{SeenBalance, debt};
use crate::words::words;

/// The attribute for the latest movement, unless it is the first one to its state.
const ROUND: &str = "round";

/// The attributes for what was taken for the points, and for how many points that settled.
const POINTS: &str = "points";
const KEPT: &str = "kept";
const SETTLED: &str = "settled";

words! {
    /// The state of a clawback.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum ClawbackState {
        /// The provider has the money.
        Taken = "taken",
        /// The provider gave the money back.
        Returned = "returned",
    }
}

/// A clawback, `CLAWBACK#<the provider's id>` in the top-up's partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clawback {
    /// The provider's id of the dispute or refund.
    pub id: PspId,
    /// The amount. While the money is taken, it lowers what may be refunded of the top-up.
    pub amount: Amount,
    /// The present state.
    pub state: ClawbackState,
    /// The latest known movement of its money. Odd movements take it, even ones give it back. An event of the same or an
    /// earlier movement has no effect.
    pub round: u32,
    /// What was taken for the points that came with the money.
    pub points: ForPoints,
}

/// What a clawback takes for the points that came with the money.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForPoints {
    /// Points that are taken or owed.
    pub points: Option<Amount>,
    /// Yen for spent points, if the tenant deducts them.
    pub kept: Option<Amount>,
    /// The points that it settles: taken, owed, paid for in yen or forgiven.
    pub settled: Option<Amount>,
}

/// The provider's fact about a clawback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moved<'a> {
    /// The provider's id of the dispute or refund.
    pub(super) id: &'a PspId,
    /// The amount.
    pub(super) amount: &'a Amount,
    /// The movement of its money, from 1 on. Odd movements take it, even ones give it back.
    pub(super) round: u32,
}

/// The movement that a fact is about, if the object lists `movements` of them.
pub(super) fn round_of(is_return: bool, movements: u32) -> u32 {
    let least = movements.max(if is_return { 2 } else { 1 });
    if least.is_multiple_of(2) == is_return { least } else { least.saturating_add(1) }
}

impl ClawbackState {
    /// The first movement that leads to the state.
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
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let state = item.named("state", ClawbackState::parse)?;
        Ok(Self {
            id: item.opt_named("psp_id", PspId::parse)?.ok_or_else(|| ItemError::invalid("psp_id"))?,
            amount: item.amount("amount", Asset::Ecopay)?,
            state,
            round: item.opt_int(ROUND)?.unwrap_or_else(|| state.first_round()),
            points: ForPoints {
                points: item.opt_amount(POINTS, Asset::Point)?,
                kept: item.opt_amount(KEPT, Asset::Ecopay)?,
                settled: item.opt_amount(SETTLED, Asset::Point)?,
            },
        })
    }
}

impl ForPoints {
    const NAMES: [&'static str; 3] = [POINTS, KEPT, SETTLED];

    fn values(&self) -> [(&'static str, Option<Value>); 3] {
        let text = |amount: &Option<Amount>| amount.as_ref().map(|amount| Value::N(amount.text()));
        let [points, kept, settled] = Self::NAMES;
        [(points, text(&self.points)), (kept, text(&self.kept)), (settled, text(&self.settled))]
    }

    /// The yen that move: the clawback's amount, and what is paid for spent points.
    fn money(&self, amount: &Amount) -> Result<Amount, PlanRefusal> {
        match &self.kept {
            Some(kept) => Ok(amount.checked_add(kept)?),
            None => Ok(amount.clone()),
        }
    }

    /// Computes the points in proportion to this clawback alone, rounded down, so that earlier clawbacks do not
    /// matter. Held points can be taken when they are released. Other missing points were spent, and are paid for or
    /// forgiven by the tenant's policy.
    fn of(view: &View<'_>, amount: &Amount) -> Result<Self, PlanRefusal> {
        let topup = view.topup;
        let Some(points) = &topup.points else { return Ok(Self::default()) };
        let due = Amount::proportion(points, &amount.as_balance(), &topup.charge, &AssetSpec::POINT)?;
        let Some(due) = due else { return Ok(Self::default()) };
        let seen = view.wallet.get(&Asset::Point).ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
        let available = seen.available.checked_plus(&seen.held)?;
        let taken = TakenBack::of(due, &available, Some(amount), view.spent_points)?;
        Ok(Self { points: taken.from_points, kept: taken.from_money, settled: taken.settled })
    }
}

/// The part of an amount that the wallet gives, and the part that it owes.
struct Division {
    given: Option<Amount>,
    owed: Option<Amount>,
}

impl Division {
    fn of(amount: &Amount, available: &Balance) -> Result<Self, PlanRefusal> {
        let given = amount.at_most(available)?;
        let owed = match &given {
            Some(given) => amount.checked_sub(given)?,
            None => Some(amount.clone()),
        };
        Ok(Self { given, owed })
    }

    /// The wallet's item, with its postings and those of `disputes`. If the wallet is closed, the plan is stale.
    fn item(
        &self,
        view: &View<'_>,
        (role, asset): (Role, &Asset),
        guards: Vec<Clause>,
        now: Timestamp,
    ) -> Option<(TransactItem, Vec<Posting>)> {
        let (tenant, wallet) = (view.tenant, view.topup.wallet());
        let item = match &self.given {
            Some(given) => forms::debit(tenant, role, wallet, given, now),
            None => forms::check_balance(tenant, role, wallet, asset),
        }?;
        let guards = forms::open(wallet, Failure::StalePlan).into_iter().chain(guards).collect();
        let mut item = item.guarded_by(guards);
        let mut postings: Vec<Posting> = self.given.iter().map(|given| Posting::new(wallet, given.debit())).collect();
        if let Some(owed) = &self.owed {
            let (owing, posting) = debt::owing(item, owed, now);
            item = owing;
            postings.push(posting);
        }
        Some((item, postings))
    }
}

/// Books that the provider takes the money. `None` if this movement or a later one is known.
pub(super) fn take(view: &View<'_>, moved: &Moved<'_>, now: Timestamp) -> Result<Option<Effect>, PlanRefusal> {
    match view.clawback {
        Some(clawback) if clawback.round >= moved.round => return Ok(None),
        Some(clawback) if clawback.state == ClawbackState::Taken => {
            return Ok(Some(skip_movements(view, clawback, moved, now)));
        }
        Some(_) | None => {}
    }
    let (tenant, topup) = (view.tenant, view.topup);
    let for_points = ForPoints::of(view, moved.amount)?;
    let mut postings = vec![Posting::new(Account::Tenant(TenantAccount::StripeClearing), moved.amount.credit())];
    let issued = for_points.kept.iter().chain(&for_points.points);
    postings.extend(issued.map(|taken| Posting::new(Account::Tenant(TenantAccount::PointsIssued), taken.credit())));
    let mut items = Vec::new();
    for (item, posted) in
        [money_taken(view, &for_points, moved, now)?, points_taken(view, &for_points, now)?].into_iter().flatten()
    {
        items.push(item);
        postings.extend(posted);
    }
    let mut update = Update::new().add("refundable", "lowered", Value::N(moved.amount.debit().text()));
    if let Some(settled) = &for_points.settled {
        update = update.add("points_taken_back", "settled", Value::N(settled.text()));
    }
    items.push(topup_item(tenant, topup, update, now));
    items.push(match view.clawback {
        None => record(tenant, topup, moved, (ClawbackState::Taken, &for_points), now),
        Some(clawback) => {
            let mut change = movement_update(ClawbackState::Taken, moved, now);
            for (name, value) in for_points.values() {
                change = match value {
                    Some(value) => change.set(name, name, value),
                    None => change.remove(name),
                };
            }
            as_seen(tenant, topup, clawback, change)
        }
    });
    let entry = entry(view, moved, ClawbackState::Taken, postings, now);
    Ok(Some(effect(view, Operation::Clawback, moved, Draft { entry: Some(entry), items })))
}

type Taken = Option<(TransactItem, Vec<Posting>)>;

fn money_taken(
    view: &View<'_>,
    for_points: &ForPoints,
    moved: &Moved<'_>,
    now: Timestamp,
) -> Result<Taken, PlanRefusal> {
    let money = for_points.money(moved.amount)?;
    let SeenBalance { available, .. } =
        view.wallet.get(&Asset::Ecopay).ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
    let division = Division::of(&money, available)?;
    // The shortfall was computed from the read, so the guard is the exact balance.
    let guard = match &division.owed {
        None => forms::holds(&money, Failure::StalePlan),
        Some(_) => seen(attr::BALANCE, "seen", Value::N(available.text())),
    };
    Ok(division.item(view, (Role::Payer, &Asset::Ecopay), vec![guard], now))
}

/// If the available points cover what is taken, the guard is that they still do. If not, the guard is the exact
/// balance, from which the rest was computed.
fn points_taken(view: &View<'_>, for_points: &ForPoints, now: Timestamp) -> Result<Taken, PlanRefusal> {
    let (Some(settled), Some(seen_points)) = (&for_points.settled, view.wallet.get(&Asset::Point)) else {
        return Ok(None);
    };
    let division = match &for_points.points {
        Some(points) => Division::of(points, &seen_points.available)?,
        None => Division { given: None, owed: None },
    };
    let guards = if division.given.as_ref() == Some(settled) {
        vec![forms::holds(settled, Failure::StalePlan)]
    } else {
        let seen_available = seen(attr::BALANCE, "seen", Value::N(seen_points.available.text()));
        vec![seen_available, seen(attr::HELD, "seen_held", Value::N(seen_points.held.text()))]
    };
    Ok(division.item(view, (Role::Points, &Asset::Point), guards, now))
}

/// Books that the provider gives the money back, with the points. If it was never taken, nothing moves, and the
/// missing movement is not booked later.
pub(super) fn return_clawback(
    view: &View<'_>,
    moved: &Moved<'_>,
    now: Timestamp,
) -> Result<Option<Effect>, PlanRefusal> {
    let (tenant, topup, wallet) = (view.tenant, view.topup, view.topup.wallet());
    let clawback = match view.clawback {
        Some(clawback) if clawback.round >= moved.round => return Ok(None),
        Some(clawback) if clawback.state == ClawbackState::Returned => {
            return Ok(Some(skip_movements(view, clawback, moved, now)));
        }
        None => {
            let nothing = (ClawbackState::Returned, &ForPoints::default());
            let items = vec![record(tenant, topup, moved, nothing, now)];
            return Ok(Some(effect(view, Operation::ClawbackReturned, moved, Draft { entry: None, items })));
        }
        Some(clawback) => clawback,
    };
    let for_points = &clawback.points;
    let money = for_points.money(moved.amount)?;
    let mut postings = vec![Posting::new(Account::Tenant(TenantAccount::StripeClearing), moved.amount.debit())];
    let issued = for_points.kept.iter().chain(&for_points.points);
    postings.extend(issued.map(|issued| Posting::new(Account::Tenant(TenantAccount::PointsIssued), issued.debit())));
    let mut update = Update::new().add("refundable", "raised", Value::N(moved.amount.text()));
    if let Some(settled) = &for_points.settled {
        update = update.add("points_taken_back", "unsettled", Value::N(settled.debit().text()));
    }
    let mut items = vec![topup_item(tenant, topup, update, now)];
    let returned = [(Some(&money), Role::Payee), (for_points.points.as_ref(), Role::Points)];
    for (amount, role) in returned.into_iter().filter_map(|(amount, role)| Some((amount?, role))) {
        items.extend(view.wallet.return_amount(tenant, role, wallet, amount, now)?);
        postings.extend(view.wallet.divide(wallet, amount)?.postings(wallet));
    }
    items.push(as_seen(tenant, topup, clawback, movement_update(ClawbackState::Returned, moved, now)));
    let entry = entry(view, moved, ClawbackState::Returned, postings, now);
    Ok(Some(effect(view, Operation::ClawbackReturned, moved, Draft { entry: Some(entry), items })))
}

/// Records a later movement that leads to the clawback's present state. The movements between cancel out, and events
/// about them are superseded from now on.
fn skip_movements(view: &View<'_>, clawback: &Clawback, moved: &Moved<'_>, now: Timestamp) -> Effect {
    let items = vec![as_seen(view.tenant, view.topup, clawback, movement_update(clawback.state, moved, now))];
    let operation = match clawback.state {
        ClawbackState::Taken => Operation::Clawback,
        ClawbackState::Returned => Operation::ClawbackReturned,
    };
    effect(view, operation, moved, Draft { entry: None, items })
}

fn movement_update(to: ClawbackState, moved: &Moved<'_>, now: Timestamp) -> Update {
    let update = Update::new().set("state", to.name(), Value::s(to.name())).set(attr::UPDATED_AT, "ua", Value::s(now));
    if moved.round == to.first_round() { update } else { update.set(ROUND, "round", Value::int(moved.round.into())) }
}

/// Changes a clawback's record, guarded on its state and movement as read.
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

/// Changes the top-up. If refunds and clawbacks together exceed the charge, its refundable rest falls below zero, and
/// more points are taken back than came with it.
fn topup_item(tenant: &Tenant, topup: &TopupRecord, update: Update, now: Timestamp) -> TransactItem {
    let clauses = vec![seen("state", "seen_state", Value::s(topup.state))];
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses)
}

fn record(
    tenant: &Tenant,
    topup: &TopupRecord,
    moved: &Moved<'_>,
    (state, for_points): (ClawbackState, &ForPoints),
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
    for (name, value) in for_points.values() {
        item.extend(value.map(|value| (name.to_owned(), value)));
    }
    if moved.round != state.first_round() {
        item.insert(ROUND.to_owned(), Value::int(moved.round.into()));
    }
    let clause = Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan };
    TransactItem::put(Role::Clawback, keys::clawback(tenant, topup.id, moved.id), item, vec![clause])
}

/// The entry, dated when it happened, which may be months after the top-up. The clawback's record makes sure that it
/// is written once.
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
        memo: None,
        terms: EntryTerms { version: view.terms_version, ..view.topup.of_entry() },
    }
}

fn effect(view: &View<'_>, operation: Operation, moved: &Moved<'_>, draft: Draft) -> Effect {
    let key = LedgerKey::of_movement(&moved.id, moved.round).into();
    Effect { draft, operation, principal: view.topup.principal(), key, lands: false }
}
