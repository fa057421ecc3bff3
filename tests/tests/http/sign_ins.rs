//! Customers who are moved to another sign-in by two people, over HTTP.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::sign_ins::{approved, moved, moves, requested};
use ledger_tests::http::topup_rig::Rig;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Who, World, staff};
use serde_json::{Value, json};
use std::time::Duration;

async fn world(tenant: &str) -> World {
    World::new(tenant).await
}

fn me(who: &Who) -> Call {
    Call::get("/v1/me/balances", who)
}

async fn sign_in(world: &World, customer: &Customer) -> Value {
    let path = format!("/v1/admin/customers/{}", customer.id);
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()["sign_in"].clone()
}

fn opens(world: &World, id: &str) -> Call {
    Call::post("/v1/admin/customers", &world.operator.who, &json!({"name": "Yuki", "customer_id": id})).key(new_key())
}

#[tokio::test]
async fn moved_customer_pays_with_the_new_sign_in_and_the_former_one_is_unknown() {
    let world = world("sign-in-moved").await;
    let (old, shop) = (world.customer_with("1000").await, world.merchant().await);
    let code = old.code(&world).await;
    let (paid, key) = (old.pays(&shop, "300"), new_key());
    let paid = paid.key(key);
    let first = world.api.settle(&paid).await.good();
    assert_eq!(sign_in(&world, &old).await, json!({ "subject": old.id }));
    let subject = new_id();
    let new = moved(&world, &old, &subject).await;
    let unknown = Customer { id: new_id(), who: world.token("customer", &new_id(), None).await };
    let lists = ["cards", "topups", "transactions"].map(|list| Call::get(&format!("/v1/me/{list}"), &old.who));
    for call in lists {
        let _ = world.api.settle(&call).await.problem(404, "not_found");
    }
    for call in [me(&old.who), old.pays(&shop, "1"), old.requests_code(), old.sends(&unknown, "1")] {
        let _ = world.api.settle(&call).await.problem(404, "not_found");
    }
    let refused = |answer: Answer| (answer.status, answer.code());
    let of_unknown = refused(world.api.send(&me(&unknown.who)).await);
    assert_eq!(refused(world.api.send(&me(&old.who)).await), of_unknown);
    // The code of the lost phone was open.
    let _ = world.api.settle(&shop.charges(&code, "100")).await.problem(404, "not_found");
    // A key of before the move is the customer's still.
    let mut again = paid.clone();
    again.who = new.who.clone();
    let again = world.api.settle(&again).await;
    assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    let _ = world.api.settle(&new.pays(&shop, "200")).await.good();
    let _ = world.api.settle(&shop.charges(&new.code(&world).await, "100")).await.good();
    assert_eq!(world.balance(&new, "ECOPAY").await, "400");
    let shown = sign_in(&world, &old).await;
    assert_eq!(shown["subject"], subject.as_str());
    assert!(shown["since"].is_string(), "{shown}");
    let file = Call::get(&format!("/v1/admin/customers/{}/file", old.id), &world.operator.who);
    let file = world.api.send(&file).await.good().json();
    assert_eq!(file["present"]["sign_in"], shown);
    let lines = file["timeline"].as_array().expect("a timeline").iter();
    let acts: Vec<&Value> = lines.map(|line| &line["act"]["action"]).filter(|action| action.is_string()).collect();
    for action in ["approval_request", "sign_in_move"] {
        assert!(acts.iter().any(|shown| **shown == action), "{action}: {acts:?}");
    }
    let _ = world.check_books().await;
}

#[tokio::test]
async fn subject_that_was_a_sign_in_or_is_a_customer_is_refused() {
    let world = world("sign-in-taken").await;
    let (customer, other) = (world.customer().await, world.customer().await);
    let [first, second] = [new_id(), new_id()];
    let _ = moved(&world, &customer, &first).await;
    let newest = moved(&world, &customer, &second).await;
    let _ = world.api.send(&me(&newest.who)).await.good();
    let former = world.token("customer", &first, None).await;
    let _ = world.api.send(&me(&former)).await.problem(404, "not_found");
    for taken in [&first, &second, &customer.id, &other.id] {
        let _ = world.api.settle(&moves(&world, &customer.id, taken)).await.problem(409, "already_exists");
        let _ = world.api.settle(&moves(&world, &other.id, taken)).await.problem(409, "already_exists");
        let _ = world.api.settle(&opens(&world, taken)).await.problem(409, "already_exists");
    }
    let _ = world.api.settle(&moves(&world, &new_id(), &new_id())).await.problem(404, "not_found");
    let _ = world.api.settle(&moves(&world, &other.id, "phone")).await.problem(400, "invalid_request");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn approvals_of_one_subject_or_one_customer_race_to_one_move() {
    let world = world("sign-in-race").await;
    let customers = [world.customer().await, world.customer().await, world.customer().await];
    let [one, two, _] = &customers;
    // Two customers, one subject.
    let shared = new_id();
    let ids = [requested(&world, &one.id, &shared).await, requested(&world, &two.id, &shared).await];
    let good = |answers: &[Answer]| answers.iter().filter(|answer| answer.status == 200).count();
    let answers = join_all(ids.iter().map(|id| approved(&world, id))).await;
    assert_eq!(good(&answers), 1, "{answers:?}");
    let who = world.token("customer", &shared, None).await;
    let _ = world.api.send(&me(&who)).await.good();
    // One customer, two subjects.
    let [_, _, customer] = &customers;
    let subjects = [new_id(), new_id()];
    let mut ids = Vec::new();
    for subject in &subjects {
        ids.push(requested(&world, &customer.id, subject).await);
    }
    let answers = join_all(ids.iter().map(|id| approved(&world, id))).await;
    assert_eq!(good(&answers), 1, "{answers:?}");
    let mut known = 0;
    for subject in &subjects {
        let who = world.token("customer", subject, None).await;
        known += usize::from(world.api.send(&me(&who)).await.status == 200);
    }
    assert_eq!(known, 1);
    // An opening and a move to the same id.
    for _ in 0..4 {
        let (customer, id) = (world.customer().await, new_id());
        let approval = requested(&world, &customer.id, &id).await;
        let opening = opens(&world, &id);
        let (moved, opened) = tokio::join!(approved(&world, &approval), world.api.settle(&opening));
        let won = [moved.status == 200, opened.status == 201];
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{moved:?} {opened:?}");
    }
    let _ = world.check_books().await;
}

#[tokio::test]
async fn move_needs_another_person_who_is_no_beneficiary() {
    let world = world("sign-in-people").await;
    let (customer, subject) = (world.customer().await, new_id());
    let id = requested(&world, &customer.id, &subject).await;
    let own = decides("approve", &id, &world.operator.who);
    let _ = world.api.settle(&own).await.problem(403, "four_eyes_required");
    let _ = world.api.send(&me(&customer.who)).await.good();
    let (viewer, _) = staff::member(&world, "viewer").await;
    let who = world.token("admin", &viewer, None).await;
    let mut call = moves(&world, &customer.id, &subject);
    call.who = who;
    let _ = world.api.settle(&call).await.problem(403, "permission_missing");
    let _ = approved(&world, &id).await.good();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn former_sign_in_ends_in_every_process_within_a_minute_and_gets_no_code_after_the_first_move() {
    let rig = Rig::new().await;
    let scene = rig.scene("sign-in-cached").await;
    let (world, customer) = (&scene.world, &scene.customer);
    let process = rig.actor().await;
    assert_eq!(process.send(&me(&customer.who)).await.status, 200);
    let first = moved(world, customer, &new_id()).await;
    // The process has the tenant's terms of before the move for a minute at most.
    assert_eq!(process.send(&me(&customer.who)).await.status, 200);
    process.clock.forward(Duration::from_secs(61));
    let _ = process.send(&me(&customer.who)).await.problem(404, "not_found");
    assert_eq!(process.send(&me(&first.who)).await.status, 200);
    let second = moved(world, customer, &new_id()).await;
    // The subject is cached, but a code is issued under a condition on the profile.
    assert_eq!(process.send(&me(&first.who)).await.status, 200);
    let _ = process.send(&first.requests_code()).await.problem(404, "not_found");
    assert_eq!(process.send(&second.requests_code()).await.status, 200);
    process.clock.forward(Duration::from_secs(61));
    let _ = process.send(&me(&first.who)).await.problem(404, "not_found");
    assert_eq!(process.send(&me(&second.who)).await.status, 200);
}
