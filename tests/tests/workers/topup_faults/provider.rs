//! Stripe's failures: lost answers, failures that it replays under a key, final and temporary refusals.

use crate::topup_faults::audit::{Does, assert_nothing_in_flight, assert_replayed, finish_and_audit, wallet};
use crate::topup_faults::matrix::{Crash, run};
use ledger_runtime::app::App;
use ledger_runtime::config::Config;
use ledger_runtime::metrics::Metric;
use ledger_runtime::topups::Recovered;
use ledger_tests::cloud::gate;
use ledger_tests::http::Call;
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::topup_rig::{LEASE_OVER, POINTS, Rig, Scene, YEN};
use std::time::Duration;
use stripe_simulator::{Fault, FaultKind};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn of(does: Does, kind: FaultKind) -> Fault {
    let path = match does {
        Does::Topup => "/v1/payment_intents",
        Does::Refund => "/v1/refunds",
    };
    Fault::once(kind).on("POST", path)
}

/// The epochs of the keys, in the order of sending.
fn epochs(keys: &[String]) -> Vec<&str> {
    keys.iter().map(|key| key.rsplit('-').next().expect("an epoch")).collect()
}

/// Stripe failed after the effect and replays the failure: the object is found by its metadata.
#[tokio::test]
async fn replayed_failure_after_the_effect_is_resolved_by_lookup() {
    for does in Does::BOTH {
        let rig = Rig::new().await;
        let scene = rig.scene("replayed-after").await;
        let (call, client) = (does.prepare(&scene).await, rig.actor().await);
        rig.simulator.inject(of(does, FaultKind::ErrorAfter));
        let answer = client.send(&call).await.good();
        assert_eq!((client.psp.sends(), client.psp.lookups()), (1, 1));
        finish_and_audit(&scene, does, &call, &client, Some(&answer)).await;
    }
}

/// Stripe failed before the effect and replays the failure: absence is proven only after fifteen minutes, then the next
/// key is used. The same happens once more.
#[tokio::test]
async fn replayed_failure_before_the_effect_leads_to_the_next_epoch() {
    for does in Does::BOTH {
        let rig = Rig::new().await;
        let scene = rig.scene("replayed-before").await;
        let (call, client, worker) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        rig.simulator.inject(of(does, FaultKind::ErrorBefore));
        let _ = client.send(&call).await.problem(503, "outcome_unknown");
        let recover = async |after: Duration| {
            worker.clock.ahead(after);
            let _ = worker.recover(&scene).await.expect("the store is available");
        };
        for after in [LEASE_OVER, MINUTE * 5, MINUTE * 9 + SECOND * 55, MINUTE * 14 + SECOND * 55] {
            recover(after).await;
            assert_eq!((does.made(&scene), scene.marker(&call).await.as_deref()), (0, Some("IN_FLIGHT")), "{after:?}");
        }
        assert!(epochs(&worker.psp.keys()).iter().all(|epoch| *epoch == "1"), "{:?}", worker.psp.keys());
        // The pauses between the worker's attempts have grown by then.
        recover(MINUTE * 30).await;
        assert_eq!((does.made(&scene), scene.marker(&call).await.as_deref()), (0, Some("FAILED_RETRY")));
        rig.simulator.inject(of(does, FaultKind::ErrorBefore));
        recover(MINUTE * 31).await;
        assert_eq!((does.made(&scene), scene.marker(&call).await.as_deref()), (0, Some("IN_FLIGHT")));
        recover(MINUTE * 50).await;
        assert_eq!((does.made(&scene), scene.marker(&call).await.as_deref()), (0, Some("FAILED_RETRY")));
        recover(MINUTE * 52).await;
        assert_eq!((does.made(&scene), scene.marker(&call).await.as_deref()), (1, Some("COMPLETED")));
        let keys = worker.psp.keys();
        let mut sent = epochs(&keys);
        sent.dedup();
        assert_eq!(sent, ["1", "2", "3"]);
        client.clock.ahead(MINUTE * 52);
        finish_and_audit(&scene, does, &call, &client, None).await;
    }
}

/// A worker without a result retries later, with growing pauses; the client need not wait for it.
#[tokio::test]
async fn worker_without_a_result_releases_the_claim() {
    for does in Does::BOTH {
        let rig = Rig::new().await;
        let scene = rig.scene("released").await;
        let (call, client, worker) = (does.prepare(&scene).await, rig.actor().await, rig.actor().await);
        for actor in [&client, &worker] {
            actor.psp.next_sends([Some(Mishap::LostBefore), Some(Mishap::LostBefore)]);
        }
        let _ = client.send(&call).await.problem(503, "outcome_unknown");
        worker.clock.ahead(LEASE_OVER);
        assert_eq!(worker.recover(&scene).await.expect("the store is available").waiting, 1);
        assert_eq!((worker.psp.sends(), scene.marker(&call).await.as_deref()), (2, Some("IN_FLIGHT")));
        assert_eq!(worker.recover(&scene).await.expect("the store is available").waiting, 0, "not yet");
        client.clock.ahead(LEASE_OVER);
        let answer = client.send(&call).await.good();
        finish_and_audit(&scene, does, &call, &client, Some(&answer)).await;
    }
}

/// Answers lost before and after the effect, once and twice: the key makes one object of them.
#[tokio::test]
async fn lost_answers_are_retried_under_the_same_key() {
    use Mishap::{LostAfter, LostBefore};
    let rig = Rig::new().await;
    let losses: [&[Mishap]; 5] =
        [&[LostBefore], &[LostAfter], &[LostBefore, LostBefore], &[LostAfter, LostAfter], &[LostBefore, LostAfter]];
    let cells = Does::BOTH.into_iter().flat_map(|does| losses.map(|lost| (does, lost)));
    run(cells.collect(), 4, async |at, (does, lost): (Does, &[Mishap])| {
        let scene = rig.scene(&format!("lost-{at}")).await;
        let (call, client) = (does.prepare(&scene).await, rig.actor().await);
        client.psp.next_sends(lost.iter().copied().map(Some));
        let first = client.send(&call).await;
        if lost.len() == 1 {
            assert_eq!(first.status, 201, "{first:?}");
        } else {
            let _ = first.clone().problem(503, "outcome_unknown");
            assert_eq!(client.counted(Metric::PspUnknown), 1);
        }
        assert_eq!(client.psp.sends(), 2);
        client.clock.ahead(LEASE_OVER);
        finish_and_audit(&scene, does, &call, &client, Some(&first).filter(|first| first.status == 201)).await;
        let mut keys = client.psp.keys();
        keys.dedup();
        assert_eq!(keys.len(), 1, "{keys:?}");
    })
    .await;
}

/// A final refusal by Stripe is the response, and the reservation is released.
#[tokio::test]
async fn final_refusal_is_the_response() {
    let rig = Rig::new().await;
    // At once, and after an unknown outcome, when the object is looked up first.
    let cells: [&[Option<Mishap>]; 2] = [&[], &[Some(Mishap::LostBefore)]];
    run(cells.to_vec(), 2, async |at, before: &[Option<Mishap>]| {
        let scene = rig.scene(&format!("refused-{at}")).await;
        let (call, client) = (scene.topup_of("10"), rig.actor().await);
        client.psp.next_sends(before.iter().copied());
        let refused = client.send(&call).await.problem(400, "psp_refused");
        assert_eq!(refused.text("/psp_code"), "amount_too_small");
        assert_eq!((client.psp.lookups(), scene.intents().len()), (before.len(), 0));
        refused_for_good(&scene, &call, "0", "0").await;
        assert_replayed(&call, &client, &refused).await;
        client.clock.ahead(DAY - MINUTE);
        assert_replayed(&call, &client, &refused).await;
        assert_eq!(client.psp.sends(), 1 + before.len());
    })
    .await;
}

/// The payment was refunded at Stripe's dashboard before: the refund is refused, and the hold is released.
#[tokio::test]
async fn finally_refused_refund_releases_the_hold() {
    let rig = Rig::new().await;
    let scene = rig.scene("refund-refused").await;
    let (topup, client) = (scene.paid().await, rig.actor().await);
    let intent = scene.intents()[0]["id"].as_str().expect("an id").to_owned();
    rig.simulator.refund_payment(&intent, None, None).expect("it was paid");
    let call = scene.refund(&topup);
    let refused = client.send(&call).await.problem(400, "psp_refused");
    assert_eq!(refused.text("/psp_code"), "charge_already_refunded");
    refused_for_good(&scene, &call, YEN, POINTS).await;
    assert_replayed(&call, &client, &refused).await;
    assert_eq!(client.psp.sends(), 1);
}

async fn refused_for_good(scene: &Scene, call: &Call, yen: &str, points: &str) {
    assert_eq!(scene.marker(call).await.as_deref(), Some("FAILED_TERMINAL"));
    assert_eq!(scene.wallet("ECOPAY").await, wallet(yen, "0", "0"));
    assert_eq!(scene.wallet("POINT").await, wallet(points, "0", "0"));
    assert_nothing_in_flight(&scene.world.check_books().await);
}

/// A wrong API key is a fault of the deployment: nothing is given up or released. After five refusals the operation is
/// parked, and continues once the key is right.
#[tokio::test]
async fn operation_is_parked_after_five_refusals_of_the_api_key() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), 2, async |at, does: Does| {
        let scene = rig.scene(&format!("wrong-key-{at}")).await;
        let call = does.prepare(&scene).await;
        let [client, worker] = [rig.actor_with_a_wrong_key().await, rig.actor_with_a_wrong_key().await];
        let set_aside = match does {
            Does::Topup => wallet("0", "0", YEN),
            Does::Refund => wallet("0", YEN, "0"),
        };
        let _ = client.send(&call).await.problem(503, "outcome_unknown");
        for (refusals, after) in [31, 120, 300, 700].into_iter().enumerate() {
            assert_eq!(scene.marker(&call).await.as_deref(), Some("FAILED_RETRY"), "after {} refusals", refusals + 1);
            assert_eq!(scene.wallet("ECOPAY").await, set_aside);
            worker.clock.ahead(SECOND * after);
            let _ = worker.recover(&scene).await.expect("the store is available");
        }
        assert_eq!(scene.marker(&call).await.as_deref(), Some("PARKED"));
        assert_eq!(scene.wallet("ECOPAY").await, set_aside);
        assert_eq!((client.counted(Metric::PspRefused), worker.counted(Metric::PspRefused)), (1, 4));
        assert_eq!((worker.counted(Metric::OperationParked), does.made(&scene)), (1, 0));
        let listed = scene.world.attention().await;
        assert_eq!(
            (&listed["operations"][0]["why"], &listed["operations"][0]["attempts"]),
            (&"attempts".into(), &5.into())
        );
        let right = rig.actor().await;
        right.clock.ahead(SECOND * 1700);
        let _ = crate::topup_faults::people::resolve(&scene, &right, &listed["operations"][0], "retry").await.good();
        let _ = right.recover(&scene).await.expect("the store is available");
        assert_eq!(scene.marker(&call).await.as_deref(), Some("COMPLETED"));
        finish_and_audit(&scene, does, &call, &right, None).await;
    })
    .await;
}

/// A deployment without a Stripe account: the worker has no work and succeeds. With a claim whose lease has ended it fails.
#[tokio::test]
async fn worker_without_provider_fails_only_if_claims_are_due() {
    let rig = Rig::new().await;
    let scene = rig.scene("no-provider").await;
    let (victim, worker) = (rig.victim().await, rig.actor().await);
    let ledger = worker.app.ledger().clone();
    let without = App::new(ledger, Config::of_table(scene.world.table_name()));
    let run = || gate::as_function("outbox", outbox::run_due(&without, &scene.tenant));
    let run_due = async || run().await.map_err(|problem| problem.code());
    assert_eq!(run_due().await, Ok(Recovered::default()));
    let call = Does::Topup.prepare(&scene).await;
    Crash::BeforeSend.strike(&victim, &scene, &call).await;
    assert_eq!(run_due().await, Ok(Recovered::default()), "its request may still complete it");
    worker.clock.ahead(LEASE_OVER);
    assert_eq!(run_due().await, Err("internal"));
    assert_eq!(worker.recover(&scene).await.expect("the store is available").completed, 1);
    assert_eq!(run_due().await, Ok(Recovered::default()));
    finish_and_audit(&scene, Does::Topup, &call, &worker, None).await;
}
