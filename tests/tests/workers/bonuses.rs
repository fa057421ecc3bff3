//! Bonuses on cash that merchants owe: granted once, and only when a settlement has covered the cash.

use crate::reconciliation::planted::{found, roots, with};
use futures::future::{join, join_all};
use ledger_core::dynamo::Item;
use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::audit::{n, opt_text, s, text};
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::{Answer, Call, Terminal, World};
use ledger_tests::share;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than a worker uses the terms that it has read.
const TERMS_ARE_CURRENT: Duration = Duration::from_secs(2 * 60);

async fn load(world: &World, till: &Terminal, card: &str, amount: &str) -> Call {
    let topup = till.does("topup", card, &json!({ "amount": amount }));
    let _ = world.api.settle(&topup).await.good();
    topup
}

async fn settled(shop: &Settling) -> Value {
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.world.check_books().await;
    shop.view(&at).await
}

/// Runs the worker of jobs; returns how many bonuses it granted.
async fn granted(shop: &Settling) -> usize {
    shop.run_jobs().await.expect("the run succeeds").bonuses
}

/// The stored bonuses of the tenant.
async fn bonuses(world: &World) -> Vec<Item> {
    world.books().await.under("CASH_BONUS#").map(|(_, _, row)| row.clone()).collect()
}

/// Whether the merchant is due to be looked at.
async fn is_due(shop: &Settling) -> bool {
    let pk = format!("{}#merchant#{}", shop.world.tenant, shop.merchant.id);
    let books = shop.world.books().await;
    books.row(&pk, "SETTLING").is_some_and(|row| opt_text(row, "_due_pk").is_some())
}

async fn is_clean(world: &World) {
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text("/code"))
}

#[tokio::test]
async fn bonus_is_granted_when_the_settlement_that_has_the_cash_is_paid() {
    let shop = Settling::with_bonuses("bonus-paid").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let card = world.card(None, "0").await;
    let topup = till.does("topup", &card, &json!({"amount": "3000"}));
    let loaded = world.api.settle(&topup).await.good();
    assert_eq!(loaded.json().get("bonus"), None, "{}", loaded.body);
    assert_eq!(world.api.settle(&topup).await.good().body, loaded.body, "a replay");
    assert_eq!(bonuses(world).await.len(), 1, "a replay has no bonus of its own");
    shop.take("5000").await;
    assert_eq!((granted(&shop).await, world.card_balance(&card).await), (0, "3000".to_owned()), "nothing is sealed");
    shop.credit().await;
    assert_eq!(granted(&shop).await, 0, "no period is closed");
    is_clean(world).await;

    assert_eq!(settled(&shop).await["status"], "booked");
    // A top-up that no settlement has is not covered by one that is paid.
    let later = world.card(None, "0").await;
    let _ = load(world, &till, &later, "500").await;
    assert!(is_due(&shop).await);
    assert_eq!((granted(&shop).await, world.card_balance(&card).await), (1, "3300".to_owned()));
    assert_eq!((granted(&shop).await, world.card_balance(&card).await), (0, "3300".to_owned()));
    assert_eq!(world.card_balance(&later).await, "500");
    let books = world.check_books().await;
    assert_eq!(books.posted("points_issued", "ECOPAY"), Decimal::from(-300));
    assert!(!is_due(&shop).await, "all that is covered is granted");
    shop.credit().await;
    world.check_books().await.check_credited();
    is_clean(world).await;
    let history = world.api.send(&Call::get(&format!("/v1/admin/cards/{card}"), &world.operator.who)).await.good();
    assert_eq!(history.text("/balance"), "3300", "{}", history.body);
}

/// The terms change between the top-up and the payout: what was due stays due.
#[tokio::test]
async fn bonus_that_is_due_is_granted_under_terms_by_which_cash_earns_none() {
    let shop = Settling::with_bonuses("bonus-never").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let card = world.card(None, "0").await;
    let _ = load(world, &till, &card, "3000").await;
    let books = world.books().await;
    let config = books.row(&format!("{}#tenant#root", world.tenant), "CONFIG").expect("a configuration");
    with(world, config, |row| drop(row.insert("cash_bonus".to_owned(), s("never")))).await;
    shop.hand.forward(TERMS_ARE_CURRENT);
    shop.take("5000").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    assert_eq!((granted(&shop).await, world.card_balance(&card).await), (1, "3300".to_owned()));
    is_clean(world).await;
}

/// A merchant loads a card with cash that it never pays, and pays itself with it.
#[tokio::test]
async fn merchant_that_pays_itself_gets_no_bonus_before_a_settlement_pays() {
    let shop = Settling::with_bonuses("bonus-attack").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let card = world.card(None, "0").await;
    let _ = load(world, &till, &card, "3000").await;
    let _ = world.api.settle(&till.does("pay", &card, &json!({"amount": "3000"}))).await.good();
    for _ in 0..2 {
        assert_eq!(settled(&shop).await["status"], "carried");
        assert_eq!((granted(&shop).await, world.card_balance(&card).await), (0, "0".to_owned()));
        assert!(!is_due(&shop).await, "a carried settlement covers nothing");
        let _ = load(world, &till, &card, "1000").await;
        let _ = world.api.settle(&till.does("pay", &card, &json!({"amount": "1000"}))).await.good();
    }
    // A deposit covers cash in a carried settlement; the bonus waits for one that is paid.
    let _ = world.deposit(&shop.merchant.id, "4000").await.good();
    // One that turned back covers nothing either.
    shop.take("9000").await;
    shop.credit().await;
    let at = shop.close().await;
    shop.kyc.answer(at.merchant, KycAnswer::Refused);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!((&shop.view(&at).await["status"], granted(&shop).await), (&json!("undone"), 0));
    shop.kyc.answer(at.merchant, KycAnswer::Passed { reference: "chk".to_owned() });
    assert_eq!(settled(&shop).await["status"], "booked");
    assert_eq!((granted(&shop).await, world.card_balance(&card).await), (3, "500".to_owned()));
    is_clean(world).await;
}

/// Each write of a run fails once, before or after it took effect.
#[tokio::test]
async fn bonus_is_granted_once_with_a_fault_at_every_write() {
    let mut shop = Settling::with_bonuses("bonus-faults").await;
    for fault in [Fault::Refused, Fault::AnswerCut] {
        for nth in share::writes() {
            shop.next_shop().await;
            let till = shop.world.till(&shop.merchant, "10000").await;
            let cards = [shop.world.card(None, "0").await, shop.world.card(None, "0").await];
            for card in &cards {
                let _ = load(&shop.world, &till, card, "1000").await;
            }
            shop.take("5000").await;
            assert_eq!(settled(&shop).await["status"], "booked");
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            let _ = shop.run_jobs().await;
            let missed = shop.tap.faults_left();
            shop.tap.forget_faults();
            let _ = granted(&shop).await;
            for card in &cards {
                assert_eq!(shop.world.card_balance(card).await, "1100", "{fault:?}, write {nth}");
            }
            assert!(!is_due(&shop).await, "{fault:?}, write {nth}");
            shop.world.check_books().await;
            if missed > 0 {
                assert!(nth > 2, "only {nth} writes");
                break;
            }
        }
    }
    is_clean(&shop.world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_in_parallel_grant_each_bonus_once() {
    let shop = Settling::with_bonuses("bonus-parallel").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "20000").await;
    let cards = join_all((0..12).map(|_| world.card(None, "0"))).await;
    for card in &cards {
        let _ = load(world, &till, card, "1000").await;
    }
    shop.take("20000").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    let (one, other) = join(shop.run_jobs(), world.run_jobs()).await;
    let (one, other) = (one.expect("a run").bonuses, other.expect("a run").bonuses);
    assert_eq!(one + other, 12, "{one} and {other}");
    for card in &cards {
        assert_eq!(world.card_balance(card).await, "1100");
    }
    shop.credit().await;
    world.check_books().await.check_credited();
    is_clean(world).await;
}

#[tokio::test]
async fn reversal_undoes_a_bonus_that_is_due_or_granted() {
    let shop = Settling::with_bonuses("bonus-reversed").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let [before, after, spender] = [(); 3].map(|()| world.card(None, "0"));
    let [before, after, spender] = [before.await, after.await, spender.await];
    let early = load(world, &till, &before, "1000").await;
    let late = load(world, &till, &after, "1000").await;
    let spent = load(world, &till, &spender, "1000").await;
    let _ = world.api.settle(&till.reverses("card_topup", &early)).await.good();
    shop.take("9000").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    assert_eq!(granted(&shop).await, 2, "one was reversed before");
    assert_eq!(world.card_balance(&before).await, "0");

    let undone = world.api.settle(&till.reverses("card_topup", &late)).await.good();
    assert_eq!(undone.json()["outcome"], "undone");
    assert_eq!(world.card_balance(&after).await, "0", "the bonus goes back with the cash");
    // The card has the cash, but not the bonus.
    let _ = world.api.settle(&till.does("pay", &spender, &json!({"amount": "50"}))).await.good();
    let refused = world.api.settle(&till.reverses("card_topup", &spent)).await;
    assert_eq!(code(&refused), (400, "insufficient_balance".to_owned()));
    assert_eq!(world.card_balance(&spender).await, "1050");
    let books = world.check_books().await;
    assert_eq!(books.posted("points_issued", "ECOPAY"), Decimal::from(-100));
    let mut states: Vec<String> = bonuses(world).await.iter().map(|row| text(row, "state").to_owned()).collect();
    states.sort();
    assert_eq!(states, ["granted", "reversed", "reversed"]);
    assert_eq!(granted(&shop).await, 0);
    is_clean(world).await;
}

#[tokio::test]
async fn reversal_by_the_operator_undoes_a_bonus_that_is_due_or_granted() {
    let shop = Settling::with_bonuses("bonus-operator").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let [before, after] = [world.card(None, "0").await, world.card(None, "0").await];
    let loaded = async |card: &str| {
        let topup = till.does("topup", card, &json!({"amount": "1000"}));
        world.api.settle(&topup).await.good().text("/transaction_id")
    };
    let (early, late) = (loaded(&before).await, loaded(&after).await);
    let _ = world.executes(&world.takes_back(&till, &early)).await.good();
    shop.take("9000").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    assert_eq!((granted(&shop).await, world.card_balance(&after).await), (1, "1100".to_owned()));
    let reversed = world.executes(&world.takes_back(&till, &late)).await.good();
    assert_eq!(reversed.text("/amount"), "1000", "the cash, without the bonus");
    assert_eq!([world.card_balance(&before).await, world.card_balance(&after).await], ["0", "0"]);
    let books = world.check_books().await;
    assert_eq!(books.posted("points_issued", "ECOPAY"), Decimal::ZERO);
    is_clean(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reversal_beside_a_grant_leaves_neither_cash_nor_bonus() {
    let mut shop = Settling::with_bonuses("bonus-race").await;
    for _ in 0..6 {
        shop.next_shop().await;
        let world = &shop.world;
        let till = world.till(&shop.merchant, "10000").await;
        let card = world.card(None, "0").await;
        let topup = load(world, &till, &card, "1000").await;
        shop.take("9000").await;
        assert_eq!(settled(&shop).await["status"], "booked");
        let reversal = till.reverses("card_topup", &topup);
        let (reversed, run) = join(world.api.settle(&reversal), shop.run_jobs()).await;
        assert_eq!(reversed.good().json()["outcome"], "undone");
        let _ = run.expect("the run succeeds");
        assert_eq!((granted(&shop).await, world.card_balance(&card).await), (0, "0".to_owned()));
    }
    let books = shop.world.check_books().await;
    assert_eq!(books.posted("points_issued", "ECOPAY"), Decimal::ZERO);
    is_clean(&shop.world).await;
}

#[tokio::test]
async fn bonus_that_cannot_be_granted_does_not_stop_the_others() {
    let shop = Settling::with_bonuses("bonus-unreadable").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let cards = join_all((0..3).map(|_| world.card(None, "0"))).await;
    for card in &cards {
        let _ = load(world, &till, card, "1000").await;
    }
    shop.take("9000").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    world.change(&format!("/v1/admin/cards/{}", cards[2]), &json!({"status": "frozen", "reason": "lost"})).await;
    let stored = bonuses(world).await;
    let first = stored.iter().find(|row| text(row, "card_id") == cards[0]).expect("a bonus");
    with(world, first, |row| drop(row.remove("amount"))).await;
    let _ = shop.run_jobs().await.expect_err("one cannot be read");
    let balances = join_all(cards.iter().map(|card| world.card_balance(card))).await;
    assert_eq!(balances, ["1000", "1100", "1100"], "a frozen card gets its bonus");
    assert!(is_due(&shop).await, "the merchant stays due");
    world.plant(first.clone()).await;
    assert_eq!(granted(&shop).await, 1);
    assert!(!is_due(&shop).await);
    world.check_books().await;
    is_clean(world).await;
}

/// One break after another in the same books, each repaired before the next.
#[tokio::test]
async fn planted_breaks_of_bonuses_are_found() {
    let shop = Settling::with_bonuses("bonus-planted").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let [card, waiting] = [world.card(None, "0").await, world.card(None, "0").await];
    let _ = load(world, &till, &card, "1000").await;
    shop.take("9000").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    assert_eq!(granted(&shop).await, 1);
    let _ = load(world, &till, &waiting, "1000").await;
    shop.credit().await;
    is_clean(world).await;
    let stored = bonuses(world).await;
    let of = |card: &str| stored.iter().find(|row| text(row, "card_id") == card).expect("a bonus");
    let (given, due) = (of(&card), of(&waiting));
    let is_found = async |row: &Item, change: &dyn Fn(&mut Item), kind: &str, subject: &str| {
        with(world, row, change).await;
        let report = world.reconciled().await;
        assert_eq!(report["status"], "breaks", "{kind}: {report}");
        assert_eq!(roots(&report), found(kind, subject), "{kind}: {report}");
        world.plant(row.clone()).await;
    };
    let of_topup = |row: &Item| format!("transaction:{}", text(row, "entry_id"));
    let insert = |name: &'static str, value: &str| {
        let value = if name == "amount" { n(value) } else { s(value) };
        move |row: &mut Item| drop(row.insert(name.to_owned(), value.clone()))
    };
    is_found(given, &insert("amount", "99"), "bonus_differs", &of_topup(given)).await;
    is_found(due, &insert("amount", "101"), "bonus_differs", &of_topup(due)).await;
    is_found(due, &insert("state", "reversed"), "bonus_differs", &of_topup(due)).await;
    let back_to_due = |row: &mut Item| {
        drop(row.insert("state".to_owned(), s("due")));
        drop(row.remove("grant_entry_id"));
    };
    is_found(given, &back_to_due, "bonus_differs", &of_topup(given)).await;
    let pk = format!("{}#merchant#{}", world.tenant, shop.merchant.id);
    let settling = world.books().await.row(&pk, "SETTLING").cloned().expect("an item");
    let hours_ago = world.app.now().minus(Duration::from_secs(2 * 60 * 60)).rfc3339();
    let merchant = format!("merchant:{}", shop.merchant.id);
    let still_due = |row: &mut Item| {
        drop(row.insert("covered_at".to_owned(), s(&hours_ago)));
        drop(row.insert("_due_pk".to_owned(), s(format!("{}#due#0", world.tenant))));
        let due = format!("{hours_ago}#covered_cash#{}", shop.merchant.id);
        drop(row.insert("_due_sk".to_owned(), s(due)));
    };
    is_found(&settling, &still_due, "bonus_outstanding", &merchant).await;
    is_clean(world).await;
}
