//! Shards are raised during payments, publishing, sealing and settlement, while some processes still use the smaller
//! number: no work is lost or done twice.

use futures::future::{join_all, join3};
use ledger_core::ids::Actor as By;
use ledger_core::keys::Shards;
use ledger_core::operation::Operation;
use ledger_core::settlements::{Outcome, Step, Task};
use ledger_core::tenants::raise_due_shards;
use ledger_runtime::publishing::Publisher;
use ledger_runtime::settlement::{Ended, SettlementRef};
use ledger_tests::audit::{Books, opt_text, text};
use ledger_tests::cloud::gate;
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::settling::{Settling, local_settler, opened, payable, run_task};
use ledger_tests::http::topup_rig::{Actor, Rig, Scene};
use ledger_tests::http::workers::seal;
use ledger_tests::http::{Call, Customer, Merchant};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PAYMENTS: usize = 12;
const CUSTOMERS: usize = 3;
/// Cached terms are used for less than this.
const CACHE_OVER: Duration = Duration::from_secs(61);

/// Runs the worker that publishes and seals once; returns whether it succeeded and how much work it found.
async fn work(actor: &Actor, scene: &Scene, events: &EventTap) -> (bool, usize) {
    let publisher = Publisher::new(&actor.app, Arc::new(events.clone()));
    let passed = gate::as_function("outbox", outbox::pass_due(&actor.app, Some(&publisher), &scene.tenant)).await;
    let found = passed.as_ref().map_or(0, |done| done.sealed.records + usize::from(done.sealed.left));
    (passed.is_ok(), found)
}

/// Runs the worker until no work is left.
async fn drain(actor: &Actor, scene: &Scene, events: &EventTap) {
    for _ in 0..50 {
        if work(actor, scene, events).await == (true, 0) {
            return;
        }
    }
    panic!("work is left after 50 rounds");
}

/// Runs the collect step of a settlement to its end.
async fn collect(actor: &Actor, at: &SettlementRef) {
    let task = Task::Do(Step::Collect);
    while run_task(&local_settler(&actor.app), at, task).await == Ok(Outcome::Again) {}
}

async fn pay(actor: &Actor, customers: &[Customer], merchant: &Merchant) {
    let all = customers.iter().map(|customer| async {
        for _ in 0..PAYMENTS {
            let _ = actor.settle(&customer.pays(merchant, "10")).await.good();
        }
    });
    let _ = join_all(all).await;
}

/// The shards in the values of `attribute` that contain `of`.
fn shards(books: &Books, attribute: &str, of: &str) -> BTreeSet<u32> {
    let marks = books.under("").filter_map(|(_, _, row)| opt_text(row, attribute));
    let marks = marks.filter(|mark| mark.contains(of)).filter_map(|mark| mark.rsplit('#').next());
    marks.filter_map(|shard| shard.parse().ok()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shards_raised_under_load_lose_no_work_and_do_none_twice() {
    let rig = Rig::new().await;
    let scene = rig.scene("shards-raised").await;
    let (world, events, over) = (&scene.world, EventTap::default(), AtomicBool::new(false));
    let merchant = payable(world).await;
    let customers = join_all((0..2 * CUSTOMERS).map(|_| world.customer_with("1000"))).await;
    let (before, after) = customers.split_at(CUSTOMERS);
    // Two processes that keep the smaller number in their cache: one takes payments, one runs workers.
    let (old_writer, old_worker) = (rig.actor().await, rig.actor().await);
    pay(&old_writer, before, &merchant).await;
    let _ = work(&old_worker, &scene, &events).await;
    let first = opened(world, &merchant).await;

    let raising = async {
        let raiser = rig.actor().await;
        let (to, ledger) = (Shards::new(64).expect("a number"), raiser.app.ledger());
        let cx = ledger.context(raiser.app.now()).expect("ids");
        let raised = raise_due_shards(&scene.tenant, to, By::System, &cx).expect("a write");
        gate::as_test(ledger.apply(&scene.tenant, Operation::TenantConfigure, &raised)).await.expect("raised");
        let path = format!("/v1/admin/merchants/{}", merchant.id);
        world.change(&path, &json!({"shards": 64, "reason": "a hot merchant"})).await;
        // Two processes that have read only the new number.
        let (new_writer, new_worker) = (rig.actor().await, rig.actor().await);
        let ((), ()) = futures::future::join(pay(&new_writer, after, &merchant), async {
            for _ in 0..3 {
                let _ = work(&new_worker, &scene, &events).await;
            }
        })
        .await;
        over.store(true, Ordering::SeqCst);
        new_worker
    };
    let working = async {
        while !over.load(Ordering::SeqCst) {
            let _ = work(&old_worker, &scene, &events).await;
            collect(&old_worker, &first).await;
        }
    };
    let ((), (), new_worker) = join3(pay(&old_writer, before, &merchant), working, raising).await;

    let marks = world.books().await;
    assert!(shards(&marks, "owner_pk", &merchant.id).iter().any(|shard| *shard >= 4), "nothing met the new shards");
    // The merchant's total is right at once, also from a process that uses the smaller number.
    let owed = old_writer.send(&Call::get("/v1/merchant/balances", &merchant.who)).await.good().json();
    assert_eq!(owed["balances"][0]["total"], (PAYMENTS * CUSTOMERS * 3 * 10).to_string(), "{owed}");
    // The workers continue, also in the old process once its cache has expired.
    old_worker.clock.ahead(CACHE_OVER);
    drain(&new_worker, &scene, &events).await;
    drain(&old_worker, &scene, &events).await;
    collect(&new_worker, &first).await;
    let books = world.check_books().await;
    assert_eq!(shards(&books, "_due_pk", "#due#publish#"), BTreeSet::new(), "records are left");
    // Every entry was published, in the order of its account, and is sealed.
    let published: BTreeSet<String> = events.delivered().into_iter().map(|delivery| delivery.id).collect();
    for (pk, sk, row) in books.under("TXN#") {
        assert!(published.contains(text(row, "transaction_id")) && row.contains_key("_sealed"), "{pk} {sk}");
    }
    for (group, ids) in events.first_deliveries() {
        assert!(ids.is_sorted(), "{group}: {ids:?}");
    }
    // The entries that the first settlement has not taken are in open periods.
    let closed: BTreeSet<&str> = books.under("PERIOD#").map(|(_, _, row)| text(row, "period_id")).collect();
    let credited = books.under("TXN#").map(|(_, _, row)| row).filter(|row| row.contains_key("credited_by"));
    let (taken, waiting): (Vec<_>, Vec<_>) = credited.partition(|row| closed.contains(text(row, "_period")));
    assert_eq!(taken.len() + waiting.len(), CUSTOMERS * PAYMENTS * 3);
    assert!(!taken.is_empty() && !waiting.is_empty(), "{} {}", taken.len(), waiting.len());
}

#[tokio::test]
async fn payments_on_new_shards_are_paid_by_the_next_settlement() {
    let shop = Settling::new("shards-settled").await;
    for _ in 0..4 {
        shop.take("100").await;
    }
    shop.credit().await;
    let first = shop.close().await;
    let path = format!("/v1/admin/merchants/{}", shop.merchant.id);
    shop.world.change(&path, &json!({"shards": 64})).await;
    let view = async || shop.good(&Call::get(&path, &shop.world.operator.who)).await.json();
    assert_eq!(view().await["shards"], 64);
    for _ in 0..16 {
        shop.take("100").await;
    }
    let owed = Call::get("/v1/merchant/balances", &shop.merchant.who);
    let owed = shop.good(&owed).await.json();
    assert_eq!(owed["balances"][0]["total"], "2000", "{owed}");
    let lower = Call::patch(&path, &shop.world.operator.who, &json!({"shards": 4})).key("lower");
    for _ in 0..2 {
        let _ = shop.world.api.send(&lower).await.problem(400, "wrong_state");
    }
    assert_eq!(view().await["shards"], 64);

    assert_eq!(shop.walk(&first).await, Ended::Over);
    shop.hand.ahead(CACHE_OVER);
    let _ = seal(&shop.app, &first.tenant).await.expect("the run succeeds");
    let second = shop.close().await;
    assert_eq!(shop.walk(&second).await, Ended::Over);
    let (first, second) = (shop.view(&first).await, shop.view(&second).await);
    let records = |view: &serde_json::Value| view["records"].as_i64().expect("records");
    assert_eq!(records(&first) + records(&second), 20, "{first} {second}");
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    shop.world.check_books().await;
}
