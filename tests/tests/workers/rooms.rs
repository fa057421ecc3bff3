//! Rooms of merchants: what is refunded beyond what settlements have covered, and the room that settlements return.

use crate::reconciliation::planted::{found, roots, with};
use futures::future::join_all;
use ledger_core::terms::TenantTerms;
use ledger_local::seed;
use ledger_runtime::settlement::{Ended, KycAnswer};
use ledger_tests::audit::{n, text};
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Host, Merchant, World};
use ledger_tests::share;
use serde_json::{Value, json};

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text("/code"))
}

fn exceeded() -> (u16, String) {
    (400, "refund_room_exceeded".to_owned())
}

/// Ceiling, room and what is outstanding of a merchant's refund room.
async fn refund_room(world: &World, merchant: &Merchant) -> [String; 3] {
    let path = format!("/v1/admin/merchants/{}/refund-room", merchant.id);
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    ["/ceiling", "/room", "/outstanding"].map(|field| view.text(field))
}

/// What of a merchant's cash ceiling is unallotted, and what was covered.
async fn cash_room(world: &World, merchant: &Merchant) -> [String; 2] {
    let path = format!("/v1/admin/merchants/{}/cash-room", merchant.id);
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    ["/unallotted", "/covered"].map(|field| view.text(field))
}

/// Runs a settlement to its end; returns the operator's view.
async fn settled(shop: &Settling) -> Value {
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.world.check_books().await;
    shop.view(&at).await
}

async fn is_clean(world: &World) {
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

/// A tenant as `tenant open` opens it, but for people: a merchant refunds on its first day, and no more than its ceiling.
#[tokio::test]
async fn merchant_begins_with_the_ceilings_of_the_terms() {
    let open = |terms: &mut TenantTerms| *terms = seed::terms().expect("the demo's terms");
    let world = World::with_terms(Host::fresh(), "rooms-first-day", open).await;
    let merchant = world.merchant().await;
    assert_eq!(refund_room(&world, &merchant).await, ["100000", "100000", "0"]);
    assert_eq!(cash_room(&world, &merchant).await, ["1000000", "0"]);
    let customer = world.customer_with("40000").await;
    for left in ["60000", "20000"] {
        let payment = world.api.settle(&customer.pays(&merchant, "40000")).await.good().text("/payment_id");
        let _ = world.api.settle(&merchant.refunds(&payment, "40000")).await.good();
        assert_eq!(refund_room(&world, &merchant).await[1], left);
    }
    let payment = world.api.settle(&customer.pays(&merchant, "40000")).await.good().text("/payment_id");
    assert_eq!(code(&world.api.settle(&merchant.refunds(&payment, "20001")).await), exceeded());
    let terminal = world.terminal(&merchant).await;
    let path = format!("/v1/admin/terminals/{}/cash-room", terminal.id);
    let _ = world.operator(&path, &json!({"allot": "1000000"})).await.good();
    assert_eq!(cash_room(&world, &merchant).await, ["0", "0"]);
    let opened = world.books().await;
    let act = opened.under("AUDIT#").find(|(_, _, act)| text(act, "action") == "merchant_open").expect("an act").2;
    let details = format!("{:?}", act["details"]);
    assert!(details.contains("100000") && details.contains("1000000"), "{details}");
    is_clean(&world).await;
}

/// A merchant is paid for a year's payments, refunds them all at once, and is gone.
#[tokio::test]
async fn refunds_of_a_years_payments_in_parallel_stop_at_the_ceiling() {
    let shop = Settling::without_ceilings("rooms-attack").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let mut payments = Vec::new();
    for _ in 0..16 {
        payments.push(shop.take("1000").await);
    }
    assert_eq!(settled(&shop).await["status"], "booked");
    let refund = merchant.refunds(&payments[0], "1");
    assert_eq!(code(&world.api.settle(&refund).await), exceeded(), "no ceiling");
    let _ = world.refund_ceiling(&merchant.id, "5000").await.good();
    let refunds: Vec<Call> = payments.iter().map(|payment| merchant.refunds(payment, "1000")).collect();
    let answers = join_all(refunds.iter().map(|refund| world.api.settle(refund))).await;
    let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status != 201).collect();
    assert_eq!(refused.len(), 11, "{answers:?}");
    for answer in refused {
        assert_eq!(code(answer), exceeded());
        assert!(!answer.body.contains("5000") && !answer.body.contains("1000"), "no amount: {}", answer.body);
    }
    assert_eq!(refund_room(world, merchant).await, ["5000", "0", "5000"]);
    // The refusal is stored, and another key does not get further.
    let at = answers.iter().position(|answer| answer.status != 201).expect("a refusal");
    assert_eq!(world.api.settle(&refunds[at]).await.body, answers[at].body);
    assert_eq!(code(&world.api.settle(&merchant.refunds(&payments[at], "1")).await), exceeded());
    // A settlement below zero covers nothing.
    let carried = settled(&shop).await;
    assert_eq!((&carried["status"], carried.get("returned_refund_room")), (&json!("carried"), None), "{carried}");
    assert_eq!(refund_room(world, merchant).await, ["5000", "0", "5000"]);
    is_clean(world).await;
    // What it takes later pays for them, and the room is there once.
    shop.take("9000").await;
    let paid = settled(&shop).await;
    assert_eq!((&paid["status"], &paid["net"]), (&json!("booked"), &json!("4000")), "{paid}");
    assert_eq!(paid["returned_refund_room"], "5000", "{paid}");
    assert_eq!(refund_room(world, merchant).await, ["5000", "5000", "0"]);
    shop.take("500").await;
    assert_eq!(settled(&shop).await.get("returned_refund_room"), None);
    assert_eq!(refund_room(world, merchant).await, ["5000", "5000", "0"]);
    let lowered = Call::post(
        &format!("/v1/admin/merchants/{}/refund-room", merchant.id),
        &world.operator.who,
        &json!({"ceiling": "100"}),
    );
    let _ = world.executes(&lowered.key(new_key())).await.good();
    assert_eq!(refund_room(world, merchant).await, ["100", "100", "0"]);
    is_clean(world).await;
}

#[tokio::test]
async fn ceiling_is_not_set_below_what_is_outstanding() {
    let shop = Settling::without_ceilings("rooms-lowered").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let _ = world.refund_ceiling(&merchant.id, "1000").await.good();
    let payment = shop.take("700").await;
    shop.refund(&payment, "700").await;
    let path = format!("/v1/admin/merchants/{}/refund-room", merchant.id);
    let lower = |ceiling: &str| Call::post(&path, &world.operator.who, &json!({ "ceiling": ceiling })).key(new_key());
    assert_eq!(code(&world.executes(&lower("699")).await), exceeded());
    let _ = world.executes(&lower("700")).await.good();
    assert_eq!(refund_room(world, merchant).await, ["700", "0", "700"]);
    let unknown = format!("/v1/admin/merchants/{}/refund-room", ledger_tests::http::world::new_id());
    let lower = Call::post(&unknown, &world.operator.who, &json!({"ceiling": "1"})).key(new_key());
    assert_eq!(world.api.settle(&lower).await.status, 404);
    assert_eq!(world.api.send(&Call::get(&unknown, &world.operator.who)).await.status, 404);
}

/// A terminal reverses payments of the last minutes without room, and older ones with room.
#[tokio::test]
async fn terminal_reverses_old_payments_only_with_room() {
    let shop = Settling::without_ceilings("rooms-reversal").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.terminal(merchant).await;
    let card = world.card(None, "1000").await;
    let [fresh, old] = [(); 2].map(|()| till.does("pay", &card, &json!({"amount": "300"})));
    let _ = world.api.settle(&fresh).await.good();
    let undone = world.api.settle(&till.reverses("card_pay", &fresh)).await.good();
    assert_eq!(undone.json()["outcome"], "undone");
    assert_eq!(refund_room(world, merchant).await, ["0", "-300", "300"]);
    let payment = world.api.settle(&old).await.good().text("/payment_id");
    let books = world.books().await;
    let is_its =
        |row: &ledger_core::dynamo::Item| text(row, "operation") == "card_pay" && text(row, "payment_id") == payment;
    let entry = books.under("TXN#").find(|(_, _, row)| is_its(row)).expect("an entry").2.clone();
    let eleven_minutes_ago = world.app.now().minus(std::time::Duration::from_secs(11 * 60)).rfc3339();
    with(world, &entry, |row| drop(row.insert("created_at".to_owned(), ledger_tests::audit::s(eleven_minutes_ago))))
        .await;
    assert_eq!(code(&world.api.settle(&till.reverses("card_pay", &old)).await), exceeded());
    let refund = till.does("refund", &card, &json!({"payment_id": payment, "amount": "1"}));
    let refused = world.api.settle(&refund).await;
    assert_eq!(code(&refused), exceeded(), "a refund at the terminal");
    let _ = world.refund_ceiling(&merchant.id, "600").await.good();
    let _ = world.api.settle(&till.reverses("card_pay", &old)).await.good();
    assert_eq!(refund_room(world, merchant).await, ["600", "0", "600"]);
    with(world, &entry, |_| {}).await;
    shop.credit().await;
    world.check_books().await.check_credited();
}

/// The operator refunds beyond the room, before and after the payment was settled: what covers it returns the room.
#[tokio::test]
async fn refund_by_the_operator_takes_room_below_zero_that_a_paid_settlement_returns() {
    let shop = Settling::without_ceilings("rooms-operator").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let _ = world.refund_ceiling(&merchant.id, "100").await.good();
    let payment = shop.take("5000").await;
    shop.refund(&payment, "100").await;
    assert_eq!(code(&world.api.settle(&merchant.refunds(&payment, "1")).await), exceeded());
    let call = world.approving(&world.refunds_for(&merchant.id, &payment, "2000")).await;
    let refunded = world.api.settle(&call).await.good();
    assert_eq!(refunded.status, 200, "{refunded:?}");
    let again = world.api.settle(&call).await;
    assert_eq!((again.stored(), again.replayed()), (refunded.stored(), true));
    assert_eq!(refund_room(world, merchant).await, ["100", "-2000", "2100"]);
    assert_eq!(code(&world.api.settle(&merchant.refunds(&payment, "1")).await), exceeded());
    is_clean(world).await;
    let paid = settled(&shop).await;
    assert_eq!((&paid["status"], &paid["net"]), (&json!("booked"), &json!("2900")), "{paid}");
    assert_eq!(paid["returned_refund_room"], "2100", "{paid}");
    assert_eq!(refund_room(world, merchant).await, ["100", "100", "0"]);
    is_clean(world).await;

    // The merchant was paid for it, and owes what 16 at once refund of the rest.
    let calls: Vec<Call> = (0..16).map(|_| world.refunds_for(&merchant.id, &payment, "1000")).collect();
    let answers = world.executes_at_once(&calls).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 2, "{answers:?}");
    let refused = answers.iter().find(|answer| answer.status != 200).expect("a refusal");
    assert_eq!(code(refused), (400, "over_refund".to_owned()));
    assert_eq!(refund_room(world, merchant).await, ["100", "-1900", "2000"]);
    let carried = settled(&shop).await;
    assert_eq!((&carried["status"], carried.get("returned_refund_room")), (&json!("carried"), None), "{carried}");
    is_clean(world).await;
    shop.take("5000").await;
    let last = settled(&shop).await;
    assert_eq!((&last["status"], &last["net"]), (&json!("booked"), &json!("3000")), "{last}");
    assert_eq!(last["returned_refund_room"], "2000", "{last}");
    assert_eq!(refund_room(world, merchant).await, ["100", "100", "0"]);
    is_clean(world).await;
}

/// Each write of the saga fails once, before or after it took effect, and every task runs twice: room is returned once.
#[tokio::test]
async fn rooms_are_returned_once_with_a_fault_at_every_write() {
    let mut shop = Settling::without_ceilings("rooms-faults").await;
    for fault in [Fault::Refused, Fault::AnswerCut] {
        for nth in share::writes() {
            shop.next_shop().await;
            let till = shop.world.till(&shop.merchant, "10000").await;
            let _ = shop.world.refund_ceiling(&shop.merchant.id, "1000").await.good();
            let card = shop.world.card(None, "0").await;
            let _ = shop.world.api.settle(&till.does("topup", &card, &json!({"amount": "3000"}))).await.good();
            let payment = shop.take("5000").await;
            shop.refund(&payment, "400").await;
            shop.credit().await;
            let at = shop.close().await;
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            shop.crash_on(&at).await;
            let view = shop.view(&at).await;
            assert_eq!((&view["status"], &view["net"]), (&json!("booked"), &json!("1600")), "write {nth}: {view}");
            let returned = [&view["returned_cash_room"], &view["returned_refund_room"]];
            assert_eq!(returned, [&json!("3000"), &json!("400")], "write {nth}: {view}");
            assert_eq!(refund_room(&shop.world, &shop.merchant).await, ["1000", "1000", "0"], "write {nth}");
            assert_eq!(cash_room(&shop.world, &shop.merchant).await, ["3000", "3000"], "write {nth}");
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

/// Room returns for what a paid settlement covered: not for a carried one, nor for one that turned back.
#[tokio::test]
async fn cash_room_returns_with_the_settlement_that_pays() {
    let shop = Settling::without_ceilings("rooms-cash").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.till(merchant, "3000").await;
    let card = world.card(None, "0").await;
    let topup = till.does("topup", &card, &json!({"amount": "3000"}));
    let _ = world.api.settle(&topup).await.good();
    let first = settled(&shop).await;
    assert_eq!((&first["status"], first.get("returned_cash_room")), (&json!("carried"), None), "{first}");
    assert_eq!(cash_room(world, merchant).await, ["0", "0"]);
    shop.take("5000").await;
    shop.credit().await;
    let at = shop.close().await;
    shop.kyc.answer(at.merchant, KycAnswer::Refused);
    assert_eq!(shop.walk(&at).await, Ended::Over);
    assert_eq!(shop.view(&at).await["status"], "undone");
    assert_eq!(cash_room(world, merchant).await, ["0", "0"]);
    shop.kyc.answer(at.merchant, KycAnswer::Passed { reference: "chk".to_owned() });
    let paid = settled(&shop).await;
    assert_eq!((&paid["status"], &paid["returned_cash_room"]), (&json!("booked"), &json!("3000")), "{paid}");
    assert_eq!(cash_room(world, merchant).await, ["3000", "3000"]);

    // Cash that is returned after it was covered is taken off the next room that returns.
    let _ = world.api.settle(&till.reverses("card_topup", &topup)).await.good();
    let next = settled(&shop).await;
    assert_eq!((&next["status"], next.get("returned_cash_room")), (&json!("booked"), None), "{next}");
    assert_eq!(cash_room(world, merchant).await, ["3000", "3000"]);
    let _ = world.api.settle(&till.does("topup", &card, &json!({"amount": "3000"}))).await.good();
    let _ = world.allot(&till, "500").await.good();
    let _ = world.api.settle(&till.does("topup", &card, &json!({"amount": "500"}))).await.good();
    shop.take("9000").await;
    let last = settled(&shop).await;
    assert_eq!((&last["status"], &last["returned_cash_room"]), (&json!("booked"), &json!("500")), "{last}");
    assert_eq!(cash_room(world, merchant).await, ["3000", "3500"]);
    is_clean(world).await;
}

/// Points and regional currency count in yen, and a settlement of several assets returns the room of all.
#[tokio::test]
async fn refund_of_points_takes_room_that_a_settlement_of_several_assets_returns() {
    let shop = Settling::without_ceilings("rooms-points").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let _ = world.refund_ceiling(&merchant.id, "3240").await.good();
    let customer = world.customer_with("1740").await;
    world.grant(&customer, "POINT", "500").await;
    world.grant(&customer, "REGIONAL#aoba", "1000").await;
    let body = json!({"merchant_id": merchant.id, "amount": "3240", "points": "500", "regional": {"aoba": "1000"}});
    let paid = world.api.settle(&customer.pays(merchant, "1").json(&body)).await.good();
    shop.refund(&paid.text("/payment_id"), "3240").await;
    assert_eq!(refund_room(world, merchant).await, ["3240", "0", "3240"]);
    shop.take("5000").await;
    let view = settled(&shop).await;
    assert_eq!((&view["status"], &view["returned_refund_room"]), (&json!("booked"), &json!("3240")), "{view}");
    assert_eq!(refund_room(world, merchant).await, ["3240", "3240", "0"]);
    is_clean(world).await;
}

/// What a merchant brings covers its cash, whether the settlement is carried or paid. The fee is as without it.
#[tokio::test]
async fn deposit_returns_the_room_of_the_cash_that_it_covers() {
    let shop = Settling::without_ceilings("rooms-deposit").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.till(merchant, "3000").await;
    let card = world.card(None, "0").await;
    let loads = async |amount: &str| {
        let _ = world.api.settle(&till.does("topup", &card, &json!({ "amount": amount }))).await.good();
    };
    loads("3000").await;
    let _ = world.deposit(&merchant.id, "2000").await.good();
    let first = settled(&shop).await;
    let returned = (&first["status"], &first["returned_cash_room"], &first["totals"]["ECOPAY"]["deposited"]);
    assert_eq!(returned, (&json!("carried"), &json!("2000"), &json!("2000")), "{first}");
    assert_eq!(cash_room(world, merchant).await, ["2000", "2000"]);
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "-1000");
    is_clean(world).await;
    let _ = world.deposit(&merchant.id, "1000").await.good();
    let second = settled(&shop).await;
    assert_eq!((&second["status"], &second["returned_cash_room"]), (&json!("carried"), &json!("1000")), "{second}");
    assert_eq!(cash_room(world, merchant).await, ["3000", "3000"]);
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");

    // More than is owed is paid out, and returns no more room than was taken. No fee is taken on it.
    let _ = world.allot(&till, "500").await.good();
    loads("500").await;
    shop.take("5000").await;
    let _ = world.deposit(&merchant.id, "700").await.good();
    let third = settled(&shop).await;
    assert_eq!(
        (&third["status"], &third["net"], &third["fee"]),
        (&json!("booked"), &json!("5200"), &json!("75")),
        "{third}"
    );
    assert_eq!(third["returned_cash_room"], "500", "{third}");
    assert_eq!(cash_room(world, merchant).await, ["3000", "3500"]);
    is_clean(world).await;
    let path = format!("/v1/admin/merchants/{}/cash-deposits", ledger_tests::http::world::new_id());
    let body = json!({"amount": "1", "reason": "receipt 7"});
    let unknown = world.api.settle(&Call::post(&path, &world.operator.who, &body).key(new_key())).await;
    assert_eq!(unknown.status, 404);
}

/// A merchant without income has refunded, and brings money for that.
#[tokio::test]
async fn deposit_covers_refunds_after_cash() {
    let shop = Settling::without_ceilings("rooms-deposit-refunds").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.till(merchant, "100").await;
    let card = world.card(None, "0").await;
    let _ = world.refund_ceiling(&merchant.id, "1000").await.good();
    let payment = shop.take("1000").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    shop.refund(&payment, "1000").await;
    let _ = world.api.settle(&till.does("topup", &card, &json!({"amount": "100"}))).await.good();
    let _ = world.deposit(&merchant.id, "700").await.good();
    let view = settled(&shop).await;
    let returned = (&view["status"], &view["returned_cash_room"], &view["returned_refund_room"]);
    assert_eq!(returned, (&json!("carried"), &json!("100"), &json!("600")), "{view}");
    assert_eq!(refund_room(world, merchant).await, ["1000", "600", "400"]);
    assert_eq!(cash_room(world, merchant).await, ["100", "100"]);
    is_clean(world).await;
}

/// One break after another in the same books, each repaired before the next.
#[tokio::test]
async fn planted_breaks_of_rooms_are_found() {
    let shop = Settling::without_ceilings("rooms-planted").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.till(merchant, "1000").await;
    let _ = world.refund_ceiling(&merchant.id, "1000").await.good();
    let card = world.card(None, "0").await;
    let _ = world.api.settle(&till.does("topup", &card, &json!({"amount": "300"}))).await.good();
    let payment = shop.take("5000").await;
    shop.refund(&payment, "400").await;
    assert_eq!(settled(&shop).await["status"], "booked");
    shop.refund(&payment, "50").await;
    shop.credit().await;
    let books = world.check_books().await;
    let pk = format!("{}#merchant#{}", world.tenant, merchant.id);
    let of_room = format!("refund_room:{}", merchant.id);
    let of_rooms = format!("rooms:{}", merchant.id);
    let broken = async |row: &ledger_core::dynamo::Item, changed: &[(&str, &str)], kind: &str, subject: &str| {
        let insert = |row: &mut ledger_core::dynamo::Item| {
            for (name, value) in changed {
                drop(row.insert((*name).to_owned(), n(value)));
            }
        };
        with(world, row, insert).await;
        assert!(!world.books().await.findings_when_credited().is_empty(), "{changed:?}: the audit finds it");
        let report = world.reconciled().await;
        assert_eq!(roots(&report), found(kind, subject), "{changed:?}: {report}");
        world.plant(row.clone()).await;
    };
    let room = books.row(&pk, "REFUND_ROOM").expect("a room");
    broken(room, &[("ceiling", "1001")], "refund_room_differs", &of_room).await;
    broken(room, &[("room", "1000"), ("outstanding", "0")], "refund_room_differs", &of_rooms).await;
    let rooms = books.row(&pk, "CASH_ROOM").expect("rooms");
    broken(rooms, &[("unallotted", "600"), ("covered", "600")], "cash_room_differs", &of_rooms).await;
    let paid = books.under("SETTLEMENT#").next().expect("a settlement").2;
    broken(paid, &[("returned_refund_room", "401")], "refund_room_differs", &of_rooms).await;
    let lane = books.row(&pk, "CREDITED#00").expect("sums");
    let period = format!("period:{}:L0/2", merchant.id);
    broken(lane, &[("refund_room_ecopay", "49")], "period_differs", &period).await;
    is_clean(world).await;
}
