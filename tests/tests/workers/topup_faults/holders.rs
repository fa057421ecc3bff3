//! Holders of a claim: those that sleep past their lease and wake up late, one that says that it is alive,
//! and one that never gets an answer.

use crate::topup_faults::audit::{Does, all_is_well};
use crate::topup_faults::matrix::{AT_ONCE, Crash, run};
use ledger_tests::http::Answer;
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::topup_rig::{Actor, LEASE_OVER, Rig};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
const TOO_OLD: Duration = Duration::from_secs(23 * 60 * 60 + 60);
/// A worker says so often that it is alive, and may say so no longer than that.
const HEARTBEAT: Duration = Duration::from_secs(10);
const CEILING: Duration = Duration::from_secs(180);
/// A request ends after this, answered or not.
const INLINE: Duration = Duration::from_secs(20);

/// The holder of the first token wakes up after the second has landed: it gives its successor's answer.
#[tokio::test]
async fn a_late_holder_gives_its_successors_answer() {
    let rig = Rig::new().await;
    let cells = Does::BOTH.into_iter().flat_map(|does| [(does, Mishap::HeldBefore), (does, Mishap::HeldAfter)]);
    run(cells.collect(), AT_ONCE, async |at, (does, mishap): (Does, Mishap)| {
        let scene = rig.scene(&format!("late-{at}")).await;
        let (call, holder, successor) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(mishap)]);
        let asleep = holder.spawn(&call);
        holder.psp.held(1).await;
        successor.clock.ahead(LEASE_OVER);
        let landed = successor.settle(&call).await.good();
        let before = scene.world.books().await;
        holder.psp.release();
        let late = asleep.await.expect("it wakes up");
        assert_eq!(late.stored(), landed.stored(), "the late holder's answer");
        assert_eq!((holder.psp.keys(), does.made(&scene)), (successor.psp.keys(), 1), "under one key");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        all_is_well(&scene, does, &call, &successor, Some(&late)).await;
    })
    .await;
}

/// The successor is still at it: the late holder's token is worth nothing, though nothing has landed.
#[tokio::test]
async fn a_late_holder_does_not_get_before_its_successor() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), AT_ONCE, async |at, does: Does| {
        let scene = rig.scene(&format!("late-before-{at}")).await;
        let (call, holder, successor) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(Mishap::HeldAfter)]);
        let asleep = holder.spawn(&call);
        holder.psp.held(1).await;
        successor.clock.ahead(LEASE_OVER);
        successor.psp.next_sends([Some(Mishap::HeldAfter)]);
        let working = successor.spawn(&call);
        successor.psp.held(1).await;
        let before = scene.world.books().await;
        holder.psp.release();
        let late = asleep.await.expect("it wakes up");
        let _ = late.problem(503, "outcome_unknown");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        successor.psp.release();
        let landed = working.await.expect("it goes on").good();
        assert_eq!(does.made(&scene), 1);
        all_is_well(&scene, does, &call, &successor, Some(&landed)).await;
    })
    .await;
}

/// The successor was refused for a reason that may pass: the late holder's token is worth nothing, and
/// it writes nothing, although it has the object in its hand.
#[tokio::test]
async fn a_late_holder_writes_nothing_after_its_successor_failed() {
    let rig = Rig::new().await;
    let cells = Does::BOTH.into_iter().flat_map(|does| [(does, Mishap::HeldBefore), (does, Mishap::HeldAfter)]);
    run(cells.collect(), AT_ONCE, async |at, (does, mishap): (Does, Mishap)| {
        let scene = rig.scene(&format!("late-failed-{at}")).await;
        let (call, holder, successor) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(mishap)]);
        let asleep = holder.spawn(&call);
        holder.psp.held(1).await;
        successor.clock.ahead(LEASE_OVER);
        successor.psp.next_sends([Some(Mishap::MayPass)]);
        successor.psp.blind(true);
        let _ = successor.send(&call).await.problem(503, "outcome_unknown");
        assert_eq!(scene.marker(&call).await.as_deref(), Some("FAILED_RETRY"));
        let before = scene.world.books().await;
        holder.psp.release();
        let late: Answer = asleep.await.expect("it wakes up");
        let _ = late.problem(503, "outcome_unknown");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        assert_eq!(does.made(&scene), 1);
        successor.psp.blind(false);
        successor.clock.ahead(MINUTE * 2);
        all_is_well(&scene, does, &call, &successor, None).await;
    })
    .await;
}

/// The successor found nothing at Stripe, too late to send, and parked. Then the holder wakes up and
/// sends: it writes nothing, and Stripe's event brings what it made to the books.
#[tokio::test]
async fn a_late_holder_writes_nothing_after_its_successor_parked() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), AT_ONCE, async |at, does: Does| {
        let scene = rig.scene(&format!("late-parked-{at}")).await;
        let (call, holder, worker) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(Mishap::HeldBefore)]);
        let asleep = holder.spawn(&call);
        holder.psp.held(1).await;
        worker.clock.ahead(TOO_OLD);
        let _ = worker.recover(&scene).await.expect("the store is there");
        assert_eq!((scene.marker(&call).await.as_deref(), worker.psp.sends()), (Some("PARKED"), 0));
        let before = scene.world.books().await;
        holder.psp.release();
        let _ = asleep.await.expect("it wakes up").problem(503, "outcome_unknown");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        assert_eq!((does.made(&scene), holder.psp.sends()), (1, 1));
        worker.deliver_all(&scene, &scene.events()).await;
        assert_eq!(scene.marker(&call).await.as_deref(), Some("COMPLETED"));
        all_is_well(&scene, does, &call, &worker, None).await;
    })
    .await;
}

/// Stripe says nothing: the request ends before API Gateway would end it, and the claim is recovered.
#[tokio::test]
async fn a_request_ends_after_twenty_seconds() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), 2, async |at, does: Does| {
        let scene = rig.scene(&format!("inline-{at}")).await;
        let (call, holder, worker) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(Mishap::HeldAfter)]);
        let begun = Instant::now();
        let told = holder.send(&call).await.problem(503, "outcome_unknown");
        let took = begun.elapsed();
        assert!(took >= INLINE && took < INLINE + Duration::from_secs(3), "{took:?}");
        assert!(told.json()["retry_after_ms"].is_u64() && told.header("retry-after").is_some(), "{told:?}");
        worker.clock.ahead(LEASE_OVER);
        assert_eq!(worker.recover(&scene).await.expect("the store is there").completed, 1);
        all_is_well(&scene, does, &call, &worker, None).await;
    })
    .await;
}

/// A worker that waits for Stripe keeps its claim by saying that it is alive, but not for ever: then it
/// lets go, and another goes on.
#[tokio::test]
async fn a_worker_that_is_alive_keeps_its_claim_but_not_for_ever() {
    let rig = Rig::new().await;
    let scene = rig.scene("alive").await;
    let (call, victim) = (scene.topup(), rig.victim().await);
    Crash::BeforeSend.strike(&victim, &scene, &call).await;
    let (worker, other) = (rig.actor().await, rig.actor().await);
    worker.clock.ahead(LEASE_OVER);
    worker.psp.next_sends([Some(Mishap::HeldAfter)]);
    let (at_it, scene) = (worker.clone(), std::sync::Arc::new(scene));
    let running = tokio::spawn({
        let scene = std::sync::Arc::clone(&scene);
        async move { at_it.recover(&scene).await }
    });
    worker.psp.held(1).await;
    let _ = worker.tap.take();
    // Its clock runs past the lease that it took; before it, it says that it is alive.
    worker.clock.ahead(LEASE_OVER + HEARTBEAT * 2);
    written(&worker).await;
    other.clock.ahead(LEASE_OVER * 2 + HEARTBEAT);
    let left = other.recover(&scene).await.expect("the store is there");
    assert_eq!((left.completed, left.waiting, other.psp.sends()), (0, 0, 0), "{left:?}");
    // It has had all the time that one holder gets.
    worker.clock.ahead(LEASE_OVER + CEILING);
    let ended = running.await.expect("it ends").expect("the store is there");
    assert_eq!((ended.completed, ended.waiting), (0, 1));
    other.clock.ahead(LEASE_OVER + CEILING + MINUTE * 2);
    assert_eq!(other.recover(&scene).await.expect("the store is there").completed, 1);
    all_is_well(&scene, Does::Topup, &call, &other, None).await;
}

/// Waits for a write.
async fn written(actor: &Actor) {
    let waiting = async {
        while !actor.tap.take_targets().iter().any(|target| target == "TransactWriteItems") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(HEARTBEAT * 2, waiting).await.is_ok(), "it says nothing");
}
