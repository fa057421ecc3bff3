//! Changes of a balance: always an `ADD` of what is posted, never a read before the write.

use crate::account::Account;
use crate::card_state::CardState;
use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, Key, Partition, attr};
use crate::money::{Amount, Asset, Delta};
use crate::time::Timestamp;
use crate::transaction::{BalanceChange, Clause, Role, TransactItem, exists};

/// The key of an account's balance of an asset, or `None` for accounts without a balance item.
pub(super) fn balance_key(tenant: &Tenant, account: Account, asset: &Asset) -> Option<Key> {
    match account {
        Account::Customer(id) => Some(Partition::customer(tenant, id).balance(asset)),
        Account::Card(id) => Some(keys::card(tenant, id)),
        Account::Merchant(_) | Account::Tenant(_) => None,
    }
}

/// Debits: `ADD balance :delta` if the account exists, is not frozen and has the amount.
#[must_use]
pub fn debit(tenant: &Tenant, role: Role, account: Account, amount: &Amount, now: Timestamp) -> Option<TransactItem> {
    let mut clauses = vec![exists()];
    clauses.extend(spendable(account));
    clauses.push(holds(amount, Failure::Insufficient));
    change(tenant, role, (account, amount.debit()), now, clauses)
}

/// Credits: `ADD balance :delta` if the account exists, even if it is frozen.
#[must_use]
pub fn credit(tenant: &Tenant, role: Role, account: Account, amount: &Amount, now: Timestamp) -> Option<TransactItem> {
    change(tenant, role, (account, amount.credit()), now, vec![exists()])
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
    let mut clauses = vec![exists()];
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
/// it. If both are equal, only the guard remains.
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
    if let Some(out) = out {
        if frozen_too {
            clauses.extend(spendable(account));
        }
        clauses.push(holds(out, short));
    }
    match delta {
        Some(delta) => change(tenant, role, (account, delta), now, clauses),
        None => {
            let asset = out.or(in_)?.asset();
            Some(TransactItem::check(role, balance_key(tenant, account, asset)?, clauses))
        }
    }
}

/// Applies the same delta to another item, unguarded; empty if there is no delta.
#[must_use]
pub fn mirror(
    tenant: &Tenant,
    role: Role,
    account: Account,
    delta: Option<&Delta>,
    now: Timestamp,
) -> Vec<TransactItem> {
    delta.and_then(|delta| change(tenant, role, (account, delta.clone()), now, Vec::new())).into_iter().collect()
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
