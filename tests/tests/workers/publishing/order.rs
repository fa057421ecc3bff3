//! Older unpublished entries are published first, whichever entry the stream names and however many are due.

use super::{check, distinct, due, entry, entry_key, ids, minted, settle};
use futures::future::join_all;
use ledger_core::keys::Shards;
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{World, host};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

async fn one_shard(tenant: &str) -> World {
    World::with_terms(host::shared(), tenant, |terms| terms.due_shards = Shards::ONE).await
}

/// Two entries left by an outage precede the entry that the stream names. They are older than any margin, and behind
/// more due index entries of other accounts than one page holds.
#[tokio::test]
async fn entry_named_by_stream_is_published_after_older_ones() {
    let (world, tap) = (one_shard("overtake").await, EventTap::default());
    let others = (0..130).map(|at| entry(&world, &new_id(), minted(MINUTE * (300 - at), &world), 0));
    let _ = join_all(others.map(|row| world.plant(row))).await;
    let customer = new_id();
    let left = [MINUTE * 60, MINUTE * 40].map(|ago| minted(ago, &world));
    let young = minted(Duration::ZERO, &world);
    for id in left.into_iter().chain([young]) {
        world.plant(entry(&world, &customer, id, 0)).await;
    }
    let changed = entry_key(&format!("overtake#customer#{customer}"), &format!("TXN#{young}"));
    assert_eq!(world.publish(&tap, vec![changed]).await.expect("the store is available").published, 3);
    assert_eq!(ids(&tap), [left[0], left[1], young].map(|id| id.to_string()));
    settle(&world, &tap).await;
    check(&world, &tap).await;
}

/// More accounts than a batch, more due index entries than a page, more entries of one account than a read.
#[tokio::test]
async fn backlog_is_published_in_order() {
    let (world, tap) = (one_shard("backlog").await, EventTap::default());
    let mut rows = Vec::new();
    for account in 0..26 {
        let (customer, entries) = (new_id(), if account == 0 { 230 } else { 4 });
        let ids = (0..entries).map(|at| minted(Duration::from_secs(1200 - 5 * at), &world));
        rows.extend(ids.map(|id| entry(&world, &customer, id, 0)));
    }
    let entries = rows.len();
    for some in rows.chunks(50) {
        let _ = join_all(some.iter().map(|row| world.plant(row.clone()))).await;
    }
    assert_eq!(due(&world.books().await), entries);
    let done = world.publish(&tap, Vec::new()).await.expect("the store is available");
    assert_eq!((done.published, distinct(&tap).len(), ids(&tap).len()), (entries, entries, entries));
    check(&world, &tap).await;
}

/// The older entries are on other shards, of which only the oldest due index entries are read.
#[tokio::test]
async fn older_entries_on_other_shards_are_published_first() {
    let (world, tap) = (World::new("shards").await, EventTap::default());
    let customer = new_id();
    let ids_minted = [90, 60, 30, 0].map(|ago| minted(MINUTE * ago, &world));
    for (shard, id) in (0..4).zip(ids_minted) {
        world.plant(entry(&world, &customer, id, 3 - shard)).await;
    }
    let changed = entry_key(&format!("shards#customer#{customer}"), &format!("TXN#{}", ids_minted[2]));
    assert_eq!(world.publish(&tap, vec![changed]).await.expect("the store is available").published, 4);
    settle(&world, &tap).await;
    check(&world, &tap).await;
}
