//! Operations too old to be sent again are looked up, and parked for review if absent. Stripe's object prevails.

use crate::topup_faults::audit::{Does, assert_nothing_in_flight, assert_replayed, finish_and_audit, wallet};
use crate::topup_faults::matrix::{AT_ONCE, Crash, run};
use ledger_runtime::metrics::Metric;
use ledger_tests::http::topup_rig::{Actor, POINTS, Rig, Scene, YEN};
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Answer, Call};
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// Nothing is sent again after this.
const TOO_OLD: Duration = Duration::from_secs(23 * 60 * 60 + 60);

/// What the operator decides on a parked operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Retry,
    GiveUp,
}

/// Resolves a listed operation as an operator.
pub(crate) async fn resolve(scene: &Scene, actor: &Actor, listed: &Value, action: &str) -> Answer {
    let id = listed["resource_id"].as_str().expect("an id");
    let path = format!("/v1/admin/attention/operations/{id}/resolve");
    let body = json!({"action": action, "reason": "for a test"});
    let call = Call::post(&path, &scene.world.operator.who, &body).key(format!("k-{}", new_id()));
    let answer = actor.send(&call).await;
    if answer.status == 200 {
        assert_replayed(&call, actor, &answer).await;
    }
    answer
}

/// The object exists: the lookup finds it, and nothing is sent.
#[tokio::test]
async fn operation_too_old_to_resend_is_completed_if_found() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), AT_ONCE, async |at, does: Does| {
        let scene = rig.patient_scene(&format!("old-found-{at}")).await;
        let (call, victim, worker) = (does.prepare(&scene).await, rig.victim().await, rig.actor().await);
        Crash::AfterEffect.strike(&victim, &scene, &call).await;
        worker.clock.ahead(TOO_OLD);
        let recovered = worker.recover(&scene).await.expect("the store is available");
        assert_eq!((recovered.completed, worker.psp.sends(), worker.psp.lookups()), (1, 0, 1));
        assert_eq!(worker.counted(Metric::StuckInFlight), 1);
        finish_and_audit(&scene, does, &call, &worker, None).await;
    })
    .await;
}

/// The lookup gives no result: the operation is neither sent nor parked, and found once the lookup works.
#[tokio::test]
async fn operation_too_old_to_resend_waits_while_lookup_is_unknown() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), AT_ONCE, async |at, does: Does| {
        let scene = rig.patient_scene(&format!("old-blind-{at}")).await;
        let (call, victim, worker) = (does.prepare(&scene).await, rig.victim().await, rig.actor().await);
        Crash::AfterEffect.strike(&victim, &scene, &call).await;
        worker.clock.ahead(TOO_OLD);
        worker.psp.fail_lookups(true);
        let recovered = worker.recover(&scene).await.expect("the store is available");
        assert_eq!((recovered.waiting, worker.psp.sends()), (1, 0));
        assert_eq!(scene.marker(&call).await.as_deref(), Some("IN_FLIGHT"));
        let oldest_s = || worker.counting.measured(Metric::OldestInFlight, Some(&scene.tenant)).expect("measured");
        assert!(oldest_s() >= TOO_OLD.as_secs(), "{} s", oldest_s());
        worker.psp.fail_lookups(false);
        worker.clock.ahead(TOO_OLD + MINUTE * 2);
        assert_eq!(worker.recover(&scene).await.expect("the store is available").completed, 1);
        assert_eq!(oldest_s(), 0, "the alarm ends");
        finish_and_audit(&scene, does, &call, &worker, None).await;
    })
    .await;
}

/// The object is absent: the operation is parked, counted and listed; the operator retries it or gives it up.
#[tokio::test]
async fn operation_too_old_to_resend_is_parked_if_absent() {
    let rig = Rig::new().await;
    let cells = Does::BOTH.into_iter().flat_map(|does| [(does, Decision::Retry), (does, Decision::GiveUp)]);
    run(cells.collect(), AT_ONCE, async |at, (does, decision): (Does, Decision)| {
        let scene = rig.patient_scene(&format!("old-parked-{at}")).await;
        let (call, victim, worker) = (does.prepare(&scene).await, rig.victim().await, rig.actor().await);
        Crash::BeforeSend.strike(&victim, &scene, &call).await;
        worker.clock.ahead(TOO_OLD);
        assert_eq!(worker.recover(&scene).await.expect("the store is available").attention, 1);
        assert_eq!((worker.psp.sends(), worker.counted(Metric::OperationParked)), (0, 1));
        let set_aside = match does {
            Does::Topup => wallet("0", "0", YEN),
            Does::Refund => wallet("0", YEN, "0"),
        };
        assert_eq!(scene.wallet("ECOPAY").await, set_aside);
        // Neither the worker nor the client changes it, and the alarm stays on.
        let _ = worker.recover(&scene).await.expect("the store is available");
        assert_eq!((worker.psp.sends(), worker.counted(Metric::NeedsAttention)), (0, 2));
        let _ = worker.send(&call).await.problem(409, "idempotency_key_in_use");
        let listed = scene.world.attention().await["operations"][0].clone();
        assert_eq!((&listed["why"], &listed["operation"]), (&json!("not_found"), &json!(name(does))));

        // Shortly after the last lookup no decision is accepted.
        let _ = resolve(&scene, &worker, &listed, "retry").await.problem(503, "busy");
        worker.clock.ahead(TOO_OLD + MINUTE * 14);
        let _ = resolve(&scene, &worker, &listed, "retry").await.problem(503, "busy");
        worker.clock.ahead(TOO_OLD + MINUTE * 16);
        match decision {
            Decision::Retry => tried_again(&scene, does, &call, &worker, &listed).await,
            Decision::GiveUp => given_up(&scene, does, &call, &worker, &listed).await,
        }
        assert_eq!(scene.world.attention().await["operations"], json!([]));
        let _ = resolve(&scene, &worker, &listed, "retry").await.problem(404, "not_found");
    })
    .await;
}

fn name(does: Does) -> &'static str {
    match does {
        Does::Topup => "topup",
        Does::Refund => "topup_refund",
    }
}

async fn tried_again(scene: &Scene, does: Does, call: &Call, worker: &Actor, listed: &Value) {
    let resolved = resolve(scene, worker, listed, "retry").await.good();
    assert_eq!(resolved.text("/status"), "retrying");
    assert_eq!(worker.recover(scene).await.expect("the store is available").completed, 1);
    assert_eq!(worker.psp.sends(), 1);
    assert!(worker.psp.keys()[0].ends_with("-2"), "{:?}", worker.psp.keys());
    finish_and_audit(scene, does, call, worker, None).await;
}

async fn given_up(scene: &Scene, does: Does, call: &Call, worker: &Actor, listed: &Value) {
    let resolved = resolve(scene, worker, listed, "give_up").await.good();
    assert_eq!(resolved.text("/status"), "given_up");
    let refused = worker.send(call).await.problem(400, "psp_refused");
    assert_replayed(call, worker, &refused).await;
    let (yen, points) = match does {
        Does::Topup => ("0", "0"),
        Does::Refund => (YEN, POINTS),
    };
    assert_eq!(scene.wallet("ECOPAY").await, wallet(yen, "0", "0"));
    assert_eq!(scene.wallet("POINT").await, wallet(points, "0", "0"));
    let _ = worker.recover(scene).await.expect("the store is available");
    assert_eq!((does.made(scene), worker.psp.sends()), (0, 0));
    assert_nothing_in_flight(&scene.world.check_books().await);
}

/// The decision concerns an object that exists at Stripe after all: it is refused, and the books follow Stripe.
#[tokio::test]
async fn decision_on_operation_found_at_stripe_is_refused() {
    let rig = Rig::new().await;
    run(vec!["retry", "give_up"], 2, async |at, action: &str| {
        let scene = rig.patient_scene(&format!("old-late-{at}")).await;
        let (call, holder, worker) = (scene.topup(), rig.actor().await, rig.actor().await);
        holder.psp.next_sends([Some(ledger_tests::http::psp_tap::Mishap::HeldBefore)]);
        let held_request = holder.spawn(&call);
        holder.psp.held(1).await;
        worker.clock.ahead(TOO_OLD);
        let _ = worker.recover(&scene).await.expect("the store is available");
        holder.psp.release();
        let _ = held_request.await.expect("the held request ends").problem(503, "outcome_unknown");
        let listed = scene.world.attention().await["operations"][0].clone();
        worker.clock.ahead(TOO_OLD + MINUTE * 16);
        let refused = resolve(&scene, &worker, &listed, action).await.problem(400, "wrong_state");
        assert!(!refused.replayed());
        assert_eq!(scene.marker(&call).await.as_deref(), Some("COMPLETED"));
        finish_and_audit(&scene, Does::Topup, &call, &worker, None).await;
    })
    .await;
}
