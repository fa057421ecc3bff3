//! A table that an earlier release made gets the index `by_owner_keys` while payments go on. The reader of the earlier
//! release, which shows the copies in `by_owner`, this release before the change-over, which takes keys from `by_owner`,
//! and after it, which takes them from `by_owner_keys`, show the same lists.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, CreateGlobalSecondaryIndexAction, DeleteGlobalSecondaryIndexAction,
    GlobalSecondaryIndexUpdate, IndexStatus, KeySchemaElement, KeyType, Projection, ProjectionType,
    ScalarAttributeType,
};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, INDEX_BY_OWNER, INDEX_BY_OWNER_KEYS, OwnerIndex, Shards, attr};
use ledger_core::lists::RecordFilter;
use ledger_core::terms::RecordVersion;
use ledger_local::index_command;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::config::Config;
use ledger_runtime::cursor::Cursor;
use ledger_runtime::dynamo::Dynamo;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::request::Page;
use ledger_runtime::worker::Due;
use ledger_tests::cloud::gate;
use ledger_tests::http::books::from_sdk;
use ledger_tests::http::{Call, Customer, Host, Merchant, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The number of times that lists are compared while payments go on.
const LOOKS: usize = 8;
/// An index of DynamoDB may lag behind its table.
const LAG_LOOKS_MAX: usize = 40;
const LAG_PAUSE: Duration = Duration::from_millis(250);
/// No limit that a test meets.
const UNITS_PER_SECOND: u32 = 1_000_000;

fn slug(world: &World) -> Tenant {
    Tenant::parse(&world.tenant).expect("a slug")
}

/// Deletes an index of a table, and waits until it is gone.
async fn delete_index(client: &Client, table: &str, name: &str) {
    let delete = DeleteGlobalSecondaryIndexAction::builder().index_name(name).build().expect("a deletion");
    let update = GlobalSecondaryIndexUpdate::builder().delete(delete).build();
    client.update_table().table_name(table).global_secondary_index_updates(update).send().await.expect("a deletion");
    while index_status(client, table, name).await.is_some() {
        tokio::time::sleep(LAG_PAUSE).await;
    }
}

/// Adds the index by owner of earlier releases, and waits until it is complete.
async fn add_by_owner(client: &Client, table: &str) {
    let key = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build();
    let create = CreateGlobalSecondaryIndexAction::builder()
        .index_name(INDEX_BY_OWNER)
        .key_schema(key(attr::OWNER_PK, KeyType::Hash).expect("a key"))
        .key_schema(key(attr::OWNER_SK, KeyType::Range).expect("a key"))
        .projection(Projection::builder().projection_type(ProjectionType::All).build());
    let update = GlobalSecondaryIndexUpdate::builder().create(create.build().expect("an index")).build();
    let mut request = client.update_table().table_name(table).global_secondary_index_updates(update);
    for name in [attr::OWNER_PK, attr::OWNER_SK] {
        let definition = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        request = request.attribute_definitions(definition.build().expect("an attribute"));
    }
    request.send().await.expect("an addition");
    while index_status(client, table, INDEX_BY_OWNER).await != Some(IndexStatus::Active) {
        tokio::time::sleep(LAG_PAUSE).await;
    }
}

async fn index_status(client: &Client, table: &str, name: &str) -> Option<IndexStatus> {
    let described = client.describe_table().table_name(table).send().await.expect("a table").table;
    let described = described.expect("a description");
    let index = described.global_secondary_indexes().iter().find(|index| index.index_name() == Some(name));
    index.map(|index| index.index_status().cloned().unwrap_or(IndexStatus::Active))
}

/// The functions' state over the world's table, with its lists read from an index.
fn reader(world: &World, index: OwnerIndex) -> App {
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let dynamo = Dynamo::from_client(world.table().clone(), world.table_name(), entropy.clone());
    let metrics = Metrics::to(Counting::new(clock.clone()));
    let ledger = Ledger::new(dynamo.with_owner_index(index), clock, entropy, metrics);
    App::new(ledger, Config::of_table(world.table_name()))
}

/// What a list shows of a record.
fn row(record: &Item) -> Value {
    json!([
        record.text("transaction_id").expect("an id"),
        record.number("total").expect("an amount"),
        record.opt_text("state").expect("a state"),
    ])
}

/// The list as the earlier release reads it: all copies in `by_owner`, newest first.
async fn earlier_list(world: &World, merchant: MerchantId) -> Vec<Value> {
    let mut records = Vec::new();
    for shard in 0..Shards::MERCHANT_DEFAULT.count() {
        let owner = keys::owner_partition(&slug(world), merchant, shard);
        let query = world.table().query().table_name(world.table_name()).index_name(INDEX_BY_OWNER);
        let query = query.key_condition_expression("owner_pk = :owner").limit(5);
        let mut pages =
            query.expression_attribute_values(":owner", AttributeValue::S(owner)).into_paginator().items().send();
        while let Some(item) = pages.next().await {
            records.push(from_sdk(item.expect("an item")));
        }
    }
    records.sort_by_key(|record| std::cmp::Reverse(record.string(attr::OWNER_SK).expect("an id")));
    records.iter().map(row).collect()
}

/// The list as this release reads it, in pages of `limit`, each by the next of these readers.
async fn list(readers: &[&App], world: &World, merchant: MerchantId, limit: usize) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), None);
    for app in readers.iter().cycle() {
        let (of, page) = ((merchant, Shards::MERCHANT_DEFAULT), Page { limit, cursor });
        let (records, next) = app
            .merchant_records(&slug(world), of, page.into(), &RecordFilter::default())
            .await
            .unwrap_or_else(|problem| panic!("{problem:?}"));
        rows.extend(records.iter().map(row));
        match next {
            Some(next) => cursor = Some(Cursor::parse(&next).expect("a cursor")),
            None => return rows,
        }
    }
    unreachable!("the readers go round")
}

/// The list as the merchant's page shows it.
async fn shown(world: &World, merchant: &Merchant) -> Vec<Value> {
    let (mut rows, mut next) = (Vec::new(), Some(String::new()));
    while let Some(cursor) = next {
        let call = Call::get(&format!("/v1/merchant/payments?limit=4{cursor}"), &merchant.who);
        let page = world.api.send(&call).await.good().json();
        let items = page["items"].as_array().expect("items").iter();
        rows.extend(items.map(|item| json!([item["transaction_id"], item["amount"], item["status"]])));
        next = page["next_cursor"].as_str().map(|cursor| format!("&cursor={cursor}"));
    }
    rows
}

fn ids(list: &[Value]) -> BTreeSet<String> {
    list.iter().map(|row| row[0].as_str().expect("an id").to_owned()).collect()
}

/// Pays, refunds, authorizes, captures and voids until `stop` is set. Adds the entry of each record to `acknowledged`.
async fn trade(
    (world, merchant, customer): (&World, &Merchant, &Customer),
    rounds: usize,
    stop: &AtomicBool,
    acknowledged: &Mutex<BTreeSet<String>>,
) {
    let add = |id: String| {
        acknowledged.lock().expect("no panic").insert(id);
    };
    for round in 0..rounds {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        let paid = world.api.settle(&customer.pays(merchant, "30")).await.good();
        add(paid.text("/transaction_id"));
        let payment = paid.text("/payment_id");
        if round % 3 == 0 {
            add(world.api.settle(&merchant.refunds(&payment, "10")).await.good().text("/transaction_id"));
        }
        if round % 4 == 1 {
            let held = world.api.settle(&merchant.authorizes(&customer.code(world).await, "20")).await.good();
            let payment = held.text("/payment_id");
            let call = if round % 8 == 1 { merchant.captures(&payment, Some("15")) } else { merchant.voids(&payment) };
            let _ = world.api.settle(&call).await.good();
        }
    }
}

/// Reads a list until it is this one. A reader of an index may lag; DynamoDB's catches up within a second.
async fn assert_list(what: &str, wanted: &[Value], read: impl AsyncFn() -> Vec<Value>) {
    let mut found = read().await;
    for _ in 0..LAG_LOOKS_MAX {
        if found == wanted {
            return;
        }
        tokio::time::sleep(LAG_PAUSE).await;
        found = read().await;
    }
    assert_eq!(found, wanted, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn earlier_table_gets_the_index_while_payments_go_on() {
    let host = Host::fresh();
    let url = host.stack().dynamodb_url().to_owned();
    let world = World::with_terms(host, "owner-index", |terms| terms.records = RecordVersion::V3).await;
    let (client, table) = (world.table(), world.table_name());
    delete_index(client, table, INDEX_BY_OWNER_KEYS).await;
    add_by_owner(client, table).await;
    let (by_owner, by_keys) = (reader(&world, OwnerIndex::ByOwner), reader(&world, OwnerIndex::ByOwnerKeys));
    let (merchant, customer) = (world.merchant().await, world.customer_with("100000").await);
    let merchant_id = MerchantId::parse(&merchant.id).expect("an id");
    let (stop, acknowledged) = (AtomicBool::new(false), Mutex::new(BTreeSet::new()));
    trade((&world, &merchant, &customer), 9, &stop, &acknowledged).await;

    // Until the index exists, this release reads as the earlier one does, and credits the merchants that it lists.
    let wanted = earlier_list(&world, merchant_id).await;
    assert!(wanted.len() >= 14, "{wanted:?}");
    assert_list("before the index exists", &wanted, async || list(&[&by_owner], &world, merchant_id, 4).await).await;
    let sweep = Due::everything(slug(&world));
    let credited = crediting::run_due(&by_owner, &sweep).await.unwrap_or_else(|problem| panic!("{problem:?}"));
    assert!(credited.records >= 11 && credited.left == 0, "{credited:?}");

    let until = Clock::system().now();
    let more = async {
        trade((&world, &merchant, &customer), 400, &stop, &acknowledged).await;
    };
    let change = async {
        let (text, complete) = index_command::in_table(table, Some(&url), UNITS_PER_SECOND, until, &|line| {
            println!("{line}");
        })
        .await
        .unwrap_or_else(|error| panic!("{error}"));
        assert!(complete, "{text}");
        for look in 0..LOOKS {
            let known = acknowledged.lock().expect("no panic").clone();
            for index in [&by_owner, &by_keys] {
                let mut missing = known.clone();
                for _ in 0..LAG_LOOKS_MAX {
                    let listed = ids(&list(&[index], &world, merchant_id, 7).await);
                    missing = known.difference(&listed).cloned().collect();
                    if missing.is_empty() {
                        break;
                    }
                    tokio::time::sleep(LAG_PAUSE).await;
                }
                assert_eq!(missing, BTreeSet::new(), "look {look}, {:?}", index.dynamo().owner_index());
            }
        }
        stop.store(true, Ordering::SeqCst);
    };
    tokio::join!(more, change);

    let wanted = earlier_list(&world, merchant_id).await;
    assert!(ids(&wanted).is_superset(&acknowledged.lock().expect("no panic")));
    assert_list("by_owner", &wanted, async || list(&[&by_owner], &world, merchant_id, 5).await).await;
    assert_list("by_owner_keys", &wanted, async || list(&[&by_keys], &world, merchant_id, 5).await).await;
    // A cursor of either index goes on in the other.
    assert_list("in turn", &wanted, async || list(&[&by_owner, &by_keys], &world, merchant_id, 3).await).await;
    assert_list("the API", &wanted, async || shown(&world, &merchant).await).await;
    let credited = world.credit().await.unwrap_or_else(|problem| panic!("{problem:?}"));
    assert!(credited.records > 0 && credited.left == 0, "{credited:?}");

    delete_index(client, table, INDEX_BY_OWNER).await;
    assert_eq!(shown(&world, &merchant).await, wanted, "by_owner was dropped");
    world.check_books().await;
}

/// A state that changes after the index entry was written is that of the record.
#[tokio::test]
async fn list_shows_records_as_they_are() {
    let world = World::new("owner-index-states").await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("1000").await);
    let mut paid = Vec::new();
    for _ in 0..3 {
        paid.push(world.api.settle(&customer.pays(&merchant, "100")).await.good().text("/payment_id"));
    }
    let _ = world.api.settle(&merchant.refunds(&paid[1], "40")).await.good();
    let status = |list: &Value, payment: &str| {
        let items = list["items"].as_array().expect("items").iter();
        let mut of_payment = items.filter(|item| item["payment_id"] == payment && item["kind"] == "payment");
        of_payment.next().map(|item| item["status"].clone())
    };
    let list = async || world.api.send(&Call::get("/v1/merchant/payments", &merchant.who)).await.good().json();
    let seen = list().await;
    assert_eq!(status(&seen, &paid[0]), Some(json!("captured")));
    assert_eq!(status(&seen, &paid[1]), Some(json!("partially_refunded")));
    let merchant_id = MerchantId::parse(&merchant.id).expect("an id");
    let entry = gate::as_test(by_keys_entry(&world, merchant_id)).await;
    let names: BTreeSet<&str> = entry.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from([attr::PK, attr::SK, attr::OWNER_PK, attr::OWNER_SK]), "keys alone");
}

/// An entry of the index, as it is stored.
async fn by_keys_entry(world: &World, merchant: MerchantId) -> Item {
    for shard in 0..Shards::MERCHANT_DEFAULT.count() {
        let query = ledger_core::reads::merchant_records(OwnerIndex::ByOwnerKeys, &slug(world), merchant, shard);
        if let Some(entry) = world.app.dynamo().query(&query).await.expect("a page").pop() {
            return entry;
        }
    }
    panic!("nothing is listed")
}
