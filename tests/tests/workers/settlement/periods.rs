//! Periods of records that the crediting worker credits: each record is settled once, whichever versions of the records and releases work side by side, however
//! crediting and closing meet, and whatever is given back.

use futures::future::{join, join3};
use ledger_core::crediting::{BatchRejection, CreditedMerchant, Crediting, OpenPeriod, Uncredited};
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor as By, MerchantId, Tenant};
use ledger_core::keys::{self, Key, Partition, Shards};
use ledger_core::lease::Leased;
use ledger_core::migration;
use ledger_core::operation::Operation;
use ledger_core::reads::{self, Query};
use ledger_core::settlements::{Move, Outcome, Settleable, Settlement, Step, Task, close_period, collect, next_move};
use ledger_core::terms::RecordVersion;
use ledger_core::transaction::{Rejection, Transaction};
use ledger_runtime::execute::ApplyError;
use ledger_runtime::settlement::{Ended, KycAnswer, SettlementRef};
use ledger_runtime::worker::Due;
use ledger_tests::audit::{Books, number, opt_text};
use ledger_tests::cloud::gate;
use ledger_tests::http::Merchant;
use ledger_tests::http::settling::{Settling, local_settler, opened, payable};
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::{Actor, Rig, Scene, until};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A merchant of a tenant, past the workers: each step is built and written by the test.
struct Steps<'a> {
    shop: &'a Settling,
    tenant: Tenant,
    merchant: MerchantId,
}

impl<'a> Steps<'a> {
    fn of(shop: &'a Settling) -> Self {
        let tenant = Tenant::parse(&shop.world.tenant).expect("a slug");
        Self { shop, tenant, merchant: MerchantId::parse(&shop.merchant.id).expect("an id") }
    }

    async fn item(&self, key: &Key) -> Option<Item> {
        gate::as_test(self.shop.world.app.dynamo().get(key)).await.expect("an answer")
    }

    async fn list(&self, query: impl Fn(u32) -> Query) -> Vec<Item> {
        let mut found = Vec::new();
        for shard in 0..Shards::MAX.count() {
            found.extend(gate::as_test(self.shop.world.app.dynamo().query(&query(shard))).await.expect("records"));
        }
        found
    }

    /// Writes a transaction; returns why it was rejected, if it was.
    async fn write(&self, transaction: &Transaction) -> Option<Rejection> {
        let written = self.shop.world.app.ledger().apply(&self.tenant, Operation::Crediting, transaction);
        match gate::as_test(written).await {
            Ok(()) => None,
            Err(ApplyError::Rejected(rejection)) => Some(rejection),
            Err(error) => panic!("{error:?}"),
        }
    }

    async fn take(&self) -> Leased<CreditedMerchant> {
        let seen = self.item(&Partition::merchant(&self.tenant, self.merchant).crediting()).await;
        let seen = seen.map(|item| Crediting::read(&item).expect("as it is written"));
        let now = self.shop.world.app.now();
        let taken = CreditedMerchant::take(&self.tenant, self.merchant, seen.as_ref(), now);
        let (lease, taken) = taken.expect("a transaction").expect("no worker holds the lease");
        assert_eq!(self.write(&taken).await, None);
        lease
    }

    async fn release(&self, lease: &Leased<CreditedMerchant>) {
        let released = lease.release(self.shop.world.app.now()).expect("a transaction");
        assert_eq!(self.write(&released).await, None);
    }

    async fn waiting(&self) -> Vec<Uncredited> {
        let found = self.list(|shard| reads::records_to_credit(&self.tenant, self.merchant, shard)).await;
        found.iter().filter_map(|item| Uncredited::read(&self.tenant, item).expect("as it is written")).collect()
    }

    async fn open_period(&self) -> OpenPeriod {
        let item = self.item(&Partition::merchant(&self.tenant, self.merchant).crediting()).await;
        OpenPeriod::read(&item.expect("a merchant that was credited")).expect("as it is written")
    }

    async fn settlement(&self, at: &SettlementRef) -> Settlement {
        let item = self.item(&keys::settlement(&self.tenant, self.merchant, at.id)).await;
        Settlement::read(&item.expect("a settlement")).expect("as it is written")
    }
}

/// Credits all records that wait, as a worker does whose terms have this version of the records.
pub(super) async fn credit_under(shop: &Settling, version: RecordVersion) {
    let steps = Steps::of(shop);
    let lease = steps.take().await;
    let batch = lease.batch(&steps.waiting().await, version, shop.world.app.now());
    let batch = batch.expect("a transaction").expect("records");
    assert_eq!(steps.write(batch.transaction()).await, None);
    steps.release(&lease).await;
}

fn sum(view: &Value, part: &str) -> String {
    view["totals"]["ECOPAY"][part].as_str().unwrap_or("0").to_owned()
}

/// Runs a settlement to its end; returns the operator's view.
async fn settled(shop: &Settling) -> Value {
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.view(&at).await
}

fn periods(books: &Books) -> Vec<(Decimal, bool)> {
    books.under("PERIOD#").map(|(_, _, row)| (number(row, "period"), row.contains_key("settlement_id"))).collect()
}

#[tokio::test]
async fn settlement_takes_the_open_period_and_a_late_refund_is_in_the_next() {
    let shop = Settling::under("periods", RecordVersion::V3).await;
    let payment = shop.take("3000").await;
    shop.take("500").await;
    shop.refund(&payment, "100").await;
    shop.credit().await;
    let books = shop.world.check_books().await;
    assert!(
        books.under("PAYMENT").all(|(_, _, row)| number(row, "period") == Decimal::ONE && !row.contains_key("due_pk"))
    );

    let at = shop.close().await;
    let _ = shop.tap.take();
    assert_eq!(shop.run(&at, Task::Do(Step::Collect)).await, Ok(Outcome::Next));
    let targets = shop.tap.take_targets();
    let writes = targets.iter().filter(|target| *target == "TransactWriteItems").count();
    assert_eq!(writes, 1, "three records are collected by one write: {targets:?}");
    // The period is closed: what is credited from now on is in the next settlement.
    shop.refund(&payment, "50").await;
    shop.take("700").await;
    shop.credit().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!(
        (view["records"].as_i64(), sum(&view, "taken"), sum(&view, "refunded")),
        (Some(3), "3500".into(), "100".into())
    );

    let next = settled(&shop).await;
    assert_eq!(
        (next["records"].as_i64(), sum(&next, "taken"), sum(&next, "refunded")),
        (Some(2), "700".into(), "50".into())
    );
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    // Nothing was credited since: no period is closed.
    assert_eq!(settled(&shop).await["status"], "carried");
    let books = shop.world.check_books().await;
    assert_eq!(periods(&books), [(Decimal::ONE, true), (Decimal::TWO, true)]);
}

#[tokio::test]
async fn records_of_both_versions_are_settled_once_in_either_order() {
    let mut shop = Settling::under("periods-versions", RecordVersion::V3).await;
    for order in [[RecordVersion::V2, RecordVersion::V3], [RecordVersion::V3, RecordVersion::V2]] {
        shop.next_shop().await;
        let [first, second] = order;
        let payment = shop.take("3000").await;
        credit_under(&shop, first).await;
        shop.take("500").await;
        shop.refund(&payment, "100").await;
        credit_under(&shop, second).await;
        shop.world.check_books().await;
        let view = settled(&shop).await;
        assert_eq!((&view["status"], &view["records"]), (&json!("paid"), &json!(3)), "{order:?}");
        assert_eq!((sum(&view, "taken"), sum(&view, "refunded")), ("3500".to_owned(), "100".to_owned()), "{order:?}");
        assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0", "{order:?}");
        assert_eq!(settled(&shop).await["records"], 0, "{order:?}: nothing is left");
        shop.world.check_books().await;
    }
}

/// A release that knows no periods collects the records that are due by themselves, and goes on.
#[tokio::test]
async fn release_without_periods_leaves_the_open_one_to_the_next_settlement() {
    let shop = Settling::under("periods-older", RecordVersion::V3).await;
    shop.take("3000").await;
    credit_under(&shop, RecordVersion::V2).await;
    shop.take("500").await;
    credit_under(&shop, RecordVersion::V3).await;
    let at = shop.close().await;
    let steps = Steps::of(&shop);
    let due = steps.list(|shard| reads::records_to_settle(&steps.tenant, steps.merchant, shard)).await;
    let due: Vec<Settleable> = due.iter().map(|item| Settleable::read(item).expect("a record")).collect();
    let now = shop.world.app.now();
    let collected = collect(&steps.tenant, &steps.settlement(&at).await, &due, now).expect("a transaction");
    assert_eq!(steps.write(&collected).await, None);
    let held = next_move(&steps.tenant, &steps.settlement(&at).await, Task::Do(Step::Hold), now);
    let Ok(Move::Write(held)) = held else { panic!("{held:?}") };
    assert_eq!(steps.write(&held).await, None);

    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!((&view["status"], sum(&view, "taken")), (&json!("paid"), "3000".to_owned()));
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "500");
    shop.world.check_books().await;
    let next = settled(&shop).await;
    assert_eq!((&next["status"], sum(&next, "taken")), (&json!("paid"), "500".to_owned()));
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    shop.world.check_books().await;
}

#[tokio::test]
async fn crediting_and_closing_exclude_each_other() {
    let shop = Settling::under("periods-race", RecordVersion::V3).await;
    shop.take("3000").await;
    credit_under(&shop, RecordVersion::V3).await;
    let (at, steps) = (shop.close().await, Steps::of(&shop));
    let closing = async || {
        let (settlement, open) = (steps.settlement(&at).await, steps.open_period().await);
        let closing = close_period(&steps.tenant, &settlement, &open, shop.world.app.now());
        closing.expect("a transaction").expect("a period with records")
    };
    // Crediting is first: the sums that were read are not those of the period.
    let stale = closing().await;
    shop.take("500").await;
    credit_under(&shop, RecordVersion::V3).await;
    assert_eq!(steps.write(&stale).await.map(|rejection| rejection.failure), Some(Failure::StalePlan));
    // A worker of an earlier version credits: the sums are the same, and are read again all the same.
    let stale = closing().await;
    shop.take("40").await;
    credit_under(&shop, RecordVersion::V2).await;
    assert_eq!(steps.write(&stale).await.map(|rejection| rejection.failure), Some(Failure::StalePlan));
    // Closing is first: nothing is credited to the closed period.
    shop.take("700").await;
    let (lease, waiting, now) = (steps.take().await, steps.waiting().await, shop.world.app.now());
    let batch = |lease: &Leased<CreditedMerchant>| {
        lease.batch(&waiting, RecordVersion::V3, now).expect("a transaction").expect("records")
    };
    let (late, twice) = (batch(&lease), closing().await);
    assert_eq!(steps.write(&closing().await).await, None);
    let rejection = steps.write(late.transaction()).await.expect("a rejection");
    assert_eq!(late.explain(&rejection), Some(BatchRejection::PeriodClosed));
    assert_eq!(steps.write(&twice).await.map(|rejection| rejection.failure), Some(Failure::StalePlan), "a second run");
    let again = batch(&lease.in_period(steps.open_period().await.number));
    assert_eq!(steps.write(again.transaction()).await, None);
    steps.release(&lease).await;
    shop.world.check_books().await;

    assert_eq!(shop.walk(&at).await, Ended::Over);
    let (view, next) = (shop.view(&at).await, settled(&shop).await);
    assert_eq!((sum(&view, "taken"), sum(&next, "taken")), ("3540".to_owned(), "700".to_owned()));
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    shop.world.check_books().await;
}

/// How often a meeting of two writes is tried. On a busy machine one of them may be late.
const TRIES: u32 = 20;
/// Makes a write wait for its last retry: 350 ms at least.
const SLOW: usize = 3;

fn slow_write() -> impl Iterator<Item = Option<Fault>> {
    std::iter::repeat_n(Some(Fault::Cancelled(0, "TransactionConflict")), SLOW)
}

/// Writes once another write is under way; returns whether it was not too late.
async fn meets(steps: &Steps<'_>, transaction: &Transaction) -> bool {
    until("the other write is under way", async || steps.shop.tap.faults_left() < SLOW).await;
    steps.write(transaction).await.is_none()
}

#[tokio::test]
async fn worker_that_meets_a_closed_period_credits_to_the_open_one() {
    let mut shop = Settling::under("periods-worker", RecordVersion::V3).await;
    for _ in 0..TRIES {
        shop.next_shop().await;
        shop.take("3000").await;
        credit_under(&shop, RecordVersion::V3).await;
        let (at, steps) = (shop.close().await, Steps::of(&shop));
        shop.take("500").await;
        let (settlement, open) = (steps.settlement(&at).await, steps.open_period().await);
        let closing = close_period(&steps.tenant, &settlement, &open, shop.app.now());
        let closing = closing.expect("a transaction").expect("a period with records");
        // Its lease, and then the batch.
        shop.tap.next_writes([None].into_iter().chain(slow_write()));
        let due = Due::everything(steps.tenant.clone());
        let credited = gate::as_function("crediting", crediting::run_due(&shop.app, &due));
        let (credited, has_met) = join(credited, meets(&steps, &closing)).await;
        assert_eq!(credited.expect("the run succeeds").records, 1);
        shop.world.check_books().await.check_credited();
        if has_met {
            let open = steps.open_period().await;
            assert_eq!((open.number, open.sums.records), (2, 1));
            assert_eq!(shop.walk(&at).await, Ended::Over);
            assert_eq!(sum(&shop.view(&at).await, "taken"), "3000");
            assert_eq!(sum(&settled(&shop).await, "taken"), "500");
            shop.world.check_books().await;
            return;
        }
    }
    panic!("the writes did not meet");
}

#[tokio::test]
async fn settlement_that_meets_a_credit_reads_the_period_again() {
    let mut shop = Settling::under("periods-settler", RecordVersion::V3).await;
    for _ in 0..TRIES {
        shop.next_shop().await;
        shop.take("3000").await;
        credit_under(&shop, RecordVersion::V3).await;
        let (at, steps) = (shop.close().await, Steps::of(&shop));
        shop.take("500").await;
        let (lease, waiting) = (steps.take().await, steps.waiting().await);
        let batch = lease.batch(&waiting, RecordVersion::V3, shop.world.app.now());
        let batch = batch.expect("a transaction").expect("records");
        shop.tap.next_writes(slow_write());
        let collected = shop.run(&at, Task::Do(Step::Collect));
        let (collected, has_met) = join(collected, meets(&steps, batch.transaction())).await;
        assert_eq!(collected, Ok(Outcome::Next));
        shop.world.check_books().await;
        if has_met {
            assert_eq!(shop.walk(&at).await, Ended::Over);
            let view = shop.view(&at).await;
            assert_eq!((&view["records"], sum(&view, "taken")), (&json!(2), "3500".to_owned()), "one period with both");
            shop.world.check_books().await;
            return;
        }
    }
    panic!("the writes did not meet");
}

#[tokio::test]
async fn periods_given_back_are_paid_by_the_next_settlement() {
    let shop = Settling::under("periods-back", RecordVersion::V3).await;
    let merchant = MerchantId::parse(&shop.merchant.id).expect("an id");
    shop.kyc.answer(merchant, KycAnswer::Refused);
    // The second settlement takes the first one's period too, and gives back both.
    for (amount, records) in [("3000", 1), ("500", 2)] {
        shop.take(amount).await;
        shop.credit().await;
        let at = shop.close().await;
        assert_eq!(shop.run(&at, Task::Do(Step::Collect)).await, Ok(Outcome::Next));
        assert_eq!(shop.view(&at).await["records"], records);
        assert_eq!(shop.walk(&at).await, Ended::Over);
        let view = shop.view(&at).await;
        assert_eq!((&view["status"], &view["records"]), (&json!("undone"), &json!(0)));
        shop.world.check_books().await;
    }
    assert_eq!(periods(&shop.world.books().await), [(Decimal::ONE, false), (Decimal::TWO, false)]);
    shop.kyc.answer(merchant, KycAnswer::Passed { reference: "chk".to_owned() });
    shop.take("20").await;
    shop.credit().await;
    let view = settled(&shop).await;
    assert_eq!(
        (&view["status"], &view["records"], sum(&view, "taken")),
        (&json!("paid"), &json!(3), "3520".to_owned())
    );
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    let books = shop.world.check_books().await;
    assert_eq!(periods(&books), [1, 2, 3].map(|number| (Decimal::from(number), true)));
}

async fn credit_all(actor: &Actor, tenant: &Tenant) -> usize {
    let due = Due::everything(tenant.clone());
    gate::as_function("crediting", crediting::run_due(&actor.app, &due)).await.expect("the run succeeds").records
}

async fn settle(actor: &Actor, scene: &Scene, merchant: &Merchant) {
    let at = opened(&scene.world, merchant).await;
    let settler = local_settler(&actor.app);
    assert_eq!(gate::as_function("settlement", settler.walk(&at, async |_| {})).await, Ended::Over);
}

/// A tenant is switched to periods while its customers pay, and processes with either version credit and settle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn version_raised_under_load_settles_each_record_once() {
    const ROUNDS: usize = 30;
    let rig = Rig::new().await;
    let scene = rig.scene_with("periods-raised", |terms| terms.records = RecordVersion::V2).await;
    let (world, over, sold) = (&scene.world, AtomicBool::new(false), AtomicUsize::new(0));
    let (merchant, customer) = (payable(world).await, world.customer_with("100000").await);
    let (server, before) = (rig.actor().await, rig.actor().await);
    let sell = async |amount: &str| server.settle(&customer.pays(&merchant, amount)).await.good().text("/payment_id");
    sell("10").await;
    // It reads the terms, and keeps them.
    assert_eq!(credit_all(&before, &scene.tenant).await, 1);
    let selling = async {
        for round in 0..ROUNDS {
            let payment = sell("10").await;
            if round % 3 == 0 {
                let _ = server.settle(&merchant.refunds(&payment, "4")).await.good();
            }
            sold.fetch_add(1, Ordering::SeqCst);
        }
        over.store(true, Ordering::SeqCst);
    };
    let raising = async {
        while sold.load(Ordering::SeqCst) < ROUNDS / 3 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let ledger = world.app.ledger();
        let cx = ledger.context(world.app.now()).expect("randomness");
        let raised =
            migration::raise_records(&scene.tenant, RecordVersion::V3, By::System, &cx).expect("a transaction");
        gate::as_test(ledger.apply(&scene.tenant, Operation::TenantConfigure, &raised)).await.expect("it is raised");
        let after = rig.actor().await;
        while !over.load(Ordering::SeqCst) {
            let _ = credit_all(&after, &scene.tenant).await;
        }
        after
    };
    let working = async {
        while !over.load(Ordering::SeqCst) {
            let _ = credit_all(&before, &scene.tenant).await;
        }
    };
    let settling = async {
        let settler = rig.actor().await;
        while !over.load(Ordering::SeqCst) {
            settle(&settler, &scene, &merchant).await;
        }
    };
    let ((), after) = join(selling, join3(raising, working, settling)).await;
    let (after, (), ()) = after;
    // A record of each version at the end, whatever the race was.
    sell("10").await;
    let _ = credit_all(&before, &scene.tenant).await;
    sell("100").await;
    while credit_all(&after, &scene.tenant).await > 0 {}
    settle(&after, &scene, &merchant).await;

    let books = world.check_books().await;
    books.check_credited();
    let records = |prefix| books.under(prefix).map(|(_, _, row)| row).collect::<Vec<_>>();
    let (payments, refunds) = (records("PAYMENT"), records("REFUND#"));
    assert_eq!((payments.len(), refunds.len()), (ROUNDS + 3, ROUNDS.div_ceil(3)));
    let of_versions = [true, false].map(|has| payments.iter().filter(|row| row.contains_key("period") == has).count());
    assert!(of_versions.iter().all(|count| *count > 0), "{of_versions:?}");
    let settlements = records("SETTLEMENT#");
    let total: Decimal = settlements.iter().map(|row| number(row, "records")).sum();
    assert_eq!(total, Decimal::from(payments.len() + refunds.len()), "{} settlements", settlements.len());
    assert!(settlements.iter().all(|row| ["paid", "carried"].contains(&opt_text(row, "state").unwrap_or_default())));
    let balance =
        books.row(&format!("{}#merchant#{}", world.tenant, merchant.id), "BALANCE#ECOPAY").expect("a balance");
    assert_eq!((number(balance, "balance"), number(balance, "held")), (Decimal::ZERO, Decimal::ZERO));
}
