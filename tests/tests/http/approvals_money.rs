//! Refunds of the operator beyond a merchant's refund room, and cash top-ups that it reverses: both take two people.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_core::money::{Amount, Asset};
use ledger_core::terms::{CeilingTerms, GrantLimits};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Merchant, Terminal, Who, World, host, staff};
use serde_json::{Value, json};
use std::collections::BTreeMap;

async fn world(tenant: &str) -> World {
    World::with_terms(host::shared(), tenant, |terms| {
        terms.ceilings = CeilingTerms::zero();
    })
    .await
}

/// Sends a command that is stored; returns the approval's id.
async fn stored(world: &World, call: &Call) -> String {
    let answer = world.api.settle(call).await.good();
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.text("/approval_id")
}

async fn view(world: &World, id: &str) -> Value {
    let call = Call::get(&format!("/v1/admin/approvals/{id}"), &world.operator.who);
    world.api.send(&call).await.good().json()
}

async fn refund_room(world: &World, merchant: &Merchant) -> [String; 3] {
    let path = format!("/v1/admin/merchants/{}/refund-room", merchant.id);
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good();
    ["/ceiling", "/room", "/outstanding"].map(|field| view.text(field))
}

async fn cash_room(world: &World, terminal: &Terminal) -> String {
    let path = format!("/v1/admin/terminals/{}/cash-room", terminal.id);
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().text("/cash_room")
}

/// A merchant's terminal with cash room.
async fn till(world: &World, merchant: &Merchant, room: &str) -> Terminal {
    let terminal = world.terminal(merchant).await;
    let _ = world.operator(&format!("/v1/admin/merchants/{}/cash-room", merchant.id), &json!({"ceiling": room})).await;
    let _ = world.operator(&format!("/v1/admin/terminals/{}/cash-room", terminal.id), &json!({"allot": room})).await;
    terminal
}

/// Approvers who gain: one whose record names each of the accounts, and one with an address of the merchant's staff.
async fn beneficiaries(world: &World, shop: &Merchant, accounts: &[String]) -> Vec<Who> {
    let mut invited = Vec::new();
    for account in accounts {
        let id = new_id();
        let mut invitation = staff::invitation(&id, "approver");
        invitation["beneficiary_of"] = json!([{"account": account, "kind": "own"}]);
        invited.push((id, invitation));
    }
    let of_shop = new_id();
    let _ = staff::employed(world, shop, &staff::email_of(&of_shop)).await;
    invited.push((of_shop.clone(), staff::invitation(&of_shop, "approver")));
    let mut deciders = Vec::new();
    for (id, invitation) in invited {
        let _ = world.operator("/v1/admin/staff", &invitation).await;
        let who = world.token("admin", &id, None).await;
        let accepts = Call::post("/v1/admin/staff/accept", &who, &json!({})).key(new_key());
        let _ = world.api.settle(&accepts).await.good();
        deciders.push(who);
    }
    deciders
}

/// Approves by 16 at once: one executes it, and each answer is repeated byte for byte. The others are refused with
/// `wrong_state`, or with `also` if they read what it is about after it was executed.
async fn approve_at_once(world: &World, id: &str, also: &str) {
    let calls: Vec<Call> = (0..16).map(|_| decides("approve", id, &world.second.who)).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let (good, refused): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!(good.len(), 1, "{answers:?}");
    let codes = [Some("wrong_state"), Some(also)];
    assert!(refused.iter().all(|answer| codes.contains(&answer.code().as_deref())), "{answers:?}");
    for (call, first) in calls.iter().zip(&answers) {
        let again = world.api.settle(call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    }
}

/// Asserts that the second operator's approval is refused with this code, again and again, and that it stays pending.
async fn stays_pending(world: &World, id: &str, code: &str) {
    let call = decides("approve", id, &world.second.who);
    let refused = world.api.settle(&call).await.problem(400, code);
    let again = world.api.settle(&call).await;
    assert_eq!((again.stored(), again.replayed()), (refused.stored(), true));
    assert_eq!(view(world, id).await["status"], "pending");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refund_above_the_room_is_executed_once_by_a_second_person() {
    let world = world("money-refund").await;
    let (shop, payer) = (world.merchant().await, world.customer_with("2000").await);
    let mut payments = Vec::new();
    for _ in 0..2 {
        payments.push(world.api.settle(&payer.pays(&shop, "1000")).await.good().text("/payment_id"));
    }
    let _ = world.api.settle(&shop.refunds(&payments[0], "600")).await.problem(400, "refund_room_exceeded");
    let before = world.books().await;
    let call = world.refunds_for(&shop.id, &payments[0], "600");
    let id = stored(&world, &call).await;
    let asked = view(&world, &id).await;
    let payer_account = format!("customer:{}", payer.id);
    assert_eq!((&asked["command"], &asked["account"]), (&json!("refund"), &json!(payer_account)), "{asked}");
    assert_eq!((&asked["amount"], &asked["asset"]), (&json!("600"), &json!("ECOPAY")), "{asked}");
    assert_eq!(asked["details"], json!({"merchant_id": shop.id, "payment_id": payments[0]}), "{asked}");
    let changes = world.books().await;
    let changes = changes.changes_since(&before);
    let kinds: Vec<&str> = changes.keys().map(|(_, kind)| kind.as_str()).collect();
    let is_more =
        |kind: &&&str| !(kind.starts_with("staff marker") || ["approvals APPROVAL#", "audit AUDIT#"].contains(*kind));
    assert_eq!(kinds.iter().find(is_more), None, "nothing is done: {kinds:?}");

    let _ = world.api.settle(&decides("approve", &id, &world.operator.who)).await.problem(403, "four_eyes_required");
    let accounts = [payer_account, format!("merchant:{}", shop.id)];
    for who in beneficiaries(&world, &shop, &accounts).await {
        let _ = world.api.settle(&decides("approve", &id, &who)).await.problem(403, "four_eyes_required");
    }
    assert_eq!(world.balance(&payer, "ECOPAY").await, "0");
    approve_at_once(&world, &id, "over_refund").await;
    assert_eq!(world.balance(&payer, "ECOPAY").await, "600");
    assert_eq!(refund_room(&world, &shop).await, ["0", "-600", "600"]);
    let again = world.api.settle(&call).await;
    assert_eq!((again.status, again.replayed()), (202, true));
    let books = world.check_books().await;
    assert_eq!(books.entries_of("refund"), 1);
    assert!(view(&world, &id).await["transaction_id"].is_string());

    // The merchant refunds nothing until the room has returned, and the rest of the payment is refunded once.
    let _ = world.api.settle(&shop.refunds(&payments[1], "1")).await.problem(400, "refund_room_exceeded");
    let rest = json!({"payment_id": payments[0], "reason": "never delivered"});
    let [one, two] = [(); 2].map(|()| world.refunds_for(&shop.id, &payments[0], "1").json(&rest));
    let [one, two] = [stored(&world, &one).await, stored(&world, &two).await];
    assert_eq!(view(&world, &one).await["amount"], "400", "all that is left");
    approve_at_once(&world, &one, "over_refund").await;
    stays_pending(&world, &two, "over_refund").await;
    let too_much = world.refunds_for(&shop.id, &payments[1], "1001");
    let _ = world.api.settle(&too_much).await.problem(400, "over_refund");
    assert_eq!(refund_room(&world, &shop).await, ["0", "-1000", "1000"]);
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refund_of_a_payment_of_another_is_as_of_none() {
    let (world, other) = (world("money-refund-own").await, world("money-refund-other").await);
    let (shop, next) = (world.merchant().await, world.merchant().await);
    let foreign = other.merchant().await;
    let pays = async |world: &World, shop: &Merchant| {
        let payer = world.customer_with("300").await;
        world.api.settle(&payer.pays(shop, "300")).await.good().text("/payment_id")
    };
    let [own, of_next, of_foreign] =
        [pays(&world, &shop).await, pays(&world, &next).await, pays(&other, &foreign).await];
    let calls = [
        world.refunds_for(&shop.id, &new_id(), "1"),
        world.refunds_for(&shop.id, &of_next, "1"),
        world.refunds_for(&shop.id, &of_foreign, "1"),
        world.refunds_for(&foreign.id, &of_foreign, "1"),
        world.refunds_for(&new_id(), &own, "1"),
        // More than was paid: the amount says nothing either.
        world.refunds_for(&shop.id, &of_next, "301"),
    ];
    for call in &calls {
        let missing = world.api.settle(call).await.problem(404, "not_found");
        assert!(!missing.body.contains("300"), "{missing:?}");
    }
    let of_shop = Call { who: shop.who.clone(), ..world.refunds_for(&shop.id, &own, "1") };
    assert_eq!(world.api.send(&of_shop).await.status, 401, "the merchant's staff");
    let (_, viewer) = staff::member(&world, "viewer").await;
    let by_viewer = Call { who: viewer, ..world.refunds_for(&shop.id, &own, "1") };
    let refused = world.api.send(&by_viewer).await.problem(403, "permission_missing");
    assert_eq!(refused.text("/permission"), "refund_rooms.change");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cash_topup_is_reversed_once_by_a_second_person_while_the_card_has_it() {
    let world = world("money-cash").await;
    let shop = world.merchant().await;
    let till = till(&world, &shop, "1000").await;
    let card = world.card(None, "0").await;
    let topup = till.does("topup", &card, &json!({"amount": "300"}));
    let original = world.api.settle(&topup).await.good().text("/transaction_id");
    let call = world.takes_back(&till, &original);
    let [id, twice] = [stored(&world, &call).await, stored(&world, &world.takes_back(&till, &original)).await];
    let asked = view(&world, &id).await;
    let card_account = format!("card:{card}");
    assert_eq!((&asked["command"], &asked["account"]), (&json!("card_reverse"), &json!(card_account)), "{asked}");
    let details = json!({"terminal_id": till.id, "merchant_id": shop.id, "original_transaction_id": original});
    assert_eq!((&asked["amount"], &asked["details"]), (&json!("300"), &details), "{asked}");
    let _ = world.api.settle(&decides("approve", &id, &world.operator.who)).await.problem(403, "four_eyes_required");
    for who in beneficiaries(&world, &shop, &[format!("merchant:{}", shop.id)]).await {
        let _ = world.api.settle(&decides("approve", &id, &who)).await.problem(403, "four_eyes_required");
    }

    // The card spends a part, and has it again.
    let _ = world.api.settle(&till.does("pay", &card, &json!({"amount": "1"}))).await.good();
    stays_pending(&world, &id, "insufficient_balance").await;
    assert_eq!((world.card_balance(&card).await, cash_room(&world, &till).await), ("299".to_owned(), "700".to_owned()));
    let _ = world.api.settle(&till.does("topup", &card, &json!({"amount": "1"}))).await.good();
    approve_at_once(&world, &id, "insufficient_balance").await;
    assert_eq!((world.card_balance(&card).await, cash_room(&world, &till).await), ("0".to_owned(), "999".to_owned()));
    assert!(view(&world, &id).await["transaction_id"].is_string());
    let undone = world.api.settle(&till.reverses("card_topup", &topup)).await.good();
    assert_eq!(undone.json()["outcome"], "already_reversed");
    stays_pending(&world, &twice, "wrong_state").await;
    let _ = world.api.settle(&world.takes_back(&till, &original)).await.problem(400, "wrong_state");
    let again = world.api.settle(&call).await;
    assert_eq!((again.status, again.replayed()), (202, true));
    let books = world.check_books().await;
    assert_eq!(books.entries_of("card_reverse"), 1);
}

/// What a terminal reverses itself is not reversed again; and the terminal's state, and that of its merchant, do not matter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cash_topup_is_reversed_at_a_frozen_till_of_a_suspended_merchant() {
    let world = world("money-frozen").await;
    let shop = world.merchant().await;
    let till = till(&world, &shop, "1000").await;
    let card = world.card(None, "0").await;
    let mut topups = Vec::new();
    for _ in 0..2 {
        let topup = till.does("topup", &card, &json!({"amount": "300"}));
        let original = world.api.settle(&topup).await.good().text("/transaction_id");
        topups.push((topup, original));
    }
    let [(one, first), (_, second)] = &topups[..] else { panic!("two top-ups") };
    let late = stored(&world, &world.takes_back(&till, first)).await;
    let undone = world.api.settle(&till.reverses("card_topup", one)).await.good();
    assert_eq!(undone.json()["outcome"], "undone");
    stays_pending(&world, &late, "wrong_state").await;
    world.change(&format!("/v1/admin/merchants/{}", shop.id), &json!({"status": "suspended"})).await;
    world.change(&format!("/v1/admin/terminals/{}", till.id), &json!({"status": "frozen", "reason": "lost"})).await;
    let id = stored(&world, &world.takes_back(&till, second)).await;
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    assert_eq!((world.card_balance(&card).await, cash_room(&world, &till).await), ("0".to_owned(), "1000".to_owned()));
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reversal_of_what_is_no_topup_of_the_terminal_is_as_of_none() {
    let (world, other) = (world("money-cash-own").await, world("money-cash-other").await);
    let (shop, foreign) = (world.merchant().await, other.merchant().await);
    let (one, another, of_foreign) =
        (till(&world, &shop, "1000").await, world.terminal(&shop).await, till(&other, &foreign, "1000").await);
    let loads = async |world: &World, till: &Terminal| {
        let card = world.card(None, "0").await;
        let topup = till.does("topup", &card, &json!({"amount": "300"}));
        (world.api.settle(&topup).await.good().text("/transaction_id"), card)
    };
    let ((own, card), (there, _)) = (loads(&world, &one).await, loads(&other, &of_foreign).await);
    let pay = one.does("pay", &card, &json!({"amount": "100"}));
    let payment = world.api.settle(&pay).await.good().text("/transaction_id");
    let calls = [
        world.takes_back(&one, &new_id()),
        world.takes_back(&one, &payment),
        world.takes_back(&another, &own),
        world.takes_back(&one, &there),
        world.takes_back(&of_foreign, &there),
    ];
    for call in &calls {
        let missing = world.api.settle(call).await.problem(404, "not_found");
        assert!(!missing.body.contains("300"), "{missing:?}");
    }
    let (_, viewer) = staff::member(&world, "viewer").await;
    let refused = world.api.send(&Call { who: viewer, ..world.takes_back(&one, &own) }).await;
    assert_eq!(refused.problem(403, "permission_missing").text("/permission"), "cash_deposits.record");
}

/// Points that a member grants alone, or stores for approval.
fn grants(who: &Who, customer: &str, asset: &str, amount: &str) -> Call {
    let body = json!({"customer_id": customer, "asset": asset, "amount": amount, "reason": "spring"});
    Call::post("/v1/admin/grants", who, &body).key(new_key())
}

async fn with_grant_limit(tenant: &str, points: &str) -> World {
    World::with_terms(host::shared(), tenant, |terms| {
        let limit = Amount::parse(terms.spec(&Asset::Point).expect("points"), points).expect("an amount");
        terms.grant_limits = GrantLimits(BTreeMap::from([(Asset::Point, limit)]));
    })
    .await
}

/// A limit of each request would be evaded by requests of a part each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn member_grants_alone_up_to_the_limit_in_a_day_however_it_is_split() {
    let world = with_grant_limit("money-alone", "1000").await;
    let (one, other) = (world.customer().await, world.customer().await);
    let (_, treasurer) = staff::member(&world, "treasurer").await;
    let status = async |call: &Call| world.api.settle(call).await.good().status;
    let first = grants(&treasurer, &one.id, "POINT", "400");
    for (call, expected) in [
        (first.clone(), 201),
        (grants(&treasurer, &other.id, "POINT", "400"), 201),
        (grants(&treasurer, &one.id, "POINT", "201"), 202),
        (grants(&treasurer, &one.id, "POINT", "200"), 201),
        (grants(&treasurer, &other.id, "POINT", "1"), 202),
        // Another member, and what needs approval in any case.
        (grants(&world.operator.who, &one.id, "POINT", "1000"), 201),
        (grants(&world.operator.who, &one.id, "POINT", "1001"), 202),
    ] {
        assert_eq!(status(&call).await, expected, "{call:?}");
    }
    assert!(world.api.settle(&first).await.replayed());
    let balances = (world.balance(&one, "POINT").await, world.balance(&other, "POINT").await);
    assert_eq!(balances, ("1600".to_owned(), "400".to_owned()));
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_in_parallel_are_not_above_the_limit_of_a_person_alone() {
    let world = with_grant_limit("money-alone-parallel", "1000").await;
    let customer = world.customer().await;
    let (_, treasurer) = staff::member(&world, "treasurer").await;
    let calls: Vec<Call> = (0..16).map(|_| grants(&treasurer, &customer.id, "POINT", "100")).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let alone = answers.into_iter().filter(|answer| answer.clone().good().status == 201).count();
    assert_eq!((alone, world.balance(&customer, "POINT").await), (10, "1000".to_owned()));
    let _ = world.check_books().await;
}
