//! One effect has one guard, whichever way leads to it: what differed between two ways.
#![cfg(feature = "stack")]

use ledger_tests::audit::{s, text};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World, staff};
use serde_json::{Value, json};
use std::time::Duration;

async fn get(world: &World, who: &Who, path: &str) -> Answer {
    world.api.send(&Call::get(path, who)).await
}

async fn stored(world: &World, call: &Call) -> String {
    let answer = world.api.settle(call).await.good();
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.text("/approval_id")
}

/// Moves the only entry of an operation into the past.
async fn date_back(world: &World, operation: &str, minutes: u64) {
    let books = world.books().await;
    let mut entries = books.under("TXN#").filter(|(_, _, row)| text(row, "operation") == operation);
    let mut row = entries.next().expect("an entry").2.clone();
    let at = world.app.now().minus(Duration::from_secs(minutes.saturating_mul(60)));
    row.insert("created_at".to_owned(), s(at.rfc3339()));
    world.plant(row).await;
}

#[tokio::test]
async fn counter_takes_no_topup_back_whose_cash_was_collected() {
    let world = World::new("pairs-counter").await;
    let (counter, card) = (world.counter("1000").await, world.card(None, "0").await);
    let topup = counter.does("topup", &card, &json!({"amount": "300"}));
    let _ = world.api.settle(&topup).await.good();
    let _ = world.executes(&world.collects(&counter, "1")).await.good();
    let refused = world.api.settle(&counter.reverses("card_topup", &topup)).await;
    let _ = refused.problem(400, "cash_not_outstanding");
    assert_eq!(world.card_balance(&card).await, "300");
    // The counter takes cash again, of which it gives back.
    let again = counter.does("topup", &world.card(None, "0").await, &json!({"amount": "1"}));
    let _ = world.api.settle(&again).await.good();
    let undone = world.api.settle(&counter.reverses("card_topup", &topup)).await.good();
    assert_eq!(undone.json()["outcome"], "undone");
    let room = get(&world, &world.operator.who, &format!("/v1/admin/terminals/{}/cash-room", counter.id)).await.good();
    assert_eq!((room.text("/cash_room"), room.text("/outstanding")), ("999".to_owned(), "0".to_owned()));
    let _ = world.check_books().await;
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}

#[tokio::test]
async fn terminal_reverses_a_refund_for_ten_minutes() {
    let stage = Stage::new(World::new("pairs-refund").await).await;
    let (world, till) = (&stage.world, &stage.terminal);
    let (card, _, payment) = stage.paid_by_card("300").await;
    let refund = till.does("refund", &card, &json!({"payment_id": payment, "amount": "100"}));
    let _ = world.api.settle(&refund).await.good();
    date_back(world, "card_refund", 11).await;
    let late = till.reverses("card_refund", &refund);
    let refused = world.api.settle(&late).await.problem(400, "reversal_too_late");
    assert_eq!(world.card_balance(&card).await, "100");
    date_back(world, "card_refund", 9).await;
    assert_eq!(world.api.settle(&late).await.body, refused.body, "the refusal is stored");
    let _ = world.api.settle(&till.reverses("card_refund", &refund)).await.good();
    assert_eq!(world.card_balance(&card).await, "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owner_withdraws_no_command_of_another_about_an_own_account() {
    let world = World::new("pairs-withdraw").await;
    let (customer, owner) = (world.customer().await, &world.second.who);
    let body = json!({"direction": "credit", "amount": "1", "reason_code": "correction", "note": "twice",
        "customer_id": customer.id});
    let adjusts = || Call::post("/v1/admin/adjustments", &world.operator.who, &body).key(new_key());
    let tied = stored(&world, &adjusts()).await;
    // An owner without a tie withdraws what another requested.
    let other = stored(&world, &adjusts()).await;
    let _ = world.api.settle(&decides("withdraw", &other, owner)).await.good();
    let own = json!({"account": format!("customer:{}", customer.id), "kind": "own"});
    let declares = Call::post("/v1/admin/staff/me/beneficiaries", owner, &own).key(new_key());
    let _ = world.api.settle(&declares).await.good();
    for verb in ["approve", "reject", "withdraw"] {
        let _ = world.api.settle(&decides(verb, &tied, owner)).await.problem(403, "four_eyes_required");
    }
    // Nor a change of the own record.
    let path = format!("/v1/admin/staff/{}", world.second.id);
    let change = Call::patch(&path, &world.operator.who, &json!({"roles": ["owner", "approver"]})).key(new_key());
    let about = stored(&world, &change).await;
    for verb in ["approve", "reject", "withdraw"] {
        let _ = world.api.settle(&decides(verb, &about, owner)).await.problem(403, "four_eyes_required");
    }
    for id in [tied, about] {
        let _ = world.api.settle(&decides("withdraw", &id, &world.operator.who)).await.good();
    }
}

#[tokio::test]
async fn reads_of_a_customer_by_a_filter_are_on_the_trail() {
    let world = World::new("pairs-reads").await;
    let (customer, unknown) = (world.customer().await, new_id());
    let (id, who) = staff::member(&world, "viewer").await;
    let stranger = world.token("admin", &new_id(), None).await;
    let paths = |customer: &str| {
        [
            format!("/v1/admin/holds?customer_id={customer}"),
            format!("/v1/admin/cards?owner={customer}"),
            format!("/v1/admin/customers/{customer}/limits"),
            format!("/v1/admin/customers/{customer}/operations/pay?key={}", new_key()),
        ]
    };
    for path in paths(&customer.id) {
        let _ = get(&world, &who, &path).await.good();
        let _ = get(&world, &stranger, &path).await.problem(403, "permission_missing");
    }
    for path in paths(&unknown) {
        let _ = get(&world, &who, &path).await.problem(404, "not_found");
    }
    // Neither list says anything of a customer without the filter.
    for path in ["/v1/admin/holds", "/v1/admin/cards"] {
        let _ = get(&world, &who, path).await.good();
    }
    let books = world.check_books().await;
    let reads: Vec<Value> = books
        .under("AUDIT#")
        .filter(|(_, _, act)| text(act, "action") == "customer_read")
        .map(|(_, _, act)| json!([text(act, "actor"), text(act, "subject")]))
        .collect();
    let read = json!([format!("staff:{id}"), format!("customer:{}", customer.id)]);
    assert_eq!(reads, vec![read; 4], "one for each read");
}
