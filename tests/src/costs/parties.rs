//! Many customers and cards for a measurement, as copies of one, because opening each through the API takes longer than
//! the measurement. What is measured is done through the API.

use crate::audit::MARKERS;
use crate::http::books::{SdkRow, from_sdk, to_sdk};
use crate::http::world::new_id;
use crate::http::{Customer, Merchant, World};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::attr;
use std::collections::HashMap;

/// The most items that one call writes.
const CALL_ITEMS: usize = 25;
/// What a copy does not have: history, and markers of requests.
const NOT_COPIED: [&str; 3] = ["TXN#", MARKERS[0], MARKERS[1]];

/// Opens this many customers with money, points and regional currency.
pub(super) async fn customers(world: &World, count: usize) -> Vec<Customer> {
    let one = world.customer_with("1740").await;
    world.grant(&one, "POINT", "500").await;
    world.grant(&one, "REGIONAL#aoba", "1000").await;
    let mut all = Vec::new();
    for id in copies(world, "customer", &one.id, count).await {
        all.push(Customer { who: world.token("customer", &id, None).await, id });
    }
    all
}

/// Issues this many cards with money.
pub(super) async fn cards(world: &World, count: usize) -> Vec<String> {
    let one = world.card(None, "1000").await;
    copies(world, "card", &one, count).await
}

/// Leaves the merchant one shard, so that the units of reading it do not depend on ids.
pub(super) async fn take_shards(world: &World, merchant: &Merchant) {
    let rows = partition(world, &format!("{}#merchant#{}", world.tenant, merchant.id)).await;
    for mut row in rows {
        if let Some(shards) = row.get_mut("shards") {
            *shards = Value::N("1".to_owned());
            world.plant(row).await;
        }
    }
}

/// Copies the items of one partition under new ids.
async fn copies(world: &World, kind: &str, id: &str, count: usize) -> Vec<String> {
    let mut rows = partition(world, &format!("{}#{kind}#{id}", world.tenant)).await;
    rows.retain(|row| {
        let Some(Value::S(sk)) = row.get(attr::SK) else { return false };
        !NOT_COPIED.iter().any(|prefix| sk.starts_with(prefix))
    });
    let ids: Vec<String> = (0..count).map(|_| new_id()).collect();
    let copies: Vec<SdkRow> =
        ids.iter().flat_map(|copy| rows.iter().map(|row| to_sdk(renamed(row, id, copy)))).collect();
    for rows in copies.chunks(CALL_ITEMS) {
        write(world, rows).await;
    }
    ids
}

fn renamed(row: &Item, id: &str, copy: &str) -> Item {
    row.iter().map(|(name, value)| (name.clone(), renamed_value(value, id, copy))).collect()
}

fn renamed_value(value: &Value, id: &str, copy: &str) -> Value {
    match value {
        Value::S(text) => Value::S(text.replace(id, copy)),
        Value::L(members) => Value::L(members.iter().map(|member| renamed_value(member, id, copy)).collect()),
        Value::M(members) => Value::M(renamed(members, id, copy)),
        Value::N(_) | Value::Bool(_) | Value::B(_) => value.clone(),
    }
}

async fn partition(world: &World, pk: &str) -> Vec<Item> {
    let query = world.table().query().table_name(world.table_name()).consistent_read(true);
    let query = query.key_condition_expression("#pk = :pk").expression_attribute_names("#pk", attr::PK);
    let found = query.expression_attribute_values(":pk", AttributeValue::S(pk.to_owned())).send().await;
    found.expect("the table").items.unwrap_or_default().into_iter().map(from_sdk).collect()
}

#[expect(clippy::disallowed_methods, reason = "no operation of the ledger writes what is copied here")]
async fn write(world: &World, rows: &[SdkRow]) {
    let put = |row: &SdkRow| PutRequest::builder().set_item(Some(row.clone())).build().expect("an item");
    let puts = rows.iter().map(|row| WriteRequest::builder().put_request(put(row)).build()).collect();
    let written = world
        .table()
        .batch_write_item()
        .set_request_items(Some(HashMap::from([(world.table_name().to_owned(), puts)])));
    let written = written.send().await.expect("the table");
    assert!(written.unprocessed_items.is_none_or(|left| left.is_empty()), "too many items for one call");
}
