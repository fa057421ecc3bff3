//! The operator closes a terminal. Its record and history stay; no key of it is accepted again.

use super::{TerminalReceipt, TerminalRecord, is_not_closed, planned};
use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::forms::{CASH_OUTSTANDING, CASH_ROOM};
use crate::ids::{Actor, Employer, Tenant, TerminalOwner};
use crate::keys::{Partition, attr};
use crate::money::Asset;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::shops;
use crate::terminal_state::TerminalState;
use crate::transaction::{Clause, Planned, Role, TransactItem};

/// Closes a terminal, as it was read. A new epoch begins without a key, so an enrolment that was planned before has no
/// effect. If the terminal has changed since, the plan is stale.
///
/// # Errors
/// `WrongState` if it is closed; [`PlanRefusal::StillOpen`] if it has cash room, or a counter has cash that was not
/// collected.
pub fn plan_close(
    tenant: &Tenant,
    profile: &Item,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<TerminalReceipt>, PlanRefusal> {
    let terminal = TerminalRecord::read(profile)?;
    if terminal.state == TerminalState::Closed {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let stale = |condition| Clause { condition, failure: Failure::StalePlan };
    let epoch = Condition::compare("epoch", Cmp::Eq, "seen", Value::int(terminal.epoch.into()));
    let mut clauses = vec![stale(epoch), stale(is_not_closed()), stale(terminal.shop_as_read())];
    let mut open = Vec::new();
    for sum in [CASH_ROOM, CASH_OUTSTANDING] {
        if !profile.balance_or_zero(sum, Asset::Ecopay)?.value().is_zero() {
            open.push(sum.to_owned());
        }
        let nothing = Condition::compare(sum, Cmp::Eq, "nothing", Value::int(0));
        clauses.push(stale(Condition::absent(sum).or(nothing)));
    }
    if !open.is_empty() {
        return Err(PlanRefusal::StillOpen(open));
    }
    let update = Update::new()
        .set("state", "closed", Value::s(TerminalState::Closed.name()))
        .set("epoch", "epoch", Value::int(i64::from(terminal.epoch).saturating_add(1)))
        .set(attr::CLOSED_AT, "ua", Value::s(cx.now))
        .set(attr::UPDATED_AT, "ua", Value::s(cx.now))
        .remove(attr::SHOP);
    let key = Partition::terminal(tenant, terminal.id).profile();
    let mut items = vec![TransactItem::update(Role::Profile, key, update, clauses)];
    if let TerminalOwner::Merchant(merchant) = terminal.owner {
        items.extend(shops::assigning(tenant, Employer::Merchant(merchant), (terminal.shop, None), cx.now));
    }
    let act = Act::new(actor, Operation::TerminalClose, format!("terminal:{}", terminal.id)).because(reason);
    items.push(act.record(tenant, cx));
    Ok(planned(terminal.id, items, cx))
}
