//! An entry that cannot be published is put aside by reference, delays no other, and can be published later.

use super::{due, entry, id_of, ids, journal, minted};
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::Key;
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::Publisher;
use ledger_runtime::publishing::{Published, Sent};
use ledger_runtime::readback::{MetricSource, Sum};
use ledger_runtime::worker::Due;
use ledger_tests::audit::{opt_text, s, text};
use ledger_tests::cloud::gate;
use ledger_tests::http::World;
use ledger_tests::http::books::null;
use ledger_tests::http::event_tap::{EventTap, Mishap};
use ledger_tests::http::world::new_id;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Entries of one account, a minute apart, the oldest first.
fn entries(world: &World, customer: &str, count: u32) -> Vec<Item> {
    let id = |at| minted(Duration::from_secs(60) * (count - at), world);
    (0..count).map(|at| entry(world, customer, id(at), at % 4)).collect()
}

async fn put_aside(world: &World) -> u64 {
    let (now, hour) = (world.app.now(), Duration::from_secs(3600));
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let query = Sum { metric: Metric::EntryPutAside, tenant, operation: None, since: now.minus(hour), until: now };
    world.counting.sum(&query).await.expect("counters")
}

/// Publishes the entry that a dead letter references, as an operator would.
async fn again(world: &World, tap: &EventTap, letter: &Value) -> Result<Published, Problem> {
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let name = |name: &str| letter["entry"][name].as_str().expect("a key");
    let named = vec![Key::stored(&tenant, name("pk"), name("sk")).expect("a key of the tenant")];
    let publisher = Publisher::new(&world.app, Arc::new(tap.clone()));
    let due = Due { named, ..Due::everything(tenant) };
    gate::as_function("outbox", outbox::publish_due(&world.app, Some(&publisher), &due)).await
}

#[tokio::test]
async fn unpublishable_entries_are_put_aside_and_others_are_published() {
    let (world, tap) = (World::alone("poison").await, EventTap::default());
    let (customer, other, refused) = (new_id(), new_id(), new_id());
    let mut rows = entries(&world, &customer, 5);
    let _ = rows[1].remove("postings");
    let _ = rows[2].insert("odd".to_owned(), null());
    let _ = rows[3].insert("transaction_id".to_owned(), s("Hanako, 090-1234-5678"));
    let _ = rows[3].insert("created_at".to_owned(), null());
    rows.extend(entries(&world, &other, 2));
    rows.extend(entries(&world, &refused, 1));
    let mut good: Vec<String> = [0, 4, 5, 6].map(|at| id_of(&rows[at])).into();
    // Due index entries on items that are no journal entries.
    let stray = |pk: &str, sk: &str| {
        let mut row = entry(&world, &new_id(), minted(Duration::ZERO, &world), 0);
        row.extend([("uuid".to_owned(), s(pk)), ("type".to_owned(), s(sk)), ("_due_sk".to_owned(), s("!"))]);
        row
    };
    rows.push(stray("poison#tenant#root", "STRAY"));
    rows.push(stray(&format!("poison#customer#{other}"), "TXN#zzz"));
    for row in &rows {
        world.plant(row.clone()).await;
    }
    tap.group(&format!("poison#customer:{refused}"), Sent::Never("InvalidMessageContents".to_owned()));
    // A dead letter that is not stored delays its account only.
    tap.next_calls([Some(Mishap::Lost)]);
    assert!(world.publish(&tap, Vec::new()).await.is_err());
    assert_eq!(world.publish(&tap, Vec::new()).await.expect_err("two cannot be sealed").code(), "internal");
    let mut published = ids(&tap);
    published.sort_unstable();
    good.sort_unstable();
    assert_eq!(published, good);
    let letters = tap.letters();
    assert_eq!((letters.len(), put_aside(&world).await), (6, 6), "{letters:#?}");
    let books = world.books().await;
    // Every entry that can be read is sealed, whatever it holds; a stray due index entry is removed. The others are due to
    // be sealed, and are not published again.
    let due_keys = books.rows.iter().filter_map(|((_, sk), row)| Some((sk, opt_text(row, "_due_sk")?)));
    assert!(due_keys.clone().all(|(sk, due)| sk.starts_with("TXN#") && due.ends_with("#published")));
    assert_eq!((due_keys.count(), due(&books)), (2, 0));
    assert_eq!(books.under("TXN#").filter(|(_, _, row)| row.contains_key("_sealed")).count(), rows.len() - 4);
    for (at, why) in [(1, "sum to zero"), (2, "`odd`"), (3, "`created_at`"), (7, "InvalidMessageContents")] {
        let entry = json!({"pk": text(&rows[at], "uuid"), "sk": text(&rows[at], "type")});
        let letter = letters.iter().find(|letter| letter["entry"] == entry).expect("a letter");
        assert_eq!(letter["tenant"], "poison");
        assert!(letter["why"].as_str().is_some_and(|text| text.contains(why)), "{letter}");
    }
    let all = json!(letters).to_string();
    assert!(!all.contains("Hanako") && !all.contains("090-1234-5678") && !all.contains("k-secret"), "{all}");
    assert_eq!(world.publish(&tap, Vec::new()).await.expect_err("two cannot be sealed").code(), "internal");
    assert_eq!((tap.letters().len(), ids(&tap).len()), (6, good.len()));
}

#[tokio::test]
async fn entry_put_aside_is_published_on_request() {
    let (world, tap) = (World::alone("again").await, EventTap::default());
    let row = entries(&world, &new_id(), 1).remove(0);
    let mut broken = row.clone();
    let _ = broken.remove("postings");
    world.plant(broken).await;
    assert_eq!(world.publish(&tap, Vec::new()).await.expect("a run").dead_letters, 1);
    let letter = tap.letters().remove(0);
    // Still unreadable: the entry is put aside again.
    let once_more = again(&world, &tap, &letter).await.expect("a run");
    assert_eq!((once_more.dead_letters, tap.letters().len(), ids(&tap).len()), (1, 2, 0));
    // In place of a new version that can read the entry, the entry is repaired.
    let mut repaired = row.clone();
    for attribute in ["_due_pk", "_due_sk"] {
        let _ = repaired.remove(attribute);
    }
    world.plant(repaired).await;
    tap.next_calls([Some(Mishap::Lost)]);
    assert_eq!(again(&world, &tap, &letter).await.expect_err("lost").code(), "unavailable");
    assert_eq!(again(&world, &tap, &letter).await.expect("a run").published, 1);
    assert_eq!(ids(&tap), [id_of(&row)]);
    let missing = json!({"entry": {"pk": text(&row, "uuid"), "sk": format!("TXN#{}", new_id())}});
    assert_eq!(again(&world, &tap, &missing).await.expect_err("the entry does not exist").code(), "not_found");
}

/// Naming the last of three due entries publishes all three in order.
#[tokio::test]
async fn named_entry_is_published_after_older_due_ones() {
    let (world, tap) = (World::alone("named").await, EventTap::default());
    let rows = entries(&world, &new_id(), 3);
    for row in &rows {
        world.plant(row.clone()).await;
    }
    let last = json!({"entry": {"pk": text(&rows[2], "uuid"), "sk": text(&rows[2], "type")}});
    assert_eq!(again(&world, &tap, &last).await.expect("a run").published, 3);
    assert_eq!(tap.first_deliveries(), journal(&world.books().await));
    assert_eq!(due(&world.books().await), 3, "until they are sealed");
}
