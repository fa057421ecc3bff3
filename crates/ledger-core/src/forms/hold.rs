//! Value that is put aside: headroom under a cap for an inflow, and held money for an outflow. Both
//! are taken before the payment provider hears of it, and given back only on proof.

use super::balance::{balance_key, holds, max_allowed, spendable, under_cap};
use crate::account::Account;
use crate::dynamo::{Cmp, Condition, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::attr;
use crate::money::Amount;
use crate::time::Timestamp;
use crate::transaction::{BalanceChange, Clause, Role, TransactItem, exists};

/// Reserves headroom for an inflow: `ADD exposure :x, reserved :x`, under the cap if there is one.
/// `None` if the charge alone is above the cap, which the caller refuses before.
#[must_use]
pub fn reserve(
    tenant: &Tenant,
    account: Account,
    charge: &Amount,
    cap: Option<&Amount>,
    now: Timestamp,
) -> Option<TransactItem> {
    let mut clauses = vec![exists()];
    if let Some(cap) = cap {
        clauses.push(under_cap(attr::EXPOSURE, max_allowed(charge, cap)?));
    }
    let change = BalanceChange::of(account).exposure("charge").reserved("charge", charge.credit());
    item(tenant, Role::Payee, (account, charge), change, clauses, now)
}

/// Gives reserved headroom back: the inflow will not come.
#[must_use]
pub fn release(tenant: &Tenant, account: Account, charge: &Amount, now: Timestamp) -> Option<TransactItem> {
    let change = BalanceChange::of(account).exposure("back").reserved("back", charge.debit());
    item(tenant, Role::Payee, (account, charge), change, vec![exists(), set_aside(attr::RESERVED, charge)], now)
}

/// The inflow comes into its reserved headroom: `ADD balance :x, reserved :-x`. What counts against
/// the cap stays as it is. A freeze does not stop it.
#[must_use]
pub fn receive(tenant: &Tenant, account: Account, charge: &Amount, now: Timestamp) -> Option<TransactItem> {
    let change = BalanceChange::of(account).available("delta", charge.credit()).reserved("back", charge.debit());
    item(tenant, Role::Payee, (account, charge), change, vec![exists(), set_aside(attr::RESERVED, charge)], now)
}

/// Another inflow comes than its headroom was reserved for: `ADD balance :received, reserved :-x`. It may pass the cap. A
/// freeze does not stop it.
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
    item(tenant, Role::Payee, (account, reserved), change, vec![exists(), set_aside(attr::RESERVED, reserved)], now)
}

/// Holds money: `ADD balance :-x, held :x` if the account holds it. A freeze stops it where `spend`
/// says that it is the holder's own doing.
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
    clauses.push(holds(amount, Failure::Insufficient));
    let change = BalanceChange::of(account).available("out", amount.debit()).held("in", amount.credit());
    item(tenant, role, (account, amount), change, clauses, now)
}

/// Held money leaves for good: `ADD held :-x, exposure :-x`.
#[must_use]
pub fn pay_out(tenant: &Tenant, role: Role, account: Account, amount: &Amount, now: Timestamp) -> Option<TransactItem> {
    let change = BalanceChange::of(account).held("out", amount.debit()).exposure("out");
    item(tenant, role, (account, amount), change, vec![exists(), set_aside(attr::HELD, amount)], now)
}

/// Held money comes back: `ADD held :-x, balance :x`. What is `kept` of it pays a debt and leaves.
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

/// Held money is taken: of `amount`, what is `taken` leaves and the rest comes back, together with what
/// is `earned` in the same asset. One action, since an item may have one only.
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
    let back = match (released, earned) {
        (Some(released), Some(earned)) => Some(released.checked_add(earned).ok()?),
        (released, earned) => released.or_else(|| earned.cloned()),
    };
    let change = BalanceChange::of(account).held("out", amount.debit());
    let change = match &back {
        Some(back) => change.available("in", back.credit()),
        None => change,
    };
    item(tenant, role, (account, amount), change.exposure("kept"), vec![exists(), set_aside(attr::HELD, amount)], now)
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

/// What was put aside is still there: the record's own transition has made sure of it.
fn set_aside(attribute: &'static str, amount: &Amount) -> Clause {
    Clause {
        condition: Condition::compare(attribute, Cmp::Ge, "set_aside", Value::N(amount.text())),
        failure: Failure::WrongState,
    }
}
