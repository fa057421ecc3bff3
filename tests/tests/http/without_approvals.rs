//! Commands of a tenant that requires no approvals: the request executes them, and its response has the effect.
#![cfg(feature = "stack")]

use super::approvals_every::requests;
use ledger_core::terms::{ApprovalTerms, RecordVersion};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World, host};
use ledger_tests::limits::overridable;
use serde_json::{Value, json};

async fn world(name: &str) -> World {
    let rules = overridable(&[("customer", "pay_operation=1000"), ("customer", "pay_day=1000")]);
    let world = World::with_terms(host::shared(), name, |terms| {
        (terms.records, terms.approvals) = (RecordVersion::V7, ApprovalTerms::NotRequired);
        terms.limits = Some(rules.clone());
    });
    world.await
}

async fn done(world: &World, call: &Call) -> (u16, Value) {
    let answer = world.api.settle(call).await.good();
    (answer.status, answer.json())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_is_executed_by_its_request_and_its_response_is_replayed() {
    let world = world("without-approvals-every").await;
    let mut pending = Vec::new();
    for call in requests(&world).await {
        let first = world.api.settle(&call).await.good();
        if first.json()["approval_id"].is_string() {
            pending.push(call.path.clone());
        }
        let after = world.books().await;
        let again = world.api.settle(&call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true), "{call:?}");
        world.books().await.unchanged_since(&after, "a replay moved something");
    }
    // A move to another sign-in takes two people in every tenant.
    assert!(pending.len() == 1 && pending[0].ends_with("/sign-in"), "{pending:?}");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn responses_have_what_was_moved_and_what_was_set() {
    let world = world("without-approvals-answers").await;
    let (shop, customer) = (world.merchant().await, world.customer_with("300").await);
    let card = world.card(Some(&customer), "200").await;
    let fresh = world.card(None, "0").await;
    let replace = json!({"new_card_id": fresh, "reason": "lost"});
    let replace = Call::post(&format!("/v1/admin/cards/{card}/replace"), &world.operator.who, &replace);
    assert_eq!(done(&world, &replace.key(new_key())).await.1["amount"], "200");
    assert_eq!(world.card_balance(&fresh).await, "200");
    assert_eq!(done(&world, &world.closes_card(&fresh, true)).await.1["rest"], json!({"ECOPAY": "200"}));
    assert_eq!(done(&world, &world.closes(&customer.id, true)).await.1["rest"], json!({"ECOPAY": "300"}));
    let spent = world.customer_with("100").await;
    let _ = world.api.settle(&spent.pays(&shop, "100")).await.good();
    assert_eq!(done(&world, &world.closes(&spent.id, true)).await.1["rest"]["ECOPAY"], Value::Null);

    let heir = world.customer().await;
    let body = json!({
        "account": format!("customer:{}", heir.id), "asset": "ECOPAY",
        "limits": {"pay_operation": "none", "pay_day": "2000"}, "reason": "a shop of her own",
    });
    let limits = done(&world, &Call::post("/v1/admin/account-limits", &world.operator.who, &body).key(new_key())).await;
    assert_eq!(limits.1["limits"], json!({"pay_operation": "none", "pay_day": "2000"}));
    for schedule in ["weekly:friday bank_days:2", "by_hand"] {
        let (_, set) = done(&world, &world.schedules(&shop.id, Some(schedule))).await;
        assert_eq!(set["settlement_schedule"], schedule);
    }
    let (status, run) = done(&world, &world.runs_settlements("2026-11-20")).await;
    assert_eq!((status, &run["status"]), (201, &json!("running")), "{run}");
    let account = format!("customer:{}", customer.id);
    let (status, _) = done(&world, &world.claims(&account, &heir.id, "100")).await;
    assert_eq!((status, world.balance(&heir, "ECOPAY").await), (201, "100".to_owned()));
    let (status, _) = done(&world, &world.pays_out(&account, "200")).await;
    let books = world.check_books().await;
    assert_eq!((status, books.posted("bank_clearing", "ECOPAY")), (201, 200.into()));
}
