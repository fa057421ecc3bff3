//! Changes of a balance: always an `ADD` of what is posted, never a read before the write.

use crate::account::Account;
use crate::card_state::CardState;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, Partition, attr};
use crate::money::{Amount, Asset, Balance, Delta};
use crate::time::Timestamp;
use crate::transaction::{BalanceChange, Clause, Role, TransactItem, exists, open_wallet};

/// What `frozen` of a closed account says in the place of who froze it.
const CLOSED: &str = "closed";

/// The key of an account's balance of an asset, or `None` for accounts without a balance item.
pub(crate) fn balance_key(tenant: &Tenant, account: Account, asset: &Asset) -> Option<Key> {
    match account {
        Account::Customer(id) => Some(Partition::customer(tenant, id).balance(asset)),
        Account::Card(id) => Some(keys::card(tenant, id)),
        Account::Merchant(_) | Account::Tenant(_) => None,
    }
}

/// Debits: `ADD balance :delta` if the account exists, is not frozen and has the amount.
#[must_use]
pub fn debit(tenant: &Tenant, role: Role, account: Account, amount: &Amount, now: Timestamp) -> Option<TransactItem> {
    change(tenant, role, (account, amount.debit()), now, debitable(account, amount))
}

/// Requires that the account exists, is not frozen and has the amount.
pub(crate) fn debitable(account: Account, amount: &Amount) -> Vec<Clause> {
    let guards = std::iter::once(exists()).chain(spendable(account));
    guards.chain([holds(amount, Failure::Insufficient)]).collect()
}

/// What an adjustment adds to a balance item. At least one of them is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adjusted<'a> {
    /// The asset of the balance.
    pub(crate) asset: &'a Asset,
    /// What it posts to the available part, and so adds to `exposure` too.
    pub(crate) posted: Option<&'a Delta>,
    /// What it adds to `exposure` beyond that, because `exposure` differs from the sum of its parts.
    pub(crate) exposure: Option<&'a Delta>,
}

/// Adjusts a balance. The caller gives the guards.
pub(crate) fn adjust(
    tenant: &Tenant,
    role: Role,
    (account, adjusted): (Account, Adjusted<'_>),
    now: Timestamp,
    clauses: Vec<Clause>,
) -> Option<TransactItem> {
    let key = balance_key(tenant, account, adjusted.asset)?;
    let change = BalanceChange::of(account);
    let change = match adjusted.posted {
        Some(delta) => change.available("delta", delta.clone()),
        None => change,
    };
    let change = match adjusted.exposure {
        Some(difference) => change.corrected_exposure("exposure", difference.clone()),
        None => change.exposure("delta"),
    };
    TransactItem::balance(role, key, change, clauses, now)
}

/// Credits: `ADD balance :delta` if the account exists and is not closed, even if it is frozen.
#[must_use]
pub fn credit(tenant: &Tenant, role: Role, account: Account, amount: &Amount, now: Timestamp) -> Option<TransactItem> {
    change(tenant, role, (account, amount.credit()), now, open(account, Failure::WrongState))
}

/// Credits what comes from outside or is returned. If the wallet is closed, the plan is stale: the next one posts it to
/// `unclaimed`.
#[must_use]
pub fn return_credit(
    tenant: &Tenant,
    role: Role,
    account: Account,
    amount: &Amount,
    now: Timestamp,
) -> Option<TransactItem> {
    change(tenant, role, (account, amount.credit()), now, open(account, Failure::StalePlan))
}

/// Requires that the account exists, and that the wallet of a customer is not closed; `failure` is the meaning if it is. A card
/// has its own state.
pub(crate) fn open(account: Account, failure: Failure) -> Vec<Clause> {
    std::iter::once(exists()).chain(not_closed(account, failure)).collect()
}

/// Requires that the wallet of a customer is not closed.
pub(super) fn not_closed(account: Account, failure: Failure) -> Option<Clause> {
    match account {
        Account::Customer(_) => Some(open_wallet(failure)),
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => None,
    }
}

/// Credits under a cap: `ADD balance :delta` if the amount that the cap limits is at most `:max_allowed`.
///
/// `:max_allowed = cap - charge` and `:delta = charge + bonus`, so the bonus may exceed the cap. Also `None` if the
/// charge alone exceeds the cap; the caller refuses that before.
#[must_use]
pub fn top_up(
    tenant: &Tenant,
    role: Role,
    account: Account,
    charge: &Amount,
    bonus: Option<&Amount>,
    cap: &Amount,
    now: Timestamp,
) -> Option<TransactItem> {
    let max_allowed = max_allowed(charge, cap)?;
    let whole = match bonus {
        Some(bonus) => charge.checked_add(bonus).ok()?,
        None => charge.clone(),
    };
    let counted = match account {
        Account::Customer(_) => attr::EXPOSURE,
        Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => attr::BALANCE,
    };
    let mut clauses = open(account, Failure::WrongState);
    if let Account::Card(_) = account {
        clauses.push(card_active());
    }
    clauses.push(under_cap(counted, max_allowed));
    change(tenant, role, (account, whole.credit()), now, clauses)
}

/// The most that an account may have before `charge` is added; `None` if the charge alone exceeds the cap.
pub(super) fn max_allowed(charge: &Amount, cap: &Amount) -> Option<String> {
    match cap.checked_sub(charge).ok()? {
        Some(room) => Some(room.text()),
        None if cap == charge => Some("0".to_owned()),
        None => None,
    }
}

pub(super) fn under_cap(counted: &'static str, max_allowed: String) -> Clause {
    Clause {
        condition: Condition::compare(counted, Cmp::Le, "max_allowed", Value::N(max_allowed)),
        failure: Failure::CapExceeded,
    }
}

/// Debits and credits one item in one action: `out` is subtracted and `in_` is added.
///
/// Guarded on `out`: `short` is the failure if the balance is below it, and `frozen_too` says whether a freeze stops
/// it. A closed wallet stops it too. If both are equal, only the guards remain.
#[must_use]
pub fn settle(
    tenant: &Tenant,
    role: Role,
    account: Account,
    (out, in_): (Option<&Amount>, Option<&Amount>),
    short: Failure,
    frozen_too: bool,
    now: Timestamp,
) -> Option<TransactItem> {
    let delta = match (out, in_) {
        (Some(out), Some(in_)) => in_.credit().checked_add(&out.debit()).ok()?,
        (Some(out), None) => Some(out.debit()),
        (None, Some(in_)) => Some(in_.credit()),
        (None, None) => return None,
    };
    let mut clauses = vec![exists()];
    if frozen_too && out.is_some() {
        clauses.extend(spendable(account));
    }
    clauses.extend(not_closed(account, Failure::WrongState));
    clauses.extend(out.map(|out| holds(out, short)));
    match delta {
        Some(delta) => change(tenant, role, (account, delta), now, clauses),
        None => {
            let asset = out.or(in_)?.asset();
            Some(TransactItem::check(role, balance_key(tenant, account, asset)?, clauses))
        }
    }
}

/// Closes a customer's balance. What was seen as available is posted from it, and a change of any sum since then makes the plan
/// stale. It freezes too, so that every debit is refused.
// INVARIANT: the item has nothing afterwards, because every sum is guarded: `held`, `reserved` and the debt are zero, and
// `balance` and `exposure` are what is posted.
pub(crate) fn close(role: Role, key: Key, account: Account, seen: &Balance, now: Timestamp) -> Option<TransactItem> {
    let stale = |condition| Clause { condition, failure: Failure::StalePlan };
    let as_seen = |sum| stale(Condition::compare(sum, Cmp::Eq, "seen", Value::N(seen.text())));
    let zero = |sum| {
        let zero = Condition::compare(sum, Cmp::Eq, "nothing", Value::int(0));
        stale(Condition::absent(sum).or(zero))
    };
    let mut clauses = vec![stale(exists().condition), as_seen(attr::BALANCE), as_seen(attr::EXPOSURE)];
    clauses.extend([attr::HELD, attr::RESERVED, attr::OWED].map(zero));
    let closed =
        |update: Update| update.set(attr::CLOSED_AT, "ua", Value::s(now)).set(attr::FROZEN, "closed", Value::s(CLOSED));
    match seen.as_amount() {
        Some(amount) => {
            let change = BalanceChange::of(account).available("delta", amount.debit()).exposure("delta");
            Some(TransactItem::balance(role, key, change, clauses, now)?.changing(closed))
        }
        None => {
            let update = Update::new().set(attr::UPDATED_AT, "ua", Value::s(now));
            Some(TransactItem::update(role, key, closed(update), clauses))
        }
    }
}

/// Checks a balance without changing it. The caller adds the guards.
pub(crate) fn check_balance(tenant: &Tenant, role: Role, account: Account, asset: &Asset) -> Option<TransactItem> {
    Some(TransactItem::check(role, balance_key(tenant, account, asset)?, Vec::new()))
}

fn change(
    tenant: &Tenant,
    role: Role,
    (account, delta): (Account, Delta),
    now: Timestamp,
    clauses: Vec<Clause>,
) -> Option<TransactItem> {
    let key = balance_key(tenant, account, delta.asset())?;
    TransactItem::balance(
        role,
        key,
        BalanceChange::of(account).available("delta", delta).exposure("delta"),
        clauses,
        now,
    )
}

pub(crate) fn not_frozen() -> Clause {
    Clause { condition: Condition::absent(attr::FROZEN), failure: Failure::AccountFrozen }
}

fn not_frozen_by_owner() -> Clause {
    Clause { condition: Condition::absent(attr::FROZEN_BY_OWNER), failure: Failure::AccountFrozen }
}

pub(crate) fn card_active() -> Clause {
    Clause { condition: card_is(CardState::Active), failure: Failure::WrongState }
}

/// The attribute of a card with the time from which it cannot be used.
pub(crate) const EXPIRES_AT: &str = "expires_at";

/// Requires that a card has not expired.
pub(crate) fn card_in_date(now: Timestamp) -> Clause {
    let later = Condition::compare(EXPIRES_AT, Cmp::Gt, "at", Value::s(now));
    let condition = Condition::absent(EXPIRES_AT).or(later);
    Clause { condition, failure: Failure::WrongState }
}

/// Requires that a card was not replaced and is not closed.
pub(crate) fn card_not_ended(failure: Failure) -> Clause {
    Clause { condition: card_is(CardState::Active).or(card_is(CardState::Blocked)), failure }
}

fn card_is(state: CardState) -> Condition {
    Condition::compare("state", Cmp::Eq, state.name(), Value::s(state.name()))
}

pub(super) fn spendable(account: Account) -> Vec<Clause> {
    match account {
        Account::Card(_) => vec![not_frozen(), not_frozen_by_owner(), card_active()],
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => vec![not_frozen()],
    }
}

pub(crate) fn holds(amount: &Amount, failure: Failure) -> Clause {
    Clause { condition: Condition::compare(attr::BALANCE, Cmp::Ge, "amount", Value::N(amount.text())), failure }
}
