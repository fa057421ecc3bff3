//! Clocks wrong by ten minutes, in every combination: money moves once, and operations finish once clocks are right.

use crate::topup_faults::audit::{Does, finish_and_audit};
use crate::topup_faults::matrix::{AT_ONCE, Crash, run};
use ledger_tests::http::topup_rig::{LEASE_OVER, Rig};
use ledger_tests::http::world::new_id;
use std::time::Duration;

const SKEWS_S: [i64; 3] = [-600, 0, 600];
/// Past the lease of a holder whose clock is ahead.
const RIGHT_AGAIN: Duration = Duration::from_secs(20 * 60);

#[tokio::test]
async fn wrong_clocks_move_no_money_twice() {
    let rig = Rig::new().await;
    let mut cells = Vec::new();
    for does in Does::BOTH {
        for crash in [Crash::AfterEffect, Crash::BeforeSend] {
            for client in SKEWS_S {
                for worker in SKEWS_S {
                    // Before the effect there is no event, and a refund's events are like a top-up's.
                    let all = crash == Crash::AfterEffect && does == Does::Topup;
                    let webhooks: &[i64] = if all { &SKEWS_S } else { &[0] };
                    cells.extend(webhooks.iter().map(|webhook| (does, crash, [client, worker, *webhook])));
                }
            }
        }
    }
    // Most cells wait for a lease that is not over.
    run(cells, AT_ONCE * 3, async |at, (does, crash, skews): (Does, Crash, [i64; 3])| {
        let scene = rig.scene(&format!("clocks-{at}")).await;
        let (call, victim) = (does.prepare(&scene).await, rig.victim().await);
        let [client, worker, webhook] = [rig.actor().await, rig.actor().await, rig.actor().await];
        for (actor, skew) in [(&client, skews[0]), (&victim, skews[0]), (&worker, skews[1]), (&webhook, skews[2])] {
            actor.clock.skew_s(skew);
        }
        crash.strike(&victim, &scene, &call).await;
        scene.pay();
        let events = scene.events();
        let deliveries = async {
            for event in &events {
                let answer = webhook.deliver_on_time(&scene, event).await;
                match skews[2] {
                    0 => assert!(matches!(answer.status, 200 | 503), "{answer:?}"),
                    // A webhook with a clock that wrong rejects every signature.
                    _ => drop(answer.problem(400, "signature_invalid")),
                }
            }
        };
        let (answer, recovered, ()) = futures::join!(client.send(&call), worker.recover(&scene), deliveries);
        assert!(matches!(answer.status, 201 | 409 | 503), "{answer:?}");
        let _ = recovered.expect("the store is available");
        assert!(does.made(&scene) <= 1);
        client.clock.ahead(RIGHT_AGAIN + LEASE_OVER);
        let first = (answer.status == 201).then_some(&answer);
        finish_and_audit(&scene, does, &call, &client, first).await;
    })
    .await;
}

/// A key eleven minutes ahead of a function's clock: its stored response is replayed there. Without one it is refused
/// and never executed.
#[tokio::test]
async fn key_ahead_of_a_slow_clock_is_only_replayed() {
    let rig = Rig::new().await;
    for does in Does::BOTH {
        let scene = rig.scene(&format!("slow-clock-{}", if does == Does::Topup { "topup" } else { "refund" })).await;
        let call = does.prepare(&scene).await.key(new_id());
        let (client, slow) = (rig.actor().await, rig.actor().await);
        slow.clock.skew_s(-660);
        let _ = slow.send(&call).await.problem(400, "idempotency_key_invalid");
        assert_eq!(does.made(&scene), 0);
        let first = client.send(&call).await.good();
        let again = slow.send(&call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    }
}
