//! Reads and writes a tenant's rows directly in the table, with a conversion that shares nothing with the runtime's.

use super::World;
use crate::audit::{Books, n, s, text};
use crate::engine::{Contents, other};
use crate::wire;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_core::dynamo::{Item, Value};
use std::collections::{BTreeMap, HashMap};

/// A row as the SDK has it.
pub type SdkRow = HashMap<String, AttributeValue>;

/// The name of the only entry of a map that represents null.
const NULL: &str = "#NULL";
/// The same for a set of texts.
const SS: &str = "#SS";
/// The same for a set of numbers.
const NS: &str = "#NS";
/// The same for a set of bytes.
const BS: &str = "#BS";

/// The rows that one page of a bounded scan reads.
const PAGE_ROWS: i32 = 400;

/// Reads every row of a tenant by a scan. The embedded engine scans in the order of keys, so there the scan begins where the
/// tenant's rows begin and ends after them; other engines hash the key, and are scanned from end to end.
///
/// # Panics
/// When the table cannot be read.
pub async fn read(client: &Client, table: &str, tenant: &str) -> Books {
    read_by(client, table, tenant, other::given_url().is_none()).await
}

/// The same: in the order of keys, or by every row of the table.
///
/// # Panics
/// When the table cannot be read.
pub async fn read_by(client: &Client, table: &str, tenant: &str, in_order: bool) -> Books {
    Books::of(tenant, rows(client, table, tenant, in_order).await)
}

async fn rows(client: &Client, table: &str, tenant: &str, in_order: bool) -> Contents {
    let prefix = format!("{tenant}#");
    let mut rows = BTreeMap::new();
    // No row has a tenant alone as its key, and it sorts before the tenant's own.
    let mut start = in_order.then(|| to_sdk([("uuid".to_owned(), s(tenant)), ("type".to_owned(), s("0"))].into()));
    loop {
        let page = client
            .scan()
            .table_name(table)
            .consistent_read(true)
            .filter_expression("begins_with(#pk, :tenant)")
            .expression_attribute_names("#pk", "uuid")
            .expression_attribute_values(":tenant", AttributeValue::S(prefix.clone()))
            .set_limit(in_order.then_some(PAGE_ROWS))
            .set_exclusive_start_key(start)
            .send()
            .await
            .unwrap_or_else(|error| panic!("the table cannot be read: {error:?}"));
        for row in page.items.unwrap_or_default() {
            let row = from_sdk(row);
            rows.insert((text(&row, "uuid").to_owned(), text(&row, "type").to_owned()), row);
        }
        start = page.last_evaluated_key;
        let is_past = |key: &SdkRow| key["uuid"].as_s().is_ok_and(|pk| !pk.starts_with(&prefix));
        if start.as_ref().is_none_or(|key| in_order && is_past(key)) {
            return rows;
        }
    }
}

/// A null, which the ledger never stores and [`Value`] does not have.
#[must_use]
pub fn null() -> Value {
    only(NULL, Value::Bool(true))
}

/// A set of texts, numbers or bytes by its first member, which the ledger never stores and [`Value`] does not have.
#[must_use]
pub fn set_of(member: Value) -> Value {
    let name = match &member {
        Value::S(_) => SS,
        Value::N(_) => NS,
        Value::B(_) => BS,
        Value::Bool(_) | Value::L(_) | Value::M(_) => panic!("no set of {member:?}"),
    };
    only(name, Value::L(vec![member]))
}

fn only(name: &str, value: Value) -> Value {
    Value::M([(name.to_owned(), value)].into())
}

/// A row of the SDK's values. A null or a set is a map with an entry that no attribute of a test has.
#[must_use]
pub fn from_sdk(row: SdkRow) -> Item {
    row.into_iter().map(|(name, value)| (name, value_from_sdk(value))).collect()
}

fn value_from_sdk(value: AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => Value::S(text),
        AttributeValue::N(number) => Value::N(number),
        AttributeValue::Bool(flag) => Value::Bool(flag),
        AttributeValue::B(bytes) => Value::B(bytes.into_inner()),
        AttributeValue::L(list) => Value::L(list.into_iter().map(value_from_sdk).collect()),
        AttributeValue::M(map) => Value::M(from_sdk(map)),
        AttributeValue::Null(flag) => only(NULL, Value::Bool(flag)),
        AttributeValue::Ss(all) => only(SS, Value::L(all.into_iter().map(s).collect())),
        AttributeValue::Ns(all) => only(NS, Value::L(all.into_iter().map(n).collect())),
        AttributeValue::Bs(all) => only(BS, Value::L(all.into_iter().map(|of| Value::B(of.into_inner())).collect())),
        other => panic!("a value of an unknown type: {other:?}"),
    }
}

/// A row as the SDK has it.
#[must_use]
pub fn to_sdk(row: Item) -> SdkRow {
    row.into_iter().map(|(name, value)| (name, value_to_sdk(value))).collect()
}

fn value_to_sdk(value: Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text),
        Value::N(number) => AttributeValue::N(number),
        Value::Bool(flag) => AttributeValue::Bool(flag),
        Value::B(bytes) => AttributeValue::B(Blob::new(bytes)),
        Value::L(list) => AttributeValue::L(list.into_iter().map(value_to_sdk).collect()),
        Value::M(map) => match map.first_key_value() {
            Some((name, Value::Bool(flag))) if name == NULL => AttributeValue::Null(*flag),
            Some((name, Value::L(all))) if [SS, NS, BS].contains(&name.as_str()) => set_to_sdk(all),
            _ => AttributeValue::M(to_sdk(map)),
        },
    }
}

fn set_to_sdk(members: &[Value]) -> AttributeValue {
    let (mut texts, mut numbers, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        match member {
            Value::S(text) => texts.push(text.clone()),
            Value::N(number) => numbers.push(number.clone()),
            Value::B(of) => bytes.push(Blob::new(of.clone())),
            Value::Bool(_) | Value::L(_) | Value::M(_) => panic!("no member of a set: {member:?}"),
        }
    }
    match (texts.is_empty(), numbers.is_empty()) {
        (false, _) => AttributeValue::Ss(texts),
        (true, false) => AttributeValue::Ns(numbers),
        (true, true) => AttributeValue::Bs(bytes),
    }
}

impl World {
    /// Every item of a tenant as it is stored, with the name of the transaction that wrote it.
    pub async fn stored(&self, tenant: &str) -> Contents {
        rows(self.table(), self.table_name(), tenant, other::given_url().is_none()).await
    }

    /// Writes a row directly in the table, without the ledger.
    ///
    /// # Panics
    /// When the table rejects the write.
    #[expect(clippy::disallowed_methods, reason = "what the ledger never writes must be planted past it")]
    pub async fn plant(&self, row: Item) {
        let put = self.table().put_item().table_name(self.table_name()).set_item(Some(to_sdk(row)));
        let _ = put.send().await.unwrap_or_else(|error| panic!("the row is not written: {error:?}"));
    }

    /// The same as if the ledger had written it: the row names a transaction of its own.
    ///
    /// # Panics
    /// When the table rejects the write.
    pub async fn plant_as_written(&self, mut row: Item) {
        row.insert(wire::TX.to_owned(), Value::B(wire::new_token().to_vec()));
        row.insert(wire::OF.to_owned(), Value::int(1));
        self.plant(row).await;
    }

    /// Deletes a row directly in the table, without the ledger.
    ///
    /// # Panics
    /// When the table rejects the delete.
    #[expect(clippy::disallowed_methods, reason = "what the ledger never deletes must be deleted past it")]
    pub async fn remove(&self, pk: &str, sk: &str) {
        let key = [("uuid".to_owned(), s(pk)), ("type".to_owned(), s(sk))];
        let delete = self.table().delete_item().table_name(self.table_name()).set_key(Some(to_sdk(key.into())));
        let _ = delete.send().await.unwrap_or_else(|error| panic!("the row is not deleted: {error:?}"));
    }
}
