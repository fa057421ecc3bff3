//! Holders of a claim: late ones that resume after their lease, one that renews its lease, one without an answer.

use crate::topup_faults::audit::{Does, finish_and_audit};
use crate::topup_faults::matrix::{AT_ONCE, Crash, run};
use ledger_tests::http::Answer;
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::topup_rig::{Actor, LEASE_OVER, Rig};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
const TOO_OLD: Duration = Duration::from_secs(23 * 60 * 60 + 60);
/// How often a worker renews its lease, and for how long at most.
const HEARTBEAT: Duration = Duration::from_secs(10);
const CEILING: Duration = Duration::from_secs(180);
/// A request ends after this, with or without Stripe's answer.
const INLINE: Duration = Duration::from_secs(20);

/// The first holder resumes after its successor has completed: it returns its successor's response.
#[tokio::test]
async fn late_holder_returns_its_successors_response() {
    let rig = Rig::new().await;
    let cells = Does::BOTH.into_iter().flat_map(|does| [(does, Mishap::HeldBefore), (does, Mishap::HeldAfter)]);
    run(cells.collect(), AT_ONCE, async |at, (does, mishap): (Does, Mishap)| {
        let scene = rig.scene(&format!("late-{at}")).await;
        let (call, holder, successor) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(mishap)]);
        let held_request = holder.spawn(&call);
        holder.psp.held(1).await;
        successor.clock.ahead(LEASE_OVER);
        let landed = successor.settle(&call).await.good();
        let before = scene.world.books().await;
        holder.psp.release();
        let late = held_request.await.expect("the held request ends");
        assert_eq!(late.stored(), landed.stored(), "the late holder's answer");
        assert_eq!((holder.psp.keys(), does.made(&scene)), (successor.psp.keys(), 1), "under one key");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        finish_and_audit(&scene, does, &call, &successor, Some(&late)).await;
    })
    .await;
}

/// The successor is still running: the late holder's fencing token is rejected, though nothing is completed.
#[tokio::test]
async fn late_holder_writes_nothing_while_its_successor_runs() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), AT_ONCE, async |at, does: Does| {
        let scene = rig.scene(&format!("late-before-{at}")).await;
        let (call, holder, successor) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(Mishap::HeldAfter)]);
        let held_request = holder.spawn(&call);
        holder.psp.held(1).await;
        successor.clock.ahead(LEASE_OVER);
        successor.psp.next_sends([Some(Mishap::HeldAfter)]);
        let working = successor.spawn(&call);
        successor.psp.held(1).await;
        let before = scene.world.books().await;
        holder.psp.release();
        let late = held_request.await.expect("the held request ends");
        let _ = late.problem(503, "outcome_unknown");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        successor.psp.release();
        let landed = working.await.expect("the successor ends").good();
        assert_eq!(does.made(&scene), 1);
        finish_and_audit(&scene, does, &call, &successor, Some(&landed)).await;
    })
    .await;
}

/// The successor was refused temporarily: the late holder's fencing token is rejected, and it writes nothing although
/// it has Stripe's object.
#[tokio::test]
async fn late_holder_writes_nothing_after_its_successor_failed() {
    let rig = Rig::new().await;
    let cells = Does::BOTH.into_iter().flat_map(|does| [(does, Mishap::HeldBefore), (does, Mishap::HeldAfter)]);
    run(cells.collect(), AT_ONCE, async |at, (does, mishap): (Does, Mishap)| {
        let scene = rig.scene(&format!("late-failed-{at}")).await;
        let (call, holder, successor) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(mishap)]);
        let held_request = holder.spawn(&call);
        holder.psp.held(1).await;
        successor.clock.ahead(LEASE_OVER);
        successor.psp.next_sends([Some(Mishap::MayPass)]);
        successor.psp.fail_lookups(true);
        let _ = successor.send(&call).await.problem(503, "outcome_unknown");
        assert_eq!(scene.marker(&call).await.as_deref(), Some("FAILED_RETRY"));
        let before = scene.world.books().await;
        holder.psp.release();
        let late: Answer = held_request.await.expect("the held request ends");
        let _ = late.problem(503, "outcome_unknown");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        assert_eq!(does.made(&scene), 1);
        successor.psp.fail_lookups(false);
        successor.clock.ahead(MINUTE * 2);
        finish_and_audit(&scene, does, &call, &successor, None).await;
    })
    .await;
}

/// The successor found nothing at Stripe, was too late to send, and parked. Then the holder resumes and sends: it
/// writes nothing, and Stripe's event books the object.
#[tokio::test]
async fn late_holder_writes_nothing_after_its_successor_parked() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), AT_ONCE, async |at, does: Does| {
        let scene = rig.scene(&format!("late-parked-{at}")).await;
        let (call, holder, worker) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(Mishap::HeldBefore)]);
        let held_request = holder.spawn(&call);
        holder.psp.held(1).await;
        worker.clock.ahead(TOO_OLD);
        let _ = worker.recover(&scene).await.expect("the store is available");
        assert_eq!((scene.marker(&call).await.as_deref(), worker.psp.sends()), (Some("PARKED"), 0));
        let before = scene.world.books().await;
        holder.psp.release();
        let _ = held_request.await.expect("the held request ends").problem(503, "outcome_unknown");
        scene.world.books().await.unchanged_since(&before, "a late holder wrote something");
        assert_eq!((does.made(&scene), holder.psp.sends()), (1, 1));
        worker.deliver_all(&scene, &scene.events()).await;
        assert_eq!(scene.marker(&call).await.as_deref(), Some("COMPLETED"));
        finish_and_audit(&scene, does, &call, &worker, None).await;
    })
    .await;
}

/// Stripe does not answer: the request ends before API Gateway's timeout, and the claim is recovered.
#[tokio::test]
async fn request_without_stripe_answer_ends_after_twenty_seconds() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), 2, async |at, does: Does| {
        let scene = rig.scene(&format!("inline-{at}")).await;
        let (call, holder, worker) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(Mishap::HeldAfter)]);
        let begun = Instant::now();
        let answer = holder.send(&call).await.problem(503, "outcome_unknown");
        let took = begun.elapsed();
        assert!(took >= INLINE && took < INLINE + Duration::from_secs(3), "{took:?}");
        assert!(answer.json()["retry_after_ms"].is_u64() && answer.header("retry-after").is_some(), "{answer:?}");
        worker.clock.ahead(LEASE_OVER);
        assert_eq!(worker.recover(&scene).await.expect("the store is available").completed, 1);
        finish_and_audit(&scene, does, &call, &worker, None).await;
    })
    .await;
}

/// A worker that waits for Stripe renews its lease, up to a ceiling: then it releases the claim, and another worker
/// continues.
#[tokio::test]
async fn worker_renews_its_claim_up_to_the_ceiling() {
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
    // Its clock passes the lease that it took; it renews the lease before.
    worker.clock.ahead(LEASE_OVER + HEARTBEAT * 2);
    written(&worker).await;
    other.clock.ahead(LEASE_OVER * 2 + HEARTBEAT);
    let left = other.recover(&scene).await.expect("the store is available");
    assert_eq!((left.completed, left.waiting, other.psp.sends()), (0, 0, 0), "{left:?}");
    // It has reached the ceiling of one holder.
    worker.clock.ahead(LEASE_OVER + CEILING);
    let ended = running.await.expect("it ends").expect("the store is available");
    assert_eq!((ended.completed, ended.waiting), (0, 1));
    other.clock.ahead(LEASE_OVER + CEILING + MINUTE * 2);
    assert_eq!(other.recover(&scene).await.expect("the store is available").completed, 1);
    finish_and_audit(&scene, Does::Topup, &call, &other, None).await;
}

/// Waits for the worker's next transaction.
async fn written(actor: &Actor) {
    let waiting = async {
        while !actor.tap.take_targets().iter().any(|target| target == "TransactWriteItems") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(HEARTBEAT * 2, waiting).await.is_ok(), "the worker writes within two heartbeats");
}
