//! The operator closes a merchant. Its payments, balances and settlements stay, and its staff can read them.

use super::CLOSING_AT;
use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, MerchantId, Tenant};
use crate::keys::{self, Partition, attr};
use crate::merchant_state::{MerchantState, STATUS};
use crate::money::Balance;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};
use rust_decimal::Decimal;
use std::time::Duration;

/// How long after a close has begun the merchant is closed: longer than its terms are cached and a request may take together,
/// so no payment to it and no refund of it is under way.
pub const CLOSING_TIME: Duration = Duration::from_secs(5 * 60);

/// Whether a merchant's balance is one unit of its asset or more, either way. What is below is never paid out: a settlement
/// pays whole units.
#[must_use]
pub fn is_payable(balance: &Balance) -> bool {
    balance.value().abs() >= Decimal::ONE
}

/// A merchant to be closed, as it was read.
#[derive(Clone, Debug)]
pub struct MerchantClosing<'a> {
    /// The merchant.
    pub merchant: MerchantId,
    /// Its `PROFILE`.
    pub profile: &'a Item,
    /// Its item `SETTLING`, if it was ever settled.
    pub settling: Option<&'a Item>,
    /// What else is not zero or not ended, by name: balances, holds, terminals. It is read after the close has begun.
    pub open: Vec<String>,
}

/// What a response says about a close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MerchantCloseReceipt {
    /// It has begun, and can be finished from this time on.
    Begun(MerchantId, Timestamp),
    /// The merchant was closed at this time.
    Closed(MerchantId, Timestamp),
}

/// When the close of a merchant has begun that is being closed; `None` in any other state.
///
/// # Errors
/// [`ItemError`] if an attribute is malformed.
pub fn closing_since(profile: &Item) -> Result<Option<Timestamp>, ItemError> {
    match MerchantState::read(profile)? {
        MerchantState::Closing => profile.timestamp(CLOSING_AT).map(Some),
        MerchantState::Active | MerchantState::Suspended | MerchantState::Closed => Ok(None),
    }
}

/// Begins a merchant's close: it takes no payments, and refunds nothing. Five minutes later, finishes it: guarded on the begin as
/// read, and on no open settlement. What comes later, for example a deposit, is in its balance and is settled as before.
///
/// # Errors
/// `WrongState` if it is closed; [`PlanRefusal::StillOpen`] with what is open: `payments` in the first five minutes.
pub fn plan_close(
    tenant: &Tenant,
    closing: &MerchantClosing<'_>,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<MerchantCloseReceipt>, PlanRefusal> {
    let MerchantClosing { merchant, profile, settling, open } = closing;
    let state = MerchantState::read(profile)?;
    if state == MerchantState::Closed {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let stale = |condition| Clause { condition, failure: Failure::StalePlan };
    let act = Act::new(actor, Operation::MerchantClose, format!("merchant:{merchant}")).because(reason);
    let key = Partition::merchant(tenant, *merchant).profile();
    let in_state = stale(Condition::compare(STATUS, Cmp::Eq, "seen_status", Value::s(state.name())));
    let Some(since) = closing_since(profile)? else {
        let update = Update::new()
            .set(STATUS, "closing", Value::s(MerchantState::Closing.name()))
            .set(CLOSING_AT, "ua", Value::s(cx.now))
            .set(attr::UPDATED_AT, "ua", Value::s(cx.now));
        let items = vec![
            TransactItem::update(Role::Profile, key, update, vec![exists(), in_state]),
            act.with("state", "closing").record(tenant, cx),
        ];
        let receipt = MerchantCloseReceipt::Begun(*merchant, cx.now.plus(CLOSING_TIME));
        return Ok(Planned { draft: Draft { entry: None, items }, receipt });
    };
    let mut open = open.clone();
    open.extend((since.plus(CLOSING_TIME) > cx.now).then(|| "payments".to_owned()));
    open.extend(settling.is_some_and(|settling| settling.contains_key("open")).then(|| "settlement".to_owned()));
    if !open.is_empty() {
        return Err(PlanRefusal::StillOpen(open));
    }
    let as_read = Condition::compare(CLOSING_AT, Cmp::Eq, "seen_closing", Value::s(since));
    let update = Update::new()
        .set(STATUS, "closed", Value::s(MerchantState::Closed.name()))
        .set(attr::CLOSED_AT, "ua", Value::s(cx.now))
        .set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let ended = vec![stale(Condition::absent("open"))];
    let items = vec![
        TransactItem::update(Role::Profile, key, update, vec![in_state, stale(as_read)]),
        TransactItem::check(Role::Settlement, keys::settling(tenant, *merchant), ended),
        act.with("state", "closed").record(tenant, cx),
    ];
    let receipt = MerchantCloseReceipt::Closed(*merchant, cx.now);
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}
