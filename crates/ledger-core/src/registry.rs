//! The registry: where each tenant lives. A table of its own, `<table>-registry`, without an index.
//!
//! Each write is a conditional write of one item, never a transaction: the registry will be replicated otherwise than
//! money is. No payment reads it. A tenant's item is never deleted, so its name is never given to another.

use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::role::Role;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, TransactItem, exists, single_write_text};
use crate::words::words;

const STATE: &str = "state";
const HOME: &str = "home";
const TABLE: &str = "table";
const EPOCH: &str = "epoch";
const OPENED_AT: &str = "opened_at";
/// The epoch of a tenant whose home has not changed.
const FIRST_EPOCH: u32 = 1;

/// The name of the registry of a table of money.
#[must_use]
pub fn table_name(table: &str) -> String {
    format!("{table}-registry")
}

words! {
    /// How far a tenant has come.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum TenantState {
        /// Its name is taken. Its terms may not be written yet.
        Opening = "opening",
        /// Its terms are in its table.
        Open = "open",
    }
}

/// Where the money of a tenant is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantHome {
    /// The Region. `local` for an engine at an endpoint.
    pub region: String,
    /// The name of the table.
    pub table: String,
}

/// A tenant's item in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredTenant {
    /// The tenant.
    pub tenant: Tenant,
    /// How far it has come.
    pub state: TenantState,
    /// Where its money is.
    pub home: TenantHome,
    /// How often its home was chosen, from 1.
    pub epoch: u32,
    /// When its name was taken.
    pub created_at: Timestamp,
    /// When its terms were written; `None` while it is opening.
    pub opened_at: Option<Timestamp>,
}

impl RegisteredTenant {
    /// Reads a tenant's item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or wrong, or the state is one of a later release.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let tenant = item.key_text(attr::SK).ok_or_else(|| ItemError::missing(attr::SK))?;
        Ok(Self {
            tenant: Tenant::parse(tenant).map_err(|_| ItemError::invalid(attr::SK))?,
            state: TenantState::parse(item.text(STATE)?).ok_or_else(|| ItemError::invalid(STATE))?,
            home: TenantHome { region: item.string(HOME)?, table: item.string(TABLE)? },
            epoch: item.int(EPOCH)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            opened_at: item.opt_timestamp(OPENED_AT)?,
        })
    }
}

/// One conditional write of one item of the registry.
#[derive(Clone, Debug)]
pub struct RegistryWrite(TransactItem);

impl RegistryWrite {
    /// The text of the `UpdateItem` request.
    ///
    /// # Errors
    /// [`BuildError`] if a placeholder is used twice, which a write of this module never does.
    pub fn request_text(&self, registry: &str) -> Result<String, BuildError> {
        single_write_text(&self.0, registry)
    }

    /// The write, as an action of a transaction has it.
    #[must_use]
    pub fn action(&self) -> &TransactItem {
        &self.0
    }

    /// What a failed condition means, by the item as it is stored.
    #[must_use]
    pub fn failure_on(&self, stored: Option<&Item>) -> Option<Failure> {
        self.0.failure_on(stored).map(|clause| clause.failure)
    }
}

/// Takes a name for a tenant. Fails with `AlreadyExists` if it is taken.
#[must_use]
pub fn begin_opening(tenant: &Tenant, home: &TenantHome, now: Timestamp) -> RegistryWrite {
    let update = Update::new()
        .set(STATE, "state", Value::s(TenantState::Opening.name()))
        .set(HOME, "home", Value::s(&home.region))
        .set(TABLE, "table", Value::s(&home.table))
        .set(EPOCH, "epoch", Value::int(FIRST_EPOCH.into()))
        .set(attr::CREATED_AT, "now", Value::s(now))
        .set(attr::UPDATED_AT, "now", Value::s(now));
    let free = Clause { condition: Condition::absent(attr::PK), failure: Failure::AlreadyExists };
    RegistryWrite(TransactItem::update(Role::RegisteredTenant, keys::registered_tenant(tenant), update, vec![free]))
}

/// Records that a tenant's terms were written at `opened_at`. Fails with `WrongState` if the tenant is not opening.
#[must_use]
pub fn finish_opening(tenant: &Tenant, opened_at: Timestamp, now: Timestamp) -> RegistryWrite {
    let update = Update::new()
        .set(STATE, "to", Value::s(TenantState::Open.name()))
        .set(OPENED_AT, "opened_at", Value::s(opened_at))
        .set(attr::UPDATED_AT, "now", Value::s(now));
    let opening = Clause {
        condition: Condition::compare(STATE, Cmp::Eq, "from", Value::s(TenantState::Opening.name())),
        failure: Failure::WrongState,
    };
    let key = keys::registered_tenant(tenant);
    RegistryWrite(TransactItem::update(Role::RegisteredTenant, key, update, vec![exists(), opening]))
}

/// Records that the money of a tenant is in another table, and raises the epoch by one. Fails with `StalePlan` if the home
/// has changed since the tenant was read.
#[must_use]
pub fn change_home(seen: &RegisteredTenant, home: &TenantHome, now: Timestamp) -> RegistryWrite {
    let update = Update::new()
        .set(HOME, "home", Value::s(&home.region))
        .set(TABLE, "table", Value::s(&home.table))
        .set(EPOCH, "epoch", Value::int(i64::from(seen.epoch).saturating_add(1)))
        .set(attr::UPDATED_AT, "now", Value::s(now));
    let as_seen = Clause {
        condition: Condition::compare(EPOCH, Cmp::Eq, "seen", Value::int(seen.epoch.into())),
        failure: Failure::StalePlan,
    };
    let key = keys::registered_tenant(&seen.tenant);
    RegistryWrite(TransactItem::update(Role::RegisteredTenant, key, update, vec![exists(), as_seen]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aoba() -> Tenant {
        Tenant::parse("aoba").unwrap()
    }

    fn home() -> TenantHome {
        TenantHome { region: "ap-northeast-1".to_owned(), table: "ecopay".to_owned() }
    }

    fn item(state: &str) -> Item {
        let now = Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap();
        let texts = [
            (attr::PK, "tenants#1".to_owned()),
            (attr::SK, "aoba".to_owned()),
            (STATE, state.to_owned()),
            (HOME, "ap-northeast-1".to_owned()),
            (TABLE, "ecopay".to_owned()),
            (attr::CREATED_AT, now.to_string()),
        ];
        let mut item: Item = texts.into_iter().map(|(name, text)| (name.to_owned(), Value::S(text))).collect();
        item.insert(EPOCH.to_owned(), Value::int(1));
        item
    }

    #[test]
    fn item_of_a_later_state_is_not_read() {
        let read = RegisteredTenant::read(&item("opening")).unwrap();
        assert_eq!((read.state, read.home, read.opened_at), (TenantState::Opening, home(), None));
        assert_eq!(RegisteredTenant::read(&item("moving")), Err(ItemError::invalid(STATE)));
    }

    #[test]
    fn name_is_taken_once_and_opened_once() {
        let now = Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap();
        let begin = begin_opening(&aoba(), &home(), now);
        assert_eq!(begin.failure_on(None), None);
        assert_eq!(begin.failure_on(Some(&item("opening"))), Some(Failure::AlreadyExists));
        let finish = finish_opening(&aoba(), now, now);
        assert_eq!(finish.failure_on(None), Some(Failure::AccountMissing));
        assert_eq!(finish.failure_on(Some(&item("open"))), Some(Failure::WrongState));
    }

    #[test]
    fn home_changes_once_from_each_epoch() {
        let now = Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap();
        let seen = RegisteredTenant::read(&item("open")).unwrap();
        let restored = TenantHome { table: "restored".to_owned(), ..home() };
        let change = change_home(&seen, &restored, now);
        assert_eq!(change.failure_on(None), Some(Failure::AccountMissing));
        assert_eq!(change.failure_on(Some(&item("opening"))), None);
        let mut later = item("open");
        later.insert(EPOCH.to_owned(), Value::int(2));
        assert_eq!(change.failure_on(Some(&later)), Some(Failure::StalePlan));
    }

    #[test]
    fn request_is_an_update_of_one_item() {
        let now = Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap();
        let text = finish_opening(&aoba(), now, now).request_text("ecopay-registry").unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "Key": { "uuid": { "S": keys::registered_tenant(&aoba()).pk() }, "type": { "S": "aoba" } },
                "UpdateExpression": "SET #state = :to, #opened_at = :opened_at, #updated_at = :now",
                "ConditionExpression": "attribute_exists(#uuid) AND #state = :from",
                "ExpressionAttributeNames": {
                    "#opened_at": "opened_at", "#state": "state", "#updated_at": "updated_at", "#uuid": "uuid"
                },
                "ExpressionAttributeValues": {
                    ":from": { "S": "opening" }, ":now": { "S": "2026-11-21T03:00:00.000Z" },
                    ":opened_at": { "S": "2026-11-21T03:00:00.000Z" }, ":to": { "S": "open" }
                },
                "TableName": "ecopay-registry",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD"
            })
        );
    }
}
