//! Publishing without faults: every entry is published once, and a receiver's balances equal the ledger's.

use super::{check, distinct, due, ids, payers, rows, settle};
use ledger_core::ids::Tenant;
use ledger_runtime::metrics::Metric;
use ledger_runtime::publishing::{Published, Publisher};
use ledger_runtime::readback::{MetricSource, Sum};
use ledger_runtime::worker::Due;
use ledger_tests::cloud::gate;
use ledger_tests::http::World;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::workers::receiving;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

#[path = "../../../../crates/ledger-local/examples/consumer/book.rs"]
mod book;

/// A world in which each endpoint was called once. Some are prepared by seals, which publish to `tap`.
async fn busy(tenant: &str, tap: &EventTap) -> World {
    let world = World::alone(tenant).await;
    // Deliveries are held so that their number and time are fixed.
    world.hold_deliveries().await;
    let stage = Stage::new(world).await;
    receiving(tap, async {
        for endpoint in Endpoint::ALL {
            let prepared = endpoint.prepare(&stage).await;
            let _ = stage.world.api.settle(&prepared.call).await;
        }
    })
    .await;
    let customer = stage.world.customer().await;
    let topup = stage.world.paid_topup(&customer, "1000").await;
    let _ = stage.world.api.settle(&topup.refund(&stage.world, "100")).await.good();
    stage.world
}

#[tokio::test]
async fn every_entry_is_published_once() {
    let tap = EventTap::default();
    let world = busy("quiet", &tap).await;
    let (now, hour) = (world.app.now(), Duration::from_secs(3600));
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let counted = async |metric| {
        let query =
            Sum { metric, tenant: tenant.clone(), operation: None, since: now.minus(hour), until: now.plus(hour) };
        world.counting.sum(&query).await.expect("a sum")
    };
    let (earlier, runs) = (ids(&tap).len(), counted(Metric::OldestUnpublished).await);
    let done = world.publish(&tap, Vec::new()).await.expect("the store is available");
    let sent = ids(&tap);
    let published = sent.len() - earlier;
    assert!(published > 10 && sent.len() > 30, "{published} {}", sent.len());
    assert_eq!(done, Published { published, ..Published::default() });
    assert_eq!(distinct(&tap).len(), sent.len(), "each entry is sent once");
    check(&world, &tap).await;
    assert_eq!(world.publish(&tap, Vec::new()).await, Ok(Published::default()));
    assert_eq!(ids(&tap), sent);
    // Publishing and sealing change nothing of an entry but its due index entry and its stamp.
    let _ = world.check_books().await;
    assert_eq!((counted(Metric::OutboxLag).await, counted(Metric::OldestUnpublished).await), (0, runs + 2));
}

/// The stream's worker sends each entry and writes nothing. A tick's sends all of them again, unless it is the same
/// process, and seals them.
#[tokio::test]
async fn entries_of_the_stream_stay_due_until_a_tick_seals_them() {
    for is_one_process in [true, false] {
        let name = if is_one_process { "one-process" } else { "two-processes" };
        let (world, tap) = (World::alone(name).await, EventTap::default());
        let _ = payers(&world, 3, 2).await;
        let changed = rows(&world.books().await);
        let (entries, tenant) = (changed.len(), Tenant::parse(name).expect("a slug"));
        let stream = Publisher::new(&world.app, Arc::new(tap.clone()));
        let by_stream = Due { changed, ..Due::everything(tenant.clone()) };
        let sent = gate::as_function("outbox", outbox::publish_due(&world.app, Some(&stream), &by_stream)).await;
        assert_eq!(sent.expect("a run").published, entries);
        assert_eq!((ids(&tap).len(), due(&world.books().await)), (entries, entries));
        let since = world.app.now().minus(Duration::from_secs(3600));
        let lag =
            Sum { metric: Metric::OutboxLag, tenant: tenant.clone(), operation: None, since, until: world.app.now() };
        assert_eq!(world.counting.sum(&lag).await, Ok(u64::try_from(entries).expect("a count")));
        let tick = if is_one_process { stream } else { Publisher::new(&world.app, Arc::new(tap.clone())) };
        let passed =
            gate::as_function("outbox", outbox::pass_due(&world.app, Some(&tick), &tenant)).await.expect("a run");
        assert!(passed.sealed.records >= entries, "{passed:?}");
        let repeated = if is_one_process { 0 } else { entries };
        assert_eq!((passed.events.published, ids(&tap).len()), (repeated, entries + repeated));
        check(&world, &tap).await;
        let _ = world.check_books().await;
    }
}

#[tokio::test]
async fn deduplicating_receiver_has_the_ledgers_balances() {
    let tap = EventTap::default();
    let world = busy("receiver", &tap).await;
    settle(&world, &tap).await;
    let mut book = book::Book::default();
    let events: Vec<String> = tap.delivered().into_iter().map(|delivery| delivery.body).collect();
    // Each event twice in a row, and all of them again at the end.
    let again = events.iter().flat_map(|event| [event, event]).chain(&events);
    let new = again.filter(|event| book.take(event).expect("an event")).count();
    assert_eq!((new, book.transactions()), (events.len(), events.len()));
    let books = world.check_books().await;
    for ((account, asset), balance) in book.balances() {
        assert_eq!(*balance, books.posted(account, asset), "{account} {asset}");
    }
    let mut sums = BTreeMap::<&str, Decimal>::new();
    for ((_, asset), balance) in book.balances() {
        *sums.entry(asset).or_default() += balance;
    }
    assert!(sums.len() > 1 && sums.values().all(Decimal::is_zero), "{sums:?}");
    // An event of another type, or of none, is refused.
    let mut other: Value = serde_json::from_str(&events[0]).expect("JSON");
    other["type"] = json!("ecopay.ledger.transaction.v2");
    assert!(book.take(&other.to_string()).is_err() && book.take("{}").is_err());
    assert_eq!(book.transactions(), events.len());
}
