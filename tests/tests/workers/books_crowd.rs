//! Ten thousand (by default an eighth of them) concurrent payments and refunds to three merchants, while workers crash
//! that publish, seal and credit, and the queue loses events and answers. Merchants' balances equal the journal, exactly
//! the committed entries are published, each account's in order, and each is sealed once.
use crate::audit_trail::assert_all_sealed;
use futures::future::join_all;
use ledger_tests::chance::{Dice, killed_after};
use ledger_tests::http::event_tap::{EventTap, Mishap};
use ledger_tests::http::topup_rig::{Actor, Rig, Scene};
use ledger_tests::http::{Call, Customer, Merchant};
use ledger_tests::share;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CLIENTS: usize = 16;
/// Payments of each client where every case is run; every third one is refunded, in part or in whole.
const PAYMENTS: u64 = 470;
/// The part of the payments that is made by default.
const STEP: u64 = 8;
const MERCHANTS: usize = 3;
/// A worker crashes after at most this many steps; a step ends where the worker waits for I/O.
const STEPS_MAX: u64 = 40;
/// The least crashes of each worker, where every case is run.
const CRASHES_MIN: u64 = 6;

fn payments() -> usize {
    usize::try_from(share::count(PAYMENTS, STEP)).expect("small")
}

/// Pays and refunds as one client; returns what each merchant is owed by it.
async fn pay_and_refund(teller: Actor, customer: Customer, merchants: Arc<Vec<Merchant>>, client: usize) -> Vec<i64> {
    let mut owed = vec![0; merchants.len()];
    for number in 0..payments() {
        let at = (number + client) % merchants.len();
        let yen = 1 + i64::try_from(number * 7 % 9).expect("small");
        let paid = teller.settle(&customer.pays(&merchants[at], &yen.to_string())).await.good();
        owed[at] += yen;
        if number % 3 == 0 {
            let refunded = if number % 2 == 0 { yen } else { 1 };
            let refund = merchants[at].refunds(&paid.text("/payment_id"), &refunded.to_string());
            let _ = teller.settle(&refund).await.good();
            owed[at] -= refunded;
        }
    }
    owed
}

/// Runs a worker that publishes and seals, and crashes it each time, until the clients are done and it has
/// crashed often enough.
async fn crash_worker(scene: Arc<Scene>, tap: EventTap, seed: u64, over: Arc<AtomicBool>) -> u64 {
    let (mut dice, mut crashes, least) = (Dice::new(seed), 0, share::count(CRASHES_MIN, STEP));
    while !over.load(Ordering::SeqCst) || crashes < least {
        // A publishing run reads every account with due entries from the beginning: too slow for each round.
        if dice.below(2) == 0 {
            let mishaps = [None, Some(Mishap::Lost), Some(Mishap::AnswerLost), Some(Mishap::Half)];
            tap.next_calls([None, mishaps[usize::try_from(dice.below(4)).expect("small")]]);
            let ended = killed_after(1 + dice.below(STEPS_MAX), scene.world.publish(&tap, Vec::new())).await;
            crashes += u64::from(!ended);
        }
        tokio::time::sleep(Duration::from_millis(dice.below(400))).await;
    }
    crashes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn balances_equal_journal_after_many_payments_with_worker_crashes() {
    let rig = Rig::new().await;
    let (scene, teller, tap) = (Arc::new(rig.scene("crowd").await), rig.actor().await, EventTap::default());
    let customers = join_all((0..CLIENTS).map(|_| scene.world.customer_with("10000"))).await;
    let merchants = Arc::new(join_all((0..MERCHANTS).map(|_| scene.world.merchant())).await);
    let over = Arc::new(AtomicBool::new(false));

    let workers =
        [3, 5].map(|seed| tokio::spawn(crash_worker(Arc::clone(&scene), tap.clone(), seed, Arc::clone(&over))));
    let clients = customers.into_iter().enumerate();
    let clients = clients
        .map(|(at, customer)| tokio::spawn(pay_and_refund(teller.clone(), customer, Arc::clone(&merchants), at)));
    let owed: Vec<_> = join_all(clients).await.into_iter().map(|owed| owed.expect("a client is done")).collect();
    over.store(true, Ordering::SeqCst);
    let crashes = join_all(workers).await.into_iter().map(|crashes| crashes.expect("a worker is done"));
    println!("workers crashed {} times", crashes.sum::<u64>());

    // Faults that were planned and not met yet.
    tap.no_more_faults();
    while scene.world.publish(&tap, Vec::new()).await.expect("the run succeeds").published > 0 {}

    let books = scene.world.check_books().await;
    assert_eq!(books.entries_of("pay"), CLIENTS * payments());
    let refunds = CLIENTS * payments().div_ceil(3);
    assert_eq!(books.under("REFUND#").count(), refunds);
    for (at, merchant) in merchants.iter().enumerate() {
        let owed: i64 = owed.iter().map(|of_client| of_client[at]).sum();
        assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), owed.into());
        let seen = teller.settle(&Call::get("/v1/merchant/balances", &merchant.who)).await.good().json();
        let ecopay = seen["balances"].as_array().into_iter().flatten().find(|balance| balance["asset"] == "ECOPAY");
        let ecopay = ecopay.unwrap_or_else(|| panic!("no balance: {seen}"));
        assert_eq!((&ecopay["credited"], &ecopay["uncredited"]), (&owed.to_string().into(), &"0".into()));
    }
    let mut journal = BTreeMap::<String, Vec<String>>::new();
    for (pk, sk, row) in books.under("TXN#") {
        assert!(!row.contains_key("_due_pk") && row.contains_key("_sealed"), "{pk} {sk} is still to be published");
        let account = pk.split_once('#').expect("a tenant").1.replacen('#', ":", 1);
        journal.entry(format!("crowd#{account}")).or_default().push(sk.trim_start_matches("TXN#").to_owned());
    }
    assert_eq!(tap.first_deliveries(), journal);
    assert_eq!(tap.letters(), Vec::<serde_json::Value>::new());
    assert_all_sealed(&scene.world, "crowd").await;
}
