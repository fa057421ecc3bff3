//! Jobs of every kind: done once with a fault at every write, by workers at once, stopped, with a subject that always fails, and
//! beside a long one.

use futures::future::{join, join_all};
use jobs::JobsTime;
use ledger_core::cards::batch::CardBatch;
use ledger_core::ids::JobId;
use ledger_core::keys::{self, JobKind};
use ledger_tests::cloud::gate;
use ledger_tests::http::settling::{Settling, payable};
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World};
use ledger_tests::share;
use serde_json::{Value, json};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
/// A Friday.
const DAY: &str = "2026-11-20";

/// A job that was asked for.
struct Asked {
    id: String,
    /// The partition of one of its subjects, if it has subjects.
    partition: Option<String>,
}

/// Asks for a job of a kind with two subjects or more.
async fn asked(world: &World, kind: JobKind) -> Asked {
    let post = async |path: &str, body: Value| {
        let call = Call::post(path, &world.operator.who, &body).key(new_key());
        world.executes(&call).await.good().text("/job_id")
    };
    match kind {
        JobKind::Grant => {
            let customers = [world.customer().await.id, world.customer().await.id, world.customer().await.id];
            let body = json!({"customer_ids": customers, "asset": "POINT", "amount": "25", "reason": "campaign"});
            Asked { id: post("/v1/admin/grants", body).await, partition: Some(format!("#customer#{}", customers[1])) }
        }
        JobKind::CardBatch => {
            let id = post("/v1/admin/card-batches", json!({"count": 3, "reason": "spring"})).await;
            let key = keys::job(&world.slug(), JobId::parse(&id).expect("an id"));
            let batch = CardBatch::read(world.books().await.row(key.pk(), "JOB").expect("the job")).expect("a batch");
            let partition = Some(format!("#card#{}", batch.card(1)));
            Asked { id, partition }
        }
        JobKind::WindDown => {
            let customers = [world.customer_with("300").await, world.customer().await];
            let _ = world.card(Some(&customers[1]), "50").await;
            let id = world.started_winding_down().await;
            Asked { id, partition: Some(format!("#customer#{}", customers[0].id)) }
        }
        JobKind::SettlementRun => {
            let merchants = [payable(world).await, payable(world).await];
            for merchant in &merchants {
                let schedule = world.schedules(&merchant.id, Some("weekly:friday bank_days:2"));
                let _ = world.executes(&schedule).await.good();
                let _ = world.api.settle(&world.customer_with("100").await.pays(merchant, "100")).await.good();
            }
            let _ = world.credit().await.expect("the run succeeds");
            let id = world.executes(&world.runs_settlements(DAY)).await.good().text("/job_id");
            Asked { id, partition: Some(format!("#merchant#{}", merchants[0].id)) }
        }
        JobKind::BankFile => {
            let day = world.booked_day().await;
            Asked { id: world.api.settle(&world.cuts(&day)).await.good().text("/job_id"), partition: None }
        }
        JobKind::Erasure => {
            let (customer, other) = (world.customer_with("300").await, world.customer().await);
            for memo in ["one", "two"] {
                let _ = world.api.settle(&customer.sends(&other, "5").field("memo", memo)).await.good();
            }
            world.closed(&customer.id).await;
            let id = world.executes(&world.erases(&customer.id, "asked for")).await.good().text("/job_id");
            world.makes_erasures_due().await;
            Asked { id, partition: Some(format!("#customer#{}", customer.id)) }
        }
        JobKind::File => {
            let id = world.api.settle(&world.asks_for(&json!({"kind": "payees"}))).await.good().text("/job_id");
            Asked { id, partition: None }
        }
        JobKind::TermsPreview => {
            let body = json!({"changes": {}, "days": 1});
            Asked { id: post("/v1/admin/terms/previews", body).await, partition: None }
        }
    }
}

const fn is_attempt(kind: JobKind) -> bool {
    match kind {
        JobKind::File | JobKind::TermsPreview => true,
        JobKind::Grant
        | JobKind::CardBatch
        | JobKind::WindDown
        | JobKind::SettlementRun
        | JobKind::BankFile
        | JobKind::Erasure => false,
    }
}

/// Whether each subject of a kind has a line.
const fn has_lines(kind: JobKind) -> bool {
    match kind {
        JobKind::Grant | JobKind::WindDown | JobKind::SettlementRun => true,
        JobKind::CardBatch | JobKind::BankFile | JobKind::Erasure | JobKind::File | JobKind::TermsPreview => false,
    }
}

/// Runs the worker of a kind once. What it returns says whether something failed, which is no matter here.
async fn run(shop: &Settling, kind: JobKind) {
    if is_attempt(kind) {
        let outlets = ledger_runtime::reconcile::Outlets::default();
        let due = ledger_runtime::worker::Due::everything(shop.world.slug());
        let settings = ledger_runtime::reconcile::Settings {
            nightly: false,
            ..ledger_runtime::reconcile::Settings::of(&shop.app)
        };
        let _ = gate::as_function("reconcile", reconcile::run_as((&shop.app, &outlets), &due, &settings)).await;
    } else {
        let _ = shop.run_jobs().await;
    }
}

/// Runs the worker of a kind until its planned write is held, and ends it there: what it began goes no further. Ends when the worker
/// does without such a write.
async fn run_and_kill(shop: &Settling, kind: JobKind) {
    let held = async {
        while shop.tap.faults_left() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        () = run(shop, kind) => {}
        () = held => {}
    }
}

/// Runs the worker of a kind until a job has ended, with time between.
async fn ended((shop, clock): (&Settling, &TestClock), kind: JobKind, job: &str) -> Value {
    for _ in 0..12 {
        run(shop, kind).await;
        let view = shop.world.job(job).await;
        if view["ended_at"].is_string() {
            return view;
        }
        clock.forward(5 * MINUTE);
    }
    panic!("the job does not end: {}", shop.world.job(job).await);
}

/// Requires that the counters of a job are those of its lines.
async fn counters_are_those_of_the_lines(world: &World, kind: JobKind, view: &Value) {
    let id = view["job_id"].as_str().expect("an id");
    for status in ["done", "failed", "skipped"] {
        let lines = world.job_lines(id, Some(status), 100).await.len();
        if status != "done" || has_lines(kind) {
            assert_eq!(view[status], json!(lines), "{status}: {view}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_of_each_kind_is_done_once_with_a_fault_or_a_kill_at_every_write() {
    let (shop, clock) = Settling::timed("jobs-faults").await;
    let world = &shop.world;
    for kind in JobKind::ALL {
        for fault in [Fault::Refused, Fault::AnswerCut, Fault::Held] {
            for nth in share::writes() {
                let job = asked(world, kind).await;
                shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
                if matches!(fault, Fault::Held) {
                    run_and_kill(&shop, kind).await;
                } else {
                    run(&shop, kind).await;
                }
                let missed = shop.tap.faults_left();
                shop.tap.forget_faults();
                clock.forward(5 * MINUTE);
                let view = ended((&shop, &clock), kind, &job.id).await;
                assert_eq!((&view["status"], &view["failed"]), (&json!("done"), &json!(0)), "{fault:?} {nth}: {view}");
                counters_are_those_of_the_lines(world, kind, &view).await;
                if missed > 0 {
                    break;
                }
            }
        }
        let _ = world.check_books().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_at_once_do_a_job_of_each_kind_once() {
    let (shop, clock) = Settling::timed("jobs-at-once").await;
    for kind in JobKind::ALL {
        let job = asked(&shop.world, kind).await;
        let _ = join_all((0..4).map(|_| run(&shop, kind))).await;
        let view = ended((&shop, &clock), kind, &job.id).await;
        assert_eq!((&view["status"], &view["failed"]), (&json!("done"), &json!(0)), "{view}");
        counters_are_those_of_the_lines(&shop.world, kind, &view).await;
    }
    let _ = shop.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopped_job_of_each_kind_counts_what_it_has_done_and_does_nothing_more() {
    let (shop, clock) = Settling::timed("jobs-stopped").await;
    let world = &shop.world;
    for kind in JobKind::ALL {
        // Before a worker begins it, and beside a worker.
        for is_running in [false, true] {
            let job = asked(world, kind).await;
            let stop = world.stops(&job.id);
            let (answer, ()) = join(world.api.settle(&stop), async {
                if is_running {
                    run(&shop, kind).await;
                }
            })
            .await;
            if matches!(kind, JobKind::Erasure | JobKind::BankFile) {
                let _ = answer.problem(400, "wrong_state");
                assert_eq!(ended((&shop, &clock), kind, &job.id).await["status"], "done");
                continue;
            }
            if answer.status != 200 {
                assert!(is_running, "{answer:?}");
                let _ = answer.problem(400, "wrong_state");
                assert_eq!(world.job(&job.id).await["status"], "done", "it ended before");
                continue;
            }
            let status = if is_attempt(kind) { "stopped" } else { "stopping" };
            assert_eq!(answer.text("/status"), status);
            assert_eq!(world.api.settle(&stop).await.body, answer.body, "the stored answer");
            let _ = world.api.settle(&world.stops(&job.id)).await.problem(400, "wrong_state");
            run(&shop, kind).await;
            let view = ended((&shop, &clock), kind, &job.id).await;
            assert_eq!(view["status"], "stopped", "{view}");
            let before = world.job_lines(&job.id, None, 100).await;
            counters_are_those_of_the_lines(world, kind, &view).await;
            run(&shop, kind).await;
            assert_eq!(world.job_lines(&job.id, None, 100).await, before, "a stopped job goes on");
            assert!(is_running || view["done"] == json!(0), "{view}");
        }
        let _ = world.check_books().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_is_stopped_by_those_who_may_start_one() {
    let world = World::new("jobs-permissions").await;
    let (_, viewer) = ledger_tests::http::staff::member(&world, "viewer").await;
    let (_, support) = ledger_tests::http::staff::member(&world, "support").await;
    for kind in JobKind::ALL.into_iter().filter(|kind| !matches!(kind, JobKind::Erasure | JobKind::BankFile)) {
        let job = asked(&world, kind).await;
        let stop = world.stops(&job.id);
        let denied = world.api.settle(&stop.clone().by(&viewer)).await;
        let _ = denied.problem(403, "permission_missing");
        let path = format!("/v1/admin/jobs/{}", job.id);
        let shown = world.api.send(&Call::get(&path, &support)).await;
        let may_see = matches!(kind, JobKind::Grant | JobKind::CardBatch | JobKind::WindDown);
        assert_eq!(shown.status, if may_see { 200 } else { 403 }, "{kind:?}: {shown:?}");
        let listed = world.api.send(&Call::get("/v1/admin/jobs?limit=100", &support)).await.good().json();
        assert_eq!(listed.to_string().contains(&job.id), may_see, "{kind:?}");
        let _ = world.api.settle(&stop).await.good();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subject_that_always_fails_has_a_line_and_keeps_no_other() {
    let (shop, clock) = Settling::timed("jobs-failing").await;
    let world = &shop.world;
    for kind in JobKind::ALL {
        let job = asked(world, kind).await;
        let Some(partition) = job.partition.as_ref().filter(|_| kind != JobKind::Erasure) else { continue };
        shop.tap.writes_to(Some((partition, Fault::Refused)));
        for _ in 0..3 {
            run(&shop, kind).await;
        }
        let view = world.job(&job.id).await;
        assert_eq!(view["status"], "running", "{kind:?}: {view}");
        if has_lines(kind) {
            assert!(view["done"].as_u64() > Some(0), "the others are done: {view}");
        }
        assert!(view["next_try_at"].is_string(), "{kind:?}: {view}");
        let view = ended((&shop, &clock), kind, &job.id).await;
        assert_eq!(view["status"], "done", "{kind:?}: {view}");
        assert!(view["failed"].as_u64() > Some(0), "{kind:?}: {view}");
        let lines = world.job_lines(&job.id, Some("failed"), 100).await;
        assert_eq!(lines.len(), usize::try_from(view["failed"].as_u64().expect("a number")).expect("few"));
        assert!(lines.iter().all(|line| line["code"] != Value::Null), "{lines:?}");
        counters_are_those_of_the_lines(world, kind, &view).await;
        shop.tap.writes_to(None);
        let _ = world.check_books().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn erasure_waits_for_a_record_that_cannot_be_written_and_keeps_no_other() {
    let (shop, clock) = Settling::timed("jobs-unwritable").await;
    let world = &shop.world;
    let (job, other) = (asked(world, JobKind::Erasure).await, asked(world, JobKind::Erasure).await);
    shop.tap.writes_to(job.partition.as_deref().map(|partition| (partition, Fault::Refused)));
    for _ in 0..8 {
        run(&shop, JobKind::Erasure).await;
        clock.forward(10 * MINUTE);
    }
    assert_eq!(world.job(&other.id).await["status"], "done");
    let view = world.job(&job.id).await;
    assert_eq!((&view["status"], &view["failed"]), (&json!("running"), &json!(0)), "texts are given up: {view}");
    shop.tap.writes_to(None);
    let view = ended((&shop, &clock), JobKind::Erasure, &job.id).await;
    assert_eq!((&view["status"], &view["failed"]), (&json!("done"), &json!(0)), "{view}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn job_of_each_other_kind_is_done_beside_a_hundred_thousand_cards() {
    let (shop, clock) = Settling::timed("jobs-beside").await;
    let world = &shop.world;
    let mut batches = Vec::new();
    for _ in 0..10 {
        let cards = json!({"count": 10_000, "reason": "spring"});
        let cards = Call::post("/v1/admin/card-batches", &world.operator.who, &cards).key(new_key());
        batches.push(world.api.settle(&cards).await.good().text("/job_id"));
    }
    let mut others = Vec::new();
    for kind in JobKind::ALL.into_iter().filter(|kind| *kind != JobKind::CardBatch && !is_attempt(*kind)) {
        others.push(asked(world, kind).await.id);
    }
    // So little time that the cards are not issued in it.
    let (tenant, time) = (world.slug(), JobsTime { all: Duration::from_secs(6), slice: Duration::from_secs(1) });
    for _ in 0..3 {
        let run = jobs::run_due_within(&shop.app, &tenant, time);
        let _ = gate::as_function("jobs", run).await.expect("the run succeeds");
    }
    for job in &others {
        assert_eq!(world.job(job).await["status"], "done");
    }
    if share::is_whole() {
        for job in &batches {
            let mut view = world.job(job).await;
            while view["status"] != "done" {
                run(&shop, JobKind::CardBatch).await;
                view = world.job(job).await;
            }
            assert_eq!((&view["done"], &view["failed"]), (&json!(10_000), &json!(0)), "{view}");
        }
    }
    let _ = clock;
}
