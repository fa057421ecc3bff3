//! Commands that take two people: who decides, what is executed and when, and what one person alone can do.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Merchant, Who, World, settling, staff};
use serde_json::{Value, json};

async fn world(tenant: &str) -> World {
    World::new(tenant).await
}

fn grant(customer: &Customer, points: &str) -> Value {
    json!({"customer_id": customer.id, "asset": "POINT", "amount": points, "reason": "spring"})
}

fn posts(path: &str, who: &Who, body: &Value) -> Call {
    Call::post(path, who, body).key(new_key())
}

fn patches(path: &str, who: &Who, body: &Value) -> Call {
    Call::patch(path, who, body).key(new_key())
}

/// Sends a command that is stored; returns the approval's id.
async fn stored(world: &World, call: &Call) -> String {
    let answer = world.api.settle(call).await.good();
    assert_eq!(answer.status, 202, "{answer:?}");
    let id = answer.text("/approval_id");
    let at = answer.header("location").map(str::to_owned);
    assert_eq!(at, Some(format!("/v1/admin/approvals/{id}")));
    id
}

async fn decided(world: &World, verb: &str, id: &str, who: &Who) -> Answer {
    world.api.settle(&decides(verb, id, who)).await
}

async fn view(world: &World, id: &str) -> Value {
    let call = Call::get(&format!("/v1/admin/approvals/{id}"), &world.operator.who);
    world.api.send(&call).await.good().json()
}

/// The ids of the inbox, or of the approvals in another state.
async fn listed(world: &World, state: &str) -> Vec<String> {
    let call = Call::get(&format!("/v1/admin/approvals?state={state}"), &world.operator.who);
    let page = world.api.send(&call).await.good().json();
    let ids = page["items"].as_array().expect("items").iter().map(|item| text_of(&item["approval_id"]));
    ids.collect()
}

fn text_of(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn ceiling_of(shop: &Merchant, yen: &str) -> (String, Value) {
    (format!("/v1/admin/merchants/{}/cash-room", shop.id), json!({ "ceiling": yen }))
}

/// One person granted points, changed where a merchant is paid, and had it settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owner_alone_moves_nothing_and_gives_no_power() {
    let world = world("approvals-alone").await;
    let (shop, customer) = (world.merchant().await, world.customer().await);
    let terminal = world.terminal(&shop).await;
    let owner = &world.operator.who;
    let (room, ceiling) = ceiling_of(&shop, "900000");
    let _ = world.operator(&room, &json!({"ceiling": "1000"})).await;
    world.change(&format!("/v1/admin/merchants/{}", shop.id), &settling::destination()).await;
    let before = world.books().await;
    let bulk = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "983991751", "reason": "mine"});
    let own = json!({"payout_destination": {"kind": "stripe", "external_account": "ba_1Mine"}});
    let calls = [
        posts("/v1/admin/grants", owner, &grant(&customer, "983991751")),
        posts("/v1/admin/grants", owner, &bulk),
        patches(&format!("/v1/admin/merchants/{}", shop.id), owner, &own),
        posts(&room, owner, &ceiling),
        posts(&format!("/v1/admin/merchants/{}/refund-room", shop.id), owner, &json!({"ceiling": "900000"})),
        posts(
            &format!("/v1/admin/merchants/{}/cash-deposits", shop.id),
            owner,
            &json!({"amount": "9", "reason": "mine"}),
        ),
        posts(&format!("/v1/admin/terminals/{}/cash-room", terminal.id), owner, &json!({"allot": "900"})),
        posts(&format!("/v1/admin/terminals/{}/enrolment", terminal.id), owner, &json!({})),
        posts("/v1/admin/staff", owner, &staff::invitation(&new_id(), "approver")),
        posts("/v1/admin/staff", owner, &staff::invitation(&new_id(), "treasurer")),
    ];
    for call in &calls {
        let id = stored(&world, call).await;
        let refused = decided(&world, "approve", &id, owner).await;
        let _ = refused.problem(403, "four_eyes_required");
        let refused = decided(&world, "reject", &id, owner).await;
        let _ = refused.problem(403, "four_eyes_required");
        assert_eq!(view(&world, &id).await["status"], "pending");
    }
    // Nothing but what was stored, what was answered and the trail.
    let changes = world.books().await;
    let changes = changes.changes_since(&before);
    let kinds: Vec<&str> = changes.keys().map(|(_, kind)| kind.as_str()).collect();
    let is_more =
        |kind: &&&str| !(kind.starts_with("staff marker") || ["approvals APPROVAL#", "audit AUDIT#"].contains(*kind));
    assert_eq!(kinds.iter().find(is_more), None, "{kinds:?}");
    assert_eq!(listed(&world, "pending").await.len(), calls.len());
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_approvals_in_parallel_execute_the_command_once() {
    let world = world("approvals-race").await;
    let customer = world.customer().await;
    let call = posts("/v1/admin/grants", &world.operator.who, &grant(&customer, "300"));
    let id = stored(&world, &call).await;
    let calls: Vec<Call> = (0..16).map(|_| decides("approve", &id, &world.second.who)).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let (good, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(good.len(), 1, "{answers:?}");
    assert!(refused.iter().all(|answer| answer.code().as_deref() == Some("wrong_state")), "{answers:?}");
    assert_eq!(world.balance(&customer, "POINT").await, "300");
    // Every answer is repeated byte for byte: that of the request, too, is for ever the stored 202.
    for (call, first) in calls.iter().zip(&answers) {
        let again = world.api.settle(call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    }
    let again = world.api.settle(&call).await;
    assert_eq!((again.status, again.replayed(), again.text("/status").as_str()), (202, true, "pending"));
    assert_eq!(world.balance(&customer, "POINT").await, "300");
    let approved = view(&world, &id).await;
    assert_eq!(approved["status"], "approved");
    assert_eq!(approved["decided_by"], json!(world.second.id));
    let books = world.check_books().await;
    // The audit of the books compares the entry's key, principal and actor with the approval.
    assert_eq!(books.entries_of("grant"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beneficiary_does_not_decide() {
    let world = world("approvals-own").await;
    let (shop, customer) = (world.merchant().await, world.customer().await);
    let owner = &world.operator.who;
    // The approver's record names the customer; the other approver owns the shop under another id, with one address.
    let [named, second] = [new_id(), new_id()];
    let mut invitation = staff::invitation(&named, "approver");
    invitation["beneficiary_of"] = json!([{"account": format!("customer:{}", customer.id), "kind": "own"}]);
    let _ = staff::employed(&world, &shop, &staff::email_of(&second)).await;
    let mut deciders = Vec::new();
    for (id, body) in [(&named, invitation), (&second, staff::invitation(&second, "approver"))] {
        let _ = world.operator("/v1/admin/staff", &body).await;
        let who = world.token("admin", id, None).await;
        let _ = world.api.settle(&posts("/v1/admin/staff/accept", &who, &json!({}))).await.good();
        deciders.push(who);
    }
    let bulk = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "5", "reason": "mine"});
    for body in [grant(&customer, "5"), bulk] {
        let id = stored(&world, &posts("/v1/admin/grants", owner, &body)).await;
        let _ = decided(&world, "approve", &id, &deciders[0]).await.problem(403, "four_eyes_required");
        let _ = decided(&world, "approve", &id, &deciders[1]).await.good();
    }
    let (path, ceiling) = ceiling_of(&shop, "5000");
    let id = stored(&world, &posts(&path, owner, &ceiling)).await;
    let _ = decided(&world, "approve", &id, &deciders[1]).await.problem(403, "four_eyes_required");
    let _ = decided(&world, "approve", &id, &deciders[0]).await.good();
    // The member's own roles are decided by others only.
    let raise = json!({"roles": ["approver", "treasurer"]});
    let id = stored(&world, &patches(&format!("/v1/admin/staff/{named}"), owner, &raise)).await;
    let _ = decided(&world, "approve", &id, &deciders[0]).await.problem(403, "four_eyes_required");
    let _ = decided(&world, "approve", &id, &deciders[1]).await.good();
    // One owner alone does not clear the accounts of a decider.
    let cleared = patches(&format!("/v1/admin/staff/{named}"), owner, &json!({"beneficiary_of": []}));
    let _ = stored(&world, &cleared).await;
    let _ = world.check_books().await;
}

/// Who decides on a merchant is not the merchant's to say: an address is a member's once the person has accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchants_owner_stops_no_decision_by_inviting_those_who_decide() {
    let world = world("approvals-veto").await;
    let shop = world.merchant().await;
    for who in [&world.operator.id, &world.second.id] {
        let body = json!({"staff_id": new_id(), "email": staff::email_of(who), "roles": ["owner"]});
        let _ = world.api.settle(&posts("/v1/merchant/staff", &shop.who, &body)).await.good();
    }
    let (path, ceiling) = ceiling_of(&shop, "5000");
    let id = stored(&world, &posts(&path, &world.operator.who, &ceiling)).await;
    let _ = decided(&world, "approve", &id, &world.second.who).await.good();
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn demoted_decider_and_disabled_requester_execute_nothing() {
    let world = world("approvals-left").await;
    let customer = world.customer().await;
    let (approver, decides_it) = staff::member(&world, "approver").await;
    let (treasurer, requests) = staff::member(&world, "treasurer").await;
    let id = stored(&world, &posts("/v1/admin/grants", &requests, &grant(&customer, "300"))).await;
    let of_another = stored(&world, &posts("/v1/admin/grants", &world.operator.who, &grant(&customer, "300"))).await;
    let approve = decides("approve", &id, &decides_it);
    let demoted = json!({"roles": ["viewer"]});
    let _ =
        world.api.settle(&patches(&format!("/v1/admin/staff/{approver}"), &world.operator.who, &demoted)).await.good();
    let refused = world.api.settle(&approve).await.problem(403, "permission_missing");
    assert_eq!(refused.text("/permission"), "approvals.decide");
    let disabled = json!({"status": "disabled"});
    let left = patches(&format!("/v1/admin/staff/{treasurer}"), &world.operator.who, &disabled);
    let _ = world.api.settle(&left).await.good();
    // What the person who left requested is withdrawn, and what others requested is not.
    let view_of_left = view(&world, &id).await;
    assert_eq!(
        (&view_of_left["status"], &view_of_left["decided_by"]),
        (&json!("withdrawn"), &json!(world.operator.id))
    );
    assert_eq!(listed(&world, "pending").await, [of_another]);
    let _ = decided(&world, "approve", &id, &world.second.who).await.problem(400, "wrong_state");
    assert!(world.api.settle(&left).await.replayed());
    // Enabling the member brings no request back.
    let enabled = json!({"status": "active"});
    let back = patches(&format!("/v1/admin/staff/{treasurer}"), &world.operator.who, &enabled);
    let enable = stored(&world, &back).await;
    let _ = decided(&world, "approve", &enable, &world.second.who).await.good();
    let _ = decided(&world, "approve", &id, &world.second.who).await.problem(400, "wrong_state");
    // An approved command disables the member.
    let later = stored(&world, &posts("/v1/admin/grants", &requests, &grant(&customer, "200"))).await;
    let both = json!({"roles": ["treasurer", "approver"], "status": "disabled"});
    let change = patches(&format!("/v1/admin/staff/{treasurer}"), &world.operator.who, &both);
    let change = stored(&world, &change).await;
    let _ = decided(&world, "approve", &change, &world.second.who).await.good();
    assert_eq!(view(&world, &later).await["status"], "withdrawn");
    assert_eq!(world.balance(&customer, "POINT").await, "0");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_about_an_account_that_does_not_exist_is_not_stored() {
    let world = world("approvals-missing").await;
    let owner = &world.operator.who;
    let points = json!({"customer_id": new_id(), "asset": "POINT", "amount": "300", "reason": "spring"});
    let first_owner = json!({"staff_id": new_id(), "email": "yuki@example.com"});
    let missing = new_id();
    let calls = [
        posts("/v1/admin/grants", owner, &points),
        posts(&format!("/v1/admin/merchants/{missing}/cash-room"), owner, &json!({"ceiling": "1000"})),
        posts(&format!("/v1/admin/merchants/{missing}/staff"), owner, &first_owner),
        posts(&format!("/v1/admin/terminals/{missing}/cash-room"), owner, &json!({"allot": "1000"})),
        posts(&format!("/v1/admin/terminals/{missing}/enrolment"), owner, &json!({})),
        posts("/v1/admin/settlements", owner, &json!({"merchant_id": missing})),
    ];
    for call in &calls {
        let _ = world.api.settle(call).await.problem(404, "not_found");
    }
    assert_eq!(listed(&world, "pending").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_is_stale_once_what_it_was_requested_against_changed() {
    let world = world("approvals-stale").await;
    let shop = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}", shop.id);
    let owner = &world.operator.who;
    let first = stored(&world, &patches(&path, owner, &settling::destination())).await;
    let other = stored(&world, &patches(&path, owner, &settling::registered())).await;
    let _ = decided(&world, "approve", &other, &world.second.who).await.good();
    let approve = decides("approve", &first, &world.second.who);
    let stale = world.api.settle(&approve).await.problem(400, "approval_stale");
    let again = world.api.settle(&approve).await;
    assert_eq!((again.stored(), again.replayed()), (stale.stored(), true));
    assert_eq!(view(&world, &first).await["status"], "stale");
    assert_eq!(listed(&world, "stale").await, std::slice::from_ref(&first));
    let _ = decided(&world, "approve", &first, &world.second.who).await.problem(400, "wrong_state");
    let seen = world.api.send(&Call::get(&path, owner)).await.good().json();
    assert_eq!(seen["payout_destination"], "ba_1Midori", "{seen}");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_that_cannot_be_executed_stays_pending() {
    let world = world("approvals-room").await;
    let shop = world.merchant().await;
    let terminal = world.terminal(&shop).await;
    let (path, ceiling) = ceiling_of(&shop, "1000");
    let _ = world.operator(&path, &ceiling).await;
    let room = format!("/v1/admin/terminals/{}/cash-room", terminal.id);
    let id = stored(&world, &posts(&room, &world.operator.who, &json!({"allot": "1500"}))).await;
    let approve = decides("approve", &id, &world.second.who);
    let refused = world.api.settle(&approve).await.problem(400, "cash_room_exceeded");
    assert_eq!(view(&world, &id).await["status"], "pending");
    let _ = world.operator(&path, &json!({"ceiling": "2000"})).await;
    // The refusal is the answer of its key; another approval executes it.
    let again = world.api.settle(&approve).await;
    assert_eq!((again.stored(), again.replayed()), (refused.stored(), true));
    let _ = decided(&world, "approve", &id, &world.second.who).await.good();
    assert_eq!(view(&world, &id).await["status"], "approved");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grant_to_many_is_made_once_it_is_approved() {
    let world = world("approvals-many").await;
    let customers = [world.customer().await, world.customer().await];
    let ids: Vec<&String> = customers.iter().map(|customer| &customer.id).collect();
    let body = json!({"customer_ids": ids, "asset": "POINT", "amount": "40", "reason": "spring"});
    let rejected = stored(&world, &posts("/v1/admin/grants", &world.operator.who, &body)).await;
    let no = decided(&world, "reject", &rejected, &world.second.who).await.good();
    assert_eq!(no.text("/status"), "rejected");
    let id = stored(&world, &posts("/v1/admin/grants", &world.operator.who, &body)).await;
    let inbox = view(&world, &id).await;
    assert_eq!((&inbox["customers"], &inbox["amount"]), (&json!(2), &json!("40")));
    assert_eq!(inbox["requested_by"], json!(world.operator.id));
    let _ = world.run_jobs().await.expect("a run");
    assert_eq!(world.balance(&customers[0], "POINT").await, "0");
    let approved = decided(&world, "approve", &id, &world.second.who).await.good();
    assert_eq!(approved.text("/job_id"), id);
    for _ in 0..2 {
        let _ = world.run_jobs().await.expect("a run");
    }
    for customer in &customers {
        assert_eq!(world.balance(customer, "POINT").await, "40");
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_destination_is_not_paid_for_a_day() {
    let world = world("approvals-cooling").await;
    let shop = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}", shop.id);
    let both = json!({"name": "Aoba Tea", "payout_destination": settling::destination()["payout_destination"]});
    let refused = world.api.settle(&patches(&path, &world.operator.who, &both)).await.problem(400, "invalid_request");
    assert!(refused.body.contains("payout_destination"), "{refused:?}");
    world.change(&path, &settling::destination()).await;
    let customer = world.customer_with("300").await;
    let _ = world.api.settle(&customer.pays(&shop, "300")).await.good();
    let _ = world.credit().await.expect("a run");
    let open = posts("/v1/admin/settlements", &world.operator.who, &json!({"merchant_id": shop.id}));
    let refused = world.api.settle(&open).await.problem(400, "invalid_request");
    assert!(refused.body.contains("24 hours"), "{refused:?}");
    // The time passes.
    let profile = world.books().await.row(&format!("{}#merchant#{}", world.tenant, shop.id), "PROFILE").cloned();
    let mut profile = profile.expect("a record");
    let _ = profile.remove("payout_from").expect("the time from which it is paid");
    world.plant(profile).await;
    let id = stored(&world, &open.key(new_key())).await;
    let approved = decided(&world, "approve", &id, &world.second.who).await.good();
    assert_eq!(approved.text("/settlement_id"), id);
    let settlement = Call::get(&format!("{path}/settlements/{id}"), &world.operator.who);
    let _ = world.api.send(&settlement).await.good();
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enrolment_code_takes_two_people_each_time() {
    let world = world("approvals-enrolment").await;
    let shop = world.merchant().await;
    let registered = world.operator("/v1/admin/terminals", &json!({"merchant_id": shop.id})).await;
    let path = format!("/v1/admin/terminals/{}/enrolment", registered.text("/terminal_id"));
    let (_, operator) = staff::member(&world, "operator").await;
    let issue = || posts(&path, &operator, &json!({}));
    let first = issue();
    let id = stored(&world, &first).await;
    let approved = decided(&world, "approve", &id, &world.second.who).await.good();
    assert_eq!(approved.json().get("code"), None, "{approved:?}");
    // The request's stored response stays; another person has no permit.
    assert_eq!(world.api.settle(&first).await.status, 202);
    assert_eq!(world.api.settle(&issue().by(&world.operator.who)).await.status, 202);
    let calls: Vec<Call> = (0..8).map(|_| issue()).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let codes: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 201).collect();
    assert_eq!(codes.len(), 1, "{answers:?}");
    assert!(answers.iter().all(|answer| [201, 202].contains(&answer.status)), "{answers:?}");
    assert!(codes[0].text("/code").starts_with("approvals-enrolment."), "{codes:?}");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn address_of_an_invitation_is_shown_to_deciders_alone() {
    let world = world("approvals-address").await;
    let (_, viewer) = staff::member(&world, "viewer").await;
    let invited = posts("/v1/admin/staff", &world.operator.who, &staff::invitation(&new_id(), "approver"));
    let id = stored(&world, &invited).await;
    for path in [format!("/v1/admin/approvals/{id}"), "/v1/admin/approvals?state=pending".to_owned()] {
        let seen = async |who| world.api.send(&Call::get(&path, who)).await.good().body;
        assert!(seen(&world.second.who).await.contains("@example.com"), "{path}");
        assert!(!seen(&viewer).await.contains('@'), "{path}");
    }
}

#[tokio::test]
async fn key_of_a_client_in_the_form_of_an_approvals_is_taken_and_stops_no_approval() {
    let world = world("approvals-key").await;
    let customer = world.customer().await;
    let grant_of = |amount: &str| Call::post("/v1/admin/grants", &world.operator.who, &grant(&customer, amount));
    let stored = stored(&world, &grant_of("30000").key(new_key())).await;
    for form in [format!("approval:{stored}"), format!("{stored}-approval")] {
        let _ = world.executes(&grant_of("3").key(form)).await.good();
    }
    let spaced = grant_of("3").key(format!("\"{stored} approval\""));
    let _ = world.api.send(&spaced).await.problem(400, "idempotency_key_invalid");
    let _ = decided(&world, "approve", &stored, &world.second.who).await.good();
    assert_eq!(world.balance(&customer, "POINT").await, "30006");
    let _ = world.check_books().await;
}
