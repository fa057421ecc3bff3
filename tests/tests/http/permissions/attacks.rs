//! The attacks by insiders that permissions refuse.

use ledger_tests::audit::text;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World, staff};
use serde_json::json;

/// One auditor granted points to a wallet, paid a merchant and had it settled.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn auditor_grants_pays_and_settles_nothing() {
    let world = World::new("attack").await;
    let (merchant, customer) = (world.merchant().await, world.customer().await);
    let (auditor, who) = staff::member(&world, "auditor").await;
    let grant = json!({"customer_id": customer.id, "asset": "POINT", "amount": "983991751", "reason": "mine"});
    let bulk = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "983991751", "reason": "mine"});
    let adjustment = json!({
        "customer_id": customer.id, "direction": "credit", "amount": "983991751", "reason_code": "opening", "note": "mine",
    });
    let destination = json!({"payout_destination": {
        "bank_code": "0009", "branch_code": "123", "account_type": "ordinary", "account_number": "1234567",
        "account_holder": "ミドリ",
    }});
    let shop = format!("/v1/admin/merchants/{}", merchant.id);
    let terminal = json!({"merchant_id": merchant.id});
    let own = format!("/v1/admin/staff/{auditor}");
    let post = |path: &str, body| Call::post(path, &who, &body).key(new_key());
    let patch = |path: &str, body| Call::patch(path, &who, &body).key(new_key());
    let steps = [
        (post("/v1/admin/grants", grant), "grants.issue"),
        (post("/v1/admin/grants", bulk), "grants.issue"),
        (post("/v1/admin/adjustments", adjustment), "adjustments.request"),
        (patch(&shop, destination), "merchants.change"),
        (post("/v1/admin/settlements", json!({"merchant_id": merchant.id})), "settlements.open"),
        (post("/v1/admin/terminals", terminal), "terminals.manage"),
        (post("/v1/admin/cards", json!({})), "cards.manage"),
        (post("/v1/admin/merchants", json!({"name": "Mine"})), "merchants.open"),
        // A second identity, more roles for the own one, and another merchant's owner.
        (post("/v1/admin/staff", staff::invitation(&auditor, "owner")), "staff.manage"),
        (patch(&own, json!({"roles": ["auditor", "treasurer"]})), "staff.manage"),
        (post(&format!("{shop}/staff"), staff::person(&auditor)), "merchants.owner"),
    ];
    let before = world.books().await;
    for (call, permission) in steps {
        let refused = world.api.send(&call).await.problem(403, "permission_missing");
        assert_eq!(refused.text("/permission"), permission, "{call:?}");
    }
    // Nothing but the trail of the denials has changed.
    let after = world.books().await;
    let changes = after.changes_since(&before);
    let kinds: Vec<&str> = changes.keys().map(|(_, kind)| kind.as_str()).collect();
    assert!(kinds.iter().all(|kind| ["audit AUDIT#", "tenant DENIED#"].contains(kind)), "{changes:?}");
    let denied: Vec<_> =
        after.under("AUDIT#").filter(|(_, _, act)| text(act, "action") == "permission_denied").collect();
    assert!(denied.iter().all(|(_, _, act)| text(act, "actor") == format!("staff:{auditor}")), "{denied:?}");
    assert!((1..=10).contains(&denied.len()), "{} denials are on record", denied.len());
    let _ = world.check_books().await;
}

/// A treasurer changes where a merchant is paid; an operator who may change merchants does not.
#[tokio::test]
async fn destination_needs_its_own_permission() {
    let world = World::new("destination").await;
    let merchant = world.merchant().await;
    let (_, operator) = staff::member(&world, "operator").await;
    let (_, treasurer) = staff::member(&world, "treasurer").await;
    let path = format!("/v1/admin/merchants/{}", merchant.id);
    let body = json!({"payout_destination": {
        "bank_code": "0009", "branch_code": "123", "account_type": "ordinary", "account_number": "1234567",
        "account_holder": "ミドリ",
    }});
    let change = |who| Call::patch(&path, who, &body).key(new_key());
    let refused = world.api.send(&change(&operator)).await.problem(403, "permission_missing");
    assert_eq!(refused.text("/permission"), "destinations.change");
    let renamed = Call::patch(&path, &operator, &json!({"name": "Aoba Tea"})).key(new_key());
    let _ = world.api.settle(&renamed).await.good();
    let _ = world.api.settle(&change(&treasurer)).await.good();
}

/// A cashier refunds nothing, and gives no role.
#[tokio::test]
async fn cashier_charges_only() {
    let world = World::new("cashier").await;
    let merchant = world.merchant().await;
    let (id, who) = staff::shop_member(&world, &merchant, "cashier").await;
    let customer = world.customer_with("1000").await;
    let payment = world.api.settle(&customer.pays(&merchant, "100")).await.good().text("/payment_id");
    let refund = merchant.refunds(&payment, "100");
    let refused = world.api.send(&refund.clone().by(&who)).await.problem(403, "permission_missing");
    assert_eq!(refused.text("/permission"), "payments.refund");
    let raise = Call::patch(&format!("/v1/merchant/staff/{id}"), &who, &json!({"roles": ["owner"]})).key(new_key());
    let _ = world.api.send(&raise).await.problem(403, "permission_missing");
    let (_, manager) = staff::shop_member(&world, &merchant, "manager").await;
    let _ = world.api.settle(&refund.by(&manager)).await.good();
    let _ = world.check_books().await;
}
