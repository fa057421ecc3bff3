//! Shops of a merchant: opening, renaming, closing one, and what is assigned to it.
//!
//! A shop counts the terminals and staff members that are assigned to it, so that it is closed only without any.

use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Employer, MerchantId, ShopId, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::Context;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};
use crate::words::words;

const NAME: &str = "name";
const STATE: &str = "state";
/// The attribute that counts what is assigned.
const ASSIGNED: &str = "assigned";

words! {
    /// Whether terminals and staff may be assigned to a shop.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ShopState {
        /// They may.
        Open = "open",
        /// They may not, and none is.
        Closed = "closed",
    }
}

/// A stored shop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShopRecord {
    /// Its id.
    pub id: ShopId,
    /// The displayed name.
    pub name: String,
    /// Whether terminals and staff may be assigned to it.
    pub state: ShopState,
    /// How many terminals and staff members are assigned to it.
    pub assigned: i64,
    /// When it was opened.
    pub created_at: Timestamp,
}

/// The changes of a shop; `None` keeps a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShopChange<'a> {
    /// The displayed name.
    pub name: Option<&'a FreeText>,
    /// Whether terminals and staff may be assigned to it.
    pub state: Option<ShopState>,
}

/// What a response says about a shop that was opened or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShopReceipt {
    /// The shop.
    pub shop: ShopId,
    /// When it was opened or changed.
    pub at: Timestamp,
}

impl ShopRecord {
    /// Reads a stored shop.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed(attr::SHOP, ShopId::parse)?,
            name: item.string(NAME)?,
            state: item.named(STATE, ShopState::parse)?,
            assigned: item.int(ASSIGNED)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }
}

/// Opens a shop of a merchant.
#[must_use]
pub fn plan_open(
    (tenant, merchant): (&Tenant, MerchantId),
    shop: Option<ShopId>,
    name: &FreeText,
    actor: Actor,
    cx: &Context,
) -> Planned<ShopReceipt> {
    let shop = shop.unwrap_or(ShopId::new(cx.resource_id));
    let item = Item::from([
        (attr::SHOP.to_owned(), Value::s(shop)),
        ("merchant_id".to_owned(), Value::s(merchant)),
        (NAME.to_owned(), Value::s(name.expose())),
        (STATE.to_owned(), Value::s(ShopState::Open.name())),
        (ASSIGNED.to_owned(), Value::int(0)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    let key = keys::shop(tenant, merchant, shop);
    let act = Act::new(actor, Operation::ShopOpen, format!("shop:{shop}")).with("merchant_id", merchant);
    let items = vec![TransactItem::put_new(Role::Shop, key, item, Failure::AlreadyExists), act.record(tenant, cx)];
    Planned { draft: Draft { entry: None, items }, receipt: ShopReceipt { shop, at: cx.now } }
}

/// Renames, closes or reopens a shop. Fails with `AccountMissing` if the merchant has no such shop, and with `WrongState`
/// if it is to be closed while a terminal or a staff member is assigned to it.
#[must_use]
pub fn plan_change(
    (tenant, merchant): (&Tenant, MerchantId),
    shop: ShopId,
    change: ShopChange<'_>,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Planned<ShopReceipt> {
    let mut act =
        Act::new(actor, Operation::ShopPatch, format!("shop:{shop}")).because(reason).with("merchant_id", merchant);
    let (mut update, mut clauses) = (Update::new(), vec![exists()]);
    if let Some(name) = change.name {
        update = update.set(NAME, NAME, Value::s(name.expose()));
    }
    if let Some(state) = change.state {
        act = act.with("status", state.name());
        update = update.set(STATE, STATE, Value::s(state.name()));
        match state {
            ShopState::Open => {}
            ShopState::Closed => clauses.push(Clause {
                condition: Condition::compare(ASSIGNED, Cmp::Eq, "none", Value::int(0)),
                failure: Failure::WrongState,
            }),
        }
    }
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let key = keys::shop(tenant, merchant, shop);
    let items = vec![TransactItem::update(Role::Shop, key, update, clauses), act.record(tenant, cx)];
    Planned { draft: Draft { entry: None, items }, receipt: ShopReceipt { shop, at: cx.now } }
}

/// Counts that a terminal or staff member is assigned to one shop instead of another. Fails with `AccountMissing` if there
/// is no such shop, and with `WrongState` if it is closed.
pub(crate) fn assigning(
    tenant: &Tenant,
    employer: Employer,
    (from, to): (Option<ShopId>, Option<ShopId>),
    now: Timestamp,
) -> Vec<TransactItem> {
    let merchant = match employer {
        Employer::Merchant(merchant) if from != to => merchant,
        Employer::Merchant(_) | Employer::Operator => return Vec::new(),
    };
    let counted = |shop, by| {
        let update = Update::new().add(ASSIGNED, "by", Value::int(by)).set(attr::UPDATED_AT, "ua", Value::s(now));
        TransactItem::update(Role::Shop, keys::shop(tenant, merchant, shop), update, vec![exists()])
    };
    let open = Clause {
        condition: Condition::compare(STATE, Cmp::Eq, "open", Value::s(ShopState::Open.name())),
        failure: Failure::WrongState,
    };
    let left = from.map(|shop| counted(shop, -1));
    let joined = to.map(|shop| counted(shop, 1).guarded_also(vec![open]));
    left.into_iter().chain(joined).collect()
}
