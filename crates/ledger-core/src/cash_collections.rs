//! Collections: the operator records that cash which a counter took was collected and counted. The room of that cash is
//! unallotted again. No balance changes: the cash is on `cash_clearing` since the top-up.

use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{Actor, CashCollectionId, Tenant, TerminalId};
use crate::keys::{self, Partition, attr};
use crate::money::{Amount, Asset, Balance};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::Context;
use crate::time::BusinessDate;
use crate::transaction::{Draft, Role, TransactItem};

/// A collection.
#[derive(Clone, Debug)]
pub struct CashCollection<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who records it.
    pub actor: Actor,
    /// The counter that took the cash.
    pub terminal: TerminalId,
    /// The cash that was counted, in yen.
    pub amount: &'a Amount,
    /// What it is recorded from: a slip, a count.
    pub reason: &'a FreeText,
}

/// The cash of a counter's stored collections that were recorded on a business day, in yen.
///
/// # Errors
/// [`ItemError`] if an attribute is missing or malformed, or the sum does not fit.
pub fn collected_on(collections: &[Item], day: BusinessDate) -> Result<Balance, ItemError> {
    let mut sum = Balance::zero(Asset::Ecopay);
    for collection in collections {
        if collection.timestamp(attr::CREATED_AT)?.business_date() == day {
            let amount = collection.amount("amount", Asset::Ecopay)?;
            sum = sum.checked_apply(&amount.credit()).map_err(|_| ItemError::invalid("amount"))?;
        }
    }
    Ok(sum)
}

/// Builds the collection's transaction: the counter has less outstanding, the operator's rooms get the room, and there is a
/// record of it. Fails with `CashNotOutstanding` if the counter has less outstanding, and with `WrongState` if the
/// terminal is a till.
#[must_use]
pub fn plan(command: &CashCollection<'_>, cx: &Context) -> Draft {
    let CashCollection { tenant, actor, terminal, amount, reason } = command;
    let id = CashCollectionId::new(cx.resource_id);
    let record = Item::from([
        ("collection_id".to_owned(), Value::s(id)),
        ("terminal_id".to_owned(), Value::s(terminal)),
        ("amount".to_owned(), Value::N(amount.text())),
        ("recorded_by".to_owned(), Value::s(actor)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    let act = Act::new(*actor, Operation::CashCollection, format!("terminal:{terminal}")).because(Some(reason));
    let items = vec![
        forms::collect_cash(&Partition::terminal(tenant, *terminal), amount, cx.now),
        forms::return_cash_room(&Partition::tenant(tenant), amount, cx.now),
        TransactItem::put_new(
            Role::CashRoom,
            keys::cash_collection(tenant, *terminal, id),
            record,
            Failure::AlreadyExists,
        ),
        act.with("collection_id", id).with("amount", amount.text()).record(tenant, cx),
    ];
    Draft { entry: None, items }
}
