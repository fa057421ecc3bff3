//! Changed addresses are announced, and the previous ones can be read for a time.

use futures::future::join_all;
use ledger_tests::http::event_tap::{EventTap, Mishap};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, World, settling, sign_ins, staff};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn details(tap: &EventTap, detail_type: &str) -> Vec<Value> {
    let of_type = tap.announced().into_iter().filter(|event| event.detail_type == detail_type);
    of_type.map(|event| serde_json::from_str(&event.detail).expect("JSON")).collect()
}

async fn patch_me(world: &World, customer: &Customer, body: &Value) {
    let call = Call::patch("/v1/me", &customer.who, body).key(new_key());
    let _ = world.api.settle(&call).await.good();
}

async fn notice(world: &World, id: &str) -> Value {
    let call = Call::get(&format!("/v1/admin/notices/{id}"), &world.operator.who);
    world.api.send(&call).await.good().json()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn changed_contact_is_announced_with_its_previous_addresses_kept() {
    let (world, tap) = (World::alone("notices").await, EventTap::default());
    let customer = world.customer().await;
    // There is no previous address, and then nothing changes.
    patch_me(&world, &customer, &json!({"email": "first@example.jp", "phone": "090-1234-5678"})).await;
    patch_me(&world, &customer, &json!({"email": "first@example.jp", "name": "Hana"})).await;
    assert_eq!(world.announce_notices(&tap).await.expect("nothing is due"), 0);
    patch_me(&world, &customer, &json!({"email": "thief@example.com", "phone": null})).await;
    assert_eq!(world.announce_notices(&tap).await.expect("it is announced"), 1);
    let events = details(&tap, "ContactChanged");
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(event["changed"], json!(["email", "phone"]));
    assert_eq!((&event["customer_id"], &event["tenant"]), (&json!(customer.id), &json!("notices")));
    let all = format!("{event}");
    assert!(!all.contains("example.jp") && !all.contains("090-"), "an event has no address: {all}");

    let id = text(&event["notice_id"]);
    let seen = notice(&world, &id).await;
    assert_eq!(seen["previous_email"], "first@example.jp");
    assert_eq!(seen["previous_phone"], "090-1234-5678");
    assert_eq!((&seen["kind"], &seen["customer_id"]), (&json!("contact"), &json!(customer.id)));
    let operator = &world.operator.who;
    let unknown = Call::get(&format!("/v1/admin/notices/{}", new_id()), operator);
    let _ = world.api.send(&unknown).await.problem(404, "not_found");
    let abroad = World::new("notices-abroad").await;
    let foreign = Call::get(&format!("/v1/admin/notices/{id}"), &abroad.operator.who);
    let _ = abroad.api.send(&foreign).await.problem(404, "not_found");

    assert_eq!(world.announce_notices(&tap).await.expect("nothing is due"), 0);
    let books = world.check_books().await;
    let acts: Vec<_> = books.under("AUDIT#").filter(|(_, _, act)| act.get("details").is_some()).collect();
    let own = acts.iter().filter(|(_, _, act)| format!("{act:?}").contains("profile_patch")).count();
    assert_eq!(own, 2, "the first addresses and the change are on the trail");
    assert_eq!(world.reconciled().await["status"], "clean", "a reconciliation knows notices");
}

#[tokio::test]
async fn lost_announcement_is_sent_again_and_its_answer_too() {
    let (world, tap) = (World::alone("notices-lost").await, EventTap::default());
    let customer = world.customer().await;
    patch_me(&world, &customer, &json!({"email": "first@example.jp"})).await;
    patch_me(&world, &customer, &json!({"email": "second@example.jp"})).await;
    tap.next_calls([Some(Mishap::Lost), Some(Mishap::AnswerLost)]);
    for _ in 0..2 {
        let failed = world.announce_notices(&tap).await.expect_err("it is not taken");
        assert_eq!(failed.status().as_u16(), 503);
    }
    assert_eq!(world.announce_notices(&tap).await.expect("it is announced"), 1);
    let events = tap.announced();
    assert_eq!(events.len(), 2, "the event with the lost answer is sent twice");
    assert_eq!(events[0], events[1]);
    for (mishap, times) in [(Mishap::Held, 3), (Mishap::AnswerHeld, 5)] {
        patch_me(&world, &customer, &json!({"email": format!("{times}@example.jp")})).await;
        tap.next_calls([Some(mishap)]);
        tap.crash_while_held(world.announce_notices(&tap)).await;
        assert_eq!(world.announce_notices(&tap).await.expect("it is announced"), 1);
        assert_eq!(tap.announced().len(), times);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_in_parallel_keep_every_address_that_was_replaced() {
    let (world, tap) = (World::alone("notices-parallel").await, EventTap::default());
    let customer = world.customer().await;
    patch_me(&world, &customer, &json!({"email": "0@example.jp"})).await;
    let addresses: Vec<String> = (1..9).map(|number| format!("{number}@example.jp")).collect();
    let bodies: Vec<Value> = addresses.iter().map(|email| json!({ "email": email })).collect();
    let _ = join_all(bodies.iter().map(|body| patch_me(&world, &customer, body))).await;
    assert_eq!(world.announce_notices(&tap).await.expect("all are announced"), 8);
    let mut previous = BTreeSet::new();
    for event in details(&tap, "ContactChanged") {
        previous.insert(text(&notice(&world, &text(&event["notice_id"])).await["previous_email"]));
    }
    let me = world.api.send(&Call::get("/v1/me", &customer.who)).await.good().json();
    let mut replaced: BTreeSet<String> = addresses.into_iter().chain(["0@example.jp".to_owned()]).collect();
    assert!(replaced.remove(me["email"].as_str().expect("an address")));
    assert_eq!(previous, replaced);
}

#[tokio::test]
async fn operator_who_changes_a_contact_is_announced_and_reading_it_is_recorded() {
    let world = World::new("notices-staff").await;
    let (customer, tap) = (world.customer().await, EventTap::default());
    let path = format!("/v1/admin/customers/{}", customer.id);
    world.change(&path, &json!({"phone": "090-1234-5678"})).await;
    world.change(&path, &json!({"phone": "090-9999-9999", "status": "frozen", "reason": "asked for"})).await;
    assert_eq!(world.announce_notices(&tap).await.expect("it is announced"), 1);
    let events = details(&tap, "ContactChanged");
    let id = text(&events[0]["notice_id"]);
    let (_, auditor) = staff::member(&world, "viewer").await;
    let reads = Call::get(&format!("/v1/admin/notices/{id}"), &auditor);
    assert_eq!(world.api.send(&reads).await.good().json()["previous_phone"], "090-1234-5678");
    let books = world.check_books().await;
    let reads = books.under("AUDIT#").filter(|(_, _, act)| format!("{act:?}").contains("customer_read")).count();
    assert_eq!(reads, 1);
}

#[tokio::test]
async fn changed_destination_is_announced_with_the_time_from_which_it_is_paid() {
    let world = World::new("notices-approved").await;
    let (shop, tap) = (world.merchant().await, EventTap::default());
    world.change(&format!("/v1/admin/merchants/{}", shop.id), &json!({"name": "Aoba Tea"})).await;
    world.change(&format!("/v1/admin/merchants/{}", shop.id), &settling::destination()).await;
    assert_eq!(world.announce_notices(&tap).await.expect("it is announced"), 1);
    let events = details(&tap, "PayoutDestinationChanged");
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(event["merchant_id"], json!(shop.id));
    let seen = notice(&world, &text(&event["notice_id"])).await;
    assert_eq!((&seen["merchant_id"], &seen["paid_from"]), (&json!(shop.id), &event["paid_from"]));
    assert!(text(&event["paid_from"]) > text(&event["changed_at"]));
    // Its owner recognises the account by the last digits and the holder; the event has neither.
    assert_eq!(seen["destination"], "0009-123-****567 ｶ)ﾐﾄﾞﾘｼﾖｳﾃﾝ");
    assert!(seen["previous_destination"].is_null(), "{seen}");
    assert!(!event.to_string().contains("567"), "{event}");
    world.change(&format!("/v1/admin/merchants/{}", shop.id), &settling::registered()).await;
    assert_eq!(world.announce_notices(&tap).await.expect("it is announced"), 1);
    let events = details(&tap, "PayoutDestinationChanged");
    let seen = notice(&world, &text(&events[1]["notice_id"])).await;
    let both = (&seen["previous_destination"], &seen["destination"]);
    assert_eq!(both, (&json!("0009-123-****567 ｶ)ﾐﾄﾞﾘｼﾖｳﾃﾝ"), &json!("ba_1Midori")));
}

#[tokio::test]
async fn move_to_another_sign_in_is_announced_with_the_customers_addresses() {
    let world = World::alone("notices-sign-in").await;
    let (tap, customer) = (EventTap::default(), world.customer().await);
    let unreachable = world.customer().await;
    patch_me(&world, &customer, &json!({"email": "first@example.jp"})).await;
    let _ = sign_ins::moved(&world, &customer, &new_id()).await;
    let _ = sign_ins::moved(&world, &unreachable, &new_id()).await;
    assert_eq!(world.announce_notices(&tap).await.expect("it is announced"), 1);
    let events = details(&tap, "SignInChanged");
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(event["customer_id"], json!(customer.id));
    assert!(!event.to_string().contains("example.jp"), "{event}");
    let seen = notice(&world, &text(&event["notice_id"])).await;
    assert_eq!((&seen["kind"], &seen["previous_email"]), (&json!("sign_in"), &json!("first@example.jp")));
}
