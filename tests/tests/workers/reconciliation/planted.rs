//! Breaks written past the ledger: each is found under its own name, and no other is.

use ledger_core::dynamo::{self, Item};
use ledger_core::ids::TransactionId;
use ledger_core::time::Timestamp;
use ledger_tests::audit::{self, Books, n, s, text};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Call, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use uuid::Uuid;

pub(crate) type Found = BTreeSet<(String, String)>;

/// Books in order, with an example of most operations.
pub(crate) async fn stage(tenant: &str) -> Stage {
    let stage = Stage::new(World::alone(tenant).await).await;
    let (customer, payment) = stage.paid("1000").await;
    let _ = stage.world.api.settle(&stage.merchant.refunds(&payment, "300")).await.good();
    let _ = stage.paid_by_card("100").await;
    stage.world.grant(&customer, "POINT", "50").await;
    let other = stage.world.customer().await;
    let _ = stage.world.api.settle(&customer.sends(&other, "10")).await.good();
    let _ = stage.held("500").await;
    let (_, captured) = stage.held("500").await;
    let _ = stage.world.api.settle(&stage.merchant.captures(&captured, Some("300"))).await.good();
    let topup = stage.world.paid_topup(&other, "5000").await;
    let refund = stage.world.api.settle(&topup.refund(&stage.world, "500")).await.good().text("/refund_id");
    stage.world.until(&format!("/v1/admin/topups/{}/refunds/{refund}", topup.id), "succeeded").await;
    let _ = stage.world.topup(&other, "700").await;
    let _ = stage.world.credit().await.expect("the run succeeds");
    stage
}

/// The kinds and subjects of the breaks that follow from no other break.
pub(crate) fn roots(report: &Value) -> Found {
    all(report, |finding| finding.get("follows").is_none())
}

pub(crate) fn all(report: &Value, which: impl Fn(&Value) -> bool) -> Found {
    let findings = report["findings"]["items"].as_array().expect("findings").iter();
    let named = |finding: &Value| ["kind", "subject"].map(|name| finding[name].as_str().expect("a text").to_owned());
    findings.filter(|finding| which(finding)).map(|finding| named(finding).into()).collect()
}

pub(crate) fn found(kind: &str, subject: &str) -> Found {
    BTreeSet::from([(kind.to_owned(), subject.to_owned())])
}

pub(crate) async fn with(world: &World, row: &Item, change: impl FnOnce(&mut Item)) {
    let mut row = row.clone();
    change(&mut row);
    world.plant(row).await;
}

pub(crate) async fn remove(world: &World, row: &Item) {
    world.remove(text(row, "uuid"), text(row, "type")).await;
}

pub(crate) fn entry<'a>(books: &'a Books, operation: &str) -> (&'a str, &'a Item) {
    let mut entries = books.under("TXN#").filter(|(_, _, row)| text(row, "operation") == operation);
    let (pk, _, row) = entries.next().unwrap_or_else(|| panic!("no entry of {operation}"));
    (pk, row)
}

fn owner(pk: &str) -> String {
    let mut parts = pk.splitn(3, '#').skip(1);
    format!("{}:{}", parts.next().expect("a kind"), parts.next().expect("an id"))
}

#[tokio::test]
async fn books_in_order_are_clean() {
    let stage = stage("in-order").await;
    stage.world.check_books().await;
    let report = stage.world.reconciled().await;
    assert_eq!((&report["status"], &report["provider"]), (&json!("clean"), &json!("listed")), "{report}");
    assert!(report["items_read"].as_i64() > Some(50), "{report}");
}

/// One break after another in the same books, each repaired before the next.
#[tokio::test]
async fn each_planted_break_is_found_and_named() {
    let stage = stage("planted").await;
    let world = &stage.world;
    let books = world.books().await;
    let reported = async |why: &str| {
        let report = world.reconciled().await;
        assert_eq!(report["status"], "breaks", "{why}: {report}");
        report
    };

    // A balance off by one.
    let (pk, pay) = entry(&books, "pay");
    let balance = books.row(pk, "BALANCE#ECOPAY").expect("a balance");
    with(world, balance, |row| {
        row.insert("balance".to_owned(), n("7777"));
    })
    .await;
    let report = reported("off").await;
    assert_eq!(roots(&report), found("balance_differs", &owner(pk)));
    world.plant(balance.clone()).await;

    // What a merchant is credited with, which is wrong.
    let merchant_pk = format!("{}#merchant#{}", world.tenant, stage.merchant.id);
    let credited = books.row(&merchant_pk, "CREDITED#00").expect("sums");
    with(world, credited, |row| {
        row.insert("taken_ecopay".to_owned(), n("1"));
    })
    .await;
    let period = format!("period:{}:L0/1", stage.merchant.id);
    assert_eq!(roots(&reported("merchant").await), found("period_differs", &period));
    world.plant(credited.clone()).await;

    // An entry missing.
    remove(world, pay).await;
    let id = text(pay, "transaction_id");
    let report = reported("missing").await;
    assert_eq!(roots(&report), found("entry_missing", &format!("transaction:{id}")));
    assert!(all(&report, |_| true).contains(&("balance_differs".to_owned(), owner(pk))), "{report}");
    assert!(report["findings"]["items"].as_array().unwrap().iter().all(|found| found.get("proposed").is_none()));
    world.plant(pay.clone()).await;

    // An entry doubled, under the same key and another id.
    let double = TransactionId::of_step(Uuid::nil(), "double", Timestamp::from_millis(0)).to_string();
    let twin = {
        let mut twin = pay.clone();
        twin.insert("transaction_id".to_owned(), s(&double));
        twin.insert("type".to_owned(), s(format!("TXN#{double}")));
        twin
    };
    world.plant(twin.clone()).await;
    let report = reported("doubled").await;
    let kinds: BTreeSet<String> = roots(&report).into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, BTreeSet::from(["duplicate_effect".to_owned()]), "{report}");
    remove(world, &twin).await;

    // A hold without its payment.
    let held = |row: &&Item| text(row, "state") == "authorized";
    let (_, _, payment) = books.under("PAYMENT").find(|(_, _, row)| held(row)).expect("one is held");
    remove(world, payment).await;
    let id = text(payment, "payment_id");
    assert_eq!(roots(&reported("hold").await), found("hold_without_payment", &format!("payment:{id}")));
    world.plant(payment.clone()).await;

    // The refundable amount of a payment.
    let captured = |row: &&Item| text(row, "state") == "captured";
    let (_, _, payment) = books.under("PAYMENT").find(|(_, _, row)| captured(row)).expect("one is captured");
    with(world, payment, |row| {
        row.insert("refundable_ecopay".to_owned(), n("1"));
    })
    .await;
    let id = text(payment, "payment_id");
    assert_eq!(roots(&reported("remainder").await), found("payment_differs", &format!("payment:{id}")));
    world.plant(payment.clone()).await;

    // An entry that does not sum to zero.
    let mut bent = pay.clone();
    let Some(dynamo::Value::L(postings)) = bent.get_mut("postings") else { panic!("postings") };
    let dynamo::Value::M(first) = &mut postings[0] else { panic!("a posting") };
    first.insert("delta".to_owned(), n("-999"));
    world.plant(bent).await;
    let id = text(pay, "transaction_id");
    assert_eq!(roots(&reported("unbalanced").await), found("unbalanced_entry", &format!("transaction:{id}")));
    world.plant(pay.clone()).await;

    // A stuck claim: a top-up's marker that has been in flight for years.
    let (_, _, marker) = books.under("card_op_idem#topup#").next().expect("a marker");
    let stuck = {
        let mut stuck = marker.clone();
        stuck.insert("state".to_owned(), s("IN_FLIGHT"));
        stuck.insert("_due_sk".to_owned(), s(format!("2020-01-01T00:00:00.000Z#{}", new_id())));
        stuck
    };
    world.plant(stuck).await;
    let subject = format!("{} marker of topup", owner(text(marker, "uuid")));
    assert_eq!(roots(&reported("stuck").await), found("claim_stuck", &subject));
    world.plant(marker.clone()).await;

    // An item that cannot be read.
    with(world, payment, |row| {
        row.insert("state".to_owned(), n("1"));
    })
    .await;
    let kinds: BTreeSet<String> = roots(&reported("unreadable").await).into_iter().map(|(kind, _)| kind).collect();
    assert!(kinds.contains("unreadable_item"), "{kinds:?}");
    world.plant(payment.clone()).await;

    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "everything is repaired: {report}");
}

/// A Stripe charge that was never credited, and a charge that differs from our record.
#[tokio::test]
async fn provider_and_books_are_compared_both_ways() {
    let stage = Stage::new(World::alone("both-ways").await).await;
    let world = &stage.world;
    world.hold_deliveries().await;
    let customer = world.customer().await;
    let uncredited = world.topup(&customer, "700").await;
    let _ = world.stripe(&format!("/payment_intents/{}/succeed", uncredited.intent), &json!({})).await;
    let report = world.reconciled().await;
    assert_eq!(roots(&report), found("charge_without_credit", &format!("topup:{}", uncredited.id)), "{report}");
    // The webhook event arrives, and the books are clean.
    assert_eq!(world.deliver("payment_intent.succeeded", &uncredited.intent).await, 200);
    assert_eq!(world.reconciled().await["status"], "clean");
    // Our record states another charge than Stripe's.
    let books = world.books().await;
    let row = books.row(&format!("{}#topup#{}", world.tenant, uncredited.id), "TOPUP").expect("a top-up");
    with(world, row, |row| {
        row.insert("charge".to_owned(), n("701"));
        row.insert("refundable".to_owned(), n("701"));
    })
    .await;
    let report = world.reconciled().await;
    assert_eq!(roots(&report), found("charge_differs", &format!("topup:{}", uncredited.id)), "{report}");
}

/// A proposal can be requested once per finding, needs another approver, and ends the break.
/// A request for the adjustment that a break proposes.
fn answers(world: &World, path: &str) -> Call {
    Call::post(path, &world.operator.who, &json!({"note": "counted twice"})).key(new_id())
}

#[tokio::test]
async fn proposed_adjustment_needs_second_approver_and_ends_the_break() {
    let stage = stage("proposed").await;
    let world = &stage.world;
    let books = world.books().await;
    let (pk, _) = entry(&books, "pay");
    let balance = books.row(pk, "BALANCE#ECOPAY").expect("a balance");
    let number = |name: &str| i64::try_from(audit::number(balance, name)).expect("whole yen");
    let (was, exposure) = (number("balance"), number("exposure"));
    with(world, balance, |row| {
        row.insert("balance".to_owned(), n(was + 1));
        row.insert("exposure".to_owned(), n(exposure + 1));
    })
    .await;
    let proposed = async || {
        let report = world.reconciled().await;
        let finding = &report["findings"]["items"][0];
        assert_eq!((&finding["kind"], &finding["proposed"]), (&json!("balance_differs"), &json!("-1")), "{report}");
        let [run, id] = [&report["run_id"], &finding["finding_id"]].map(|id| id.as_str().expect("an id"));
        format!("/v1/admin/reconciliation/runs/{run}/findings/{id}/adjustment")
    };
    let path = proposed().await;
    let request = async |path: &str| world.api.settle(&answers(world, path)).await;
    let first = request(&path).await.good().text("/approval_id");
    assert_eq!(world.books().await.entries_of("adjustment"), books.entries_of("adjustment"));
    let shown = Call::get(&format!("/v1/admin/approvals/{first}"), &world.second.who);
    let shown = world.api.send(&shown).await.good().json();
    assert_eq!((&shown["postings"][0]["delta"], &shown["changes"]), (&json!("-1"), &json!([])), "{shown}");
    let _ = request(&path).await.problem(409, "already_exists");
    let _ = world.api.settle(&decides("approve", &first, &world.operator.who)).await.problem(403, "four_eyes_required");
    // The next runs find the break too. What is requested before the correction is stale, and after it nothing is.
    let (next, last) = (proposed().await, proposed().await);
    let of_the_next_run = request(&next).await.good().text("/approval_id");
    let _ = world.api.settle(&decides("approve", &first, &world.second.who)).await.good();
    let twice = decides("approve", &of_the_next_run, &world.second.who);
    let stale = world.api.settle(&twice).await.problem(400, "approval_stale");
    assert_eq!(world.api.settle(&twice).await.stored(), stale.stored());
    let _ = request(&last).await.problem(400, "wrong_state");
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

/// The second approver's clock is behind: the first correction seems to precede the second run, although that run read
/// the balance before the correction.
#[tokio::test]
async fn break_of_two_runs_is_corrected_once_despite_slow_clock() {
    let stage = stage("slow-clock").await;
    let world = &stage.world;
    let books = world.books().await;
    let (pk, _) = entry(&books, "pay");
    let balance = books.row(pk, "BALANCE#ECOPAY").expect("a balance");
    let number = |row: &Item, name: &str| i64::try_from(audit::number(row, name)).expect("whole yen");
    let (was, exposure) = (number(balance, "balance"), number(balance, "exposure"));
    with(world, balance, |row| {
        row.insert("balance".to_owned(), n(was + 1));
        row.insert("exposure".to_owned(), n(exposure + 1));
    })
    .await;
    let request_adjustment = async || {
        let report = world.reconciled().await;
        let finding = &report["findings"]["items"][0];
        let [run, id] = [&report["run_id"], &finding["finding_id"]].map(|id| id.as_str().expect("an id"));
        let path = format!("/v1/admin/reconciliation/runs/{run}/findings/{id}/adjustment");
        world.api.settle(&answers(world, &path)).await.good().text("/approval_id")
    };
    let approve = async |id: &str| world.api.settle(&decides("approve", id, &world.second.who)).await;
    let (first, second) = (request_adjustment().await, request_adjustment().await);
    let _ = approve(&first).await.good();
    // As a function with a slow clock would have written it.
    let books = world.books().await;
    with(world, books.row(pk, "BALANCE#ECOPAY").expect("a balance"), |row| {
        row.insert("corrected_at".to_owned(), s("2020-01-01T00:00:00.000Z"));
    })
    .await;
    let _ = approve(&second).await.problem(400, "approval_stale");
    let after = world.books().await;
    assert_eq!(number(after.row(pk, "BALANCE#ECOPAY").expect("a balance"), "balance"), was);
    assert_eq!(world.reconciled().await["status"], "clean");
    // A break that is found after the correction is corrected as well.
    with(world, after.row(pk, "BALANCE#ECOPAY").expect("a balance"), |row| {
        row.insert("balance".to_owned(), n(was + 2));
        row.insert("exposure".to_owned(), n(exposure + 2));
    })
    .await;
    let third = request_adjustment().await;
    let _ = approve(&third).await.good();
    assert_eq!(world.reconciled().await["status"], "clean");
}
