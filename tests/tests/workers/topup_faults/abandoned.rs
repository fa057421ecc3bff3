//! Unpaid top-ups: the worker cancels them at Stripe, and releases headroom only when Stripe confirms.
//! And the other records that the worker looks up at Stripe.

use crate::topup_faults::audit::{Does, assert_nothing_in_flight, finish_and_audit, wallet};
use futures::future::join_all;
use ledger_core::keys::Shards;
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::{Actor, Rig, Scene, YEN};
use ledger_tests::http::{Call, parked};
use std::time::Duration;
use stripe_simulator::RefundStatus;

const MINUTE: Duration = Duration::from_secs(60);
/// Top-up expiry in the demo terms: an hour.
const EXPIRES_AFTER: Duration = Duration::from_secs(60 * 60);

struct Abandoned {
    scene: Scene,
    call: Call,
    client: Actor,
    worker: Actor,
}

impl Abandoned {
    /// A top-up that has its PaymentIntent and is not paid.
    async fn new(tenant: &str) -> Self {
        let rig = Rig::new().await;
        let scene = rig.scene(tenant).await;
        let (call, client, worker) = (scene.topup(), rig.actor().await, rig.actor().await);
        let _ = client.settle(&call).await.good();
        assert_eq!(scene.wallet("ECOPAY").await, wallet("0", "0", YEN));
        Self { scene, call, client, worker }
    }

    /// Runs the worker `time` after the request.
    async fn after(&self, time: Duration) -> usize {
        self.worker.clock.ahead(time);
        self.worker.recover(&self.scene).await.expect("the store is available").checked
    }

    async fn assert_wallet(&self, balance: &str, reserved: &str) {
        assert_eq!(self.scene.wallet("ECOPAY").await, wallet(balance, "0", reserved));
    }

    async fn assert_canceled(&self) {
        self.assert_wallet("0", "0").await;
        assert_eq!(self.scene.intents()[0]["status"], "canceled");
        let others = [self.worker.clone(), self.client.clone()];
        self.scene.storm(&others, 3).await;
        self.assert_wallet("0", "0").await;
        let books = self.scene.world.check_books().await;
        assert_eq!(books.entries_of("topup"), 0);
        assert_nothing_in_flight(&books);
        assert_eq!(self.after(EXPIRES_AFTER * 3).await, 0, "nothing is left to do");
    }
}

#[tokio::test]
async fn topup_is_canceled_when_it_expires_and_not_before() {
    let abandoned = Abandoned::new("abandoned").await;
    assert_eq!(abandoned.after(EXPIRES_AFTER - MINUTE).await, 0);
    assert_eq!(abandoned.worker.psp.sends(), 0);
    abandoned.assert_wallet("0", YEN).await;
    assert_eq!(abandoned.after(EXPIRES_AFTER + MINUTE).await, 1);
    assert_eq!(abandoned.worker.psp.sends(), 1);
    abandoned.assert_canceled().await;
}

/// While it is unknown whether the intent was canceled, the headroom stays reserved.
#[tokio::test]
async fn unconfirmed_cancellation_keeps_headroom_reserved() {
    for (tenant, lost) in [("unsure-before", Mishap::LostBefore), ("unsure-after", Mishap::LostAfter)] {
        let abandoned = Abandoned::new(tenant).await;
        abandoned.worker.psp.next_sends([Some(lost)]);
        assert_eq!(abandoned.after(EXPIRES_AFTER + MINUTE).await, 1);
        abandoned.assert_wallet("0", YEN).await;
        assert_eq!(abandoned.after(EXPIRES_AFTER + MINUTE * 2).await, 0, "the next check is not due yet");
        abandoned.assert_wallet("0", YEN).await;
        assert_eq!(abandoned.after(EXPIRES_AFTER + MINUTE * 12).await, 1);
        let mut keys = abandoned.worker.psp.keys();
        keys.dedup();
        assert_eq!(keys.len(), 1, "{keys:?}");
        abandoned.assert_canceled().await;
    }
}

/// The top-up was paid just before: Stripe refuses to cancel, and it is credited.
#[tokio::test]
async fn cancellation_after_payment_credits_the_topup() {
    let abandoned = Abandoned::new("paid-late").await;
    abandoned.scene.pay();
    assert_eq!(abandoned.after(EXPIRES_AFTER + MINUTE).await, 1);
    abandoned.assert_wallet(YEN, "0").await;
    finish_and_audit(&abandoned.scene, Does::Topup, &abandoned.call, &abandoned.client, None).await;
}

/// The payment and the cancellation race: the books follow the one that Stripe accepts.
#[tokio::test]
async fn racing_payment_and_cancellation_end_as_stripe_decides() {
    for (tenant, pays_first) in [("race-paid", true), ("race-canceled", false)] {
        let abandoned = Abandoned::new(tenant).await;
        let mishap = if pays_first { Mishap::HeldBefore } else { Mishap::HeldAfter };
        abandoned.worker.psp.next_sends([Some(mishap)]);
        abandoned.worker.clock.ahead(EXPIRES_AFTER + MINUTE);
        let racing = async {
            abandoned.worker.psp.held(1).await;
            abandoned.scene.pay();
            abandoned.client.deliver_all(&abandoned.scene, &abandoned.scene.events()).await;
            abandoned.worker.psp.release();
        };
        let (recovered, ()) = futures::join!(abandoned.worker.recover(&abandoned.scene), racing);
        assert_eq!(recovered.expect("the store is available").checked, 1);
        if pays_first {
            finish_and_audit(&abandoned.scene, Does::Topup, &abandoned.call, &abandoned.client, None).await;
        } else {
            abandoned.assert_canceled().await;
        }
    }
}

/// Records that one run of the worker reads, per shard.
const BATCH: usize = 25;

/// Expired top-ups that need review do not keep the worker from the others.
#[tokio::test]
async fn topups_needing_review_do_not_block_the_worker() {
    let rig = Rig::new().await;
    let scene = rig.scene_with("abandoned-behind", |terms| terms.due_shards = Shards::ONE).await;
    let (client, worker) = (rig.actor().await, rig.actor().await);
    join_all((0..BATCH).map(async |_| {
        let customer = scene.world.customer().await;
        parked::topup(&scene.world, &customer, YEN).await
    }))
    .await;
    let _ = client.settle(&scene.topup()).await.good();
    worker.clock.ahead(EXPIRES_AFTER + MINUTE);
    for _ in 0..2 {
        let recovered = worker.recover(&scene).await.expect("the store is available");
        assert_eq!(recovered.attention, BATCH);
    }
    assert_eq!(scene.intents()[0]["status"], "canceled");
    assert_eq!(scene.wallet("ECOPAY").await, wallet("0", "0", "0"));
    assert_eq!(scene.world.attention().await["operations"].as_array().map(Vec::len), Some(BATCH));
}

/// A top-up whose recovery fails does not keep the worker from the next one.
#[tokio::test]
async fn failed_recovery_does_not_block_other_topups() {
    let rig = Rig::new().await;
    let scene = rig.scene_with("abandoned-broken", |terms| terms.due_shards = Shards::ONE).await;
    let (client, worker) = (rig.actor().await, rig.victim().await);
    for _ in 0..2 {
        let _ = client.settle(&scene.topup()).await.good();
    }
    worker.clock.ahead(EXPIRES_AFTER + MINUTE);
    worker.tap.next_writes([Some(Fault::Error(400, "ValidationException"))]);
    let failed = worker.recover(&scene).await.expect_err("a write that no request explains");
    assert_eq!(failed.code(), "internal");
    assert_eq!(scene.wallet("ECOPAY").await, wallet("0", "0", YEN), "the second one's headroom is free");
    let _ = worker.recover(&scene).await.expect("the store is available");
    assert_eq!(scene.wallet("ECOPAY").await, wallet("0", "0", "0"));
    let _ = scene.world.check_books().await;
}

/// A refund stays pending for hours and the events of its end are lost: the worker looks it up.
#[tokio::test]
async fn refund_with_lost_events_is_looked_up() {
    let rig = Rig::new().await;
    for (tenant, arrives) in [("lost-paid", true), ("lost-failed", false)] {
        let scene = rig.scene(tenant).await;
        let call = scene.refund(&scene.paid().await);
        let (client, worker) = (rig.actor().await, rig.actor().await);
        rig.simulator.set_next_refunds(RefundStatus::Pending, Some(1));
        let answer = client.settle(&call).await.good();
        let recover = async |after: Duration| {
            worker.clock.ahead(after);
            worker.recover(&scene).await.expect("the store is available").checked
        };
        assert_eq!(recover(EXPIRES_AFTER - MINUTE).await, 0);
        assert_eq!(recover(EXPIRES_AFTER + MINUTE).await, 1, "an hour after it was requested");
        assert_eq!(scene.wallet("ECOPAY").await, wallet("0", YEN, "0"), "the refund is pending");
        let refund = scene.refunds()[0]["id"].as_str().expect("an id").to_owned();
        let ended =
            if arrives { rig.simulator.succeed_refund(&refund) } else { rig.simulator.fail_refund(&refund, None) };
        let _ = ended.expect("the refund is pending");
        assert_eq!(recover(EXPIRES_AFTER + MINUTE * 5).await, 0, "the next check is not due yet");
        assert_eq!(recover(EXPIRES_AFTER + MINUTE * 12).await, 1);
        assert_eq!((worker.psp.sends(), worker.psp.lookups()), (0, 2));
        let left = if arrives { "0" } else { YEN };
        assert_eq!(scene.wallet("ECOPAY").await, wallet(left, "0", "0"));
        if arrives {
            finish_and_audit(&scene, Does::Refund, &call, &client, Some(&answer)).await;
            continue;
        }
        scene.storm(&[client.clone(), worker.clone()], 5).await;
        assert_eq!(scene.wallet("ECOPAY").await, wallet(YEN, "0", "0"));
        assert_nothing_in_flight(&scene.world.check_books().await);
        assert_eq!(client.send(&call).await.stored(), answer.stored());
    }
}
