//! The crediting worker: each record is credited once through crashes, and the merchant's total is right at every moment.
use futures::future::{join, join_all};
use ledger_core::crediting::{BatchRejection, CreditedMerchant, Crediting, Uncredited};
use ledger_core::dynamo::{Item, Value};
use ledger_core::ids::{MerchantId, PaymentId, Tenant};
use ledger_core::keys::{self, Partition};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::terms::RecordVersion;
use ledger_core::transaction::Transaction;
use ledger_runtime::crediting::Credited;
use ledger_runtime::execute::ApplyError;
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::Problem;
use ledger_runtime::worker::Due;
use ledger_tests::audit::{n, opt_text, s};
use ledger_tests::cloud::gate;
use ledger_tests::http::tap::{Fault, Seen};
use ledger_tests::http::topup_rig::{Actor, LEASE_OVER, Rig, Scene, until};
use ledger_tests::http::{Call, Customer, Merchant};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

/// With their refunds, one record more than fits into a transaction with the lease and one balance.
const PAYMENTS_OF_TWO: u32 = 90;
const YEN: i64 = 7;
/// The id of a payment that does not exist.
const UNKNOWN_PAYMENT_ID: &str = "019aa000-0000-7000-8000-000000000001";

/// A tenant whose records the crediting worker credits.
async fn scene(rig: &Rig, tenant: &str) -> Scene {
    rig.scene_with(tenant, |terms| terms.records = RecordVersion::V3).await
}

/// A merchant, a customer, and what the merchant is owed.
struct Shop {
    merchant: Merchant,
    id: MerchantId,
    customer: Customer,
    owed: i64,
}

impl Shop {
    /// A merchant with `records` payments, every tenth of them refunded.
    async fn open(scene: &Scene, server: &Actor, records: u32) -> Self {
        let (customer, merchant) = join(scene.world.customer_with("5000"), scene.world.merchant()).await;
        let id = MerchantId::parse(&merchant.id).expect("an id");
        let mut shop = Self { merchant, id, customer, owed: 0 };
        for number in 1..=records {
            let payment = shop.sell(server).await;
            if number % 10 == 0 {
                shop.refund(server, &payment).await;
            }
        }
        shop
    }

    async fn sell(&mut self, server: &Actor) -> String {
        let paid = server.settle(&self.customer.pays(&self.merchant, &YEN.to_string())).await.good();
        self.owed += YEN;
        paid.text("/payment_id")
    }

    async fn refund(&mut self, server: &Actor, payment: &str) {
        let _ = server.settle(&self.merchant.refunds(payment, &YEN.to_string())).await.good();
        self.owed -= YEN;
    }

    /// What is credited and what is not, by the merchant API.
    async fn balance(&self, server: &Actor) -> (i64, i64) {
        balance(server, &self.merchant).await
    }
}

async fn balance(server: &Actor, merchant: &Merchant) -> (i64, i64) {
    let answer = server.settle(&Call::get("/v1/merchant/balances", &merchant.who)).await.good().json();
    let of = answer["balances"].as_array().expect("balances").iter().find(|balance| balance["asset"] == "ECOPAY");
    let Some(of) = of else { return (0, 0) };
    let number = |name: &str| of[name].as_str().and_then(|text| text.parse::<i64>().ok()).expect("a number");
    assert_eq!(number("total"), number("credited") + number("uncredited"), "{of}");
    (number("credited"), number("uncredited"))
}

async fn run(actor: &Actor, tenant: &Tenant, changed: Vec<Item>) -> Result<Credited, Problem> {
    let due = Due { changed, ..Due::everything(tenant.clone()) };
    gate::as_function("crediting", crediting::run_due(&actor.app, &due)).await
}

async fn sweep(actor: &Actor, tenant: &Tenant) -> Credited {
    run(actor, tenant, Vec::new()).await.expect("the run succeeds")
}

/// The merchant's uncredited records, as the stream would deliver them.
async fn records(scene: &Scene, shop: &Shop) -> Vec<Item> {
    let mut found = Vec::new();
    let shards = gate::as_test(scene.world.app.merchant(&scene.tenant, shop.id)).await.expect("a merchant").shards;
    for shard in 0..shards.count() {
        let query = reads::records_to_credit(&scene.tenant, shop.id, shard);
        found.extend(gate::as_test(scene.world.app.dynamo().query(&query)).await.expect("records"));
    }
    found
}

async fn crediting_item(scene: &Scene, shop: &Shop) -> Option<Crediting> {
    let key = Partition::merchant(&scene.tenant, shop.id).crediting();
    let item = gate::as_test(scene.world.app.dynamo().get(&key)).await.expect("an answer");
    item.map(|item| Crediting::read(&item).expect("as it is written"))
}

/// Crashes a worker at its `write`th write, before the write or after it.
async fn crash_at_write(victim: &Actor, scene: &Scene, shop: &Shop, (write, batches): (i64, i64), fault: Fault) {
    let is_before = matches!(fault, Fault::Held);
    victim.tap.next_writes((0..write).map(|_| None).chain([Some(fault)]));
    let (actor, tenant) = (victim.clone(), scene.tenant.clone());
    let running = tokio::spawn(async move { run(&actor, &tenant, Vec::new()).await });
    victim.met().await;
    if !is_before {
        until("the write is done", async || {
            let crediting = crediting_item(scene, shop).await;
            crediting.is_some_and(|crediting| match write {
                0 => true,
                write if write <= batches => crediting.version == write,
                _ => crediting.holder.lease_until <= victim.app.now(),
            })
        })
        .await;
    }
    running.abort();
}

/// Checks that after a crash at one of its writes another worker waits for the end of the lease, then continues.
async fn check_crash(rig: &Rig, (write, batches): (i64, i64), fault: Fault) {
    let is_before = matches!(fault, Fault::Held);
    let name = format!("crash-{write}-of-{batches}-{}", if is_before { "before" } else { "after" });
    let (scene, server, victim) = (scene(rig, &name).await, rig.actor().await, rig.victim().await);
    let payments = if batches == 1 { 10 } else { PAYMENTS_OF_TWO };
    let shop = Shop::open(&scene, &server, payments).await;
    assert_eq!(shop.balance(&server).await, (0, shop.owed));
    crash_at_write(&victim, &scene, &shop, (write, batches), fault).await;
    // The worker's writes: the lease, the batches, the release.
    let done = if is_before { write } else { write + 1 };
    let (credited, uncredited) = shop.balance(&server).await;
    assert_eq!(credited + uncredited, shop.owed, "{name}");
    assert_eq!((credited == 0, uncredited == 0), (done < 2, done > batches), "{name}: {credited} {uncredited}");

    let next_worker = rig.actor().await;
    let swept = sweep(&next_worker, &scene.tenant).await;
    let is_taken = (1..=batches).contains(&done);
    assert_eq!(swept.left, usize::from(is_taken), "{name}");
    if is_taken {
        assert_eq!((swept.records, shop.balance(&server).await), (0, (credited, uncredited)), "{name}");
        next_worker.clock.ahead(LEASE_OVER);
        let _ = sweep(&next_worker, &scene.tenant).await;
    }
    assert_eq!(shop.balance(&server).await, (shop.owed, 0), "{name}");
    assert_eq!(sweep(&next_worker, &scene.tenant).await, Credited::default(), "{name}");
    let version = crediting_item(&scene, &shop).await.map(|crediting| crediting.version);
    assert_eq!(version, Some(batches), "{name}: each batch is one transaction");
    let _ = scene.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_any_write_is_continued_by_another_worker() {
    let rig = Rig::new().await;
    let points = [(0, 1), (1, 1), (2, 1), (2, 2)];
    let checks = points.into_iter().flat_map(|at| [(at, Fault::Held), (at, Fault::AnswerLost)]);
    let _ = join_all(checks.map(|(at, fault)| check_crash(&rig, at, fault))).await;
}

/// Crediting workers are cut off at random while customers pay and are refunded, and the merchant reads its balance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_total_is_right_while_workers_crash() {
    let rig = Rig::new().await;
    let (scene, server) = (scene(&rig, "cut-off").await, rig.actor().await);
    let shop = Shop::open(&scene, &server, 120).await;
    // Bounds of what may be committed: what was answered, and what was requested.
    let (least, most) = (AtomicI64::new(shop.owed), AtomicI64::new(shop.owed));
    let (over, crashes, reads) = (AtomicBool::new(false), AtomicU32::new(0), AtomicU32::new(0));

    let selling = async {
        let customers = join_all((0..3).map(|_| scene.world.customer_with("1000"))).await;
        let each = customers.iter().map(|customer| async {
            for number in 0..25 {
                most.fetch_add(YEN, Ordering::SeqCst);
                let call = customer.pays(&shop.merchant, &YEN.to_string());
                let payment = server.settle(&call).await.good().text("/payment_id");
                least.fetch_add(YEN, Ordering::SeqCst);
                if number % 3 == 0 {
                    least.fetch_sub(YEN, Ordering::SeqCst);
                    let _ = server.settle(&shop.merchant.refunds(&payment, &YEN.to_string())).await.good();
                    most.fetch_sub(YEN, Ordering::SeqCst);
                }
            }
        });
        let _ = join_all(each).await;
        over.store(true, Ordering::SeqCst);
    };
    let working = |number: u32| {
        let (rig, scene, over, crashes) = (&rig, &scene, &over, &crashes);
        async move {
            let worker = rig.actor().await;
            for run_number in 1.. {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                // Past the lease of the worker that crashed before, so that a crash does not stop the others.
                worker.clock.ahead(LEASE_OVER * run_number);
                let life = Duration::from_millis(u64::from((run_number * 7 + number * 3) % 23) * 3);
                let run = tokio::time::timeout(life, sweep(&worker, &scene.tenant)).await;
                crashes.fetch_add(u32::from(run.is_err()), Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let reading = async {
        while !over.load(Ordering::SeqCst) {
            let at_least = least.load(Ordering::SeqCst);
            let (credited, uncredited) = shop.balance(&server).await;
            let at_most = most.load(Ordering::SeqCst);
            let total = credited + uncredited;
            // Requests in flight may lower the total by refunds or raise it by payments.
            let slack = 3 * YEN;
            assert!((at_least - slack..=at_most + slack).contains(&total), "{at_least} <= {total} <= {at_most}");
            reads.fetch_add(1, Ordering::SeqCst);
        }
    };
    let _ = join(join(selling, reading), join(working(1), working(2))).await;
    let (crashes, reads) = (crashes.into_inner(), reads.into_inner());
    println!("{crashes} crashes, {reads} reads");
    assert!(crashes > 3 && reads > 3, "{crashes} crashes, {reads} reads");

    let last = rig.actor().await;
    last.clock.ahead(Duration::from_secs(365 * 24 * 60 * 60));
    let _ = sweep(&last, &scene.tenant).await;
    let owed = least.into_inner();
    assert_eq!((owed, shop.balance(&server).await), (most.into_inner(), (owed, 0)));
    let _ = scene.world.check_books().await;
}

/// Crediting does not change the merchant's total at any read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_workers_credit_each_record_once() {
    let rig = Rig::new().await;
    let (scene, server) = (scene(&rig, "at-once").await, rig.actor().await);
    let shop = Shop::open(&scene, &server, 150).await;
    let changed = records(&scene, &shop).await;
    let (one, two) = (rig.actor().await, rig.actor().await);
    let working = async {
        let mut credited = 0;
        for some in changed.chunks(30) {
            let some = || some.to_vec();
            let (by_one, by_two) = join(run(&one, &scene.tenant, some()), run(&two, &scene.tenant, some())).await;
            credited += by_one.expect("the run succeeds").records + by_two.expect("the run succeeds").records;
        }
        credited
    };
    let reading = async {
        let mut seen = Vec::new();
        loop {
            let (credited, uncredited) = shop.balance(&server).await;
            assert_eq!(credited + uncredited, shop.owed);
            seen.push(credited);
            if uncredited == 0 {
                return seen;
            }
        }
    };
    let (credited, seen) = join(working, reading).await;
    assert_eq!(credited, changed.len());
    assert_eq!(seen.last(), Some(&shop.owed));
    let _ = scene.world.check_books().await;
}

#[tokio::test]
async fn former_lease_holder_writes_nothing() {
    let rig = Rig::new().await;
    let (scene, server) = (scene(&rig, "late").await, rig.actor().await);
    let shop = Shop::open(&scene, &server, 3).await;
    let waiting: Vec<Uncredited> = records(&scene, &shop).await.iter().filter_map(|item| due(&scene, item)).collect();
    let (app, now) = (&scene.world.app, scene.world.app.now());
    let (lease, taken) =
        CreditedMerchant::take(&scene.tenant, shop.id, None, now).expect("a lease").expect("no worker holds the lease");
    let write = async |transaction: &Transaction| {
        gate::as_test(app.ledger().apply(&scene.tenant, Operation::Crediting, transaction)).await
    };
    write(&taken).await.expect("the lease is taken");
    assert_eq!(sweep(&server, &scene.tenant).await, Credited { records: 0, left: 1 });

    let successor = rig.actor().await;
    successor.clock.ahead(LEASE_OVER);
    assert_eq!(sweep(&successor, &scene.tenant).await, Credited { records: 3, left: 0 });
    let books = scene.world.books().await;
    let batch = lease.batch(&waiting, RecordVersion::V3, now).expect("a batch").expect("records");
    for stale_write in [batch.transaction().clone(), lease.release(now).expect("a release")] {
        let Err(ApplyError::Rejected(rejection)) = write(&stale_write).await else {
            panic!("the write of a former lease holder succeeded")
        };
        assert_eq!(batch.explain(&rejection), Some(BatchRejection::LeaseLost));
    }
    scene.world.books().await.unchanged_since(&books, "a former lease holder wrote something");
    assert_eq!(shop.balance(&server).await, (shop.owed, 0));
}

fn due(scene: &Scene, item: &Item) -> Option<Uncredited> {
    Uncredited::read(&scene.tenant, item).expect("as it is written")
}

#[tokio::test]
async fn repeated_and_unreadable_records_do_not_block_others() {
    let rig = Rig::new().await;
    let (scene, server) = (scene(&rig, "again").await, rig.actor().await);
    let mut shop = Shop::open(&scene, &server, 5).await;
    let first = records(&scene, &shop).await;
    assert_eq!(run(&server, &scene.tenant, first.clone()).await, Ok(Credited { records: 5, left: 0 }));
    // The stream delivers at least once, and an index may still list credited records.
    for _ in 0..2 {
        let _ = shop.sell(&server).await;
    }
    let later = records(&scene, &shop).await;
    let again: Vec<Item> = first.iter().chain(&later).cloned().collect();
    assert_eq!(run(&server, &scene.tenant, again.clone()).await, Ok(Credited { records: 2, left: 0 }));
    assert_eq!(run(&server, &scene.tenant, again).await, Ok(Credited::default()));

    let _ = shop.sell(&server).await;
    let [good] = &records(&scene, &shop).await[..] else { panic!("one record") };
    let mut unreadable = good.clone();
    unreadable.insert("merchant_delta".to_owned(), Value::s("seven"));
    let mut misplaced = good.clone();
    let unknown = keys::payment(&scene.tenant, PaymentId::parse(UNKNOWN_PAYMENT_ID).expect("an id"));
    for (name, value) in [("uuid", unknown.pk()), ("type", unknown.sk()), ("payment_id", UNKNOWN_PAYMENT_ID)] {
        misplaced.insert(name.to_owned(), Value::s(value));
    }
    for bad in [unreadable, misplaced] {
        let _ = shop.sell(&server).await;
        let (owed, before) = (shop.owed, shop.balance(&server).await);
        assert!(before.1 >= YEN);
        let ended = run(&server, &scene.tenant, [vec![bad], records(&scene, &shop).await].concat()).await;
        assert_eq!(ended.map_err(|problem| problem.status().as_u16()), Err(500));
        assert_eq!(shop.balance(&server).await, (owed, 0));
    }
    // A changed item that is not an uncredited record is ignored.
    let profile = gate::as_test(server.app.dynamo().get(&Partition::merchant(&scene.tenant, shop.id).profile())).await;
    let unrelated = vec![profile.expect("an answer").expect("a profile")];
    assert_eq!(run(&server, &scene.tenant, unrelated).await, Ok(Credited::default()));
    let _ = scene.world.check_books().await;
}

#[tokio::test]
async fn sweep_credits_every_merchant_and_measures_its_lag() {
    let rig = Rig::new().await;
    let (scene, server) = (scene(&rig, "sweep").await, rig.actor().await);
    let shops = join_all((0..6).map(|_| Shop::open(&scene, &server, 2))).await;
    let sweeper = rig.actor().await;
    sweeper.clock.ahead(Duration::from_secs(1000));
    assert_eq!(sweep(&sweeper, &scene.tenant).await, Credited { records: 12, left: 0 });
    let lag = || sweeper.counting.measured(Metric::CreditingLag, Some(&scene.tenant));
    assert!(lag().is_some_and(|lag| (999..1060).contains(&lag)), "{:?}", lag());
    for shop in &shops {
        assert_eq!(shop.balance(&server).await, (shop.owed, 0));
    }
    // A merchant without payments has no crediting item.
    let quiet = Shop::open(&scene, &server, 0).await;
    assert_eq!(sweep(&sweeper, &scene.tenant).await, Credited::default());
    assert_eq!(crediting_item(&scene, &quiet).await, None);
    // A lag of 0 is measured too, so that the alarm ends.
    assert_eq!(lag(), Some(0));
    let _ = scene.world.check_books().await;
}

/// Each rule about credits finds its planted errors, so that it can fail in other tests.
#[tokio::test]
async fn audit_finds_every_crediting_disorder() {
    const BALANCES: &str = "merchants' balances equal postings";
    const DUE: &str = "records are due until settled";
    let rig = Rig::new().await;
    // Without periods; those are audited with the settlements that close them.
    let scene = rig.scene_with("audited", |terms| terms.records = RecordVersion::V2).await;
    let server = rig.actor().await;
    let mut shop = Shop::open(&scene, &server, 3).await;
    let _ = sweep(&server, &scene.tenant).await;
    let _ = shop.sell(&server).await;
    let good = scene.world.check_books().await;
    good.check_credited();
    type Which = fn(&str, &Item) -> bool;
    let balance: Which = |sk, row| sk == "BALANCE#ECOPAY" && !row.contains_key("exposure");
    let credited: Which = |sk, row| sk == "PAYMENT" && row.contains_key("credited_at");
    let waiting: Which = |sk, row| sk == "PAYMENT" && !row.contains_key("credited_at");
    let bad = |which: Which, change: &dyn Fn(&mut Item)| {
        let mut books = good.clone();
        let key = books.rows.iter().find(|((_, sk), row)| which(sk, row)).map(|(key, _)| key.clone());
        change(books.rows.get_mut(&key.expect("a matching row")).expect("the row"));
        books
    };
    let set = |name: &'static str, value: Value| move |row: &mut Item| drop(row.insert(name.to_owned(), value.clone()));
    let settle = good.rows.values().filter_map(|row| opt_text(row, "due_pk")).find(|due| due.contains("#settle#"));
    let settle = settle.expect("a credited record");
    let disorders = [
        (BALANCES, "a yen too much", bad(balance, &set("balance", n(3 * YEN + 1)))),
        (BALANCES, "credited twice", bad(balance, &set("balance", n(4 * YEN)))),
        (BALANCES, "held and never posted", bad(balance, &set("held", n(1)))),
        (BALANCES, "credited without the flag", bad(credited, &|row| drop(row.remove("credited_at")))),
        (DUE, "credited and not due", bad(credited, &|row| drop(row.remove("due_pk")))),
        (DUE, "not credited and not due", bad(waiting, &|row| drop(row.remove("due_pk")))),
        (
            BALANCES,
            "flagged without a credit",
            bad(waiting, &|row| {
                row.insert("credited_at".to_owned(), s("2026-11-21T03:00:00.000Z"));
                row.insert("due_pk".to_owned(), s(settle));
            }),
        ),
    ];
    for (rule, what, books) in &disorders {
        let findings = books.findings_when_credited();
        assert!(findings.iter().any(|finding| finding.rule == *rule), "{what}: {findings:?}");
    }
}

/// A payment's credit costs 2 units for its record, and for its entry in `due` 1 if that is removed, or 2 if its key
/// changes. Its entry in the merchant's list does not change.
#[tokio::test]
async fn full_batch_costs_298_write_units_with_periods_and_396_without() {
    for (slug, records, units) in [("batch", RecordVersion::V3, 298), ("batch-2", RecordVersion::V2, 396)] {
        check_full_batch(slug, records, units).await;
    }
}

async fn check_full_batch(slug: &str, records: RecordVersion, units: u64) {
    let rig = Rig::new().await;
    let scene = rig.scene_with(slug, |terms| terms.records = records).await;
    let (server, worker) = (rig.actor().await, rig.actor().await);
    let mut shop = Shop::open(&scene, &server, 0).await;
    for _ in 0..98 {
        let _ = shop.sell(&server).await;
    }
    worker.tap.meter();
    assert_eq!(sweep(&worker, &scene.tenant).await, Credited { records: 98, left: 0 });
    let written = worker.tap.take().into_iter().filter(Seen::is_written);
    let written: Vec<_> = written.map(|seen| (seen.keys().len(), seen.write_units())).collect();
    assert_eq!(written, [(1, Some(2)), (100, Some(units)), (1, Some(2))]);
}
