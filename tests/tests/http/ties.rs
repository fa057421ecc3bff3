//! A member decides on nothing for an own account, whatever it is called: ties of staff to wallets, cards and merchants.
#![cfg(feature = "stack")]

use ledger_core::money::{Amount, Asset, AssetSpec};
use ledger_core::terms::{CeilingTerms, GrantLimits};
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Who, World, host, settling, staff};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const DECLARE: &str = "/v1/admin/staff/me/beneficiaries";

fn posts(path: &str, who: &Who, body: &Value) -> Call {
    Call::post(path, who, body).key(new_key())
}

fn adjusts(who: &Who, account: (&str, &str), amount: &str) -> Call {
    let mut body = json!({"direction": "credit", "amount": amount, "reason_code": "correction", "note": "twice"});
    body[account.0] = json!(account.1);
    posts("/v1/admin/adjustments", who, &body)
}

async fn stored(world: &World, call: &Call) -> String {
    let answer = world.api.settle(call).await.good();
    assert_eq!(answer.status, 202, "{answer:?}");
    answer.text("/approval_id")
}

async fn seen(world: &World, id: &str, who: &Who) -> Value {
    world.api.send(&Call::get(&format!("/v1/admin/approvals/{id}"), who)).await.good().json()
}

async fn four_eyes(world: &World, call: &Call) {
    let _ = world.api.settle(call).await.problem(403, "four_eyes_required");
}

async fn declares(world: &World, who: &Who, account: &str, kind: &str) {
    let _ = world.api.settle(&posts(DECLARE, who, &json!({"account": account, "kind": kind}))).await.good();
}

/// The cases of 2026-11-28: an adjustment to the own card, to what replaced it, and to a wallet that the member signs in to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn member_asks_for_and_decides_on_nothing_of_the_own_wallet_and_cards() {
    let world = World::new("ties-own").await;
    let (wallet, approver) = staff::member_with_wallet(&world, "approver").await;
    let (own, treasurer) = staff::member_with_wallet(&world, "treasurer").await;
    let [card, fresh] = [world.card(Some(&wallet), "100").await, world.card(None, "0").await];
    for account in [("customer_id", wallet.id.as_str()), ("card_id", card.as_str())] {
        let id = stored(&world, &adjusts(&world.operator.who, account, "15000")).await;
        four_eyes(&world, &decides("approve", &id, &approver)).await;
        four_eyes(&world, &decides("reject", &id, &approver)).await;
        let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    }
    // The card that was replaced stays that of its owner.
    let replaces =
        posts(&format!("/v1/admin/cards/{card}/replace"), &world.operator.who, &json!({"new_card_id": fresh}));
    let id = stored(&world, &replaces).await;
    four_eyes(&world, &decides("approve", &id, &approver)).await;
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    let id = stored(&world, &adjusts(&world.operator.who, ("card_id", &fresh), "1")).await;
    four_eyes(&world, &decides("approve", &id, &approver)).await;
    // Who gains does not ask.
    four_eyes(&world, &adjusts(&treasurer, ("customer_id", &own.id), "1")).await;
    let card = world.card(Some(&own), "0").await;
    four_eyes(&world, &adjusts(&treasurer, ("card_id", &card), "1")).await;
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_closed_card_had_is_decided_on_by_another() {
    let world = World::new("ties-closed-card").await;
    let (wallet, approver) = staff::member_with_wallet(&world, "approver").await;
    let card = world.card(Some(&wallet), "300").await;
    let id = stored(&world, &world.closes_card(&card, true)).await;
    four_eyes(&world, &decides("approve", &id, &approver)).await;
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    let id = stored(&world, &world.pays_out(&format!("card:{card}"), "300")).await;
    four_eyes(&world, &decides("approve", &id, &approver)).await;
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    let _ = world.check_books().await;
}

/// What a merchant's room does not allow is asked for by one member and decided on by another; neither is the payer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refund_beyond_the_room_to_an_own_card_is_for_two_others() {
    let world = World::with_terms(host::shared(), "ties-refund", |terms| terms.ceilings = CeilingTerms::zero()).await;
    let (wallet, approver) = staff::member_with_wallet(&world, "approver").await;
    let (own, treasurer) = staff::member_with_wallet(&world, "treasurer").await;
    let shop = world.merchant().await;
    let terminal = world.terminal(&shop).await;
    for (customer, who, asks) in [(&wallet, &approver, false), (&own, &treasurer, true)] {
        let card = world.card(Some(customer), "500").await;
        let paid = world.api.settle(&terminal.does("pay", &card, &json!({"amount": "500"}))).await.good();
        let _ = world
            .api
            .settle(&shop.refunds(&paid.text("/payment_id"), "500"))
            .await
            .problem(400, "refund_room_exceeded");
        let refund = world.refunds_for(&shop.id, &paid.text("/payment_id"), "500");
        if asks {
            four_eyes(&world, &refund.clone().by(who).key(new_key())).await;
        }
        let id = stored(&world, &refund).await;
        if !asks {
            four_eyes(&world, &decides("approve", &id, who)).await;
        }
        assert_eq!(world.card_balance(&card).await, "0");
        let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
        assert_eq!(world.card_balance(&card).await, "500");
    }
    let _ = world.check_books().await;
}

/// The requester of an adjustment to a card that has no owner takes the card before the decision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tie_that_arises_before_the_decision_counts() {
    let world = World::new("ties-later").await;
    let (wallet, treasurer) = staff::member_with_wallet(&world, "treasurer").await;
    let card = world.card(None, "0").await;
    let id = stored(&world, &adjusts(&treasurer, ("card_id", &card), "15000")).await;
    let assigns =
        posts(&format!("/v1/admin/cards/{card}/assign"), &world.operator.who, &json!({"customer_id": wallet.id}));
    let _ = world.api.settle(&assigns).await.good();
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.problem(400, "wrong_state");
    assert_eq!(world.card_balance(&card).await, "0");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn member_does_nothing_alone_for_an_own_account() {
    let world = World::with_terms(host::shared(), "ties-alone", |terms| {
        let limit = Amount::parse(&AssetSpec::POINT, "1000").expect("an amount");
        terms.grant_limits = GrantLimits(BTreeMap::from([(Asset::Point, limit)]));
    })
    .await;
    let (treasurers, treasurer) = staff::member_with_wallet(&world, "treasurer").await;
    let grant = json!({"customer_id": treasurers.id, "asset": "POINT", "amount": "10", "reason": "mine"});
    four_eyes(&world, &posts("/v1/admin/grants", &treasurer, &grant)).await;
    let (supports, support) = staff::member_with_wallet(&world, "support").await;
    let path = format!("/v1/admin/customers/{}", supports.id);
    let frozen = Call::patch(&path, &world.operator.who, &json!({"status": "frozen"})).key(new_key());
    let _ = world.api.settle(&frozen).await.good();
    four_eyes(&world, &Call::patch(&path, &support, &json!({"status": "active"})).key(new_key())).await;
    let card = world.card(Some(&supports), "0").await;
    for (path, body) in [("", json!({"status": "frozen"})), ("/block", json!({})), ("/pin-reset", json!({}))] {
        let path = format!("/v1/admin/cards/{card}{path}");
        let call = if path.ends_with(&card) {
            Call::patch(&path, &support, &body)
        } else {
            Call::post(&path, &support, &body)
        };
        four_eyes(&world, &call.key(new_key())).await;
    }
    let loose = world.card(None, "0").await;
    let assigns = posts(&format!("/v1/admin/cards/{loose}/assign"), &support, &json!({"customer_id": supports.id}));
    four_eyes(&world, &assigns).await;
    let _ = world.check_books().await;
}

/// An accepted member of a merchant's staff sees no payout account whole, and decides on none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn staff_of_the_merchant_neither_decides_on_its_payout_account_nor_sees_it_whole() {
    let world = World::new("ties-payout-account").await;
    let shop = world.merchant().await;
    let path = format!("/v1/admin/merchants/{}", shop.id);
    let asks = Call::patch(&path, &world.operator.who, &settling::destination()).key(new_key());
    let id = stored(&world, &asks).await;
    let (approver, who) = staff::member(&world, "approver").await;
    assert!(seen(&world, &id, &who).await["payout_destination"].is_object());
    let _ = staff::employed(&world, &shop, &staff::email_of(&approver)).await;
    let view = seen(&world, &id, &who).await;
    assert!(view["payout_destination"].is_null(), "{view}");
    assert_eq!(
        view["ties"],
        json!([{"member": approver, "account": format!("merchant:{}", shop.id), "kind": "staff"}])
    );
    four_eyes(&world, &decides("approve", &id, &who)).await;
    let _ = world.check_books().await;
}

/// A town office whose only other approver has a shop in the family.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declared_tie_blocks_while_another_may_decide_and_is_recorded_otherwise() {
    let world = World::new("ties-family").await;
    let (shop, subject) = {
        let shop = world.merchant().await;
        let subject = format!("merchant:{}", shop.id);
        (shop, subject)
    };
    let (approver, who) = staff::member(&world, "approver").await;
    declares(&world, &who, &subject, "family").await;
    let path = format!("/v1/admin/merchants/{}/refund-room", shop.id);
    let id = stored(&world, &posts(&path, &world.operator.who, &json!({"ceiling": "1000"}))).await;
    four_eyes(&world, &decides("approve", &id, &who)).await;
    // The second owner has one too: then no other is left, and the tie is recorded.
    declares(&world, &world.second.who, &subject, "business").await;
    let _ = world.api.settle(&decides("approve", &id, &who)).await.good();
    let ties = json!([{"member": approver, "account": subject, "kind": "family"}]);
    assert_eq!(seen(&world, &id, &world.operator.who).await["ties"], ties);
    let listed = world.api.send(&Call::get("/v1/admin/approvals?tied=yes", &world.operator.who)).await.good().json();
    assert_eq!((listed["items"].as_array().map(Vec::len), &listed["items"][0]["approval_id"]), (Some(1), &json!(id)));
    // The ties of others are for who reads the audit trail.
    let (_, treasurer) = staff::member(&world, "treasurer").await;
    assert_eq!(seen(&world, &id, &treasurer).await["ties"], json!([]));
    assert_eq!(seen(&world, &id, &who).await["ties"], ties);
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grant_to_twenty_is_decided_on_by_one_of_them_who_sees_it() {
    let world = World::new("ties-class").await;
    let (wallet, approver) = staff::member_with_wallet(&world, "approver").await;
    for (count, is_class) in [(19, false), (20, true)] {
        let mut ids = vec![wallet.id.clone()];
        ids.extend((1..count).map(|_| new_id()));
        let body = json!({"customer_ids": ids, "asset": "POINT", "amount": "500", "reason": "every resident of Aoba"});
        let id = stored(&world, &posts("/v1/admin/grants", &world.operator.who, &body)).await;
        let ties = json!([{"member": wallet.id, "account": format!("customer:{}", wallet.id), "kind": "sign_in"}]);
        assert_eq!(seen(&world, &id, &approver).await["ties"], ties, "{count}");
        if is_class {
            let _ = world.api.settle(&decides("approve", &id, &approver)).await.good();
            assert_eq!(seen(&world, &id, &world.operator.who).await["ties"], ties);
        } else {
            four_eyes(&world, &decides("approve", &id, &approver)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declared_tie_is_taken_back_by_two_others() {
    let world = World::new("ties-declared").await;
    let customer = format!("customer:{}", world.customer().await.id);
    let (member, who) = staff::member(&world, "support").await;
    declares(&world, &who, &customer, "family").await;
    declares(&world, &who, &customer, "own").await;
    four_eyes(&world, &posts(DECLARE, &who, &json!({"account": customer, "kind": "business"}))).await;
    let own = world.api.send(&Call::get(DECLARE, &who)).await.good().json();
    assert_eq!(own["beneficiary_of"][0]["kind"], "own", "{own}");
    let path = format!("/v1/admin/staff/{member}");
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    let declared = &view["beneficiary_of"][0];
    assert_eq!(
        (&declared["account"], &declared["kind"], &declared["declared_by"]),
        (&json!(customer), &json!("own"), &json!(member))
    );
    let clears = Call::patch(&path, &world.operator.who, &json!({"beneficiary_of": []})).key(new_key());
    let id = stored(&world, &clears).await;
    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    let view = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    assert!(view["beneficiary_of"].is_null(), "{view}");
    let _ = world.check_books().await;
}
