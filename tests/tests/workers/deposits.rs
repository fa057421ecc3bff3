//! Deposits that were recorded wrongly and are taken back: once, in the sums of their merchant, and without room returning
//! twice.

use crate::reconciliation::planted::{roots, with};
use futures::future::join_all;
use ledger_runtime::settlement::Ended;
use ledger_tests::audit::{n, opt_text, s};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::tap::Fault;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Merchant, World};
use ledger_tests::share;
use serde_json::{Value, json};

fn reversal(world: &World, path: &str) -> Call {
    Call::post(path, &world.operator.who, &json!({"reason": "receipt of another"})).key(new_key())
}

fn code(answer: &Answer) -> (u16, String) {
    (answer.status, answer.text("/code"))
}

/// What of a merchant's cash ceiling is unallotted, and what was covered.
async fn cash_room(world: &World, merchant: &Merchant) -> [String; 2] {
    let path = format!("/v1/admin/merchants/{}/cash-room", merchant.id);
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    ["/unallotted", "/covered"].map(|field| view.text(field))
}

async fn settled(shop: &Settling) -> Value {
    shop.credit().await;
    let at = shop.close().await;
    assert_eq!(shop.walk(&at).await, Ended::Over);
    shop.world.check_books().await;
    shop.view(&at).await
}

async fn is_clean(world: &World) {
    world.check_books().await.check_credited();
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test]
async fn deposit_is_taken_back_once_however_many_ask() {
    let shop = Settling::without_ceilings("deposit-once").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let path = world.reversal_of(&merchant.id, "700").await;
    let calls: Vec<Call> = (0..16).map(|_| reversal(world, &path)).collect();
    let calls = join_all(calls.iter().map(|call| world.approving(call))).await;
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
    for (call, answer) in calls.iter().zip(&answers) {
        if answer.status != 200 {
            assert_eq!(code(answer), (400, "wrong_state".to_owned()));
        }
        assert_eq!(world.api.settle(call).await.body, answer.body, "a replay");
    }
    shop.credit().await;
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "0");
    let view = settled(&shop).await;
    assert_eq!((&view["status"], view["totals"]["ECOPAY"].get("deposited")), (&json!("carried"), None), "{view}");
    is_clean(world).await;

    // What is no deposit of this merchant is not found.
    let payment = shop.take("1000").await;
    let reversed = answers.iter().find(|answer| answer.status == 200).expect("one").text("/transaction_id");
    let other = world.merchant().await;
    let elsewhere = path.replace(&merchant.id, &other.id);
    let of = |id: &str| format!("/v1/admin/merchants/{}/cash-deposits/{id}/reversal", merchant.id);
    for path in [of(&payment), of(&reversed), of(&new_id()), of("x"), elsewhere] {
        assert_eq!(world.api.settle(&reversal(world, &path)).await.status, 404, "{path}");
    }
}

/// A carried settlement counted the deposit as cover, and returned room for it.
#[tokio::test]
async fn room_that_a_reversed_deposit_covered_does_not_return_twice() {
    let shop = Settling::without_ceilings("deposit-room").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.till(merchant, "3000").await;
    let card = world.card(None, "0").await;
    let loads = async |amount: &str| {
        let _ = world.api.settle(&till.does("topup", &card, &json!({ "amount": amount }))).await.good();
    };
    loads("2000").await;
    let path = world.reversal_of(&merchant.id, "2000").await;
    let first = settled(&shop).await;
    assert_eq!((&first["status"], &first["returned_cash_room"]), (&json!("carried"), &json!("2000")), "{first}");
    assert_eq!(cash_room(world, merchant).await, ["2000", "2000"]);
    let _ = world.executes(&reversal(world, &path)).await.good();
    let second = settled(&shop).await;
    let sums = (&second["status"], &second["totals"]["ECOPAY"]["deposited"], second.get("returned_cash_room"));
    assert_eq!(sums, (&json!("carried"), &json!("-2000"), None), "{second}");
    assert_eq!(shop.of_balance("ECOPAY", "balance").await, "-2000");
    is_clean(world).await;
    // More cash, and the right deposit: it replaces the one that was taken back, and covers with what is left.
    loads("1000").await;
    let _ = world.deposit(&merchant.id, "2300").await.good();
    let third = settled(&shop).await;
    assert_eq!((&third["status"], &third["returned_cash_room"]), (&json!("carried"), &json!("300")), "{third}");
    assert_eq!(cash_room(world, merchant).await, ["2300", "2300"]);
    // A settlement that pays has covered all of it, and no fee is taken on deposits.
    shop.take("5000").await;
    let paid = settled(&shop).await;
    assert_eq!(
        (&paid["status"], &paid["net"], &paid["fee"]),
        (&json!("booked"), &json!("4300"), &json!("75")),
        "{paid}"
    );
    assert_eq!(paid["returned_cash_room"], "700", "{paid}");
    assert_eq!(cash_room(world, merchant).await, ["3000", "3000"]);
    is_clean(world).await;
}

/// A deposit that was paid out to the merchant is a debt after that, and the next settlement nets it.
#[tokio::test]
async fn reversed_deposit_that_was_paid_out_is_netted() {
    let shop = Settling::without_ceilings("deposit-paid-out").await;
    let world = &shop.world;
    let path = world.reversal_of(&shop.merchant.id, "700").await;
    shop.take("1000").await;
    let first = settled(&shop).await;
    assert_eq!((&first["status"], &first["net"]), (&json!("booked"), &json!("1700")), "{first}");
    let _ = world.executes(&reversal(world, &path)).await.good();
    shop.take("1000").await;
    let second = settled(&shop).await;
    assert_eq!(
        (&second["status"], &second["net"], &second["fee"]),
        (&json!("booked"), &json!("300"), &json!("15")),
        "{second}"
    );
    is_clean(world).await;
}

/// Each write fails once, before or after it took effect.
#[tokio::test]
async fn reversal_survives_a_fault_at_every_write() {
    let mut shop = Settling::without_ceilings("deposit-faults").await;
    for fault in [Fault::Refused, Fault::AnswerCut] {
        for nth in share::writes() {
            shop.next_shop().await;
            let path = shop.world.reversal_of(&shop.merchant.id, "700").await;
            shop.take("1000").await;
            let call = shop.world.approving(&reversal(&shop.world, &path)).await;
            if nth == 0 {
                shop.tap.next_writes([Some(fault.clone())]);
                let _ = shop.world.api.send(&call).await;
                shop.tap.forget_faults();
            }
            let _ = shop.world.api.settle(&call).await.good();
            shop.credit().await;
            let at = shop.close().await;
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            shop.crash_on(&at).await;
            let view = shop.view(&at).await;
            assert_eq!((&view["status"], &view["net"]), (&json!("booked"), &json!("1000")), "write {nth}: {view}");
            shop.world.check_books().await;
            let missed = shop.tap.faults_left();
            shop.tap.forget_faults();
            if missed > 0 {
                assert!(nth > 4, "only {nth} writes");
                break;
            }
        }
    }
    is_clean(&shop.world).await;
}

/// A suspected period is read again with all of its entries: of payments, of cash, of deposits and of their reversals.
#[tokio::test]
async fn planted_breaks_of_deposits_are_found() {
    let shop = Settling::without_ceilings("deposit-planted").await;
    let (world, merchant) = (&shop.world, &shop.merchant);
    let till = world.till(merchant, "3000").await;
    let card = world.card(None, "0").await;
    let _ = world.api.settle(&till.does("topup", &card, &json!({"amount": "300"}))).await.good();
    shop.take("1000").await;
    let path = world.reversal_of(&merchant.id, "700").await;
    let _ = world.deposit(&merchant.id, "50").await.good();
    let _ = world.executes(&reversal(world, &path)).await.good();
    shop.credit().await;
    is_clean(world).await;
    let books = world.books().await;
    let pk = format!("{}#merchant#{}", world.tenant, merchant.id);
    let lane = books.row(&pk, "CREDITED#00").expect("sums");
    assert_eq!(lane.get("deposited_ecopay"), Some(&n("50")));
    let period = format!("period:{}:L0/1", merchant.id);
    // Another sum, one of the other sign, and one as if the reversal were a further deposit.
    for sum in ["51", "-50", "1450"] {
        with(world, lane, |row| drop(row.insert("deposited_ecopay".to_owned(), n(sum)))).await;
        assert!(!world.books().await.findings_when_credited().is_empty(), "{sum}: the audit finds it");
        let report = world.reconciled().await;
        assert_eq!(roots(&report), [("period_differs".to_owned(), period.clone())].into(), "{sum}: {report}");
        let expected = report.pointer("/findings/items/0/expected").and_then(Value::as_str).expect("a text");
        assert!(expected.starts_with("5 records: ") && expected.contains("50 "), "{expected}");
        world.plant(lane.clone()).await;
    }
    is_clean(world).await;
    // The audit checks a reversal by its deposit, and by the mark.
    let named = |operation: &str| {
        let mut entries = books.under("TXN#").filter(|(_, _, row)| opt_text(row, "operation") == Some(operation));
        entries.next().map(|(pk, sk, _)| (pk.to_owned(), sk.to_owned())).expect("an entry")
    };
    let mark = books.under("DEPOSIT_REVERSED#").next().map(|(pk, sk, _)| (pk.to_owned(), sk.to_owned()));
    let mark = mark.expect("a mark");
    for (key, name, value) in [
        (&mark, "transaction_id", "another"),
        (&named("cash_deposit_reversal"), "reverses", "another"),
        (&named("cash_deposit_reversal"), "operation", "cash_deposit"),
        (&named("cash_deposit"), "operation", "cash_deposit_reversal"),
    ] {
        let mut wrong = books.clone();
        wrong.rows.get_mut(key).expect("the row").insert(name.to_owned(), s(value));
        assert!(!wrong.findings().is_empty(), "{key:?}: {name} is {value}");
    }
}

#[tokio::test]
async fn reversal_takes_two_people() {
    let world = World::new("deposit-approved").await;
    let merchant = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}/cash-deposits", merchant.id);
    let body = json!({"amount": "700", "reason": "receipt 7"});
    let recorded = world.api.settle(&Call::post(&path, &world.operator.who, &body).key(new_key())).await.good();
    let recorded = decides("approve", &recorded.text("/approval_id"), &world.second.who);
    let deposit = world.api.settle(&recorded).await.good().text("/transaction_id");
    let path = format!("{path}/{deposit}/reversal");
    let ask = async || world.api.settle(&reversal(&world, &path)).await.good();
    let [one, two] = [ask().await, ask().await];
    assert_eq!((one.status, two.status), (202, 202));
    let approvals: Vec<Call> = [one, two]
        .iter()
        .flat_map(|asked| (0..8).map(|_| decides("approve", &asked.text("/approval_id"), &world.second.who)))
        .collect();
    let answers = join_all(approvals.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
    world.check_books().await;
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}
