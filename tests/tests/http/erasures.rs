//! Customers who are erased by two people, over HTTP.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::sign_ins::moves;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, World, sign_ins, staff};
use serde_json::{Value, json};

/// Stores a request to erase a customer, and returns the approval's id.
async fn requested(world: &World, customer: &str) -> String {
    let stored = world.api.settle(&world.erases(customer, "request 2026-117")).await.good();
    assert_eq!(stored.status, 202, "{stored:?}");
    stored.text("/approval_id")
}

async fn shown(world: &World, customer: &str) -> Value {
    let path = format!("/v1/admin/customers/{customer}");
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()
}

fn patches(world: &World, customer: &str) -> Call {
    let body = json!({"name": "Hanako", "email": "hanako@example.jp", "phone": "090-1234-5678"});
    Call::patch(&format!("/v1/admin/customers/{customer}"), &world.operator.who, &body).key(new_key())
}

async fn found(world: &World, body: &Value) -> Vec<Value> {
    let call = Call::post("/v1/admin/customers/search", &world.operator.who, body);
    world.api.send(&call).await.good().json()["items"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn open_customer_is_not_erased_and_closed_one_once() {
    let world = World::new("erasure-states").await;
    let customer = world.customer().await.id;
    let _ = world.api.settle(&world.erases(&customer, "asked for")).await.problem(400, "wrong_state");
    let _ = world.api.settle(&world.erases(&new_id(), "asked for")).await.problem(404, "not_found");
    let path = format!("/v1/admin/customers/{customer}/erasure");
    let erasure = Call::get(&path, &world.operator.who);
    let _ = world.api.send(&erasure).await.problem(404, "not_found");
    world.closed(&customer).await;
    let _ = world.api.send(&erasure).await.problem(404, "not_found");
    let ids = [requested(&world, &customer).await, requested(&world, &customer).await];
    let approve = |id: &String| decides("approve", id, &world.second.who);
    let calls: Vec<Call> = ids.iter().map(approve).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let good = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(good, 1, "{answers:?}");
    for (call, answer) in calls.iter().zip(&answers) {
        let again = world.api.settle(call).await;
        if answer.status == 200 {
            assert_eq!((again.stored(), again.replayed()), (answer.stored(), true));
            continue;
        }
        // Which guard is named first depends on what was written when.
        let code = answer.code();
        assert!(code.is_some_and(|code| ["wrong_state", "already_exists"].contains(&code.as_str())), "{answer:?}");
        let _ = again.problem(400, "wrong_state");
    }
    let _ = world.api.settle(&world.erases(&customer, "asked for")).await.problem(400, "wrong_state");
    let view = world.erasure(&customer).await;
    assert_eq!(
        (&view["status"], &view["details"]["customer_id"], &view["failed"]),
        (&json!("waiting"), &json!(customer), &json!(0))
    );
    let approval = ids.iter().find(|id| view["job_id"] == id.as_str());
    let approval = approval.unwrap_or_else(|| panic!("the job has the id of its approval: {view}"));
    let shown =
        world.api.send(&Call::get(&format!("/v1/admin/approvals/{approval}"), &world.operator.who)).await.good();
    assert_eq!(shown.text("/job_id"), *approval);
    let _ = world.check_books().await;
}

#[tokio::test]
async fn erasure_takes_another_person_who_is_no_beneficiary() {
    let world = World::new("erasure-people").await;
    let customer = world.closed_customer().await;
    let (_, support) = staff::member(&world, "support").await;
    let body = json!({"reason": "asked for"});
    let path = format!("/v1/admin/customers/{customer}/erase");
    let _ =
        world.api.settle(&Call::post(&path, &support, &body).key(new_key())).await.problem(403, "permission_missing");
    let id = requested(&world, &customer).await;
    let own = decides("approve", &id, &world.operator.who);
    let _ = world.api.settle(&own).await.problem(403, "four_eyes_required");
    let _ = world.api.settle(&decides("approve", &id, &support)).await.problem(403, "permission_missing");
    assert!(shown(&world, &customer).await["name"].is_string());
    let _ = world.api.settle(&decides("reject", &id, &world.second.who)).await.good();
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.problem(400, "wrong_state");
    assert!(shown(&world, &customer).await["name"].is_string());
    let _ = world.erased(&customer).await;
    let shown = shown(&world, &customer).await;
    assert!(shown["name"].is_null() && shown["erased_at"].is_string(), "{shown}");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn erased_customer_is_shown_without_a_name_and_found_by_the_id_alone() {
    let world = World::new("erasure-shown").await;
    let customer = world.customer_with("300").await;
    let _ = world.api.settle(&patches(&world, &customer.id)).await.good();
    world.closed(&customer.id).await;
    let values = [json!({"name": "hana"}), json!({"email": "HANAKO@example.jp"}), json!({"phone": "09012345678"})];
    for value in &values {
        assert_eq!(found(&world, value).await.len(), 1, "{value}");
    }
    let _ = world.erased(&customer.id).await;
    for value in &values {
        assert_eq!(found(&world, value).await, Vec::<Value>::new(), "{value}");
    }
    let by_id = found(&world, &json!({ "customer_id": customer.id })).await;
    let [listed] = by_id.as_slice() else { panic!("{by_id:?}") };
    assert!(listed["name"].is_null() && listed["status"] == "closed", "{listed}");
    let list = Call::get("/v1/admin/customers?limit=100&status=closed", &world.operator.who);
    let list = world.api.send(&list).await.good().json();
    assert!(list["items"].as_array().expect("a list").contains(listed), "{list}");
    let view = shown(&world, &customer.id).await;
    for gone in ["name", "kana", "email", "phone"] {
        assert!(view[gone].is_null(), "{view}");
    }
    assert_eq!(view["unclaimed"], json!({"ECOPAY": "300"}));
    let file = Call::get(&format!("/v1/admin/customers/{}/file", customer.id), &world.operator.who);
    let file = world.api.send(&file).await.good().json();
    assert_eq!(file["present"]["customer"]["erased_at"], view["erased_at"]);
    // Nothing that says who the customer is, is written again.
    let _ = world.api.settle(&patches(&world, &customer.id)).await.problem(400, "wrong_state");
    let _ = world.api.settle(&moves(&world, &customer.id, &new_id())).await.problem(400, "wrong_state");
    // What is unclaimed can be claimed and paid out as before.
    let (account, other) = (format!("customer:{}", customer.id), world.customer().await);
    let _ = world.executes(&world.claims(&account, &other.id, "100")).await.good();
    let _ = world.executes(&world.pays_out(&account, "200")).await.good();
    assert_eq!(world.balance(&other, "ECOPAY").await, "100");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn sign_in_of_an_erased_customer_is_unknown_for_good() {
    let world = World::new("erasure-sign-in").await;
    let (own, moved) = (world.customer_with("300").await, world.customer_with("300").await);
    let subject = new_id();
    let moved = sign_ins::moved(&world, &moved, &subject).await;
    let other = world.customer().await;
    for (customer, subject) in [(&own, &own.id), (&moved, &subject)] {
        if customer.id == *subject {
            let _ = world.api.send(&Call::get("/v1/me", &customer.who)).await.good();
        }
        world.closed(&customer.id).await;
        let _ = world.erased(&customer.id).await;
        let patch = Call::patch("/v1/me", &customer.who, &json!({"name": "Hanako"})).key(new_key());
        let gets =
            ["", "/balances", "/transactions", "/cards"].map(|list| Call::get(&format!("/v1/me{list}"), &customer.who));
        for call in gets.into_iter().chain([patch, customer.sends(&other, "1"), customer.requests_code()]) {
            let _ = world.api.settle(&call).await.problem(404, "not_found");
        }
        // No other wallet gets the subject.
        let opens = json!({"name": "Yuki", "customer_id": subject});
        let opens = Call::post("/v1/admin/customers", &world.operator.who, &opens).key(new_key());
        let _ = world.api.settle(&opens).await.problem(409, "already_exists");
        let _ = world.api.settle(&moves(&world, &other.id, subject)).await.problem(409, "already_exists");
        assert_eq!(shown(&world, &customer.id).await["unclaimed"], json!({"ECOPAY": "300"}));
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_at_the_same_time_leave_nothing_of_the_person() {
    let world = World::new("erasure-race").await;
    let heir = world.customer().await;
    let good = |answer: &Answer| answer.status < 300;
    for round in 0..6 {
        let customer = world.customer_with("300").await;
        // A move is requested of an open wallet alone.
        let subject = new_id();
        let moving = sign_ins::requested(&world, &customer.id, &subject).await;
        world.closed(&customer.id).await;
        let account = format!("customer:{}", customer.id);
        let claim = world.api.settle(&world.claims(&account, &heir.id, "300")).await.good().text("/approval_id");
        let id = requested(&world, &customer.id).await;
        let approve = |id: &str| decides("approve", id, &world.second.who);
        let calls = [approve(&id), patches(&world, &customer.id), approve(&claim), approve(&moving)];
        let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        assert!(good(&answers[0]), "{round}: {answers:?}");
        assert!(good(&answers[2]), "a claim is not affected, {round}: {answers:?}");
        assert!(!good(&answers[3]), "a closed wallet is moved, {round}: {answers:?}");
        let view = shown(&world, &customer.id).await;
        for gone in ["name", "kana", "email", "phone", "unclaimed"] {
            assert!(view[gone].as_str().is_none_or(|sum| sum == "0"), "{round}: {view}");
        }
        for subject in [&customer.id, &subject] {
            let who = world.token("customer", subject, None).await;
            let stranger = Customer { id: customer.id.clone(), who };
            let _ = world.api.send(&Call::get("/v1/me", &stranger.who)).await.problem(404, "not_found");
        }
    }
    let books = world.check_books().await;
    let left = books.under("LOOKUP#").filter(|(pk, _, row)| row.contains_key("owner_sk") && !pk.ends_with(&heir.id));
    assert_eq!(left.map(|(pk, sk, _)| format!("{pk} {sk}")).collect::<Vec<_>>(), Vec::<String>::new());
}
