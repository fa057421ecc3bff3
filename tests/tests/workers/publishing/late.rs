//! While no event is taken, entries are sealed all the same. They are published later, before their account's others.

use super::{check, due, entry, ids, journal, minted, reset, settle};
use ledger_core::crediting::VolumeLimits;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::Shards;
use ledger_runtime::problem::Problem;
use ledger_runtime::publishing::{Publisher, Sent};
use ledger_runtime::sealing::{self, Pass, Passed, RUN_TIME_MAX};
use ledger_tests::audit::{Books, opt_text, s};
use ledger_tests::chance::killed_after;
use ledger_tests::cloud::gate;
use ledger_tests::http::event_tap::{EventTap, Mishap};
use ledger_tests::http::world::new_id;
use ledger_tests::http::{World, host};
use std::sync::Arc;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const OLD: Duration = Duration::from_secs(6 * 60);

/// Publishes and seals what is due, as a tick does.
async fn pass(world: &World, tap: &EventTap) -> Result<Passed, Problem> {
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let run = async {
        let shards = world.app.terms(&tenant).await?.due_shards;
        let publisher = Publisher::new(&world.app, Arc::new(tap.clone()));
        let entries = Some(publisher.sweep(&tenant, shards));
        sealing::run(
            &world.app,
            &tenant,
            Pass { shards, entries, volumes: VolumeLimits::default(), time_max: RUN_TIME_MAX },
        )
        .await
    };
    gate::as_function("outbox", run).await
}

/// Entries of an account that were written this long ago, a second apart.
fn written(world: &World, customer: &str, ago: Duration, count: u32) -> Vec<Item> {
    let entry_at = |at: u32| {
        let before = ago.saturating_sub(Duration::from_secs(at.into()));
        let mut row = entry(world, customer, minted(before, world), 0);
        row.insert("created_at".to_owned(), s(world.app.now().minus(before).rfc3339()));
        row
    };
    (0..count).map(entry_at).collect()
}

async fn plant(world: &World, rows: &[Item]) {
    for row in rows {
        world.plant(row.clone()).await;
    }
}

/// The number of entries that are sealed and not published.
fn late(books: &Books) -> usize {
    let is_late = |row: &Item| opt_text(row, "_due_pk").is_some_and(|mark| mark.contains("#due#publish_late#"));
    let late = || books.under("TXN#").filter(|(_, _, row)| is_late(row));
    assert!(late().all(|(_, _, row)| row.contains_key("_sealed") && row.contains_key("_due_sk")));
    late().count()
}

/// A tenant with one shard. The trail has no record of its founders: it would be sealed with what a test plants.
async fn one_shard(tenant: &str) -> World {
    let world = World::with_terms(host::shared(), tenant, |terms| terms.due_shards = Shards::ONE).await;
    for (pk, sk, _) in world.books().await.under("AUDIT#") {
        world.remove(pk, sk).await;
    }
    world
}

#[tokio::test]
async fn entries_are_sealed_while_the_queue_is_out_and_published_in_order_after() {
    let (world, tap) = (one_shard("queue-out").await, EventTap::default());
    let (customer, other) = (new_id(), new_id());
    let old = [written(&world, &customer, OLD, 3), written(&world, &other, OLD, 2)].concat();
    plant(&world, &old).await;
    plant(&world, &written(&world, &customer, MINUTE, 2)).await;
    tap.every_call(Some(Mishap::Lost));
    let passed = pass(&world, &tap).await.expect("a run");
    assert_eq!((passed.events.published, passed.events.waiting), (0, 2));
    // Those that wait for five minutes are sealed, the younger ones are not.
    let books = world.books().await;
    assert_eq!((late(&books), due(&books)), (old.len(), old.len() + 2));
    books.check_sealed();
    // A run that finds the queue out again changes nothing.
    let _ = pass(&world, &tap).await.expect("a run");
    assert_eq!(late(&world.books().await), old.len());
    tap.every_call(None);
    let passed = pass(&world, &tap).await.expect("a run");
    assert_eq!((passed.events.published, passed.sealed.records), (old.len() + 2, 2));
    check(&world, &tap).await;
    let books = world.books().await;
    assert_eq!((late(&books), ids(&tap).len()), (0, old.len() + 2));
    books.check_sealed();
}

#[tokio::test]
async fn run_of_the_function_seals_entries_whose_event_is_not_taken() {
    let (world, tap) = (World::with_terms(host::shared(), "late", |_| {}).await, EventTap::default());
    plant(&world, &written(&world, &new_id(), OLD, 3)).await;
    tap.every_call(Some(Mishap::Lost));
    assert_eq!(world.publish(&tap, Vec::new()).await.expect_err("the queue is out").code(), "unavailable");
    let books = world.books().await;
    assert_eq!((late(&books), due(&books)), (3, 3));
    tap.every_call(None);
    settle(&world, &tap).await;
    check(&world, &tap).await;
    assert_eq!(late(&world.books().await), 0);
}

/// A segment that follows the lane's end was planted. What is published then waits for its seal alone.
#[tokio::test]
async fn published_entry_that_cannot_be_sealed_is_not_published_again() {
    let (world, tap) = (World::with_terms(host::shared(), "unsealed", |_| {}).await, EventTap::default());
    plant(&world, &written(&world, &new_id(), MINUTE, 1)).await;
    assert_eq!(world.publish(&tap, Vec::new()).await.expect("a run").published, 1);
    let books = world.books().await;
    let (_, sk, row) = books.under("SEGMENT#").last().expect("a segment");
    let (lane, number) = sk.rsplit_once('#').expect("a number");
    let next = number.parse::<u32>().expect("a number") + 1;
    let mut foreign = row.clone();
    foreign.insert("type".to_owned(), s(format!("{lane}#{next:0width$}", width = number.len())));
    world.plant(foreign).await;

    plant(&world, &written(&world, &new_id(), MINUTE, 2)).await;
    tap.forget();
    assert_eq!(world.publish(&tap, Vec::new()).await.expect_err("a changed lane").code(), "internal");
    let _ = world.publish(&tap, Vec::new()).await;
    assert_eq!(ids(&tap).len(), 2);
    let books = world.books().await;
    let is_to_seal = |row: &Item| opt_text(row, "_due_sk").is_some_and(|due| due.ends_with("#published"));
    assert_eq!(books.under("TXN#").filter(|(_, _, row)| is_to_seal(row)).count(), 2);
    assert_eq!(due(&books), 0);
}

/// A new entry of an account with a late one, as the stream brings it.
#[tokio::test]
async fn late_entry_is_published_before_a_new_one_that_the_stream_brings() {
    let (world, tap) = (one_shard("late-stream").await, EventTap::default());
    let customer = new_id();
    plant(&world, &written(&world, &customer, MINUTE * 60, 1)).await;
    tap.every_call(Some(Mishap::Lost));
    let _ = pass(&world, &tap).await.expect("a run");
    assert_eq!(late(&world.books().await), 1);
    tap.every_call(None);
    let new = written(&world, &customer, Duration::ZERO, 1);
    plant(&world, &new).await;
    assert_eq!(world.publish(&tap, new).await.expect("a run").published, 2);
    assert_eq!(tap.first_deliveries(), journal(&world.books().await));
    settle(&world, &tap).await;
    check(&world, &tap).await;
}

/// More accounts than make an outage, and more entries of one than a read returns.
#[tokio::test]
async fn backlog_is_sealed_in_one_run_while_the_queue_is_out() {
    let (world, tap) = (one_shard("late-backlog").await, EventTap::default());
    let mut entries = 0;
    for account in 0..50 {
        let rows = written(&world, &new_id(), OLD * 2, if account == 0 { 230 } else { 2 });
        entries += rows.len();
        plant(&world, &rows).await;
    }
    tap.every_call(Some(Mishap::Lost));
    let passed = pass(&world, &tap).await.expect("a run");
    assert_eq!((passed.sealed.records, passed.events.published), (entries, 0));
    // An account that waits is asked for once; after that the queue is known to be out.
    assert!(passed.events.waiting >= 50, "{passed:?}");
    assert_eq!(late(&world.books().await), entries);
    tap.every_call(None);
    assert_eq!(pass(&world, &tap).await.expect("a run").events.published, entries);
    check(&world, &tap).await;
    assert_eq!(late(&world.books().await), 0);
}

/// One account's events are not taken. The others are published and sealed.
#[tokio::test]
async fn account_whose_events_are_not_taken_is_sealed_and_delays_no_other() {
    let (world, tap) = (one_shard("late-one").await, EventTap::default());
    let (stuck, other) = (new_id(), new_id());
    plant(&world, &written(&world, &stuck, OLD, 3)).await;
    plant(&world, &written(&world, &other, OLD, 3)).await;
    let group = format!("late-one#customer:{stuck}");
    tap.group(&group, Sent::Later("throttled".to_owned()));
    let passed = pass(&world, &tap).await.expect("a run");
    assert_eq!((passed.events.published, passed.sealed.records), (3, 6));
    assert_eq!(late(&world.books().await), 3);
    tap.group(&group, Sent::Taken);
    assert_eq!(pass(&world, &tap).await.expect("a run").events.published, 3);
    check(&world, &tap).await;
}

/// Runs that crash at each step, while the queue comes and goes.
#[tokio::test]
async fn crash_at_any_step_of_an_outage_loses_no_event_and_seals_each_entry_once() {
    let (world, tap) = (one_shard("late-crash").await, EventTap::default());
    let mut rows = Vec::new();
    for _ in 0..3 {
        let customer = new_id();
        rows.extend(written(&world, &customer, OLD, 2));
        rows.extend(written(&world, &customer, MINUTE, 1));
    }
    let (mut steps, mut crashes) = (1, 0);
    loop {
        reset(&world, &rows).await;
        tap.forget();
        tap.every_call(Some(Mishap::Lost));
        let ended_out = killed_after(steps, pass(&world, &tap)).await;
        tap.every_call(None);
        let ended = killed_after(steps, pass(&world, &tap)).await;
        for _ in 0..2 {
            let _ = pass(&world, &tap).await.expect("a run");
        }
        check(&world, &tap).await;
        let books = world.books().await;
        assert_eq!(late(&books), 0, "{steps}");
        books.check_sealed();
        if ended_out && ended {
            break;
        }
        crashes += 1;
        steps += if steps < 20 { 1 } else { 3 };
    }
    assert!(crashes > 2, "only {crashes} steps");
}
