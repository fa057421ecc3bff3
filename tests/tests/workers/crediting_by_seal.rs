//! Crediting by the seal: each entry is credited to its merchant once, whatever crashes, meets or is restored, and the
//! merchant's total is right at every moment.

use crate::audit_trail::seal;
use futures::future::{join, join_all};
use ledger_core::crediting::LaneCredit;
use ledger_core::dynamo::Item;
use ledger_core::ids::MerchantId;
use ledger_core::keys::{self, Key};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::sealing::lanes::{Binding, Heads, LaneSegment, Unbound};
use ledger_core::settlements::{Outcome, Settlement, Step, Task, close_lane};
use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::audit::{number, opt_text};
use ledger_tests::cloud::gate;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::topup_rig::{Actor, Rig, Scene, until};
use ledger_tests::http::{Call, Customer, Merchant, World};
use rust_decimal::Decimal;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

const YEN: i64 = 7;

/// A merchant, a customer, and what the merchant is owed.
struct Shop {
    merchant: Merchant,
    customer: Customer,
    owed: i64,
}

impl Shop {
    /// A merchant with these payments, every tenth of them refunded.
    async fn open(scene: &Scene, server: &Actor, payments: u32) -> Self {
        let (customer, merchant) = join(scene.world.customer_with("5000"), scene.world.merchant()).await;
        let mut shop = Self { merchant, customer, owed: 0 };
        for number in 1..=payments {
            let payment = shop.sell(server).await;
            if number % 10 == 0 {
                let _ = server.settle(&shop.merchant.refunds(&payment, &YEN.to_string())).await.good();
                shop.owed -= YEN;
            }
        }
        shop
    }

    async fn sell(&mut self, server: &Actor) -> String {
        let paid = server.settle(&self.customer.pays(&self.merchant, &YEN.to_string())).await.good();
        self.owed += YEN;
        paid.text("/payment_id")
    }

    /// What is credited and what is not, by the merchant API.
    async fn balance(&self, server: &Actor) -> (i64, i64) {
        let answer = server.settle(&Call::get("/v1/merchant/balances", &self.merchant.who)).await.good().json();
        assert_eq!(answer["complete"], true, "{answer}");
        let of = answer["balances"].as_array().expect("balances").iter().find(|balance| balance["asset"] == "ECOPAY");
        let Some(of) = of else { return (0, 0) };
        let number = |name: &str| of[name].as_str().and_then(|text| text.parse::<i64>().ok()).expect("a number");
        assert_eq!(number("total"), number("credited") + number("uncredited"), "{of}");
        (number("credited"), number("uncredited"))
    }
}

/// The rows that crediting by the seal has written: sums of merchants in lanes.
async fn lanes(world: &World) -> Vec<Item> {
    world.books().await.under("CREDITED#").map(|(_, _, row)| row.clone()).collect()
}

/// A worker crashes at one of its writes: it opens the lanes, and writes a segment. Another finishes at once.
async fn check_crash(rig: &Rig, write: usize, fault: Fault) {
    let is_before = matches!(fault, Fault::Held);
    let name = format!("seal-credit-{write}-{}", if is_before { "before" } else { "after" });
    let (scene, server, victim) = (rig.scene(&name).await, rig.actor().await, rig.victim().await);
    let shop = Shop::open(&scene, &server, 12).await;
    assert_eq!(shop.balance(&server).await, (0, shop.owed));
    victim.tap.next_writes((0..write).map(|_| None).chain([Some(fault)]));
    let (actor, tenant) = (victim.clone(), scene.world.tenant.clone());
    let running = tokio::spawn(async move { seal(&actor, &tenant).await });
    victim.met().await;
    if !is_before {
        let written = if write == 0 { "HEAD" } else { "SEGMENT#0000000001" };
        until("the write is done", async || scene.world.books().await.under(written).count() == 1).await;
    }
    running.abort();
    let is_credited = write == 1 && !is_before;
    let expected = if is_credited { (shop.owed, 0) } else { (0, shop.owed) };
    assert_eq!(shop.balance(&server).await, expected, "{name}");
    let _ = seal(&rig.actor().await, &scene.world.tenant).await.expect("the run succeeds");
    assert_eq!(shop.balance(&server).await, (shop.owed, 0), "{name}");
    let [lane] = &lanes(&scene.world).await[..] else { panic!("one lane") };
    assert_eq!(number(lane, "period_records"), Decimal::from(13), "{name}");
    assert_eq!(number(lane, "segment"), Decimal::ONE, "{name}: one transaction");
    let _ = scene.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn crash_at_any_sealing_write_credits_each_entry_once() {
    let rig = Rig::new().await;
    let points = (0..2).flat_map(|write| [(write, Fault::Held), (write, Fault::AnswerLost)]);
    let _ = join_all(points.map(|(write, fault)| check_crash(&rig, write, fault))).await;
}

/// Workers are cut off at random while customers pay and are refunded, and the merchant reads its balance.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_total_is_right_while_sealing_workers_crash() {
    let rig = Rig::new().await;
    let (scene, server) = (rig.scene("seal-credit-cut-off").await, rig.actor().await);
    let shop = Shop::open(&scene, &server, 60).await;
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
            for run_number in 1.. {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let worker = rig.actor().await;
                let life = Duration::from_millis(u64::from((run_number * 7 + number * 3) % 23) * 4);
                let run = tokio::time::timeout(life, seal(&worker, &scene.world.tenant)).await;
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
    assert!(crashes > 3 && reads > 0, "{crashes} crashes, {reads} reads");
    let _ = seal(&rig.actor().await, &scene.world.tenant).await.expect("the run succeeds");
    let owed = least.into_inner();
    assert_eq!((owed, shop.balance(&server).await), (most.into_inner(), (owed, 0)));
    let _ = scene.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_at_once_credit_each_entry_once() {
    let rig = Rig::new().await;
    let (scene, server) = (rig.scene("seal-credit-two").await, rig.actor().await);
    let shop = Shop::open(&scene, &server, 120).await;
    let (one, two) = (rig.actor().await, rig.actor().await);
    let runs = join(seal(&one, &scene.world.tenant), seal(&two, &scene.world.tenant)).await;
    assert!(runs.0.is_ok() && runs.1.is_ok(), "{runs:?}");
    assert_eq!(shop.balance(&server).await, (shop.owed, 0));
    let [lane] = &lanes(&scene.world).await[..] else { panic!("one lane") };
    assert_eq!(number(lane, "period_records"), Decimal::from(132));
    let _ = scene.world.check_books().await;
}

/// Every part of a segment's transaction that a restore may bring back: nothing is credited twice, and what can be
/// finished is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restore_of_a_part_of_a_segment_credits_no_entry_twice() {
    let rig = Rig::new().await;
    let (scene, server) = (rig.scene("seal-credit-restore").await, rig.actor().await);
    let world = &scene.world;
    let mut shop = Shop::open(&scene, &server, 2).await;
    let _ = seal(&server, &world.tenant).await.expect("the run succeeds");
    let earlier = shop.owed;
    for _ in 0..2 {
        let _ = shop.sell(&server).await;
    }
    let before = world.books().await;
    let _ = seal(&server, &world.tenant).await.expect("the run succeeds");
    let after = world.books().await;
    let changed: Vec<(String, String)> = after
        .rows
        .iter()
        .filter(|(key, row)| before.rows.get(*key) != Some(row))
        .map(|((pk, sk), _)| (pk.clone(), sk.clone()))
        .collect();
    let names: BTreeSet<&str> = changed.iter().map(|(_, sk)| sk.split('#').next().expect("a prefix")).collect();
    assert_eq!((changed.len(), names), (5, BTreeSet::from(["CREDITED", "HEAD", "SEGMENT", "TXN"])), "{changed:?}");
    let is = |part: u32, prefix: &str| {
        let of = changed.iter().enumerate().filter(|(_, (_, sk))| sk.starts_with(prefix));
        of.map(|(at, _)| part >> at & 1 == 1).collect::<Vec<bool>>()
    };
    let mut finished = 0;
    for part in 0..1_u32 << changed.len() {
        for (at, key) in changed.iter().enumerate() {
            let from = if part >> at & 1 == 1 { &after } else { &before };
            match from.stored(&key.0, &key.1) {
                Some(row) => world.plant(row.clone()).await,
                None => world.remove(&key.0, &key.1).await,
            }
        }
        let ended = seal(&rig.actor().await, &world.tenant).await;
        let (credited, uncredited) = shop.balance(&server).await;
        assert!(credited <= shop.owed, "{part:b}: {credited} {uncredited}");
        let (has_segment, has_head) = (is(part, "SEGMENT#")[0], is(part, "HEAD")[0]);
        let stamps = is(part, "TXN#").into_iter().filter(|is_stamped| *is_stamped).count();
        if has_segment {
            assert_eq!((ended.is_ok(), credited, uncredited), (true, shop.owed, 0), "{part:b}: {ended:?}");
            finished += 1;
        } else if has_head || is(part, "CREDITED#")[0] {
            // The segment is gone: the lane stops, unless nothing is left to seal in it.
            assert!(ended.is_err() || stamps == 2, "{part:b}: {ended:?}");
        } else {
            // Entries whose stamps name no segment are found by reconciliation.
            let unstamped = i64::try_from(2 - stamps).expect("a few") * YEN;
            assert_eq!((ended.is_ok(), credited), (true, earlier + unstamped), "{part:b}: {ended:?}");
        }
        // What another segment was written for is put back.
        for (pk, sk, _) in world.books().await.under("SEGMENT#") {
            if !before.rows.contains_key(&(pk.to_owned(), sk.to_owned())) {
                world.remove(pk, sk).await;
            }
        }
    }
    assert_eq!(finished, 16);
}

/// The heads of the lanes, doubled.
async fn raise_lanes(world: &World) {
    let tenant = world.slug();
    let heads = [vec![keys::lanes(&tenant)], (0..16).map(|lane| keys::lane_head(&tenant, lane)).collect()].concat();
    let items = gate::as_test(world.app.dynamo().get_many(&heads)).await.expect("heads");
    let items: Vec<Item> = items.into_iter().flatten().collect();
    let heads = Heads::read(&tenant, &items).expect("as they are written").expect("opened");
    let unbound = unbound(world, &heads).await;
    let (_, raised) = heads.raise(&tenant, &unbound, world.app.now()).expect("a transaction").expect("fewer than 16");
    gate::as_test(world.app.ledger().apply(&tenant, Operation::Sealing, &raised)).await.expect("raised");
}

/// The segments since the last binding.
async fn unbound(world: &World, heads: &Heads) -> Unbound {
    let (tenant, books, last) = (world.slug(), world.books().await, &heads.trail.last);
    let stored = |key: &Key| books.stored(key.pk(), key.sk()).expect("a row").clone();
    let key = keys::binding(&tenant, last.day, last.number);
    let mut unbound = heads.unbound(&Binding::read(&tenant, &key, &stored(&key)).expect("a binding"));
    for (lane, range) in (0..).zip(unbound.ranges().to_vec()) {
        for key in (range.first..=range.last).map(|number| keys::lane_segment(&tenant, lane, number)) {
            assert!(unbound.add(&LaneSegment::link(&tenant, &key, &stored(&key)).expect("a segment")));
        }
    }
    unbound
}

async fn open_lanes(shop: &Settling) -> Vec<LaneCredit> {
    let merchant = MerchantId::parse(&shop.merchant.id).expect("an id");
    let query = reads::lane_credits(&shop.world.slug(), merchant);
    let items = gate::as_test(shop.world.app.dynamo().query(&query)).await.expect("an answer");
    LaneCredit::all(&items).expect("as they are written")
}

#[tokio::test]
async fn settlement_takes_the_periods_of_all_lanes_and_gives_them_back() {
    let shop = Settling::new("seal-credit-lanes").await;
    let merchant = MerchantId::parse(&shop.merchant.id).expect("an id");
    let _ = shop.take("100").await;
    shop.credit().await;
    raise_lanes(&shop.world).await;
    raise_lanes(&shop.world).await;
    // Each payment is of another customer. A lane without a period would be collected when it gets one.
    let mut payments = 1_u32;
    while open_lanes(&shop).await.len() < 4 {
        for _ in 0..12 {
            let _ = shop.take("100").await;
            payments += 1;
        }
        shop.credit().await;
    }
    shop.world.check_books().await;
    shop.kyc.answer(merchant, KycAnswer::Refused);
    let at = shop.close().await;
    assert_eq!(shop.run(&at, Task::Do(Step::Collect)).await, Ok(Outcome::Next));
    assert_eq!(shop.view(&at).await["records"], payments);
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, format!("{payments}00"));
    shop.world.check_books().await;
    // What is credited from then on is in the next settlement.
    let _ = shop.take("30").await;
    shop.credit().await;
    assert_eq!(shop.run(&at, Task::Do(Step::Collect)).await, Ok(Outcome::Next));
    assert_eq!(shop.view(&at).await["records"], payments);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    let view = shop.view(&at).await;
    assert_eq!((&view["status"], &view["records"]), (&"undone".into(), &0.into()));
    shop.world.check_books().await;
    shop.kyc.answer(merchant, KycAnswer::Passed { reference: "chk".to_owned() });
    let next = shop.close().await;
    assert_eq!(shop.walk(&next).await, Ended::Over);
    let view = shop.view(&next).await;
    assert_eq!((&view["status"], &view["records"]), (&"booked".into(), &(payments + 1).into()));
    assert_eq!(view["totals"]["ECOPAY"]["taken"], format!("{payments}30"));
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    let books = shop.world.check_books().await;
    assert!(books.under("PERIOD#L").all(|(_, _, row)| opt_text(row, "settlement_id") == Some(&next.id.to_string())));
}

/// How often a meeting of two writes is tried. On a busy machine one of them may be late.
const TRIES: u32 = 20;
/// Makes a write wait for its last retry: 350 ms at least.
const SLOW: usize = 3;

fn slow_write() -> impl Iterator<Item = Option<Fault>> {
    std::iter::repeat_n(Some(Fault::Cancelled(0, "TransactionConflict")), SLOW)
}

#[tokio::test]
async fn segment_that_meets_a_closed_period_credits_to_the_open_one() {
    let mut shop = Settling::new("seal-credit-closed").await;
    for _ in 0..TRIES {
        shop.next_shop().await;
        let _ = shop.take("3000").await;
        shop.credit().await;
        let (at, tenant) = (shop.close().await, shop.world.slug());
        let _ = shop.take("500").await;
        let key = keys::settlement(&tenant, at.merchant, at.id);
        let item = gate::as_test(shop.world.app.dynamo().get(&key)).await.expect("an answer").expect("a settlement");
        let settlement = Settlement::read(&item).expect("as it is written");
        let [open] = &open_lanes(&shop).await[..] else { panic!("one lane") };
        let closing = close_lane(&tenant, &settlement, open, shop.app.now()).expect("a transaction").expect("records");
        shop.tap.next_writes(slow_write());
        let meeting = async {
            until("the segment is under way", async || shop.tap.faults_left() < SLOW).await;
            gate::as_test(shop.world.app.ledger().apply(&tenant, Operation::SettlementCollect, &closing)).await.is_ok()
        };
        let sealing = ledger_tests::http::workers::seal(&shop.app, &tenant);
        let (sealed, has_met) = join(sealing, meeting).await;
        let _ = sealed.expect("the run succeeds");
        shop.world.check_books().await.check_credited();
        if has_met {
            let [open] = &open_lanes(&shop).await[..] else { panic!("one lane") };
            assert_eq!((open.number, open.sums.records), (2, 1));
            assert_eq!(shop.walk(&at).await, Ended::Over);
            assert_eq!(shop.view(&at).await["totals"]["ECOPAY"]["taken"], "3000");
            shop.world.check_books().await;
            return;
        }
    }
    panic!("the writes did not meet");
}

#[tokio::test]
async fn settlement_that_meets_a_segment_reads_the_lane_again() {
    let mut shop = Settling::new("seal-credit-meets").await;
    for _ in 0..TRIES {
        shop.next_shop().await;
        let _ = shop.take("3000").await;
        shop.credit().await;
        let at = shop.close().await;
        let _ = shop.take("500").await;
        shop.tap.next_writes(slow_write());
        let meeting = async {
            until("the closing is under way", async || shop.tap.faults_left() < SLOW).await;
            let _ = shop.world.seal().await.expect("the run succeeds");
            shop.tap.faults_left() > 0
        };
        let (collected, has_met) = join(shop.run(&at, Task::Do(Step::Collect)), meeting).await;
        assert_eq!(collected, Ok(Outcome::Next));
        shop.world.check_books().await;
        if has_met {
            let view = shop.view(&at).await;
            assert_eq!((&view["records"], &view["totals"]["ECOPAY"]["taken"]), (&2.into(), &"3500".into()));
            assert_eq!(shop.walk(&at).await, Ended::Over);
            shop.world.check_books().await;
            return;
        }
    }
    panic!("the writes did not meet");
}
