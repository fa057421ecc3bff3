//! The index `by_owner` lists each of a merchant's records once while payments go on, and holds keys alone.

use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::MerchantId;
use ledger_core::keys::{Shards, attr};
use ledger_tests::cloud::gate;
use ledger_tests::http::{Call, Customer, Merchant, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Each has a payment; every third a refund, and every fourth a hold that is captured or voided.
const ROUNDS: usize = 40;
/// An index of DynamoDB may lag behind its table.
const LAG_LOOKS_MAX: usize = 40;
const LAG_PAUSE: Duration = Duration::from_millis(250);

/// The list as the merchant's page shows it.
async fn listed(world: &World, merchant: &Merchant) -> Vec<Value> {
    let (mut rows, mut next) = (Vec::new(), Some(String::new()));
    while let Some(cursor) = next {
        let call = Call::get(&format!("/v1/merchant/payments?limit=7{cursor}"), &merchant.who);
        let page = world.api.send(&call).await.good().json();
        let items = page["items"].as_array().expect("items").iter();
        rows.extend(items.map(|item| json!([item["transaction_id"], item["amount"], item["status"]])));
        next = page["next_cursor"].as_str().map(|cursor| format!("&cursor={cursor}"));
    }
    rows
}

/// The same as the table has it, newest first.
async fn stored(world: &World, merchant: &Merchant) -> Vec<Value> {
    let books = world.books().await;
    let owner = format!("{}#merchant#{}#", world.tenant, merchant.id);
    let is_owned = |item: &&Item| item.text(attr::OWNER_PK).is_ok_and(|pk| pk.starts_with(&owner));
    let mut records: Vec<&Item> = books.rows.values().filter(is_owned).collect();
    records.sort_by_key(|record| std::cmp::Reverse(record.string(attr::OWNER_SK).expect("an id")));
    let row = |record: &&Item| {
        let state = record.opt_text("state").expect("a state");
        json!([record.text("transaction_id").expect("an id"), record.number("total").expect("an amount"), state])
    };
    records.iter().map(row).collect()
}

fn ids(list: &[Value]) -> BTreeSet<String> {
    list.iter().map(|row| row[0].as_str().expect("an id").to_owned()).collect()
}

/// Pays, refunds, authorizes, captures and voids. Adds the entry of each record to `acknowledged`.
async fn trade(
    (world, merchant, customer): (&World, &Merchant, &Customer),
    is_over: &AtomicBool,
    acknowledged: &Mutex<BTreeSet<String>>,
) {
    let add = |id: String| {
        acknowledged.lock().expect("no panic").insert(id);
    };
    for round in 0..ROUNDS {
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
    is_over.store(true, Ordering::SeqCst);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn index_lists_each_record_once_while_payments_go_on() {
    let world = World::new("by-owner-trade").await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("100000").await);
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::new(BTreeSet::new()));
    let look = async {
        while !is_over.load(Ordering::SeqCst) {
            let known = acknowledged.lock().expect("no panic").clone();
            let mut missing = known.clone();
            for _ in 0..LAG_LOOKS_MAX {
                let list = listed(&world, &merchant).await;
                let found = ids(&list);
                assert_eq!(found.len(), list.len(), "a record is listed twice");
                missing = known.difference(&found).cloned().collect();
                if missing.is_empty() {
                    break;
                }
                tokio::time::sleep(LAG_PAUSE).await;
            }
            assert_eq!(missing, BTreeSet::new(), "not listed");
        }
    };
    tokio::join!(trade((&world, &merchant, &customer), &is_over, &acknowledged), look);

    let wanted = stored(&world, &merchant).await;
    assert!(ids(&wanted).is_superset(&acknowledged.lock().expect("no panic")));
    let mut found = listed(&world, &merchant).await;
    for _ in 0..LAG_LOOKS_MAX {
        if found == wanted {
            break;
        }
        tokio::time::sleep(LAG_PAUSE).await;
        found = listed(&world, &merchant).await;
    }
    assert_eq!(found, wanted);
    world.check_books().await;
}

/// A state that changes after the index entry was written is that of the record.
#[tokio::test]
async fn list_shows_records_as_they_are() {
    let world = World::new("by-owner-states").await;
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
    let entry = gate::as_test(stored_entry(&world, merchant_id)).await;
    let names: BTreeSet<&str> = entry.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from([attr::PK, attr::SK, attr::OWNER_PK, attr::OWNER_SK]), "keys alone");
}

/// An entry of the index, as it is stored.
async fn stored_entry(world: &World, merchant: MerchantId) -> Item {
    for shard in 0..Shards::MERCHANT_DEFAULT.count() {
        let query = ledger_core::reads::merchant_records(&world.slug(), merchant, shard);
        if let Some(entry) = world.app.dynamo().query(&query).await.expect("a page").pop() {
            return entry;
        }
    }
    panic!("nothing is listed")
}
