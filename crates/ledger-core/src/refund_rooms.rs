//! Refund rooms: how much a merchant may refund beyond what its settlements have covered. The operator sets a ceiling. The
//! ceiling is always the sum of the room that is left and of what is outstanding.

use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, MerchantId, Tenant};
use crate::keys::{Partition, attr};
use crate::money::{Amount, Asset, Balance};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Role, TransactItem, exists};

const CEILING: &str = "ceiling";

/// A merchant's refund room: its item `REFUND_ROOM`, in yen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefundRoom {
    /// The most that may be outstanding.
    pub ceiling: Balance,
    /// What may still be refunded. Below zero only if payments of the last minutes were reversed without room, or the operator
    /// refunded beyond it.
    pub room: Balance,
    /// What was refunded and no settlement has covered.
    pub outstanding: Balance,
}

impl RefundRoom {
    /// Reads the stored item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed. Without `outstanding` nothing is.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            ceiling: item.balance(CEILING, Asset::Ecopay)?,
            room: item.balance(forms::ROOM, Asset::Ecopay)?,
            outstanding: item.balance_or_zero(forms::OUTSTANDING, Asset::Ecopay)?,
        })
    }
}

/// Begins the refund room of a merchant that is opened in the same transaction: all of it is room.
pub(crate) fn begun(merchant: &Partition, ceiling: &Balance, now: Timestamp) -> TransactItem {
    let item = Item::from([
        (CEILING.to_owned(), Value::N(ceiling.text())),
        (forms::ROOM.to_owned(), Value::N(ceiling.text())),
        (attr::UPDATED_AT.to_owned(), Value::s(now)),
    ]);
    TransactItem::put_new(Role::RefundRoom, merchant.refund_room(), item, Failure::AlreadyExists)
}

/// Sets the ceiling of a merchant's refund room; the room changes by as much as the ceiling does. `seen` is the item as it
/// was read. Fails with `RefundRoomExceeded` if more than the new ceiling is outstanding.
///
/// # Errors
/// [`PlanRefusal`] if the sums do not fit.
pub fn plan_ceiling(
    (tenant, merchant): (&Tenant, MerchantId),
    seen: &RefundRoom,
    ceiling: &Amount,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let partition = Partition::merchant(tenant, merchant);
    let as_read = Condition::compare(CEILING, Cmp::Eq, "seen", Value::N(seen.ceiling.text()));
    let mut clauses = vec![Clause { condition: as_read, failure: Failure::StalePlan }];
    let mut update = Update::new().set(CEILING, CEILING, Value::N(ceiling.text()));
    update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    if let Some(change) = ceiling.as_balance().checked_sub(&seen.ceiling)?.as_delta() {
        update = update.add(forms::ROOM, "change", Value::N(change.text()));
        if let Some(less) = change.size().filter(|_| change.is_debit()) {
            let enough = Condition::compare(forms::ROOM, Cmp::Ge, "needed", Value::N(less.text()));
            clauses.push(Clause { condition: enough, failure: Failure::RefundRoomExceeded });
        }
    }
    let act = Act::new(actor, Operation::RefundCeiling, format!("merchant:{merchant}")).because(reason);
    let items = vec![
        TransactItem::check(Role::Profile, partition.profile(), vec![exists()]),
        TransactItem::update(Role::RefundRoom, partition.refund_room(), update, clauses),
        act.with(CEILING, ceiling.text()).record(tenant, cx),
    ];
    Ok(Draft { entry: None, items })
}
