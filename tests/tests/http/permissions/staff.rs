//! Staff records: replays of demoted members, lockout within a minute, the owners and deciders that must remain, one
//! record for a person, and the bounded trail of denials.

use futures::future::join_all;
use ledger_core::staff::DENIALS_PER_HOUR_MAX;
use ledger_local::clock::epoch_s;
use ledger_local::issuer::{Grant, TOKEN_LIFETIME_S};
use ledger_runtime::metrics::Metric;
use ledger_tests::audit::{number, text};
use ledger_tests::http::topup_rig::Rig;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Who, World, staff};
use serde_json::{Value, json};
use std::time::Duration;

fn patch(world: &World, id: &str, body: &Value) -> Call {
    Call::patch(&format!("/v1/admin/staff/{id}"), &world.operator.who, body).key(new_key())
}

fn grant(customer: &str, who: &Who) -> Call {
    let body = json!({"customer_id": customer, "asset": "POINT", "amount": "10", "reason": "thanks"});
    Call::post("/v1/admin/grants", who, &body).key(new_key())
}

/// The active owners and deciders, as the counter has them.
async fn counts(world: &World) -> (String, String) {
    let books = world.books().await;
    let row = books.row(&format!("{}#tenant#root", world.tenant), "STAFF_COUNTS").expect("a counter").clone();
    (number(&row, "owners").to_string(), number(&row, "deciders").to_string())
}

#[tokio::test]
async fn demoted_members_retry_is_refused_and_its_answer_stays() {
    let world = World::new("demoted").await;
    let customer = world.customer().await;
    let (id, who) = staff::member(&world, "treasurer").await;
    let call = grant(&customer.id, &who);
    let first = world.api.settle(&call).await.good();
    let _ = world.executes(&call).await.good();
    let _ = world.executes(&patch(&world, &id, &json!({"roles": ["viewer"]}))).await.good();
    let refused = world.api.send(&call).await.problem(403, "permission_missing");
    assert!(!refused.replayed() && refused.text("/permission") == "grants.issue");
    let _ = world.executes(&patch(&world, &id, &json!({"roles": ["treasurer"]}))).await.good();
    let again = world.api.settle(&call).await;
    assert!(again.replayed());
    assert_eq!(again.stored(), first.stored());
    assert_eq!(world.balance(&customer, "POINT").await, "10");
}

#[tokio::test]
async fn reads_of_a_customer_are_on_the_trail() {
    let world = World::new("reads").await;
    let (customer, card) = (world.customer().await, world.card(None, "0").await);
    let (id, who) = staff::member(&world, "viewer").await;
    for part in ["", "/transactions"] {
        let _ = world.api.send(&Call::get(&format!("/v1/admin/customers/{}{part}", customer.id), &who)).await.good();
        // What is not found is not recorded, and a card without an owner has no personal data.
        let unknown = Call::get(&format!("/v1/admin/customers/{}{part}", new_id()), &who);
        let _ = world.api.send(&unknown).await.problem(404, "not_found");
        let _ = world.api.send(&Call::get(&format!("/v1/admin/cards/{card}{part}"), &who)).await.good();
    }
    let _ = world.api.send(&Call::get(&format!("/v1/admin/customers/{}/topups", customer.id), &who)).await.good();
    let unknown = Call::get(&format!("/v1/admin/customers/{}/topups", new_id()), &who);
    let _ = world.api.send(&unknown).await.problem(404, "not_found");
    // The transactions of an owned card are as personal as its owner's.
    let owned = world.card(Some(&customer), "0").await;
    let _ = world.api.send(&Call::get(&format!("/v1/admin/cards/{owned}/transactions"), &who)).await.good();
    let books = world.check_books().await;
    let reads: Vec<_> = books.under("AUDIT#").filter(|(_, _, act)| text(act, "action") == "customer_read").collect();
    assert_eq!(reads.len(), 4, "{reads:?}");
    for (_, _, read) in reads {
        assert_eq!(text(read, "actor"), format!("staff:{id}"));
        assert_eq!(text(read, "subject"), format!("customer:{}", customer.id));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disabled_member_is_locked_out_of_every_process_within_a_minute() {
    let rig = Rig::new().await;
    let scene = rig.scene("lockout").await;
    let world = &scene.world;
    let (id, who) = staff::member(world, "operator").await;
    let process = rig.actor().await;
    let look = Call::get(&format!("/v1/admin/customers/{}", scene.customer.id), &who);
    assert_eq!(process.send(&look).await.status, 200);
    let _ = world.api.settle(&patch(world, &id, &json!({"status": "disabled"}))).await.good();
    process.clock.forward(Duration::from_secs(61));
    let _ = process.send(&look).await.problem(403, "permission_missing");
    assert_eq!(process.counted(Metric::PermissionDenied), 1);
    let _ = world.api.settle(&patch(world, &id, &json!({"status": "active"}))).await.good();
    process.clock.forward(Duration::from_secs(61));
    assert_eq!(process.send(&look).await.status, 200);
}

#[tokio::test]
async fn two_owners_and_two_deciders_remain_whatever_runs_in_parallel() {
    let world = World::alone("remain").await;
    assert_eq!(counts(&world).await, ("2".to_owned(), "2".to_owned()));
    let (third, _) = staff::member(&world, "owner").await;
    assert_eq!(counts(&world).await, ("3".to_owned(), "3".to_owned()));
    // Each of three owners is disabled or demoted by another, all at once: one change succeeds.
    let by =
        |who: &Who, id: &str, body: &Value| Call::patch(&format!("/v1/admin/staff/{id}"), who, body).key(new_key());
    let calls = [
        by(&world.operator.who, &world.second.id, &json!({"status": "disabled"})),
        by(&world.operator.who, &third, &json!({"roles": ["viewer"]})),
        by(&world.second.who, &third, &json!({"status": "disabled"})),
    ];
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let good = answers.iter().filter(|answer| answer.status == 200).count();
    let (owners, deciders) = counts(&world).await;
    assert!((1..=2).contains(&good), "{answers:?}");
    assert_eq!((owners.as_str(), deciders.as_str()), ("2", "2"), "{answers:?}");
    // The last two are kept, and an owner cannot leave either.
    let own = by(&world.operator.who, &world.operator.id, &json!({"status": "disabled"}));
    let _ = world.api.settle(&own).await.problem(400, "wrong_state");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn person_has_one_record_and_adds_no_role_to_it() {
    let world = World::new("one-record").await;
    let (id, _) = staff::member(&world, "viewer").await;
    let invite = |body: &Value| Call::post("/v1/admin/staff", &world.operator.who, body).key(new_key());
    let same_id = json!({"staff_id": id, "email": staff::email_of(&new_id()), "roles": ["owner"]});
    let _ = world.executes(&invite(&same_id)).await.problem(409, "already_exists");
    let same_person = json!({"staff_id": new_id(), "email": staff::email_of(&id).to_uppercase(), "roles": ["owner"]});
    let _ = world.executes(&invite(&same_person)).await.problem(409, "already_exists");
    // An owner has every role's permissions, and still adds no role to their own record.
    let own = patch(&world, &world.operator.id, &json!({"roles": ["owner", "auditor"]}));
    let _ = world.api.settle(&own).await.problem(403, "four_eyes_required");
    // An invited member may do nothing until they accept, and another person cannot accept for them.
    let invited = staff::invited(&world, "viewer").await;
    let who = world.token("admin", &invited, None).await;
    let look = Call::get("/v1/admin/reconciliation", &who);
    let _ = world.api.send(&look).await.problem(403, "permission_missing");
    let enable = patch(&world, &invited, &json!({"status": "active"}));
    let _ = world.api.settle(&enable).await.problem(400, "wrong_state");
    let listed = async |status: &str| {
        let page = Call::get(&format!("/v1/admin/staff?status={status}"), &world.operator.who);
        world.api.send(&page).await.good().json()["items"].as_array().expect("members").clone()
    };
    let ids: Vec<Value> = listed("invited").await.iter().map(|member| member["staff_id"].clone()).collect();
    assert_eq!(ids, [json!(invited)]);
    assert!(listed("active").await.iter().all(|member| member["status"] == "active"));
    assert!(listed("disabled").await.is_empty());
    let unknown = Call::get("/v1/admin/staff?status=away", &world.operator.who);
    let _ = world.api.send(&unknown).await.problem(400, "invalid_request");
    let page = Call::get("/v1/admin/staff?limit=2", &world.operator.who);
    let page = world.api.send(&page).await.good().json();
    assert_eq!(page["items"].as_array().map(Vec::len), Some(2), "{page}");
    assert!(page["next_cursor"].is_string(), "{page}");
}

#[tokio::test]
async fn merchant_keeps_an_owner_and_gets_its_first_one_once() {
    let world = World::new("shop-owner").await;
    let merchant = world.merchant().await;
    let again = Call::post(
        &format!("/v1/admin/merchants/{}/staff", merchant.id),
        &world.operator.who,
        &staff::person(&new_id()),
    );
    let _ = world.executes(&again.clone().key(new_key())).await.problem(409, "already_exists");
    let missing = again.at(format!("/v1/admin/merchants/{}/staff", new_id())).key(new_key());
    let _ = world.api.settle(&missing).await.problem(404, "not_found");
    let list = world.api.send(&Call::get("/v1/merchant/staff", &merchant.who)).await.good().json();
    let owner = list["items"][0]["staff_id"].as_str().expect("an id").to_owned();
    assert_eq!(list["items"][0]["roles"], json!(["owner"]));
    let leave = Call::patch(&format!("/v1/merchant/staff/{owner}"), &merchant.who, &json!({"status": "disabled"}));
    let _ = world.api.settle(&leave.key(new_key())).await.problem(400, "wrong_state");
}

/// The operator ends an invitation, and takes no access from a member.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_strikes_out_an_invitation_in_a_merchants_staff() {
    let world = World::new("strikes").await;
    let shop = staff::owned_merchant(&world).await;
    let (member, _) = staff::shop_member(&world, &shop, "manager").await;
    let invited = staff::invited_by(&world, &shop, "cashier").await;
    let path = format!("/v1/admin/merchants/{}/staff", shop.id);
    let (viewer, who) = staff::member(&world, "viewer").await;
    let listed = async |status: &str| {
        let page = Call::get(&format!("{path}?status={status}"), &who);
        world.api.send(&page).await.good().json()["items"].as_array().expect("members").clone()
    };
    let found = listed("invited").await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["staff_id"], &found[0]["roles"]), (&json!(invited), &json!(["cashier"])));
    // No address is shown.
    let all = world.api.send(&Call::get(&path, &who)).await.good();
    assert!(all.json()["items"].as_array().is_some_and(|items| items.len() == 3), "{all:?}");
    assert!(!all.json().to_string().contains("@example.com"), "{all:?}");
    // A viewer sees the staff and strikes out nothing.
    let denied = world.api.settle(&staff::strikes(&shop.id, &invited, &who)).await.problem(403, "permission_missing");
    assert_eq!(denied.text("/permission"), "merchants.owner");
    let (operator, by) = staff::member(&world, "operator").await;
    // An owner and a manager have accepted; an unknown person and an unknown merchant have no record.
    let owner = world.api.send(&Call::get("/v1/merchant/staff?status=active", &shop.who)).await.good().json();
    for person in owner["items"].as_array().expect("members") {
        let person = person["staff_id"].as_str().expect("an id");
        let _ = world.api.settle(&staff::strikes(&shop.id, person, &by)).await.problem(400, "wrong_state");
    }
    let _ = world.api.settle(&staff::strikes(&shop.id, &new_id(), &by)).await.problem(404, "not_found");
    let _ = world.api.settle(&staff::strikes(&new_id(), &invited, &by)).await.problem(404, "not_found");
    let struck_out = staff::strikes(&shop.id, &invited, &by);
    let first = world.api.settle(&struck_out).await.good();
    assert_eq!((first.text("/status").as_str(), first.text("/staff_id")), ("disabled", invited.clone()));
    assert!(world.api.settle(&struck_out).await.good().replayed());
    // It is struck out once, and is accepted no more.
    let _ = world.api.settle(&staff::strikes(&shop.id, &invited, &by)).await.problem(400, "wrong_state");
    let person = world.token("merchant", &invited, Some(&shop.id)).await;
    let accepts = || Call::post("/v1/merchant/staff/accept", &person, &json!({})).key(new_key());
    let _ = world.api.settle(&accepts()).await.problem(400, "wrong_state");
    // The merchant's owner makes it an invitation again, which the person accepts.
    let again = Call::patch(&format!("/v1/merchant/staff/{invited}"), &shop.who, &json!({"status": "active"}));
    assert_eq!(world.api.settle(&again.key(new_key())).await.good().text("/status"), "invited");
    let _ = world.api.settle(&accepts()).await.good();
    let _ = world.api.settle(&staff::strikes(&shop.id, &invited, &by)).await.problem(400, "wrong_state");
    // Who has accepted an invitation of the merchant strikes out none of it.
    let _ = staff::employed(&world, &shop, &staff::email_of(&operator)).await;
    let other = staff::invited_by(&world, &shop, "cashier").await;
    let _ = world.api.settle(&staff::strikes(&shop.id, &other, &by)).await.problem(403, "four_eyes_required");
    assert_eq!(listed("active").await.len(), 4, "{viewer} {member}");
    let books = world.check_books().await;
    let acts: Vec<_> = books.under("AUDIT#").filter(|(_, _, act)| text(act, "action") == "staff_strike").collect();
    assert_eq!(acts.len(), 1, "{acts:?}");
    assert_eq!(text(acts[0].2, "actor"), format!("staff:{operator}"));
    assert_eq!(text(acts[0].2, "subject"), format!("merchant_staff:{invited}"));
}

#[tokio::test]
async fn storm_of_denials_is_counted_and_recorded_a_few_times() {
    let world = World::alone("storm").await;
    let (id, who) = staff::member(&world, "viewer").await;
    let before = world.books().await;
    let calls: Vec<Call> = (0..40).map(|_| Call::get("/v1/admin/audit", &who)).collect();
    for answer in join_all(calls.iter().map(|call| world.api.send(call))).await {
        let _ = answer.problem(403, "permission_missing");
    }
    let after = world.books().await;
    let denied = after.under("AUDIT#").filter(|(_, _, act)| text(act, "action") == "permission_denied");
    let denied: Vec<_> = denied.map(|(_, _, act)| text(act, "subject").to_owned()).collect();
    // The hour may end meanwhile.
    let max = 2 * usize::try_from(DENIALS_PER_HOUR_MAX).unwrap();
    assert!((1..=max).contains(&denied.len()), "{}", denied.len());
    assert!(denied.iter().all(|subject| *subject == format!("staff:{id}")), "{denied:?}");
    let counters: Vec<_> = after.under("DENIED#").collect();
    assert!(counters.iter().all(|(_, _, row)| row.contains_key("ttl")), "{counters:?}");
    assert!(after.rows.len() - before.rows.len() <= denied.len() + 2);
}

/// The member who invites chooses the address, so the token must prove that it is the person's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invitation_is_accepted_with_the_verified_address_alone() {
    let world = World::new("staff-address").await;
    let shop = staff::owned_merchant(&world).await;
    let (of_operator, of_shop) =
        (staff::invited(&world, "viewer").await, staff::invited_by(&world, &shop, "cashier").await);
    for (face, id, merchant) in [("admin", &of_operator, None), ("merchant", &of_shop, Some(shop.id.as_str()))] {
        let path = format!("/v1/{face}/staff/accept");
        let own = world.grant_of(face, id, merchant);
        let unverified = Grant { email_verified: false, ..own.clone() };
        let upper = own.clone().with_email(own.email.as_ref().map(|email| email.to_uppercase()));
        let other = own.clone().with_email(Some("other@example.com".to_owned()));
        let call = |grant: &Grant| {
            let who = world.issue(grant, epoch_s(), TOKEN_LIFETIME_S);
            Call::post(&path, &who, &json!({})).key(new_key())
        };
        for refused in [own.clone().with_email(None), unverified, other] {
            let _ = world.api.settle(&call(&refused)).await.problem(403, "email_unverified");
        }
        let accepted = call(&upper);
        let first = world.api.settle(&accepted).await.good();
        assert_eq!(first.text("/status"), "active");
        // The stored answer comes first, whatever the token says by then.
        let again = accepted.by(&world.issue(&own.with_email(None), epoch_s(), TOKEN_LIFETIME_S));
        assert!(world.api.settle(&again).await.good().replayed());
    }
    let _ = world.check_books().await;
}
