//! Sealing seals each record once: workers that crash at any write, and two at once.
use crate::audit_trail::{assert_all_sealed, busy, records, seal, verified, verified_in, with};
use futures::future::{join, join_all};
use ledger_core::crediting::VolumeLimits;
use ledger_core::dynamo::Item;
use ledger_core::ids::{AuditId, Tenant, least_born_at};
use ledger_core::keys;
use ledger_runtime::sealing::{self, Pass};
use ledger_tests::audit::{s, text};
use ledger_tests::cloud::gate;
use ledger_tests::http::books::null;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::{Rig, until};
use ledger_tests::http::{Call, World};
use serde_json::json;
use std::time::Duration;

/// The number of rows under a prefix.
async fn count(world: &World, prefix: &'static str) -> usize {
    world.books().await.under(prefix).count()
}

/// A sealing worker crashes at one of its writes: it opens the lanes, and writes a segment. Another finishes at once.
async fn cell(rig: &Rig, write: usize, fault: Fault) {
    let name = format!("seal-{write}-{}", if matches!(fault, Fault::Held) { "before" } else { "after" });
    let (world, victim, rescuer) = (busy(rig, &name).await, rig.victim().await, rig.actor().await);
    let is_after = matches!(fault, Fault::AnswerLost);
    victim.tap.next_writes((0..write).map(|_| None).chain([Some(fault)]));
    let (actor, tenant) = (victim.clone(), world.tenant.clone());
    let running = tokio::spawn(async move { seal(&actor, &tenant).await });
    victim.met().await;
    if is_after {
        let written = if write == 0 { "HEAD" } else { "SEGMENT#0000000001" };
        until("the write is done", async || count(&world, written).await == 1).await;
    }
    running.abort();
    // Verification passes between the crash and the recovery.
    assert_eq!(verified(&world).await.findings, [], "{name}");
    world.books().await.check_sealed();
    // Nothing is held: there is no lease to wait for.
    let _ = seal(&rescuer, &world.tenant).await.expect("the run succeeds");
    assert_all_sealed(&world, &name).await;
    let again = seal(&rescuer, &world.tenant).await.expect("the run succeeds");
    assert_eq!((again.records, again.segments), (0, 0), "{name}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_verifies_after_crash_at_any_sealing_write() {
    let rig = Rig::new().await;
    let faults = || [Fault::Held, Fault::AnswerLost].into_iter();
    let cells = (0..2).flat_map(|write| faults().map(move |fault| (write, fault)));
    let _ = join_all(cells.map(|(write, fault)| cell(&rig, write, fault))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_outcome_of_a_segment_is_resolved_by_the_next_run() {
    let rig = Rig::new().await;
    let (world, worker) = (busy(&rig, "unknown-seal").await, rig.actor().await);
    worker.tap.next_writes([None, Some(Fault::AnswerCut)]);
    let first = seal(&worker, &world.tenant).await;
    // The SDK asks again under the same token, or the run fails: either way the next one finds what was written.
    assert!(first.as_ref().map_or(true, |sealed| sealed.segments == 1), "{first:?}");
    let again = seal(&worker, &world.tenant).await.expect("the run succeeds");
    assert_eq!((again.records, again.segments), (0, 0));
    assert_all_sealed(&world, "an unknown outcome").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_sealing_seals_each_record_once() {
    let rig = Rig::new().await;
    let (world, one, two) = (busy(&rig, "two-seal").await, rig.actor().await, rig.actor().await);
    let (by_one, by_two) = join(seal(&one, &world.tenant), seal(&two, &world.tenant)).await;
    let sealed = by_one.expect("the run succeeds").records + by_two.expect("the run succeeds").records;
    assert_eq!(sealed, records(&world.books().await).len());
    assert_all_sealed(&world, "two at once").await;
    // A worker that published the entry and could not seal it restores the due index entry; the next run removes it.
    let books = world.books().await;
    let (pk, sk, _) = books.under("TXN#").next().expect("an entry");
    let row = books.stored(pk, sk).expect("an entry");
    let mark = s(format!("{}#due#publish#0", world.tenant));
    let id = s(format!("{}#published", sk.trim_start_matches("TXN#")));
    world.plant(with(&with(row, "_due_pk", mark), "_due_sk", id)).await;
    assert_eq!(seal(&one, &world.tenant).await.expect("the run succeeds").records, 0);
    assert_all_sealed(&world, "a late due index entry").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noted_heads_stay_in_the_chain_while_two_workers_seal() {
    let rig = Rig::new().await;
    let (world, one, two) = (busy(&rig, "noted").await, rig.actor().await, rig.actor().await);
    let _ = seal(&one, &world.tenant).await.expect("the run succeeds");
    let noted = verified(&world).await.last.expect("a head").hash;
    for round in 1..4 {
        world.grant(&world.customer().await, "POINT", "5").await;
        let (by_one, by_two) = join(seal(&one, &world.tenant), seal(&two, &world.tenant)).await;
        let (by_one, by_two) = (by_one.expect("the run succeeds"), by_two.expect("the run succeeds"));
        assert!(by_one.records + by_two.records > 0, "{round}: {by_one:?} {by_two:?}");
        assert_all_sealed(&world, &format!("two, round {round}")).await;
    }
    // An hour later a binding is due.
    one.clock.ahead(Duration::from_secs(60 * 60));
    let _ = seal(&one, &world.tenant).await.expect("the run succeeds");
    // A head that was noted before is in the chain, and so is each that is noted since.
    let found = verified_in(&world, Duration::ZERO, Some(&noted)).await;
    assert_eq!(found.findings, []);
    let last = found.last.expect("a head").hash;
    assert_ne!(last, noted);
    assert_eq!(verified_in(&world, Duration::ZERO, Some(&last)).await.findings, []);
    for lane in found.lanes {
        let head = lane.hash.to_string();
        assert_eq!(verified_in(&world, Duration::ZERO, Some(&head)).await.findings, []);
    }
    // The API shows the chain.
    let seals = world.api.send(&Call::get("/v1/admin/audit/seals", &world.operator.who)).await.good().json();
    assert_eq!(seals["last"]["hash"], json!(last));
    assert_eq!(seals["segments"], json!(verified(&world).await.segments));
    let days = seals["days"].as_array().expect("days");
    assert!(days.iter().any(|day| day["hash"] == json!(last)), "{seals}");
    let records: u64 = days.iter().filter_map(|day| day["records"].as_u64()).sum();
    assert_eq!(records, found.records, "{seals}");
}

/// Published entries that wait for their seal, each like one of the world's.
async fn due_entries(world: &World, count: u32) -> Vec<Item> {
    let books = world.books().await;
    let entry = books.under("TXN#").map(|(_, _, row)| row.clone()).next().expect("an entry");
    let due = |number| {
        let id = format!("019aa000-0000-7000-8000-{number:012}");
        let row = with(&entry, "type", s(format!("TXN#{id}")));
        let row = with(&row, "_due_pk", s(format!("{}#due#publish#0", world.tenant)));
        with(&with(&row, "transaction_id", s(&id)), "_due_sk", s(format!("{id}#published")))
    };
    (0..count).map(due).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_record_does_not_stop_the_others_and_segments_are_full() {
    let rig = Rig::new().await;
    let (world, worker) = (busy(&rig, "many-due").await, rig.actor().await);
    let mut bad = None;
    for (number, mut row) in due_entries(&world, 210).await.into_iter().enumerate() {
        if number == 100 {
            bad = Some(row.clone());
            row = with(&row, "more", null());
        }
        world.plant(row).await;
    }
    let due = records(&world.books().await).len();
    assert!(seal(&worker, &world.tenant).await.is_err(), "one record cannot be sealed");
    let books = world.books().await;
    let sealed =
        records(&books).iter().filter(|(pk, sk)| books.row(pk, sk).expect("a row").contains_key("_sealed")).count();
    assert_eq!(sealed, due - 1);
    // Segments are full but for the last.
    assert_eq!(books.under("SEGMENT#").count(), sealed.div_ceil(96));
    assert_eq!(verified(&world).await.findings, []);
    world.plant(bad.expect("a record")).await;
    assert_eq!(seal(&worker, &world.tenant).await.expect("the run succeeds").records, 1);
    assert_all_sealed(&world, "many due").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_that_ends_behind_doubles_the_lanes_up_to_16() {
    let rig = Rig::new().await;
    let (world, worker) = (busy(&rig, "behind").await, rig.actor().await);
    for row in due_entries(&world, 400).await {
        world.plant(row).await;
    }
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let shards = gate::as_test(worker.app.terms(&tenant)).await.expect("terms").due_shards;
    let run = async |time_max| {
        let pass = Pass { shards, entries: None, volumes: VolumeLimits::default(), time_max };
        let passed = gate::as_function("outbox", sealing::run(&worker.app, &tenant, pass)).await;
        passed.expect("the run succeeds").sealed
    };
    for lanes in [2, 4, 8, 16, 16] {
        // No time is left for a segment.
        assert_eq!(run(Duration::ZERO).await.records, 0, "{lanes}");
        assert_eq!(count(&world, "HEAD").await, lanes);
    }
    assert!(run(sealing::RUN_TIME_MAX).await.records >= 400);
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    assert_all_sealed(&world, "behind").await;
    assert_eq!(count(&world, "HEAD").await, 16, "a run that keeps up leaves the lanes as they are");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn binding_is_written_once_an_hour_and_covers_every_lane() {
    let rig = Rig::new().await;
    let (world, worker) = (busy(&rig, "bound").await, rig.actor().await);
    let bindings = async || count(&world, "BINDING#").await;
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    assert_eq!(bindings().await, 1);
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    assert_eq!(bindings().await, 1, "within the hour");
    worker.clock.ahead(Duration::from_secs(60 * 60));
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    assert_eq!(bindings().await, 2, "an hour later, though nothing is due");
    worker.clock.ahead(Duration::from_secs(2 * 60 * 60));
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    assert_eq!(bindings().await, 2, "nothing was sealed since");
    assert_all_sealed(&world, "bound").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acts_of_earlier_days_are_sealed() {
    let rig = Rig::new().await;
    let world = busy(&rig, "acts-earlier").await;
    let (books, tenant, day) = (world.books().await, world.slug(), Duration::from_secs(24 * 60 * 60));
    let act = books.under("AUDIT#").next().expect("an act").2.clone();
    let mut config = books.row(&format!("{tenant}#tenant#root"), "CONFIG").expect("a configuration").clone();
    config.insert("created_at".to_owned(), s(world.app.now().minus(day * 40).to_string()));
    world.plant(config).await;
    // More of one day than a page of a shard has.
    let now = world.app.now();
    for number in 0..450_u32 {
        let days = if number < 440 { 3 } else { number - 430 };
        let at = now.minus(day * days).minus(Duration::from_millis(number.into()));
        let mut id = least_born_at(at).into_bytes();
        id[15] = if number < 440 { 4 } else { 1 };
        let key = keys::audit(&tenant, AuditId::new(uuid::Uuid::from_bytes(id)));
        let mut row = with(&with(&act, "uuid", s(key.pk())), "type", s(key.sk()));
        row.insert("created_at".to_owned(), s(at.to_string()));
        row.remove("owner_pk");
        row.remove("owner_sk");
        world.plant(row).await;
    }
    let sealed = seal(&rig.actor().await, &world.tenant).await.expect("the run succeeds");
    assert!(sealed.records > 450, "{sealed:?}");
    assert_all_sealed(&world, "acts of earlier days").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_acts_are_listed_until_they_are_old_enough() {
    let rig = Rig::new().await;
    let (world, worker) = (busy(&rig, "acts-listed").await, rig.actor().await);
    for _ in 0..12 {
        world.grant(&world.customer().await, "POINT", "5").await;
    }
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    let until = async || {
        let books = world.books().await;
        text(books.row(&format!("{}#lane#0", world.tenant), "HEAD").expect("a head"), "acts_until").to_owned()
    };
    let (before, segments) = (until().await, count(&world, "SEGMENT#").await);
    // By a clock that is ten minutes ahead, an act that is being committed has an earlier time than the worker's.
    assert!(*before <= *world.app.now().minus(Duration::from_secs(10 * 60)).rfc3339(), "{before}");
    worker.clock.ahead(Duration::from_secs(20 * 60));
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    let after = until().await;
    assert!(after > before, "{before} {after}");
    assert_eq!(count(&world, "SEGMENT#").await, segments, "without a segment");
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    assert_eq!(until().await, after, "nothing is left to skip");
    assert_all_sealed(&world, "acts").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_ten_minutes_apart_leave_no_act_unsealed() {
    let rig = Rig::new().await;
    let (world, worker) = (busy(&rig, "skewed-seal").await, rig.actor().await);
    for skew_s in [600, -600, 600] {
        worker.clock.skew_s(skew_s);
        // The act's id has the time of the API's clock.
        world.grant(&world.customer().await, "POINT", "5").await;
        let sealed = seal(&worker, &world.tenant).await.expect("the run succeeds");
        assert!(sealed.records > 0, "{skew_s}");
        assert_all_sealed(&world, &format!("{skew_s} s")).await;
    }
}
