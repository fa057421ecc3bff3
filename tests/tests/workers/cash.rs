//! Cash at the till: the merchant owes it, and no way leads round that.

use crate::reconciliation::planted::{found, roots, with};
use futures::future::join_all;
use ledger_core::terms::CashBonusTerms;
use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::audit::{Books, n, number, s, text};
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Terminal, World};
use ledger_tests::share;
use rust_decimal::Decimal;
use serde_json::{Value, json};

/// Loads cash onto a card.
async fn load(world: &World, till: &Terminal, card: &str, amount: &str) -> Answer {
    world.api.settle(&till.does("topup", card, &json!({"amount": amount}))).await
}

/// Runs a settlement to its end; returns the operator's view.
async fn settled(shop: &Settling) -> Value {
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.world.check_books().await;
    shop.view(&at).await
}

fn total(view: &Value, part: &str) -> String {
    view["totals"]["ECOPAY"][part].as_str().unwrap_or("0").to_owned()
}

async fn room(world: &World, till: &Terminal) -> String {
    let path = format!("/v1/admin/terminals/{}/cash-room", till.id);
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().text("/cash_room")
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text("/code"))
}

fn refused(code: &str) -> (u16, String) {
    (400, code.to_owned())
}

/// A merchant with one terminal loads cards with cash, pays itself with them, and is settled.
#[tokio::test]
async fn merchant_that_pays_itself_with_cash_is_paid_nothing() {
    let shop = Settling::without_ceilings("cash-attack").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.terminal(merchant).await;
    let card = world.card(None, "0").await;
    assert_eq!(code(&load(world, &till, &card, "20000").await), refused("cash_room_exceeded"), "a new terminal");
    let path = format!("/v1/admin/merchants/{}/cash-room", merchant.id);
    let _ = world.operator(&path, &json!({"ceiling": "50000"})).await;
    let _ = world.allot(&till, "50000").await.good();

    for _ in 0..2 {
        let _ = load(world, &till, &card, "20000").await.good();
        let _ = world.api.settle(&till.does("pay", &card, &json!({"amount": "20000"}))).await.good();
    }
    let more = load(world, &till, &card, "20000").await;
    assert_eq!(code(&more), refused("cash_room_exceeded"));
    assert!(!more.body.contains("10000"), "a refusal names no amount: {}", more.body);
    assert_eq!(room(world, &till).await, "10000");

    let view = settled(&shop).await;
    assert_eq!(view["status"], "carried", "{view}");
    assert_eq!([total(&view, "taken"), total(&view, "cash_taken")], ["40000", "40000"].map(str::to_owned));
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");

    // The fee is due on what was carried too: 1.5 % of 140,000 yen, and its tax.
    shop.take("10000").await;
    for _ in 0..9 {
        shop.take("10000").await;
    }
    let view = settled(&shop).await;
    assert_eq!((&view["status"], &view["net"]), (&json!("booked"), &json!("100000")), "{view}");
    assert_eq!((&view["carried_fee_base"], &view["fee"]), (&json!("40000"), &json!("2100")), "{view}");
    assert_eq!((&view["tax"], &view["payable"]), (&json!("210"), &json!("97690")), "{view}");
    let view = settled(&shop).await;
    assert_eq!((&view["status"], view.get("carried_fee_base")), (&json!("carried"), None), "charged once: {view}");
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test]
async fn settlement_of_cash_alone_is_carried_below_zero_and_netted_later() {
    let shop = Settling::without_ceilings("cash-alone").await;
    let till = shop.world.till(&shop.merchant, "10000").await;
    let card = shop.world.card(None, "0").await;
    let _ = load(&shop.world, &till, &card, "3000").await.good();
    let first = settled(&shop).await;
    assert_eq!((&first["status"], total(&first, "cash_taken")), (&json!("carried"), "3000".to_owned()), "{first}");
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "-3000");
    // Payments of the card cover the debt: the fee is taken on them all the same, and leaves nothing to pay.
    let _ = shop.world.api.settle(&till.does("pay", &card, &json!({"amount": "3000"}))).await.good();
    shop.take("30").await;
    let second = settled(&shop).await;
    assert_eq!((&second["status"], total(&second, "carried_in")), (&json!("carried"), "-3000".to_owned()), "{second}");
    assert_eq!((second.get("fee"), &second["to_review"]), (None, &json!(true)), "{second}");
    assert_eq!((&second["fee_percent"], &second["tax_percent"]), (&json!("1.5"), &json!("10")), "{second}");
    assert_eq!(first["to_review"], json!(false), "nothing was to be paid: {first}");
    let to_review = Call::get("/v1/admin/settlements?to_review=true", &shop.world.operator.who);
    let to_review = shop.world.api.send(&to_review).await.good().json();
    let listed: Vec<&Value> = to_review["items"].as_array().expect("a page").iter().collect();
    assert_eq!(listed.iter().map(|of| &of["settlement_id"]).collect::<Vec<_>>(), [&second["settlement_id"]]);
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "30");
    shop.take("970").await;
    let third = settled(&shop).await;
    // 4,000 yen were taken, and 3,000 of them were paid in cash.
    assert_eq!((&third["net"], &third["fee"], &third["tax"]), (&json!("1000"), &json!("60"), &json!("6")), "{third}");
    assert_eq!((&third["status"], &third["payable"]), (&json!("booked"), &json!("934")), "{third}");
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
}

#[tokio::test]
async fn settlement_that_turns_back_gives_cash_and_its_fee_base_back() {
    let shop = Settling::without_ceilings("cash-undone").await;
    let till = shop.world.till(&shop.merchant, "10000").await;
    let card = shop.world.card(None, "0").await;
    let _ = load(&shop.world, &till, &card, "3000").await.good();
    assert_eq!(settled(&shop).await["status"], "carried");
    shop.take("5000").await;
    shop.credit().await;
    let at = shop.close().await;
    shop.kyc.answer(at.merchant, KycAnswer::Refused);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!(shop.view(&at).await["status"], "undone");
    shop.world.check_books().await;
    shop.kyc.answer(at.merchant, KycAnswer::Passed { reference: "chk".to_owned() });
    let view = settled(&shop).await;
    assert_eq!((&view["carried_fee_base"], &view["net"]), (&json!("3000"), &json!("2000")), "{view}");
    assert_eq!((&view["fee"], &view["status"]), (&json!("75"), &json!("booked")), "{view}");
}

/// Each write of the saga fails once, before or after it took effect.
#[tokio::test]
async fn settlement_with_cash_survives_a_fault_at_every_write() {
    let mut shop = Settling::without_ceilings("cash-faults").await;
    for fault in [Fault::Refused, Fault::AnswerCut] {
        for nth in share::writes() {
            shop.next_shop().await;
            let till = shop.world.till(&shop.merchant, "10000").await;
            let card = shop.world.card(None, "0").await;
            let _ = load(&shop.world, &till, &card, "3000").await.good();
            shop.take("5000").await;
            shop.credit().await;
            let at = shop.close().await;
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            shop.crash_on(&at).await;
            let view = shop.view(&at).await;
            assert_eq!((&view["net"], &view["fee"]), (&json!("2000"), &json!("75")), "write {nth}: {view}");
            assert_eq!((&view["status"], &view["payable"]), (&json!("booked"), &json!("1918")), "write {nth}: {view}");
            assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0", "write {nth}");
            shop.world.check_books().await;
            let missed = shop.tap.faults_left();
            shop.tap.forget_faults();
            if missed > 0 {
                assert!(nth > 4, "only {nth} writes");
                break;
            }
        }
    }
}

#[tokio::test]
async fn parallel_topups_take_no_more_than_the_room() {
    let shop = Settling::without_ceilings("cash-parallel").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "1000").await;
    let cards = join_all((0..16).map(|_| world.card(None, "0"))).await;
    let answers = join_all(cards.iter().map(|card| load(world, &till, card, "100"))).await;
    let loaded = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(loaded, 10, "{answers:?}");
    assert!(answers.iter().filter(|answer| answer.status != 201).all(|no| code(no) == refused("cash_room_exceeded")));
    assert_eq!(room(world, &till).await, "0");

    // Several terminals out of one ceiling: room is never allotted twice.
    let path = format!("/v1/admin/merchants/{}/cash-room", shop.merchant.id);
    let _ = world.operator(&path, &json!({"ceiling": "1500"})).await;
    let tills = join_all((0..8).map(|_| world.terminal(&shop.merchant))).await;
    let allotted = join_all(tills.iter().map(|till| world.allot(till, "100"))).await;
    assert_eq!(allotted.iter().filter(|answer| answer.status == 200).count(), 5, "{allotted:?}");
    let answers = join_all(tills.iter().zip(&cards).map(|(till, card)| load(world, till, card, "100"))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 5, "{answers:?}");
    shop.credit().await;
    world.check_books().await.check_credited();
    let lowered = Call::post(&path, &world.operator.who, &json!({"ceiling": "1499"})).key(new_key());
    assert_eq!(code(&world.executes(&lowered).await), refused("cash_room_exceeded"), "1,500 are allotted");
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test]
async fn reversal_gives_the_room_back_once_and_only_to_its_own_terminal() {
    let shop = Settling::without_ceilings("cash-reversal").await;
    let world = &shop.world;
    let [till, other] = [world.till(&shop.merchant, "1000").await, world.terminal(&shop.merchant).await];
    let card = world.card(None, "0").await;
    let topup = till.does("topup", &card, &json!({"amount": "300"}));
    let first = world.api.settle(&topup).await.good();
    assert_eq!(world.api.settle(&topup).await.good().body, first.body, "a replay");
    assert_eq!(room(world, &till).await, "700");
    let by_other = other.reverses("card_topup", &topup);
    assert_eq!(world.api.settle(&by_other).await.status, 400, "a key of another terminal");
    let reversal = till.reverses("card_topup", &topup);
    let reversed = world.api.settle(&reversal).await.good();
    assert_eq!(reversed.json()["outcome"], "undone");
    assert_eq!(world.api.settle(&reversal).await.good().body, reversed.body, "a replay");
    let again = world.api.settle(&till.reverses("card_topup", &topup)).await.good();
    assert_eq!(again.json()["outcome"], "already_reversed");
    assert_eq!((room(world, &till).await, world.card_balance(&card).await), ("1000".to_owned(), "0".to_owned()));

    // What the card has spent cannot be taken back.
    let topup = till.does("topup", &card, &json!({"amount": "300"}));
    let _ = world.api.settle(&topup).await.good();
    let _ = world.api.settle(&other.does("pay", &card, &json!({"amount": "1"}))).await.good();
    let spent = world.api.settle(&till.reverses("card_topup", &topup)).await;
    assert_eq!(code(&spent), refused("insufficient_balance"));
    assert_eq!(room(world, &till).await, "700");
    let view = settled(&shop).await;
    assert_eq!([total(&view, "cash_taken"), total(&view, "cash_reversed")], ["600", "300"].map(str::to_owned));
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

/// The row of the only entry of a card's top-up.
fn topup_entry(books: &Books) -> ledger_core::dynamo::Item {
    let mut entries = books.under("TXN#").filter(|(_, _, row)| text(row, "operation") == "card_topup");
    entries.next().expect("an entry").2.clone()
}

#[tokio::test]
async fn topup_is_reversed_at_the_till_for_ten_minutes() {
    let shop = Settling::without_ceilings("cash-late").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "1000").await;
    let card = world.card(None, "0").await;
    let topup = till.does("topup", &card, &json!({"amount": "300"}));
    let _ = world.api.settle(&topup).await.good();
    let entry = topup_entry(&world.books().await);
    let ago = |minutes: u64| {
        let at = world.app.now().minus(std::time::Duration::from_secs(minutes * 60));
        s(at.rfc3339())
    };
    with(world, &entry, |row| drop(row.insert("created_at".to_owned(), ago(11)))).await;
    let late = till.reverses("card_topup", &topup);
    let answer = world.api.settle(&late).await;
    assert_eq!(code(&answer), refused("reversal_too_late"));
    assert_eq!(room(world, &till).await, "700");
    with(world, &entry, |row| drop(row.insert("created_at".to_owned(), ago(9)))).await;
    assert_eq!(world.api.settle(&late).await.body, answer.body, "the refusal is stored");
    let _ = world.api.settle(&till.reverses("card_topup", &topup)).await.good();
    assert_eq!(room(world, &till).await, "1000");
}

#[tokio::test]
async fn charge_is_reversed_at_the_till_for_ten_minutes_and_refunded_later() {
    let world = World::new("charge-late").await;
    let stage = Stage::new(world).await;
    let (world, till) = (&stage.world, &stage.terminal);
    let (customer, charge, payment) = stage.charged("300").await;
    let books = world.books().await;
    let mut entries = books.under("TXN#").filter(|(_, _, row)| text(row, "operation") == "terminal_charge");
    let entry = entries.next().expect("an entry").2.clone();
    let at = |seconds: u64| s(world.app.now().minus(std::time::Duration::from_secs(seconds)).rfc3339());
    with(world, &entry, |row| drop(row.insert("created_at".to_owned(), at(11 * 60)))).await;
    let late = till.reverses_charge(&charge);
    let answer = world.api.settle(&late).await;
    assert_eq!(code(&answer), refused("reversal_too_late"));
    // The merchant's refund of a payment has no end.
    let _ = world.api.settle(&stage.merchant.refunds(&payment, "100")).await.good();
    assert_eq!(world.balance(&customer, "ECOPAY").await, "100");
    with(world, &entry, |row| drop(row.insert("created_at".to_owned(), at(9 * 60)))).await;
    assert_eq!(world.api.settle(&late).await.body, answer.body, "the refusal is stored");
    assert_eq!(code(&world.api.settle(&till.reverses_charge(&charge)).await), refused("wrong_state"));
}

/// The operator reverses what the till may not: the merchant does not owe it, and a paid settlement covers the rest.
#[tokio::test]
async fn late_topup_is_reversed_by_the_operator_and_not_settled() {
    let shop = Settling::without_ceilings("cash-operator").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "1000").await;
    let card = world.card(None, "0").await;
    let topup = till.does("topup", &card, &json!({"amount": "300"}));
    let original = world.api.settle(&topup).await.good().text("/transaction_id");
    let entry = topup_entry(&world.books().await);
    let eleven_minutes_ago = world.app.now().minus(std::time::Duration::from_secs(11 * 60)).rfc3339();
    with(world, &entry, |row| drop(row.insert("created_at".to_owned(), s(eleven_minutes_ago)))).await;
    let answer = world.api.settle(&till.reverses("card_topup", &topup)).await;
    assert_eq!(code(&answer), refused("reversal_too_late"));

    let call = world.approving(&world.takes_back(&till, &original)).await;
    let reversed = world.api.settle(&call).await.good();
    assert_eq!((reversed.status, reversed.text("/amount").as_str()), (200, "300"), "{reversed:?}");
    let again = world.api.settle(&call).await;
    assert_eq!((again.stored(), again.replayed()), (reversed.stored(), true));
    assert_eq!(code(&world.executes(&world.takes_back(&till, &original)).await), refused("wrong_state"));
    let undone = world.api.settle(&till.reverses("card_topup", &topup)).await.good();
    assert_eq!(undone.json()["outcome"], "already_reversed");
    assert_eq!((world.card_balance(&card).await, room(world, &till).await), ("0".to_owned(), "1000".to_owned()));
    with(world, &entry, |_| {}).await;

    let _ = load(world, &till, &card, "200").await.good();
    shop.take("1000").await;
    let view = settled(&shop).await;
    assert_eq!((&view["status"], &view["net"]), (&json!("booked"), &json!("800")), "{view}");
    assert_eq!((total(&view, "cash_taken"), total(&view, "cash_reversed")), ("500".to_owned(), "300".to_owned()));
    assert_eq!(view["returned_cash_room"], "200", "{view}");
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test]
async fn suspended_merchants_terminal_reverses_payments_and_nothing_else() {
    let shop = Settling::without_ceilings("cash-suspended").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "1000").await;
    let card = world.card(None, "500").await;
    let topup = till.does("topup", &card, &json!({"amount": "300"}));
    let [one, two] = [(); 2].map(|()| till.does("pay", &card, &json!({"amount": "100"})));
    let _ = world.api.settle(&topup).await.good();
    let _ = world.api.settle(&one).await.good();
    let payment = world.api.settle(&two).await.good().text("/payment_id");
    world.change(&format!("/v1/admin/merchants/{}", shop.merchant.id), &json!({"status": "suspended"})).await;

    let refund = till.does("refund", &card, &json!({"payment_id": payment, "amount": "10"}));
    for call in [
        till.does("topup", &card, &json!({"amount": "1"})),
        till.does("pay", &card, &json!({"amount": "1"})),
        refund,
        till.reverses("card_topup", &topup),
    ] {
        assert_eq!(code(&world.api.settle(&call).await), refused("wrong_state"), "{}", call.path);
    }
    let _ = world.api.send(&Call::get(&format!("/v1/terminal/cards/{card}"), &till.who)).await.good();
    let undone = world.api.settle(&till.reverses("card_pay", &one)).await.good();
    assert_eq!(undone.json()["outcome"], "undone");
    let never_sent = till.does("topup", &card, &json!({"amount": "1"}));
    let forbidden = world.api.settle(&till.reverses("card_topup", &never_sent)).await.good();
    assert_eq!(forbidden.json()["outcome"], "forbidden");
    assert_eq!(room(world, &till).await, "700");
    shop.credit().await;
    world.check_books().await.check_credited();
}

#[tokio::test]
async fn cash_that_the_merchant_owes_earns_no_bonus() {
    let world = World::with_terms(ledger_tests::http::host::shared(), "cash-bonus", |terms| {
        terms.cash_bonus = CashBonusTerms::Never;
        terms.card_bonus_rate = ledger_core::money::Share::parse("0.1").expect("a rate");
    })
    .await;
    let merchant = world.merchant().await;
    let till = world.till(&merchant, "1000").await;
    let card = world.card(None, "0").await;
    let loaded = load(&world, &till, &card, "1000").await.good().json();
    assert_eq!((loaded.get("bonus"), world.card_balance(&card).await), (None, "1000".to_owned()), "{loaded}");
    let books = world.check_books().await;
    let account = format!("merchant:{}", merchant.id);
    assert_eq!(books.posted(&account, "ECOPAY"), Decimal::from(-1000));
    assert_eq!(books.posted("points_issued", "ECOPAY"), Decimal::ZERO);
}

/// Two workers seal at once, and one stops in the middle: each top-up and reversal is credited once.
#[tokio::test]
async fn cash_is_projected_once_by_workers_that_stop() {
    let shop = Settling::without_ceilings("cash-workers").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "10000").await;
    let card = world.card(None, "0").await;
    let seal = async || ledger_tests::http::workers::seal(&shop.app, &world.slug()).await;
    for nth in 0..4 {
        for fault in [Fault::Refused, Fault::AnswerCut] {
            let topup = till.does("topup", &card, &json!({"amount": "100"}));
            let _ = world.api.settle(&topup).await.good();
            let _ = world.api.settle(&till.reverses("card_topup", &topup)).await.good();
            let _ = load(world, &till, &card, "10").await.good();
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault)]));
            let (_, _) = futures::future::join(seal(), world.seal()).await;
            shop.tap.forget_faults();
            shop.hand.forward(ledger_tests::http::topup_rig::LEASE_OVER);
        }
    }
    shop.credit().await;
    let books = world.check_books().await;
    books.check_credited();
    let lanes: Vec<_> = books.under("CREDITED#").map(|(_, _, row)| row).collect();
    let sum = |name: &str| lanes.iter().map(|row| number(row, name)).sum::<Decimal>();
    assert_eq!((sum("cash_taken_ecopay"), sum("cash_reversed_ecopay")), (Decimal::from(880), Decimal::from(800)));
    assert_eq!(room(world, &till).await, "9920");
}

/// One break after another in the same books, each repaired before the next.
#[tokio::test]
async fn planted_breaks_of_cash_are_found() {
    let shop = Settling::without_ceilings("cash-planted").await;
    let world = &shop.world;
    let till = world.till(&shop.merchant, "1000").await;
    let card = world.card(None, "0").await;
    let _ = load(world, &till, &card, "300").await.good();
    shop.credit().await;
    let books = world.check_books().await;
    let broken = async |row: &ledger_core::dynamo::Item, name: &str, value: Option<&str>, kind: &str, subject: &str| {
        with(world, row, |row| match value {
            Some(value) => drop(row.insert(name.to_owned(), n(value))),
            None => drop(row.remove(name)),
        })
        .await;
        assert!(!world.books().await.findings_when_credited().is_empty(), "{name}: the audit finds it");
        let report = world.reconciled().await;
        assert_eq!(report["status"], "breaks", "{name}: {report}");
        assert_eq!(roots(&report), found(kind, subject), "{name}: {report}");
        world.plant(row.clone()).await;
    };
    let pk = |kind: &str, id: &str| format!("{}#{kind}#{id}", world.tenant);
    let (merchant_pk, terminal_pk) = (pk("merchant", &shop.merchant.id), pk("terminal", &till.id));
    let terminal = format!("terminal:{}", till.id);
    let profile = books.row(&terminal_pk, "PROFILE").expect("a profile");
    broken(profile, "cash_room", Some("701"), "cash_room_differs", &terminal).await;
    broken(profile, "cash_room", None, "cash_room_differs", &terminal).await;
    let rooms = books.row(&merchant_pk, "CASH_ROOM").expect("rooms");
    let of_merchant = format!("cash_rooms:{}", shop.merchant.id);
    broken(rooms, "ceiling", Some("1001"), "cash_room_differs", &of_merchant).await;
    let lane = books.row(&merchant_pk, "CREDITED#00").expect("sums");
    let period = format!("period:{}:L0/1", shop.merchant.id);
    broken(lane, "cash_taken_ecopay", Some("299"), "period_differs", &period).await;
    // The merchant's part of the entry counted as a refund.
    let entry = topup_entry(&books);
    with(world, &entry, |row| drop(row.insert("credited_by".to_owned(), s("seal")))).await;
    assert!(!world.books().await.findings().is_empty(), "the audit finds it");
    let report = world.reconciled().await;
    assert_eq!(report["status"], "breaks", "{report}");
    world.plant(entry).await;
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}
