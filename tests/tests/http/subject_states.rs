//! A command is stored only if its subjects are in a state in which it may be executed.
#![cfg(feature = "stack")]

use ledger_tests::http::staff;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, World, sign_ins};
use serde_json::{Value, json};

fn posts(world: &World, path: &str, body: &Value) -> Call {
    Call::post(path, &world.operator.who, body).key(new_key())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_about_a_closed_customer_or_terminal_is_refused_when_it_is_requested() {
    let world = World::new("states-closed").await;
    let (closed, open) = (world.closed_customer().await, world.customer_with("300").await);
    let shop = world.merchant().await;
    let till = world.operator("/v1/admin/terminals", &json!({"merchant_id": shop.id})).await.text("/terminal_id");
    let _ = world.api.settle(&world.closes_terminal(&till)).await.good();
    let adjustment = |direction: &str| {
        json!({
            "customer_id": closed, "direction": direction, "amount": "10", "reason_code": "correction", "note": "a test",
        })
    };
    let grant = json!({"customer_id": closed, "asset": "POINT", "amount": "10", "reason": "spring"});
    let account = world.unclaimed("300").await;
    let refused = [
        posts(&world, "/v1/admin/adjustments", &adjustment("credit")),
        posts(&world, "/v1/admin/grants", &grant),
        world.claims(&account, &closed, "10"),
        sign_ins::moves(&world, &closed, &new_id()),
        posts(&world, &format!("/v1/admin/terminals/{till}/enrolment"), &json!({})),
        posts(&world, &format!("/v1/admin/terminals/{till}/cash-room"), &json!({"allot": "100"})),
    ];
    for call in &refused {
        let _ = world.api.settle(call).await.problem(400, "wrong_state");
    }
    let pending = Call::get("/v1/admin/approvals?state=pending", &world.operator.who);
    assert_eq!(world.api.send(&pending).await.good().json()["items"], json!([]));
    // The same of what is open is stored.
    let stored = world.api.settle(&sign_ins::moves(&world, &open.id, &new_id())).await;
    assert_eq!(stored.status, 202, "{stored:?}");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn address_in_full_width_or_with_look_alike_letters_is_refused() {
    let world = World::new("states-addresses").await;
    for wrong in ["ｈａｎａｋｏ@example.jp", "hanako＠example.jp", "h\u{430}nako@example.jp"] {
        let id = new_id();
        let mut invitation = staff::invitation(&id, "approver");
        invitation["email"] = json!(wrong);
        let refused = world.api.settle(&posts(&world, "/v1/admin/staff", &invitation)).await;
        let refused = refused.problem(400, "invalid_request");
        assert!(refused.body.contains("ASCII"), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_by_hand_of_a_day_before_the_last_year_is_refused() {
    let world = World::new("states-closing-day").await;
    for wrong in ["1999-11-26", "0001-01-01"] {
        let _ = world.api.settle(&world.runs_settlements(wrong)).await.problem(400, "invalid_request");
    }
}
