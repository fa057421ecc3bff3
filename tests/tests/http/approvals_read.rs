//! What a person sees of a command who may decide on it, and what all others see.
#![cfg(feature = "stack")]

use ledger_tests::audit::text as stored;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Merchant, Who, World, settling, staff};
use serde_json::{Value, json};

const PRESENT: &str = "1234567";
const SENT: &str = "7654321";

fn other_account() -> Value {
    json!({"payout_destination": {
        "bank_code": "0001", "branch_code": "001", "account_type": "checking", "account_number": SENT,
        "account_holder": "アオバ タロウ",
    }})
}

/// A merchant that is paid to one account, and a pending change to another; returns the merchant and the approval's id.
async fn changing(world: &World) -> (Merchant, String) {
    let shop = settling::payable(world).await;
    let path = format!("/v1/admin/merchants/{}", shop.id);
    world.change(&path, &json!({"name": "Midori Bakery"})).await;
    let id = requested(world, &Call::patch(&path, &world.operator.who, &other_account())).await;
    (shop, id)
}

async fn requested(world: &World, call: &Call) -> String {
    world.api.settle(&call.clone().key(new_key())).await.good().text("/approval_id")
}

async fn seen(world: &World, id: &str, who: &Who) -> Value {
    world.api.send(&Call::get(&format!("/v1/admin/approvals/{id}"), who)).await.good().json()
}

/// The subjects of the acts of an operation, by the audit trail.
async fn acts(world: &World, action: &str) -> Vec<String> {
    let books = world.books().await;
    let of = books.under("AUDIT#").filter(|(_, _, act)| stored(act, "action") == action);
    of.map(|(_, _, act)| stored(act, "subject").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payout_account_is_whole_for_who_decides_and_the_reading_is_on_the_trail() {
    let world = World::new("approvals-read").await;
    let (shop, id) = changing(&world).await;
    let subject = format!("merchant:{}", shop.id);
    let whole = seen(&world, &id, &world.second.who).await;
    let (from, to) = (&whole["payout_destination"]["from"], &whole["payout_destination"]["to"]);
    let parts = |of: &Value, names: &[&str]| names.iter().map(|name| of[*name].clone()).collect::<Vec<_>>();
    let names = ["kind", "bank_code", "bank_name", "branch_code", "account_type", "account_number", "account_holder"];
    assert_eq!(
        parts(from, &names),
        [
            json!("bank"),
            json!("0009"),
            json!("ﾐﾂｲｽﾐﾄﾓ"),
            json!("123"),
            json!("ordinary"),
            json!(PRESENT),
            json!("ｶ)ﾐﾄﾞﾘｼﾖｳﾃﾝ")
        ]
    );
    assert_eq!(
        parts(to, &names),
        [json!("bank"), json!("0001"), Value::Null, json!("001"), json!("checking"), json!(SENT), json!("ｱｵﾊﾞ ﾀﾛｳ")]
    );
    assert_eq!(whole["names"][&subject], "Midori Bakery");
    let requester = format!("staff:{}", world.operator.id);
    assert_eq!(whole["names"][&requester], json!(staff::email_of(&world.operator.id)));
    assert_eq!(acts(&world, "approval_read").await, std::slice::from_ref(&subject));

    // The requester sees what was typed, which is no reading of another's account.
    let own = seen(&world, &id, &world.operator.who).await;
    assert_eq!(own["payout_destination"], json!({ "to": to }));
    // A viewer, and every list, have the mask.
    let (_, viewer) = staff::member(&world, "viewer").await;
    let masked = seen(&world, &id, &viewer).await;
    let change = json!([{"name": "payout_destination", "from": "0009-123-****567", "to": "0001-001-****321"}]);
    assert_eq!((&masked["changes"], &masked["names"]), (&change, &json!({subject.clone(): "Midori Bakery"})));
    let list = world.api.send(&Call::get("/v1/admin/approvals?state=pending", &world.second.who)).await.good();
    assert!(list.body.contains("Midori Bakery"), "{list:?}");
    for text in [masked.to_string(), list.body] {
        assert!(!text.contains(PRESENT) && !text.contains(SENT) && !text.contains("ﾐﾄﾞﾘ"), "{text}");
    }
    assert_eq!(acts(&world, "approval_read").await.len(), 1);

    // The present account is in clear in the merchant's record alone.
    let books = world.books().await;
    let (_, _, item) = books.under("APPROVAL#").find(|(_, sk, _)| sk.ends_with(&id)).expect("the approval");
    assert!(!format!("{item:?}").contains(PRESENT), "{item:?}");

    let _ = world.api.settle(&decides("approve", &id, &world.second.who)).await.good();
    for who in [&world.operator.who, &world.second.who] {
        let after = seen(&world, &id, who).await;
        assert!(after["payout_destination"].is_null() && !after.to_string().contains(SENT), "{after}");
    }
    assert_eq!(acts(&world, "approval_read").await.len(), 1);
    let _ = world.check_books().await;
}

/// The merchant is the member's own, or the member lost the role.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payout_account_is_masked_for_a_member_who_may_not_decide_on_it() {
    let world = World::new("approvals-read-own").await;
    let (shop, id) = changing(&world).await;
    let (_, named) = {
        let member = new_id();
        let mut invitation = staff::invitation(&member, "approver");
        invitation["beneficiary_of"] = json!([{"account": format!("merchant:{}", shop.id), "kind": "own"}]);
        let _ = world.operator("/v1/admin/staff", &invitation).await;
        let who = world.token("admin", &member, None).await;
        let accepts = Call::post("/v1/admin/staff/accept", &who, &json!({})).key(new_key());
        let _ = world.api.settle(&accepts).await.good();
        (member, who)
    };
    let (demoted_id, demoted) = staff::member(&world, "approver").await;
    let role =
        Call::patch(&format!("/v1/admin/staff/{demoted_id}"), &world.operator.who, &json!({"roles": ["viewer"]}));
    let _ = world.executes(&role.key(new_key())).await.good();
    for who in [&named, &demoted] {
        let view = seen(&world, &id, who).await;
        assert!(view["payout_destination"].is_null(), "{view}");
    }
    assert!(acts(&world, "approval_read").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn customer_is_named_for_who_decides_and_the_reading_is_on_the_trail() {
    let world = World::new("approvals-read-customer").await;
    let customer = world.customer().await;
    let body = json!({"customer_id": customer.id, "asset": "POINT", "amount": "99999999", "reason": "spring"});
    let id = requested(&world, &Call::post("/v1/admin/grants", &world.operator.who, &body)).await;
    let subject = format!("customer:{}", customer.id);
    let own = seen(&world, &id, &world.operator.who).await;
    assert!(own["names"][&subject].is_null(), "{own}");
    let path = format!("/v1/admin/customers/{}", customer.id);
    let before = acts(&world, "customer_read").await.len();
    let view = seen(&world, &id, &world.second.who).await;
    assert_eq!(acts(&world, "customer_read").await.len(), before + 1);
    let profile = world.api.send(&Call::get(&path, &world.second.who)).await.good().json();
    assert!(profile["name"].is_string() && view["names"][&subject] == profile["name"], "{view}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn command_says_what_it_comes_to() {
    let world = World::new("approvals-figures").await;
    let (shop, customer) = (settling::payable(&world).await, world.customer_with("700").await);
    let _ = world.api.settle(&customer.pays(&shop, "700")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    let owner = &world.operator.who;
    let body = json!({"merchant_id": shop.id});
    let id = requested(&world, &Call::post("/v1/admin/settlements", owner, &body)).await;
    let known = json!({"owed.ECOPAY": "700", "payout_destination": "0009-123-****567"});
    assert_eq!(seen(&world, &id, &world.second.who).await["known"], known);

    let body = json!({"customer_ids": [customer.id, new_id()], "asset": "POINT", "amount": "30", "reason": "spring"});
    let id = requested(&world, &Call::post("/v1/admin/grants", owner, &body)).await;
    assert_eq!(seen(&world, &id, &world.second.who).await["known"], json!({"total": "60"}));

    let terminal = world.terminal_with_cash(&shop, "900").await;
    let path = format!("/v1/admin/terminals/{}/cash-room", terminal.id);
    let id = requested(&world, &Call::post(&path, owner, &json!({"allot": "50"}))).await;
    let view = seen(&world, &id, &world.second.who).await;
    assert_eq!(view["changes"][0], json!({"name": "cash_room", "from": "900", "to": "950"}), "{view}");
    let number = |text: &Value| text.as_str().and_then(|text| text.parse::<i64>().ok()).expect("a number");
    let unallotted = &view["changes"][1];
    assert_eq!(unallotted["name"], "unallotted_room");
    assert_eq!(number(&unallotted["from"]) - number(&unallotted["to"]), 50);
}
