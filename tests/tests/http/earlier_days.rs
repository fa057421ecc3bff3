//! Lists whose items are in partitions of days and months: pages go back to the tenant's opening.
#![cfg(feature = "stack")]

use ledger_core::dynamo::Item;
use ledger_core::ids::{ApprovalId, AuditId, least_born_at};
use ledger_core::keys::{self, Key};
use ledger_core::time::Timestamp;
use ledger_tests::audit::{s, text};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World};
use serde_json::{Value, json};
use std::time::Duration;

/// The most pages of a list in these tests.
const PAGES_MAX: usize = 40;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Plants a copy of a row with the id of an instant, under its key.
async fn plant_earlier(world: &World, row: &Item, name: &str, at: Timestamp, key: impl Fn(uuid::Uuid) -> Key) {
    let id = least_born_at(at);
    let key = key(id);
    let mut row = row.clone();
    for (name, value) in [("uuid", key.pk().to_owned()), ("type", key.sk().to_owned()), (name, id.to_string())] {
        row.insert(name.to_owned(), s(value));
    }
    row.insert("created_at".to_owned(), s(at.to_string()));
    world.plant(row).await;
}

/// The ids of all pages of a list, and the number of pages.
async fn pages(world: &World, path: &str, name: &str) -> (Vec<String>, usize) {
    let (mut ids, mut cursor, mut count) = (Vec::new(), String::new(), 0);
    loop {
        let call = Call::get(&format!("{path}?limit=2{cursor}"), &world.operator.who);
        let page = world.api.send(&call).await.good().json();
        let of_page = page["items"].as_array().expect("items").iter();
        ids.extend(of_page.map(|item| item[name].as_str().expect("an id").to_owned()));
        count += 1;
        assert!(count < PAGES_MAX, "{path} does not end");
        match &page["next_cursor"] {
            Value::String(next) => cursor = format!("&cursor={next}"),
            _ => return (ids, count),
        }
    }
}

/// A world whose tenant was opened so many days ago.
async fn opened(name: &str, days: u32) -> World {
    let world = World::new(name).await;
    let root = format!("{}#tenant#root", world.tenant);
    let mut config = world.books().await.row(&root, "CONFIG").expect("a configuration").clone();
    config.insert("created_at".to_owned(), s(world.app.now().minus(DAY * days).to_string()));
    world.plant(config).await;
    world
}

#[tokio::test]
async fn acts_are_listed_back_to_the_opening_whatever_lies_between() {
    let world = opened("earlier-acts", 100).await;
    let books = world.books().await;
    let act = books.under("AUDIT#").next().expect("an act").2.clone();
    let tenant = world.slug();
    for days in [0, 1, 2, 40, 99, 100] {
        let at = world.app.now().minus(DAY * days).minus(Duration::from_secs(60));
        plant_earlier(&world, &act, "audit_id", at, |id| keys::audit(&tenant, AuditId::new(id))).await;
    }
    // By a clock that is a little ahead.
    let ahead = world.app.now().plus(Duration::from_secs(60));
    plant_earlier(&world, &act, "audit_id", ahead, |id| keys::audit(&tenant, AuditId::new(id))).await;
    let books = world.books().await;
    let mut all: Vec<String> = books.under("AUDIT#").map(|(_, _, act)| text(act, "audit_id").to_owned()).collect();
    all.sort_by(|a, b| b.cmp(a));
    let (listed, count) = pages(&world, "/v1/admin/audit", "audit_id").await;
    assert_eq!(listed, all);
    assert!(count >= 3, "a page ends after 31 days");
    // A day that is far in the future is the present one.
    let call = Call::get("/v1/admin/audit?limit=1&day=9999-12-31", &world.operator.who);
    let page = world.api.send(&call).await.good().json();
    assert_eq!(page["items"][0]["audit_id"], json!(all[0]));
    let call = Call::get("/v1/admin/audit?limit=1&day=2001-01-01", &world.operator.who);
    let page = world.api.send(&call).await.good().json();
    assert_eq!((&page["items"], page["next_cursor"].is_null()), (&json!([]), true), "before the tenant was opened");
}

#[tokio::test]
async fn inbox_is_listed_back_to_the_opening_whatever_lies_between() {
    let world = opened("earlier-approvals", 800).await;
    let customer = world.customer().await;
    let body = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "5", "reason": "spring"});
    let call = Call::post("/v1/admin/grants", &world.operator.who, &body).key(new_key());
    let stored = world.api.settle(&call).await.good();
    assert_eq!(stored.status, 202);
    let books = world.books().await;
    let approval = books.under("APPROVAL#").next().expect("a command").2.clone();
    let tenant = world.slug();
    for days in [1, 40, 330, 799] {
        let at = world.app.now().minus(DAY * days);
        plant_earlier(&world, &approval, "approval_id", at, |id| keys::approval(&tenant, ApprovalId::new(id))).await;
    }
    let books = world.books().await;
    let ids = books.under("APPROVAL#").map(|(_, _, row)| text(row, "approval_id").to_owned());
    let mut all: Vec<String> = ids.collect();
    all.sort_by(|a, b| b.cmp(a));
    let (listed, count) = pages(&world, "/v1/admin/approvals", "approval_id").await;
    assert_eq!(listed, all);
    assert!(count >= 3, "a page ends after ten months");
}
