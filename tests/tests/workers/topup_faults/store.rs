//! The store fails after Stripe's effect: the client gets 503 `outcome_unknown`, and recovery completes it once.

use crate::topup_faults::audit::{Does, finish_and_audit};
use crate::topup_faults::matrix::{AT_ONCE, run};
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::{LEASE_OVER, Rig};

/// How the store fails.
#[derive(Clone, Copy, Debug)]
enum StoreFailure {
    /// Every call fails, reads included.
    Down,
    /// The completing write never arrives.
    WriteRefused,
    /// It is throttled.
    Throttled,
    /// It arrives, and its answer is lost.
    AnswerCut,
}

/// The actor that recovers.
#[derive(Clone, Copy, Debug)]
enum By {
    Client,
    Worker,
    Webhook,
}

#[tokio::test]
async fn operation_is_completed_once_after_the_store_fails() {
    let rig = Rig::new().await;
    let mut cells = Vec::new();
    for does in Does::BOTH {
        for failure in
            [StoreFailure::Down, StoreFailure::WriteRefused, StoreFailure::Throttled, StoreFailure::AnswerCut]
        {
            cells.extend([By::Client, By::Worker, By::Webhook].map(|by| (does, failure, by)));
        }
    }
    run(cells, AT_ONCE, async |at, (does, failure, by): (Does, StoreFailure, By)| {
        let scene = rig.scene(&format!("away-{at}")).await;
        let (call, victim, other) = (does.prepare(&scene).await, rig.victim().await, rig.actor().await);
        victim.psp.next_sends([Some(Mishap::HeldAfter)]);
        let running = victim.spawn(&call);
        victim.psp.held(1).await;
        match failure {
            StoreFailure::Down => victim.tap.every_call(Some(Fault::Refused)),
            StoreFailure::WriteRefused => victim.tap.next_writes([Some(Fault::Refused)]),
            StoreFailure::Throttled => victim.tap.next_writes([Some(Fault::Error(400, "ThrottlingException"))]),
            StoreFailure::AnswerCut => victim.tap.next_writes([Some(Fault::AnswerCut)]),
        }
        victim.psp.release();
        let answer = running.await.expect("an answer").problem(503, "outcome_unknown");
        assert!(answer.json()["retry_after_ms"].is_u64(), "{answer:?}");
        other.clock.ahead(LEASE_OVER);
        match by {
            By::Client => drop(other.settle(&call).await.good()),
            By::Worker => drop(other.recover(&scene).await.expect("the store is available")),
            By::Webhook => other.deliver_all(&scene, &scene.events()).await,
        }
        assert_eq!(scene.marker(&call).await.as_deref(), Some("COMPLETED"));
        finish_and_audit(&scene, does, &call, &other, None).await;
    })
    .await;
}
