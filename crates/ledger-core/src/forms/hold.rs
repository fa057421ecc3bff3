//! Value that is put aside: headroom under a cap for an inflow, and held money for an outflow. Both
//! are taken before the payment provider hears of it, and given back only on proof.

use super::balance::{balance_key, holds, max_allowed, spendable, under_cap};
use crate::account::{Account, Posting};
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::attr;
use crate::money::Amount;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem, exists};

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
    let update = Update::new().add(attr::EXPOSURE, "charge", Value::N(charge.text())).add(
        attr::RESERVED,
        "charge",
        Value::N(charge.text()),
    );
    item(tenant, Role::Payee, account, charge, update, clauses, now)
}

/// Gives reserved headroom back: the inflow will not come.
#[must_use]
pub fn release(tenant: &Tenant, account: Account, charge: &Amount, now: Timestamp) -> Option<TransactItem> {
    let update = Update::new().add(attr::EXPOSURE, "back", Value::N(charge.debit().text())).add(
        attr::RESERVED,
        "back",
        Value::N(charge.debit().text()),
    );
    item(tenant, Role::Payee, account, charge, update, vec![exists(), set_aside(attr::RESERVED, charge)], now)
}

/// The inflow comes into its reserved headroom: `ADD balance :x, reserved :-x`. What counts against
/// the cap stays as it is. A freeze does not stop it.
#[must_use]
pub fn receive(tenant: &Tenant, account: Account, charge: &Amount, now: Timestamp) -> Option<TransactItem> {
    let update = Update::new().add(attr::BALANCE, "delta", Value::N(charge.text())).add(
        attr::RESERVED,
        "back",
        Value::N(charge.debit().text()),
    );
    let clauses = vec![exists(), set_aside(attr::RESERVED, charge)];
    let item = item(tenant, Role::Payee, account, charge, update, clauses, now)?;
    Some(item.moving(Posting::new(account, charge.credit())))
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
    let mut update = Update::new().add(attr::BALANCE, "delta", Value::N(received.text())).add(
        attr::RESERVED,
        "back",
        Value::N(reserved.debit().text()),
    );
    if let Some(difference) = received.credit().checked_add(&reserved.debit()).ok()? {
        update = update.add(attr::EXPOSURE, "difference", Value::N(difference.text()));
    }
    let clauses = vec![exists(), set_aside(attr::RESERVED, reserved)];
    let item = item(tenant, Role::Payee, account, reserved, update, clauses, now)?;
    Some(item.moving(Posting::new(account, received.credit())))
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
    let update = Update::new().add(attr::BALANCE, "out", Value::N(amount.debit().text())).add(
        attr::HELD,
        "in",
        Value::N(amount.text()),
    );
    let item = item(tenant, role, account, amount, update, clauses, now)?;
    Some(item.moving(Posting::new(account, amount.debit())).moving(Posting::held(account, amount.credit())))
}

/// Held money leaves for good: `ADD held :-x, exposure :-x`.
#[must_use]
pub fn pay_out(tenant: &Tenant, role: Role, account: Account, amount: &Amount, now: Timestamp) -> Option<TransactItem> {
    let update = Update::new().add(attr::HELD, "out", Value::N(amount.debit().text())).add(
        attr::EXPOSURE,
        "out",
        Value::N(amount.debit().text()),
    );
    let item = item(tenant, role, account, amount, update, vec![exists(), set_aside(attr::HELD, amount)], now)?;
    Some(item.moving(Posting::held(account, amount.debit())))
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
    let counted = match (taken, earned) {
        (Some(taken), Some(earned)) => earned.credit().checked_add(&taken.debit()).ok()?,
        (taken, earned) => taken.map(Amount::debit).or_else(|| earned.map(Amount::credit)),
    };
    let mut update = Update::new().add(attr::HELD, "out", Value::N(amount.debit().text()));
    if let Some(back) = &back {
        update = update.add(attr::BALANCE, "in", Value::N(back.text()));
    }
    if let Some(counted) = &counted {
        update = update.add(attr::EXPOSURE, "kept", Value::N(counted.text()));
    }
    let item = item(tenant, role, account, amount, update, vec![exists(), set_aside(attr::HELD, amount)], now)?;
    let item = item.moving(Posting::held(account, amount.debit()));
    Some(match back {
        Some(back) => item.moving(Posting::new(account, back.credit())),
        None => item,
    })
}

fn item(
    tenant: &Tenant,
    role: Role,
    account: Account,
    amount: &Amount,
    update: Update,
    clauses: Vec<Clause>,
    now: Timestamp,
) -> Option<TransactItem> {
    let key = balance_key(tenant, account, amount.asset())?;
    Some(TransactItem::update(role, key, update.set(attr::UPDATED_AT, "ua", Value::s(now)), clauses))
}

/// What was put aside is still there: the record's own transition has made sure of it.
fn set_aside(attribute: &'static str, amount: &Amount) -> Clause {
    Clause {
        condition: Condition::compare(attribute, Cmp::Ge, "set_aside", Value::N(amount.text())),
        failure: Failure::WrongState,
    }
}
