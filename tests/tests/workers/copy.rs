//! A copy of the table that is put together from the stream of its changed items has whole books at every moment, whatever
//! happened to the requests and in whatever order the changes arrive.

use aws_sdk_dynamodb::types::{PutRequest, WriteRequest};
use futures::future::{join, join_all};
use ledger_core::dynamo::{Item, Value};
use ledger_core::ids::Tenant;
use ledger_core::keys::attr;
use ledger_core::operation::Operation;
use ledger_core::reconcile::Limits;
use ledger_core::reconcile::run::of_the_night;
use ledger_core::time::{Timestamp, UtcDay};
use ledger_local::reports::LocalReports;
use ledger_runtime::reconcile::{Outlets, Settings};
use ledger_runtime::sealing::{Verify, verify};
use ledger_runtime::worker::Due;
use ledger_tests::audit::{Books, opt_number};
use ledger_tests::chance::{Dice, killed_after};
use ledger_tests::cloud::gate;
use ledger_tests::copy::{Change, Copy, Foreign, Transaction, transaction_of};
use ledger_tests::engine::{Contents, PrimaryKey, other, primary_key};
use ledger_tests::http::books::to_sdk;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::{Actor, Rig, Scene};
use ledger_tests::http::{Call, Customer, Merchant, figures, workers};
use ledger_tests::wire;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TENANTS: [&str; 2] = ["copied", "copied-too"];
const CLIENTS: u64 = 6;
/// The operations of each client; some have several requests.
const OPERATIONS: u64 = 70;
/// Every so many writes of a client meet a fault, on average.
const FAULT_STEP: u64 = 6;
/// How many times the copy's books are checked on the way.
const CUTS: usize = 10;
/// The most places by which a change arrives later than it happened, and by which a repeated one arrives later still.
const DELAY_MAX: u64 = 300;
const REPEATED_AFTER_MAX: u64 = 1_500;
const HOUR: Duration = Duration::from_secs(60 * 60);
/// Work that waits in a copy is not late: the copy is behind, and its clients' clocks differ.
const NEVER_LATE: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Longer than a marker is kept.
const EXPIRED: Duration = Duration::from_secs(95 * 24 * 60 * 60);

/// A client of a tenant: its customers pay, hold, refund and transfer.
struct Client {
    actor: Actor,
    customers: Vec<Customer>,
    merchant: Arc<Merchant>,
    scene: Arc<Scene>,
    dice: Dice,
    /// The payments that may be refunded.
    payments: Vec<String>,
}

impl Client {
    /// Sends a request whose next write may meet a fault, until its outcome is known.
    async fn settle(&mut self, call: &Call) -> ledger_tests::http::Answer {
        if self.dice.below(FAULT_STEP) == 0 {
            let faults = [
                Fault::AnswerCut,
                Fault::Error(400, "ThrottlingException"),
                Fault::Error(500, "InternalServerError"),
                Fault::Cancelled(0, "TransactionConflict"),
            ];
            let fault = faults[usize::try_from(self.dice.below(4)).expect("small")].clone();
            self.actor.tap.next_writes([Some(fault)]);
        }
        self.actor.settle(call).await
    }

    async fn run(mut self) {
        for _ in 0..OPERATIONS {
            self.operation().await;
        }
    }

    async fn operation(&mut self) {
        let at = usize::try_from(self.dice.below(2)).expect("small");
        let (customer, other) = (self.customers[at].clone(), self.customers[1 - at].clone());
        let amount = (1 + self.dice.below(9)).to_string();
        match self.dice.below(10) {
            0..=3 => {
                let paid = self.settle(&customer.pays(&self.merchant, &amount)).await.good();
                self.payments.push(paid.text("/payment_id"));
            }
            4 | 5 => {
                let Some(payment) = self.payments.pop() else { return };
                let _ = self.settle(&self.merchant.refunds(&payment, "1")).await.good();
            }
            6 | 7 => {
                let code = self.settle(&customer.requests_code()).await.good().text("/code");
                let held = self.settle(&self.merchant.authorizes(&code, "9")).await.good().text("/payment_id");
                let end = if self.dice.below(2) == 0 {
                    self.merchant.captures(&held, Some(&amount))
                } else {
                    self.merchant.voids(&held)
                };
                let _ = self.settle(&end).await.good();
            }
            8 => {
                let _ = self.settle(&customer.sends(&other, &amount)).await.good();
            }
            _ => {
                let call = Call::post("/v1/me/topups", &customer.who, &serde_json::json!({"amount": "100"}));
                let _ = self.settle(&call.key(format!("k-{}", ledger_tests::http::world::new_id()))).await.good();
                self.scene.pay();
            }
        }
    }
}

/// Publishes, seals and folds, and crashes now and then, until the clients are done. The worker's clock goes forward, so
/// that bindings and batches of the fold are due.
async fn work(scene: Arc<Scene>, actor: Actor, seed: u64, is_over: Arc<AtomicBool>) {
    let (mut dice, tenant) = (Dice::new(seed), scene.tenant.clone());
    while !is_over.load(Ordering::SeqCst) {
        actor.clock.forward(HOUR);
        let pass = async {
            // A lane may be another worker's.
            let _ = workers::seal(&actor.app, &tenant).await;
            let _ = figures::fold(&actor.app, &tenant).await;
        };
        let _ = killed_after(20 + dice.below(200), pass).await;
        tokio::time::sleep(Duration::from_millis(dice.below(200))).await;
    }
}

/// Operations with items of their own, each once. None needs an event of Stripe, or plants an item.
const OTHERS: [Endpoint; 26] = [
    Endpoint::Grant,
    Endpoint::BulkGrant,
    Endpoint::CardBatch,
    Endpoint::CardReplace,
    Endpoint::CardClose,
    Endpoint::CardTopup,
    Endpoint::CardPay,
    Endpoint::CardRefund,
    Endpoint::CardReverse,
    Endpoint::TerminalCharge,
    Endpoint::TerminalChargeReverse,
    Endpoint::CashDeposit,
    Endpoint::CashDepositReversal,
    Endpoint::CashReversal,
    Endpoint::CashCollection,
    Endpoint::OperatorRefund,
    Endpoint::TermsChange,
    Endpoint::ShopStaffAccept,
    Endpoint::TerminalClose,
    Endpoint::MerchantClose,
    Endpoint::SettlementOpen,
    Endpoint::CustomerClose,
    Endpoint::CustomerErase,
    Endpoint::UnclaimedClaim,
    Endpoint::UnclaimedPayout,
    Endpoint::WindDown,
];

/// Runs the other operations, and the workers after them.
async fn run_others(stage: Stage) {
    for endpoint in OTHERS {
        let prepared = endpoint.prepare(&stage).await;
        let _ = stage.world.api.settle(&prepared.call).await.good();
    }
    for _ in 0..2 {
        let _ = stage.world.run_jobs().await.expect("the run succeeds");
        let _ = stage.world.seal_and_fold().await;
    }
}

/// A request under a key whose answer has expired: the marker is removed as the table's TTL does it, and written again.
async fn repeat_after_ttl(rig: &Rig, scene: &Scene) -> PrimaryKey {
    let (early, late) = (rig.actor().await, rig.actor().await);
    early.clock.set(early.app.now().minus(EXPIRED));
    let call = scene.customer.requests_code().key("k-expired".to_owned());
    let first = early.settle(&call).await.good();
    let stored = scene.world.stored(&scene.world.tenant).await;
    let marker = stored.into_keys().find(|(_, sk)| sk.ends_with("#k-expired")).expect("a marker");
    scene.world.remove(&marker.0, &marker.1).await;
    let second = late.settle(&call).await.good();
    assert_ne!(first.text("/code"), second.text("/code"), "the key was free again");
    marker
}

/// The order in which changes arrive: each later than it happened, some twice, and some items removed by TTL.
fn arriving(changes: &[Change], dice: &mut Dice) -> Vec<Change> {
    let mut order: Vec<(u64, Change)> = Vec::new();
    for (at, change) in (0_u64..).zip(changes) {
        order.push((at + dice.below(DELAY_MAX), change.clone()));
        if dice.below(5) == 0 {
            order.push((at + dice.below(DELAY_MAX + REPEATED_AFTER_MAX), change.clone()));
        }
        if let Some(new) = change.new.clone().filter(|new| new.contains_key(attr::TTL) && dice.below(3) == 0) {
            let removed = Change { old: Some(new), new: None, is_by_ttl: true, ..change.clone() };
            order.push((at + dice.below(DELAY_MAX), removed));
        }
    }
    order.sort_by_key(|(at, _)| *at);
    order.into_iter().map(|(_, change)| change).collect()
}

/// The transactions that wrote each item, in their order.
fn writers(changes: &[Change]) -> BTreeMap<PrimaryKey, Vec<Transaction>> {
    let mut writers = BTreeMap::<PrimaryKey, Vec<Transaction>>::new();
    for new in changes.iter().filter_map(|change| change.new.as_ref()) {
        let transaction = transaction_of(new).unwrap_or_else(|| panic!("no transaction: {new:?}"));
        writers.entry(primary_key(new)).or_default().push(transaction);
    }
    writers
}

fn of_tenant<'a>(items: &'a Contents, tenant: &str) -> impl Iterator<Item = (PrimaryKey, Item)> + 'a {
    let prefix = format!("{tenant}#");
    let rows = items.iter().filter(move |((pk, _), _)| pk.starts_with(&prefix));
    rows.map(|(key, item)| (key.clone(), item.clone()))
}

fn check(copy: &Contents, at: usize) {
    for tenant in TENANTS {
        let books = Books::of(tenant, of_tenant(copy, tenant).collect());
        let found = [books.findings(), books.findings_when_credited(), books.findings_when_sealed()].concat();
        assert_eq!(found, [], "{tenant}, after {at} transactions");
    }
}

/// Writes the copy to a table of its own, verifies its audit trail there, and reconciles it. Stripe is not asked: it is
/// ahead of a copy.
#[expect(clippy::disallowed_methods, reason = "a copy is not written by the ledger")]
async fn reconcile_table(rig: &Rig, copy: &Contents, table: &str) {
    let (app, client) = rig.app_over(table).await;
    let put = |item: &Item| PutRequest::builder().set_item(Some(to_sdk(item.clone()))).build().expect("an item");
    let all: Vec<WriteRequest> =
        copy.values().map(|item| WriteRequest::builder().put_request(put(item)).build()).collect();
    for some in all.chunks(25) {
        let written = client.batch_write_item().request_items(table, some.to_vec()).send().await.expect("a batch");
        assert!(written.unprocessed_items.unwrap_or_default().is_empty());
    }
    for tenant in TENANTS.map(|tenant| Tenant::parse(tenant).expect("a slug")) {
        let shards = gate::as_test(app.terms(&tenant)).await.expect("terms").due_shards;
        let (from, to, now) = (UtcDay::MIN, UtcDay::MAX, app.now());
        let request = Verify { tenant: tenant.clone(), from, to, head: None, shards, now };
        let verified = gate::as_test(verify(app.dynamo(), &request)).await.expect("the store is available");
        assert_eq!(verified.findings, [], "{tenant} in {table}");
        let night = Timestamp::parse("2026-11-21T18:00:00Z").expect("an instant");
        let (_, begun) = of_the_night(&tenant, night).expect("a run").expect("a nightly run");
        gate::as_test(app.ledger().apply(&tenant, Operation::Reconcile, &begun)).await.expect("the run is begun");
        let wait = Duration::from_millis(20);
        let settings = Settings {
            units_per_second: 1_000_000,
            patience: wait,
            index_lag: wait,
            nightly: false,
            limits: Limits { claim: NEVER_LATE, event: NEVER_LATE, credit: NEVER_LATE, bonus: NEVER_LATE },
            ..Settings::of(&app)
        };
        let reports = LocalReports::default();
        let outlets = Outlets { reports: Some(Arc::new(reports.clone())), ..Outlets::default() };
        let due = Due::everything(tenant.clone());
        let ran = gate::as_test(reconcile::run_as((&app, &outlets), &due, &settings)).await;
        let ran = ran.expect("the run succeeds").reconciled;
        let found: Vec<String> =
            reports.kept().into_values().map(|lines| String::from_utf8_lossy(&lines).into_owned()).collect();
        assert!(ran.runs > 0 && ran.breaks == 0, "{tenant} in {table}: {ran:?} {}", found.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copy_of_a_shuffled_stream_has_whole_books_at_every_cut() {
    // The API of streams is another one than that of tables, and the tests call the embedded engine's alone.
    if other::given_url().is_some() {
        return;
    }
    let rig = Rig::new().await;
    let mut stream = rig.stream().await;
    let (scene, stage) = join(rig.scene(TENANTS[0]), rig.stage(TENANTS[1])).await;
    let scene = Arc::new(scene);
    let merchant = Arc::new(scene.world.merchant().await);
    scene.world.adjust(&serde_json::json!({"customer_id": scene.customer.id}), "credit", "1000").await;
    let marker = repeat_after_ttl(&rig, &scene).await;

    let mut clients = Vec::new();
    for seed in 0..CLIENTS {
        let customers = join_all((0..2).map(|_| scene.world.customer_with("5000"))).await;
        let (merchant, scene, actor) = (Arc::clone(&merchant), Arc::clone(&scene), rig.actor().await);
        let client = Client { actor, customers, merchant, scene, dice: Dice::new(seed), payments: Vec::new() };
        clients.push(tokio::spawn(client.run()));
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let mut working = Vec::new();
    for seed in [21, 22] {
        let worker = work(Arc::clone(&scene), rig.actor().await, seed, Arc::clone(&is_over));
        working.push(tokio::spawn(worker));
    }
    let others = tokio::spawn(run_others(stage));
    for client in clients {
        client.await.expect("the client is done");
    }
    let deliverer = rig.actor().await;
    deliverer.deliver_all(&scene, &scene.events()).await;
    is_over.store(true, Ordering::SeqCst);
    for worker in working {
        worker.await.expect("the worker is done");
    }
    others.await.expect("the others are done");
    // The last passes, so that every record is sealed.
    let last = rig.actor().await;
    last.clock.ahead(HOUR * 24 * 40);
    for _ in 0..3 {
        let _ = workers::seal(&last.app, &scene.tenant).await.expect("the run succeeds");
        let _ = figures::fold(&last.app, &scene.tenant).await.expect("the run succeeds");
    }

    let mut changes = stream.read().await;
    for change in &mut changes {
        change.is_by_ttl |= change.new.is_none() && change.old.as_ref().map(primary_key).as_ref() == Some(&marker);
    }
    let writers = writers(&changes);
    let transactions: BTreeSet<&Transaction> = writers.values().flatten().collect();
    println!("{} changes of {} transactions", changes.len(), transactions.len());
    assert!(transactions.len() > 1_000, "{}", transactions.len());

    let (mut copy, mut done, mut applied) = (Copy::default(), BTreeMap::<PrimaryKey, usize>::new(), 0_usize);
    let mut tables = 0;
    for change in arriving(&changes, &mut Dice::new(7)) {
        let taken = copy.take(&change).unwrap_or_else(|foreign| panic!("{foreign:?}: {change:?}"));
        for (transaction, items) in taken {
            for key in items {
                // Each earlier writer of the item is applied.
                let count = done.entry(key.clone()).or_default();
                assert_eq!(writers[&key].get(*count), Some(&transaction), "{key:?}");
                *count += 1;
            }
            applied += 1;
            if applied.is_multiple_of(transactions.len() / CUTS) {
                check(copy.items(), applied);
                if (applied / (transactions.len() / CUTS)).is_multiple_of(5) {
                    tables += 1;
                    reconcile_table(&rig, copy.items(), &format!("copy-{tables}")).await;
                }
            }
        }
    }
    assert_eq!(applied, transactions.len(), "every transaction is applied once");
    check(copy.items(), applied);
    reconcile_table(&rig, copy.items(), "copy-of-all").await;

    // What the copy has is what the table has, and what its TTL has removed there.
    for tenant in TENANTS {
        let stored = scene.world.stored(tenant).await;
        let copied: Contents = of_tenant(copy.items(), tenant).collect();
        assert_eq!(copied.keys().collect::<Vec<_>>(), stored.keys().collect::<Vec<_>>(), "{tenant}");
        let differs = copied.iter().filter(|(key, item)| stored.get(*key) != Some(item));
        assert_eq!(differs.collect::<Vec<_>>(), [], "{tenant}");
    }
    let own = scene.world.stored(TENANTS[0]).await;

    // An edit of the table by others stops the copy.
    let wallet = (format!("{}#customer#{}", scene.tenant, scene.customer.id), "BALANCE#ECOPAY".to_owned());
    let mut edited = own[&wallet].clone();
    let more = opt_number(&edited, "balance") + rust_decimal::Decimal::ONE;
    edited.insert("balance".to_owned(), Value::N(more.to_string()));
    scene.world.plant(edited.clone()).await;
    scene.world.plant(wire::unnamed(edited)).await;
    scene.world.remove(&wallet.0, &wallet.1).await;
    let found: Vec<_> = stream.read().await.iter().map(|change| copy.take(change)).collect();
    let foreign = [Foreign::Kept(wallet.clone()), Foreign::Unnamed(wallet.clone()), Foreign::Removed(wallet)];
    assert_eq!(found, foreign.map(Err));
}
