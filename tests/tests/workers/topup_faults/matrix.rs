//! The matrix: an operation's process crashes at one of seven points, and another actor recovers it.
//! Each cell is a tenant, and a failure names its cell.

use crate::topup_faults::audit::{Does, finish_and_audit};
use futures::future::{FutureExt, join_all};
use futures::stream::{self, StreamExt};
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::{Actor, LEASE_OVER, Rig, Scene, until};
use ledger_tests::http::{Answer, Call};
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Cells that run at once.
pub(crate) const AT_ONCE: usize = 8;
const CELL_PATIENCE: Duration = Duration::from_secs(60);
/// How long a request waits for another one with its key.
const WAIT: Duration = Duration::from_secs(5);

/// The point at which the process crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crash {
    BeforeClaim,
    AfterClaim,
    BeforeSend,
    AfterEffect,
    BeforeLanding,
    AfterLanding,
    BeforeReply,
}

/// Which actor comes first afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Client,
    Webhook,
    /// The customer has paid meanwhile, and the event of the payment arrives first.
    WebhookOfPayment,
    Worker,
    AllAtOnce,
    /// The same after the customer has paid.
    AllAtOncePaid,
}

impl Crash {
    const ALL: [Self; 7] = [
        Self::BeforeClaim,
        Self::AfterClaim,
        Self::BeforeSend,
        Self::AfterEffect,
        Self::BeforeLanding,
        Self::AfterLanding,
        Self::BeforeReply,
    ];

    /// Runs the request until the process crashes; returns its answer if it gave one.
    pub(crate) async fn strike(self, victim: &Actor, scene: &Scene, call: &Call) -> Option<Answer> {
        match self {
            Self::BeforeClaim => before_claim(victim, call).await,
            Self::AfterClaim => after_claim(victim, scene, call).await,
            Self::BeforeSend => at_stripe(victim, call, Mishap::HeldBefore).await,
            Self::AfterEffect => at_stripe(victim, call, Mishap::HeldAfter).await,
            Self::BeforeLanding => before_landing(victim, call).await,
            Self::AfterLanding => after_landing(victim, scene, call).await,
            Self::BeforeReply => return Some(victim.send(call).await.good()),
        }
        None
    }

    /// Whether Stripe has created its object by then.
    fn has_object(self) -> bool {
        match self {
            Self::BeforeClaim | Self::AfterClaim | Self::BeforeSend => false,
            Self::AfterEffect | Self::BeforeLanding | Self::AfterLanding | Self::BeforeReply => true,
        }
    }

    /// Whether the claim has no response yet.
    fn is_open(self) -> bool {
        match self {
            Self::AfterClaim | Self::BeforeSend | Self::AfterEffect | Self::BeforeLanding => true,
            Self::BeforeClaim | Self::AfterLanding | Self::BeforeReply => false,
        }
    }
}

async fn before_claim(victim: &Actor, call: &Call) {
    victim.tap.next_writes([Some(Fault::Held)]);
    kill_at(victim.spawn(call), victim.met()).await;
}

async fn after_claim(victim: &Actor, scene: &Scene, call: &Call) {
    victim.tap.next_writes([Some(Fault::AnswerLost)]);
    let claimed = until("a claim", async || scene.marker(call).await.as_deref() == Some("IN_FLIGHT"));
    kill_at(victim.spawn(call), claimed).await;
    assert_eq!(victim.psp.sends(), 0);
}

async fn at_stripe(victim: &Actor, call: &Call, mishap: Mishap) {
    victim.psp.next_sends([Some(mishap)]);
    kill_at(victim.spawn(call), victim.psp.held(1)).await;
}

async fn before_landing(victim: &Actor, call: &Call) {
    victim.tap.next_writes([None, Some(Fault::Held)]);
    kill_at(victim.spawn(call), victim.met()).await;
    assert_eq!(victim.psp.sends(), 1);
}

async fn after_landing(victim: &Actor, scene: &Scene, call: &Call) {
    victim.tap.next_writes([None, Some(Fault::AnswerLost)]);
    let landed = until("an answer", async || scene.marker(call).await.as_deref() == Some("COMPLETED"));
    kill_at(victim.spawn(call), landed).await;
}

/// Waits for the point, then drops the future of the process there.
async fn kill_at(process: JoinHandle<Answer>, at: impl Future<Output = ()>) {
    at.await;
    assert!(!process.is_finished(), "the process passed the point where it was to be killed");
    process.abort();
    assert!(process.await.is_err_and(|ended| ended.is_cancelled()), "the process ended before it was killed");
}

impl Recovery {
    const OF_ALL: [Self; 4] = [Self::Client, Self::Webhook, Self::Worker, Self::AllAtOnce];
    const OF_PAID: [Self; 2] = [Self::WebhookOfPayment, Self::AllAtOncePaid];

    async fn recover_by(self, scene: &Scene, does: Does, call: &Call, crash: Crash, client: &Actor) {
        let [webhook, worker] = [scene.rig.actor().await, scene.rig.actor().await];
        webhook.clock.ahead(LEASE_OVER);
        worker.clock.ahead(LEASE_OVER);
        match self {
            Self::Client => by_client(client, call).await,
            Self::Webhook => by_webhook(scene, &webhook).await,
            Self::WebhookOfPayment => by_webhook_of_payment(scene, &webhook).await,
            Self::Worker => by_worker(scene, &worker, crash).await,
            Self::AllAtOnce => by_all(scene, [client, &webhook, &worker], call).await,
            Self::AllAtOncePaid => {
                scene.pay();
                by_all(scene, [client, &webhook, &worker], call).await;
            }
        }
        let done = match self {
            Self::Client | Self::AllAtOnce | Self::AllAtOncePaid => true,
            Self::Webhook | Self::WebhookOfPayment => crash.has_object(),
            Self::Worker => crash != Crash::BeforeClaim,
        };
        if done {
            assert_eq!(scene.marker(call).await.as_deref(), Some("COMPLETED"), "after {self:?}");
            assert_eq!(does.made(scene), 1, "objects at Stripe after {self:?}");
        }
    }
}

async fn by_client(client: &Actor, call: &Call) {
    let _ = client.settle(call).await.good();
}

async fn by_webhook(scene: &Scene, webhook: &Actor) {
    webhook.deliver_all(scene, &scene.events()).await;
}

async fn by_webhook_of_payment(scene: &Scene, webhook: &Actor) {
    scene.pay();
    let events = scene.events();
    let (paid, others): (Vec<_>, Vec<_>) = events.iter().partition(|event| event["type"] == "payment_intent.succeeded");
    assert_eq!(paid.len(), 1);
    webhook.deliver_all(scene, paid.into_iter().chain(others)).await;
}

async fn by_worker(scene: &Scene, worker: &Actor, crash: Crash) {
    let recovered = worker.recover(scene).await.expect("the store is available");
    assert_eq!(recovered.completed, usize::from(crash.is_open()), "{recovered:?}");
}

async fn by_all(scene: &Scene, [client, webhook, worker]: [&Actor; 3], call: &Call) {
    let events = scene.events();
    let (_, (), recovered) =
        futures::join!(client.settle(call), webhook.deliver_all(scene, &events), worker.recover(scene));
    let _ = recovered.expect("the store is available");
}

/// Runs cells concurrently, and fails with the names of all that failed.
pub(crate) async fn run<C: Debug + Copy>(cells: Vec<C>, at_once: usize, cell: impl AsyncFn(usize, C)) {
    let (begun, count) = (Instant::now(), cells.len());
    let outcomes = stream::iter(cells.into_iter().enumerate()).map(async |(at, name)| {
        let run = tokio::time::timeout(CELL_PATIENCE, cell(at, name));
        match AssertUnwindSafe(run).catch_unwind().await {
            Ok(Ok(())) => None,
            Ok(Err(_)) => Some(format!("{name:?}: no end")),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Some(format!("{name:?}: {}", text.unwrap_or_default()))
            }
        }
    });
    let failed: Vec<String> = outcomes.buffer_unordered(at_once).filter_map(std::future::ready).collect().await;
    println!("{count} cells in {:?}", begun.elapsed());
    assert!(failed.is_empty(), "{} of {count} cells failed:\n{}", failed.len(), failed.join("\n"));
}

#[tokio::test]
async fn crash_at_any_point_is_recovered_by_any_actor() {
    let mut cells = Vec::new();
    for does in Does::BOTH {
        for crash in Crash::ALL {
            cells.extend(Recovery::OF_ALL.map(|recovery| (does, crash, recovery)));
            if does == Does::Topup && crash.has_object() {
                cells.extend(Recovery::OF_PAID.map(|recovery| (does, crash, recovery)));
            }
        }
    }
    let rig = Rig::new().await;
    run(cells, AT_ONCE, async |at, (does, crash, recovery): (Does, Crash, Recovery)| {
        let scene = rig.scene(&format!("matrix-{at}")).await;
        let (call, victim, client) = (does.prepare(&scene).await, rig.victim().await, rig.actor().await);
        let first = crash.strike(&victim, &scene, &call).await;
        assert_eq!(does.made(&scene), usize::from(crash.has_object()), "objects at Stripe after the crash");
        client.clock.ahead(LEASE_OVER);
        recovery.recover_by(&scene, does, &call, crash, &client).await;
        finish_and_audit(&scene, does, &call, &client, first.as_ref()).await;
    })
    .await;
}

/// Until the lease is over no other actor takes over: the client waits, then gets 409, and the worker does nothing.
#[tokio::test]
async fn request_during_another_holders_lease_gets_409() {
    let rig = Rig::new().await;
    let open = Crash::ALL.into_iter().filter(|crash| crash.is_open());
    let cells: Vec<_> = open.flat_map(|crash| Does::BOTH.map(|does| (does, crash))).collect();
    let all = cells.len();
    run(cells, all, async |at, (does, crash): (Does, Crash)| {
        let scene = rig.scene(&format!("lease-{at}")).await;
        let (call, victim, client) = (does.prepare(&scene).await, rig.victim().await, rig.actor().await);
        crash.strike(&victim, &scene, &call).await;
        let recovered = client.recover(&scene).await.expect("the store is available");
        assert_eq!((recovered.completed, recovered.waiting), (0, 0));
        let begun = Instant::now();
        let answer = client.send(&call).await.problem(409, "idempotency_key_in_use");
        assert!(answer.json()["retry_after_ms"].as_u64().is_some_and(|ms| (1..=10_000).contains(&ms)), "{answer:?}");
        let waited = begun.elapsed();
        assert!(waited >= WAIT && waited < WAIT * 2, "{waited:?}");
        assert_eq!(client.psp.sends() + client.psp.lookups(), 0);
        client.clock.ahead(LEASE_OVER);
        finish_and_audit(&scene, does, &call, &client, None).await;
    })
    .await;
}

/// Many requests with one key at several processes: one calls Stripe, and all return its answer.
#[tokio::test]
async fn concurrent_requests_with_one_key_call_stripe_once() {
    let rig = Rig::new().await;
    run(Does::BOTH.to_vec(), 1, async |at, does: Does| {
        let scene = rig.scene(&format!("many-{at}")).await;
        let call = does.prepare(&scene).await;
        let actors = join_all((0..4).map(|_| rig.actor())).await;
        let answers = join_all((0..32).map(|at| actors[at % actors.len()].send(&call))).await;
        for answer in &answers {
            assert_eq!((answer.status, answer.stored()), (201, answers[0].stored()));
        }
        assert_eq!(answers.iter().filter(|answer| !answer.replayed()).count(), 1);
        assert_eq!(actors.iter().map(|actor| actor.psp.sends()).sum::<usize>(), 1);
        finish_and_audit(&scene, does, &call, &actors[0], Some(&answers[0])).await;
    })
    .await;
}
