//! Amounts that are set aside: headroom under a cap for an inflow, and held money for an outflow.
//!
//! Both are taken before the PSP is called, and given back only on proof.

use super::balance::{balance_key, holds, max_allowed, not_closed, open, spendable, under_cap};
use crate::account::Account;
use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::attr;
use crate::money::Amount;
use crate::time::Timestamp;
use crate::transaction::{BalanceChange, Clause, Role, TransactItem, exists};

/// Reserves headroom for an inflow: `ADD exposure :x, reserved :x`, under the cap if there is one.
///
/// `None` if the charge alone exceeds the cap; the caller refuses that before.
#[must_use]
pub fn reserve(
    tenant: &Tenant,
    account: Account,
    charge: &Amount,
    cap: Option<&Amount>,
    now: Timestamp,
) -> Option<TransactItem> {
    let mut clauses = open(account, Failure::WrongState);
    if let Some(cap) = cap {
        clauses.push(under_cap(attr::EXPOSURE, max_allowed(charge, cap)?));
    }
    let change = BalanceChange::of(account).exposure("charge").reserved("charge", charge.credit());
    item(tenant, Role::Payee, (account, charge), change, clauses, now)
}

/// Releases reserved headroom of an inflow that will not come.
#[must_use]
pub fn release(tenant: &Tenant, account: Account, charge: &Amount, now: Timestamp) -> Option<TransactItem> {
    let change = BalanceChange::of(account).exposure("back").reserved("back", charge.debit());
    let clauses = set_aside(account, Failure::WrongState, attr::RESERVED, charge);
    item(tenant, Role::Payee, (account, charge), change, clauses, now)
}

/// Credits an inflow to its reserved headroom: `ADD balance :x, reserved :-x`, even if the account is frozen. If the wallet is
/// closed, the plan is stale.
///
/// The amount that the cap limits does not change.
#[must_use]
pub fn receive(tenant: &Tenant, account: Account, charge: &Amount, now: Timestamp) -> Option<TransactItem> {
    let change = BalanceChange::of(account).available("delta", charge.credit()).reserved("back", charge.debit());
    let clauses = set_aside(account, Failure::StalePlan, attr::RESERVED, charge);
    item(tenant, Role::Payee, (account, charge), change, clauses, now)
}

/// Credits an inflow that differs from the reservation: `ADD balance :received, reserved :-x`.
///
/// It may exceed the cap. A freeze does not stop it. If the wallet is closed, the plan is stale.
#[must_use]
pub fn receive_instead(
    tenant: &Tenant,
    account: Account,
    reserved: &Amount,
    received: &Amount,
    now: Timestamp,
) -> Option<TransactItem> {
    let change = BalanceChange::of(account)
        .available("delta", received.credit())
        .reserved("back", reserved.debit())
        .exposure("difference");
    let clauses = set_aside(account, Failure::StalePlan, attr::RESERVED, reserved);
    item(tenant, Role::Payee, (account, reserved), change, clauses, now)
}

/// Holds money: `ADD balance :-x, held :x` if the account has it.
///
/// `spend` is whether the account's owner requests it; only then does a freeze stop it.
#[must_use]
pub fn hold(
    tenant: &Tenant,
    role: Role,
    account: Account,
    amount: &Amount,
    spend: bool,
    now: Timestamp,
) -> Option<TransactItem> {
    let mut clauses = vec![exists()];
    if spend {
        clauses.extend(spendable(account));
    }
    clauses.extend(not_closed(account, Failure::WrongState));
    clauses.push(holds(amount, Failure::Insufficient));
    let change = BalanceChange::of(account).available("out", amount.debit()).held("in", amount.credit());
    item(tenant, role, (account, amount), change, clauses, now)
}

/// Debits held money: `ADD held :-x, exposure :-x`.
#[must_use]
pub fn pay_out(tenant: &Tenant, role: Role, account: Account, amount: &Amount, now: Timestamp) -> Option<TransactItem> {
    let change = BalanceChange::of(account).held("out", amount.debit()).exposure("out");
    item(tenant, role, (account, amount), change, set_aside(account, Failure::WrongState, attr::HELD, amount), now)
}

/// Releases held money: `ADD held :-x, balance :x`, less `kept`, which pays a debt and leaves the account.
#[must_use]
pub fn release_hold(
    tenant: &Tenant,
    role: Role,
    account: Account,
    amount: &Amount,
    kept: Option<&Amount>,
    now: Timestamp,
) -> Option<TransactItem> {
    capture_hold(tenant, role, account, amount, (kept, None), now)
}

/// Captures held money: of `amount`, `taken` leaves the account and the rest is released.
///
/// `earned` in the same asset is added in the same action, because an item may have only one.
#[must_use]
pub fn capture_hold(
    tenant: &Tenant,
    role: Role,
    account: Account,
    amount: &Amount,
    (taken, earned): (Option<&Amount>, Option<&Amount>),
    now: Timestamp,
) -> Option<TransactItem> {
    let released = match taken {
        Some(taken) => amount.checked_sub(taken).ok()?,
        None => Some(amount.clone()),
    };
    let returned = match (released, earned) {
        (Some(released), Some(earned)) => Some(released.checked_add(earned).ok()?),
        (released, earned) => released.or_else(|| earned.cloned()),
    };
    let change = BalanceChange::of(account).held("out", amount.debit());
    let change = match &returned {
        Some(returned) => change.available("in", returned.credit()),
        None => change,
    };
    let clauses = set_aside(account, Failure::WrongState, attr::HELD, amount);
    item(tenant, role, (account, amount), change.exposure("kept"), clauses, now)
}

fn item(
    tenant: &Tenant,
    role: Role,
    (account, amount): (Account, &Amount),
    change: BalanceChange,
    clauses: Vec<Clause>,
    now: Timestamp,
) -> Option<TransactItem> {
    TransactItem::balance(role, balance_key(tenant, account, amount.asset())?, change, clauses, now)
}

/// Requires that the account is not closed, and that the amount is still set aside; the transition of its record ensures that.
fn set_aside(account: Account, closed: Failure, attribute: &'static str, amount: &Amount) -> Vec<Clause> {
    let mut clauses = open(account, closed);
    clauses.push(Clause {
        condition: Condition::compare(attribute, Cmp::Ge, "set_aside", Value::N(amount.text())),
        failure: Failure::WrongState,
    });
    clauses
}
