//! The command that writes what lists and searches find records by, where it is missing or of an earlier key.

use super::{found, keys_of_stack, opened_at_once, pages, search};
use futures::future::join_all;
use ledger_core::cards::record::{CardIssue, plan_issue};
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::{Actor, MerchantId, StaffId};
use ledger_core::keys::Shards;
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::transaction::{Draft, Transaction};
use ledger_core::{merchants, terminals};
use ledger_local::tenant_command::{ReindexCommand, TenantError, reindex};
use ledger_local::{marker_keys, seed};
use ledger_tests::cloud::gate;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Call, Host, World};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The stack's keys in a file, as the command reads them.
struct KeyFile(PathBuf);

impl KeyFile {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ledger-{name}-{}.json", new_id()));
        std::fs::write(&path, marker_keys::in_memory().expose()).expect("a file");
        Self(path)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A tenant with records that lists and searches do not find, and with some under another key.
struct Earlier {
    host: Arc<Host>,
    world: World,
    file: KeyFile,
    customers: Vec<String>,
}

impl Earlier {
    async fn new(slug: &str) -> Self {
        let host = Host::fresh();
        let world = World::with_terms(Arc::clone(&host), slug, |_| {}).await;
        let other = MarkerKeys::parse(&format!(r#"{{"current":"k0","k0":"{}"}}"#, "z".repeat(64))).expect("keys");
        let mut customers = opened_at_once(&world, 6, &keys_of_stack()).await;
        let merchant = MerchantId::parse(&new_id()).expect("a UUID");
        let actor = Actor::Staff(StaffId::parse(&world.operator.id).expect("a UUID"));
        let (name, tenant) = (FreeText::parse("Aoba Coffee", 80).expect("a name"), world.slug());
        let cx = || world.app.ledger().context(world.app.now()).expect("a context");
        let terms = seed::terms().expect("the demo's terms");
        let opened = merchants::plan_open(&tenant, Some(merchant), &name, Shards::ONE, &terms, actor, &cx());
        stored(&world, opened.expect("a plan").draft, Operation::MerchantOpen).await;
        let till = terminals::plan_open(&tenant, None, merchant, actor, &cx());
        stored(&world, till.expect("a plan").draft, Operation::TerminalOpen).await;
        let card = CardIssue { tenant: &tenant, card: None, owner: None, expires_at: None, actor };
        let card = plan_issue(&card, &cx()).expect("a plan");
        stored(&world, card.draft, Operation::CardIssue).await;
        unlist(&world, &["#customer#", "#terminal#", "#card#", "#merchant#"]).await;
        customers.extend(opened_at_once(&world, 3, &other).await);
        customers.extend(opened_at_once(&world, 2, &keys_of_stack()).await);
        Self { host, world, file: KeyFile::new(slug), customers }
    }

    fn command(&self, verify: bool, units_per_second: u32) -> ReindexCommand {
        let stack = self.host.stack();
        ReindexCommand {
            slug: self.world.tenant.clone(),
            marker_keys: self.file.0.clone(),
            verify,
            units_per_second,
            table: stack.table().to_owned(),
            endpoint_url: Some(stack.dynamodb_url().to_owned()),
        }
    }

    async fn run(&self, verify: bool) -> (String, bool) {
        gate::as_test(reindex(&self.command(verify, 1_000_000), |_| {})).await.expect("it runs")
    }
}

async fn stored(world: &World, draft: Draft, operation: Operation) {
    let transaction = Transaction::unkeyed(draft.items).expect("a transaction");
    gate::as_test(world.app.ledger().apply(&world.slug(), operation, &transaction)).await.expect("a store");
}

/// Removes what lists and searches find customers, cards, terminals and merchants' names by, in these partitions. A merchant
/// itself is in a list of its own.
async fn unlist(world: &World, partitions: &[&str]) {
    let is_of = |pk: &str| partitions.iter().any(|of| pk.contains(of));
    for ((pk, sk), mut row) in world.books().await.rows.into_iter().filter(|((pk, _), _)| is_of(pk)) {
        if sk.starts_with("LOOKUP#") {
            world.remove(&pk, &sk).await;
        } else if !pk.contains("#merchant#") && row.remove("owner_pk").is_some() && row.remove("owner_sk").is_some() {
            world.plant(row).await;
        }
    }
}

/// Asserts how many of the one card, merchant and terminal differ, and of the customers.
fn assert_counts(text: &str, each: usize, customers: usize) {
    let one = |kind| format!("{kind}: 1 read, {each} differ");
    let customers = format!("customers: 11 read, {customers} differ");
    let none = "top-ups: 0 read, 0 differ".to_owned();
    assert_eq!(text, [one("cards"), customers, one("merchants"), one("terminals"), none].join("; "));
}

#[tokio::test]
async fn records_of_an_earlier_version_and_key_are_found_after_they_are_indexed() {
    let earlier = Earlier::new("found-later").await;
    let world = &earlier.world;
    assert_eq!(found(world, &json!({"phone": "03-1234-5678"})).await.len(), 2);
    assert_eq!(pages(world, "/v1/admin/customers").await.0.len(), 5);
    let (text, is_whole) = earlier.run(true).await;
    assert_counts(&text, 1, 9);
    assert!(!is_whole);
    // Stopped where it waits after the first page, it is run again.
    let slow = earlier.command(false, 1);
    let stopped = tokio::time::timeout(Duration::from_millis(400), gate::as_test(reindex(&slow, |_| {}))).await;
    assert!(stopped.is_err(), "a read unit a second is not enough");
    let (text, is_whole) = earlier.run(false).await;
    assert!(is_whole && text.contains("customers: 11 read, "), "{text}");
    let (text, is_whole) = earlier.run(true).await;
    assert_counts(&text, 0, 0);
    assert!(is_whole);
    let wanted: BTreeSet<String> = earlier.customers.iter().cloned().collect();
    assert_eq!(found(world, &json!({"phone": "03-1234-5678"})).await.into_iter().collect::<BTreeSet<_>>(), wanted);
    assert_eq!(found(world, &json!({"name": "customer5"})).await, [earlier.customers[5].clone()]);
    let (items, _) = pages(world, "/v1/admin/customers?limit=4").await;
    assert_eq!(items.len(), 11);
    assert_eq!(
        search(world, "merchants", &json!({"name": "aoba"})).await.good().json()["items"][0]["name"],
        "Aoba Coffee"
    );
    for path in ["/v1/admin/terminals", "/v1/admin/cards"] {
        assert_eq!(pages(world, path).await.0.len(), 1, "{path}");
    }
    let _ = world.check_books().await;
}

#[tokio::test]
async fn topups_that_are_in_no_list_are_on_the_timeline_after_they_are_indexed() {
    let (host, slug) = (Host::fresh(), "found-timeline");
    let world = World::with_terms(Arc::clone(&host), slug, |_| {}).await;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let _ = world.topup(&customer, "500").await;
    let path = format!("/v1/admin/customers/{}", customer.id);
    world.change(&path, &json!({"status": "frozen"})).await;
    let timeline = async || {
        let file = world.api.send(&Call::get(&format!("{path}/file"), &world.operator.who)).await.good().json();
        file["timeline"].as_array().expect("a timeline").clone()
    };
    let whole = timeline().await;
    assert_eq!(whole.len(), 3, "an act, a top-up and an act: {whole:?}");
    let books = world.books().await;
    for (_, _, row) in books.under("TOPUP") {
        let mut earlier = row.clone();
        if earlier.remove("owner_pk").is_some() && earlier.remove("owner_sk").is_some() {
            world.plant(earlier).await;
        }
    }
    assert_eq!(timeline().await.len(), 2, "the acts");
    let earlier = Earlier { host, world, file: KeyFile::new(slug), customers: Vec::new() };
    let (text, is_whole) = earlier.run(false).await;
    assert!(is_whole && text.contains("top-ups: 1 read, 1 were written"), "{text}");
    let world = &earlier.world;
    let file = world.api.send(&Call::get(&format!("{path}/file"), &world.operator.who)).await.good().json();
    assert_eq!(file["timeline"], json!(whole));
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn customers_that_change_while_they_are_indexed_are_found_by_what_they_became() {
    let earlier = Earlier::new("found-meanwhile").await;
    let world = &earlier.world;
    let changes = join_all(earlier.customers.iter().enumerate().map(async |(number, id)| {
        let body = json!({"name": format!("Other {number}"), "phone": format!("03-9999-{number:04}")});
        world.change(&format!("/v1/admin/customers/{id}"), &body).await;
    }));
    let ((_, is_whole), _) = futures::join!(earlier.run(false), changes);
    assert!(is_whole);
    let (text, is_whole) = earlier.run(true).await;
    assert!(is_whole, "{text}");
    for (number, id) in earlier.customers.iter().enumerate() {
        assert_eq!(found(world, &json!({"phone": format!("03-9999-{number:04}")})).await, std::slice::from_ref(id));
    }
    assert_eq!(found(world, &json!({"phone": "03-1234-5678"})).await, Vec::<String>::new());
}

#[tokio::test]
async fn tenant_that_is_not_open_and_files_without_keys_are_refused_by_the_command() {
    let host = Host::fresh();
    let world = World::with_terms(Arc::clone(&host), "found-never", |_| {}).await;
    let file = KeyFile::new("found-never");
    let (table, url) = (host.stack().table().to_owned(), host.stack().dynamodb_url().to_owned());
    let command = |slug: &str, keys: PathBuf| ReindexCommand {
        slug: slug.to_owned(),
        marker_keys: keys,
        verify: false,
        units_per_second: 1000,
        table: table.clone(),
        endpoint_url: Some(url.clone()),
    };
    let run = async |command: ReindexCommand| -> TenantError {
        gate::as_test(reindex(&command, |_| {})).await.expect_err("a refusal")
    };
    assert!(run(command("found-nowhere", file.0.clone())).await.to_string().contains("is not open"));
    assert!(run(command(&world.tenant, PathBuf::from("/nowhere/keys.json"))).await.to_string().contains("cannot read"));
    std::fs::write(&file.0, "{}").expect("a file");
    assert!(run(command(&world.tenant, file.0.clone())).await.to_string().contains("marker keys"));
}
