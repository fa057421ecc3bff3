//! Keys and ids that a caller chooses stop nothing that the ledger does later under keys and ids of its own.
#![cfg(feature = "stack")]

use ledger_core::cards::batch::CardBatch;
use ledger_tests::audit;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, World};
use serde_json::{Value, json};

async fn counter_requested(world: &World, id: Option<&str>) -> String {
    let mut body = json!({"kind": "counter"});
    if let Some(id) = id {
        body["terminal_id"] = json!(id);
    }
    let asked = world.api.settle(&Call::post("/v1/admin/terminals", &world.operator.who, &body).key(new_key())).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    asked.text("/approval_id")
}

/// A till of a merchant under an id that the registrar chose.
async fn till_under(world: &World, id: &str) {
    let shop = world.merchant().await;
    let body = json!({"merchant_id": shop.id, "terminal_id": id});
    let _ = world.operator("/v1/admin/terminals", &body).await.good();
}

async fn approval(world: &World, id: &str) -> Value {
    world.api.send(&Call::get(&format!("/v1/admin/approvals/{id}"), &world.operator.who)).await.good().json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wind_down_closes_accounts_whose_keys_its_requester_used_before() {
    let world = World::new("chosen-wind-down").await;
    let customer = world.customer_with("300").await;
    let job = world.started_winding_down().await;
    let forms = [format!("wind_down:{job}:customer:{}", customer.id), format!("{job}-customer:{}", customer.id)];
    for form in forms {
        let again = world.winds_down().key(form);
        let _ = world.api.settle(&again).await;
    }
    let _ = world.run_jobs().await.expect("a run");
    let view = world.job(&job).await;
    assert_eq!((&view["status"], &view["done"], &view["failed"]), (&json!("done"), &json!(1), &json!(0)), "{view}");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counter_is_registered_when_a_till_has_the_id_of_its_approval() {
    let world = World::new("chosen-counter").await;
    let asked = counter_requested(&world, None).await;
    assert_eq!(approval(&world, &asked).await["details"].get("terminal_id"), None, "no id is known before");
    till_under(&world, &asked).await;
    let approve = decides("approve", &asked, &world.second.who);
    let done = world.api.settle(&approve).await.good();
    assert_eq!(world.api.settle(&approve).await.stored(), done.stored());
    let id = approval(&world, &asked).await["details"]["terminal_id"].as_str().expect("its id").to_owned();
    assert_ne!(id, asked);
    let counter = Call::get(&format!("/v1/admin/counters/{id}"), &world.operator.who);
    assert_eq!(world.api.send(&counter).await.good().text("/status"), "active");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counter_whose_named_id_was_taken_is_stale_and_is_asked_for_under_another() {
    let world = World::new("chosen-counter-id").await;
    let id = new_id();
    let asked = counter_requested(&world, Some(&id)).await;
    till_under(&world, &id).await;
    let stale = world.api.settle(&decides("approve", &asked, &world.second.who)).await;
    assert_eq!(stale.code().as_deref(), Some("approval_stale"), "{stale:?}");
    assert_eq!(approval(&world, &asked).await["status"], "stale");
    let body = json!({"kind": "counter", "terminal_id": id});
    let again = Call::post("/v1/admin/terminals", &world.operator.who, &body).key(new_key());
    let _ = world.api.settle(&again).await.problem(409, "already_exists");
    let unnamed = Call::post("/v1/admin/terminals", &world.operator.who, &json!({"kind": "counter"})).key(new_key());
    let _ = world.executes(&unnamed).await.good();
    let _ = world.check_books().await;
}

/// The test alone can take a place: it reads the batch's random bytes in the table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_of_cards_passes_over_a_taken_place_and_issues_the_others() {
    let world = World::new("chosen-batch").await;
    let body = json!({"count": 60, "reason": "spring"});
    let batch = Call::post("/v1/admin/card-batches", &world.operator.who, &body).key(new_key());
    let stored = world.api.settle(&batch).await.good();
    let job = stored.text("/job_id");
    let books = world.check_books().await;
    let row = books.row(&format!("{}#job#{job}", world.tenant), "JOB").expect("the batch");
    let seed = audit::text(row, "seed").to_owned();
    assert!(!stored.body.contains(&seed), "{stored:?}");
    let taken = CardBatch::read(row).expect("a batch").card(3).to_string();
    let _ = world.operator("/v1/admin/cards", &json!({ "card_id": taken })).await.good();
    for _ in 0..3 {
        let _ = world.run_jobs().await.expect("a run");
    }
    let path = format!("/v1/admin/card-batches/{job}?limit=100");
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    assert!(!view.body.contains(&seed), "{view:?}");
    let view = view.json();
    assert_eq!((&view["status"], &view["done"], &view["failed"]), (&json!("done"), &json!(59), &json!(1)), "{view}");
    let cards = view["card_ids"].as_array().expect("ids");
    assert_eq!(cards.len(), 59);
    assert!(!cards.contains(&json!(taken)), "another's card is none of the batch's");
    let lines = world.job_lines(&job, Some("failed"), 20).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["subject"], &lines[0]["code"]), (&json!(format!("card:{taken}")), &json!("already_exists")));
    let _ = world.check_books().await;
}
