//! Cash rooms: how much cash the tills of a merchant may take that it owes, and how much the counters of the operator. Each
//! owner has a ceiling; what of it is not allotted to a terminal is unallotted. Room moves between the two in one
//! transaction. A settlement that covers a merchant's cash, and a collection of a counter's, returns its room to what is
//! unallotted. So the ceiling is always the sum of what is unallotted and of what was allotted to each terminal, less what
//! was covered.

use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms::{self, COVERED, UNALLOTTED};
use crate::ids::{Actor, Tenant, TerminalId, TerminalOwner};
use crate::keys::{Partition, attr};
use crate::money::{Amount, Asset, Balance, Delta};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terminals;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};
use std::collections::BTreeMap;

const CEILING: &str = "ceiling";
/// The prefix of the attribute with what was allotted to a terminal; its id follows.
const ALLOTTED: &str = "allotted_";

/// The cash rooms of a merchant or of the operator: the item `CASH_ROOM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashRooms {
    /// The most that all terminals together may have taken and not returned, with their rooms, in yen.
    pub ceiling: Balance,
    /// What of the ceiling no terminal was allotted, in yen.
    pub unallotted: Balance,
    /// The cash that settlements have covered or that was collected, and whose room was returned, in yen.
    pub covered: Balance,
    /// What each terminal was allotted, in yen: its room, and the cash that it has taken and not returned.
    pub allotted: BTreeMap<TerminalId, Balance>,
}

/// A change of a terminal's cash room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomChange {
    /// Room is allotted to the terminal, out of what is unallotted.
    Allot(Amount),
    /// Room that the terminal has not used is withdrawn, and is unallotted again.
    Withdraw(Amount),
}

/// What a response says about a terminal's room that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomReceipt {
    /// The terminal.
    pub terminal: TerminalId,
    /// Whose terminal it is.
    pub owner: TerminalOwner,
    /// The change.
    pub change: RoomChange,
    /// When it was changed.
    pub at: Timestamp,
}

impl CashRooms {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let mut allotted = BTreeMap::new();
        for name in item.keys() {
            let Some(terminal) = name.strip_prefix(ALLOTTED) else { continue };
            let terminal = TerminalId::parse(terminal).map_err(|_| ItemError::invalid(name))?;
            allotted.insert(terminal, item.balance(name, Asset::Ecopay)?);
        }
        Ok(Self {
            ceiling: item.balance(CEILING, Asset::Ecopay)?,
            unallotted: item.balance(UNALLOTTED, Asset::Ecopay)?,
            covered: item.balance_or_zero(COVERED, Asset::Ecopay)?,
            allotted,
        })
    }
}

/// The cash room in a terminal's `PROFILE`, in yen; `None` if it was never allotted any.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn room_of(terminal: &Item) -> Result<Option<Balance>, ItemError> {
    terminal.opt_balance(forms::CASH_ROOM, Asset::Ecopay)
}

/// When a terminal's cash room last changed; `None` if it was never allotted any.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn room_changed_at(terminal: &Item) -> Result<Option<Timestamp>, ItemError> {
    terminal.opt_timestamp(forms::CASH_ROOM_AT)
}

/// How much of the cash that a counter took was not collected, in yen; `None` if it never took any.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn outstanding_of(counter: &Item) -> Result<Option<Balance>, ItemError> {
    counter.opt_balance(forms::CASH_OUTSTANDING, Asset::Ecopay)
}

/// The partition of the owner's cash rooms.
#[must_use]
pub fn rooms_of(tenant: &Tenant, owner: TerminalOwner) -> Partition {
    match owner {
        TerminalOwner::Merchant(id) => Partition::merchant(tenant, id),
        TerminalOwner::Operator => Partition::tenant(tenant),
    }
}

/// Begins the cash rooms of an owner that is opened in the same transaction: all of the ceiling is unallotted.
pub(crate) fn begun(owner: &Partition, ceiling: &Balance, now: Timestamp) -> TransactItem {
    TransactItem::put_new(Role::CashRoom, owner.cash_rooms(), unallotted(ceiling, now), Failure::AlreadyExists)
}

fn unallotted(ceiling: &Balance, now: Timestamp) -> Item {
    Item::from([
        (CEILING.to_owned(), Value::N(ceiling.text())),
        (UNALLOTTED.to_owned(), Value::N(ceiling.text())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
        (attr::UPDATED_AT.to_owned(), Value::s(now)),
    ])
}

/// Sets the ceiling of the cash rooms of a merchant or of the operator. `seen` is the item as it was read; the operator has
/// none before the first ceiling. Fails with `CashRoomExceeded` if more than the new ceiling is allotted.
///
/// # Errors
/// [`PlanRefusal`] if a merchant has no rooms, which a merchant that exists never lacks, or the sums do not fit.
pub fn plan_ceiling(
    (tenant, owner): (&Tenant, TerminalOwner),
    seen: Option<&CashRooms>,
    ceiling: &Amount,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let partition = rooms_of(tenant, owner);
    let key = partition.cash_rooms();
    let mut items = Vec::new();
    let subject = match owner {
        TerminalOwner::Merchant(id) => {
            items.push(TransactItem::check(Role::Profile, partition.profile(), vec![exists()]));
            Account::Merchant(id).to_string()
        }
        // The caller's own tenant exists.
        TerminalOwner::Operator => owner.to_string(),
    };
    match (seen, owner) {
        (None, TerminalOwner::Merchant(_)) => return Err(PlanRefusal::Refused(Failure::AccountMissing)),
        (None, TerminalOwner::Operator) => {
            items.push(TransactItem::put_new(
                Role::CashRoom,
                key,
                unallotted(&ceiling.as_balance(), cx.now),
                Failure::StalePlan,
            ));
        }
        (Some(seen), _) => {
            let as_read = Condition::compare(CEILING, Cmp::Eq, "seen", Value::N(seen.ceiling.text()));
            let mut clauses = vec![Clause { condition: as_read, failure: Failure::StalePlan }];
            let mut update = Update::new().set(CEILING, CEILING, Value::N(ceiling.text())).set(
                attr::UPDATED_AT,
                "ua",
                Value::s(cx.now),
            );
            if let Some(change) = ceiling.as_balance().checked_sub(&seen.ceiling)?.as_delta() {
                update = update.add(UNALLOTTED, "change", Value::N(change.text()));
                if let Some(less) = change.size().filter(|_| change.is_debit()) {
                    clauses.push(at_least(UNALLOTTED, &less));
                }
            }
            items.push(TransactItem::update(Role::CashRoom, key, update, clauses));
        }
    }
    let act = Act::new(actor, Operation::CashCeiling, subject).because(reason);
    items.push(act.with(CEILING, ceiling.text()).record(tenant, cx));
    Ok(Draft { entry: None, items })
}

/// Allots room of the owner to its terminal, or withdraws unused room. Fails with `CashRoomExceeded` if less is
/// unallotted, or unused, and with `WrongState` if room is allotted to a closed terminal.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_room(
    tenant: &Tenant,
    (terminal, owner): (TerminalId, TerminalOwner),
    change: &RoomChange,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<RoomReceipt>, PlanRefusal> {
    let allotted = format!("{ALLOTTED}{terminal}");
    let (name, amount, to_terminal, from) = match change {
        RoomChange::Allot(amount) => ("allot", amount, amount.credit(), UNALLOTTED.to_owned()),
        RoomChange::Withdraw(amount) => ("withdraw", amount, amount.debit(), allotted.clone()),
    };
    let number = |delta: &Delta| Value::N(delta.text());
    let update = Update::new()
        .add(UNALLOTTED, "unallotted", number(&to_terminal.inverse()))
        .add(allotted, "allotted", number(&to_terminal))
        .set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    // Before the operator's first ceiling there is no room.
    let has_ceiling = Clause { condition: Condition::exists(attr::PK), failure: Failure::CashRoomExceeded };
    let clauses = vec![has_ceiling, at_least(from, amount)];
    let rooms = TransactItem::update(Role::CashRoom, rooms_of(tenant, owner).cash_rooms(), update, clauses);
    // INVARIANT: a terminal never moves to another owner.
    let mut guards = vec![exists(), forms::owned_by(owner, Failure::StalePlan)];
    if to_terminal.is_debit() {
        guards.push(at_least(forms::CASH_ROOM, amount));
    } else {
        // What a late reversal gave back to a closed terminal can still be withdrawn.
        guards.push(terminals::not_closed());
    }
    let profile = Partition::terminal(tenant, terminal).profile();
    let act = Act::new(actor, Operation::CashRoom, format!("terminal:{terminal}")).because(reason);
    let act = match owner {
        TerminalOwner::Merchant(id) => act.with("merchant_id", id),
        TerminalOwner::Operator => act.with(forms::TERMINAL_KIND, forms::COUNTER),
    };
    let items = vec![
        rooms,
        forms::changed_cash_room(profile, &to_terminal, guards, cx.now),
        act.with(name, amount.text()).record(tenant, cx),
    ];
    let receipt = RoomReceipt { terminal, owner, change: change.clone(), at: cx.now };
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}

fn at_least(attribute: impl Into<std::borrow::Cow<'static, str>>, amount: &Amount) -> Clause {
    Clause {
        condition: Condition::compare(attribute, Cmp::Ge, "needed", Value::N(amount.text())),
        failure: Failure::CashRoomExceeded,
    }
}
