//! The operator assigns a card to a customer, and blocks a card that is lost.

use super::listing;
use super::record::{CardReceipt, planned};
use crate::audit::Act;
use crate::card_state::CardState;
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, CardId, CustomerId, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::transaction::{Clause, Planned, Role, TransactItem, exists};

/// Assigns a card without an owner to a customer, with the balance that it has. Fails with `WrongState` if it has an owner or
/// cannot be used, and with `LimitExceeded` if the customer has too many cards.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_assign(
    tenant: &Tenant,
    (card, owner): (CardId, CustomerId),
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<CardReceipt>, PlanRefusal> {
    let ownerless = Clause { condition: Condition::absent("owner"), failure: Failure::WrongState };
    let mut guards = vec![exists(), forms::not_frozen(), forms::card_active(), ownerless];
    guards.extend([forms::card_in_date(cx.now)]);
    let update = Update::new().set("owner", "owner", Value::s(owner)).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let act = Act::new(actor, Operation::CardAssign, format!("card:{card}")).because(reason);
    let items = vec![
        listing::link(tenant, owner, card, cx.now),
        TransactItem::update(Role::Card, keys::card(tenant, card), update, guards),
        act.with("customer_id", owner).record(tenant, cx),
    ];
    Ok(planned(card, None, items, cx))
}

/// Blocks a card that is lost: no terminal debits or loads it. Fails with `WrongState` if it is blocked, replaced or closed.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_block(
    tenant: &Tenant,
    card: CardId,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<CardReceipt>, PlanRefusal> {
    let update = Update::new()
        .set("state", "blocked", Value::s(CardState::Blocked.name()))
        .set("blocked_at", "ua", Value::s(cx.now))
        .set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let act = Act::new(actor, Operation::CardBlock, format!("card:{card}")).because(reason);
    let items = vec![
        TransactItem::update(Role::Card, keys::card(tenant, card), update, vec![exists(), forms::card_active()]),
        act.record(tenant, cx),
    ];
    Ok(planned(card, None, items, cx))
}
