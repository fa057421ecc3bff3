//! Limits of what a member refunds and grants, by role: many small amounts do not add up to a large one.

use futures::future::join_all;
use ledger_core::limits::{Holder, LimitChange};
use ledger_core::money::{Amount, Asset, AssetSpec};
use ledger_core::terms::GrantLimits;
use ledger_tests::audit::number;
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Merchant, Who, World, host, staff};
use ledger_tests::limits::limits;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A tenant whose managers refund at most 500 yen at once and 1,000 a day, and whose treasurers grant at most 300 points
/// a day.
async fn world(tenant: &str, alone: &GrantLimits) -> World {
    let of_points = LimitChange::parse(Holder::Treasurer, &AssetSpec::POINT, "grant_day=300").unwrap();
    let limits = limits(&[("merchant_manager", "refund_operation=500"), ("merchant_manager", "refund_day=1000")]);
    let limits = limits.with(Holder::Treasurer, &Asset::Point, &of_points);
    let world = World::with_terms(host::shared(), tenant, |terms| {
        (terms.limits, terms.grant_limits) = (Some(limits.clone()), alone.clone());
    });
    world.await
}

/// Lets one person grant this many points.
fn points_alone(points: &str) -> GrantLimits {
    let most = Amount::parse(&AssetSpec::POINT, points).unwrap();
    GrantLimits(BTreeMap::from([(Asset::Point, most)]))
}

/// Payments of 600 yen to a merchant.
async fn payments(world: &World, merchant: &Merchant, count: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..count {
        let customer = world.customer_with("600").await;
        ids.push(world.api.settle(&customer.pays(merchant, "600")).await.good().text("/payment_id"));
    }
    ids
}

fn refund(payment: &str, who: &Who, amount: &str) -> Call {
    let path = format!("/v1/merchant/payments/{payment}/refunds");
    Call::post(&path, who, &json!({ "amount": amount })).key(new_key())
}

fn grant(who: &Who, body: &Value) -> Call {
    Call::post("/v1/admin/grants", who, body).key(new_key())
}

fn done(answers: &[Answer]) -> usize {
    answers.iter().filter(|answer| answer.status == 201).count()
}

/// The sum that a member's record has counted of a kind.
async fn counted(world: &World, partition: &str, member: &str, kind: &str) -> String {
    let books = world.check_books().await;
    let row = books.row(&format!("{}#{partition}", world.tenant), &format!("STAFF#{member}")).expect("a record");
    let day = |name: &&String| name.starts_with(&format!("use_{kind}_")) && name.split('_').nth(2).unwrap().len() == 8;
    let name = row.keys().find(day).expect("a count");
    number(row, name).to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_small_refunds_in_parallel_end_at_the_limit_of_the_role() {
    let world = world("amounts-refunds", &GrantLimits::default()).await;
    let shop = staff::owned_merchant(&world).await;
    let (id, manager) = staff::shop_member(&world, &shop, "manager").await;
    let paid = payments(&world, &shop, 16).await;
    let above = refund(&paid[0], &manager, "501");
    let refused = world.api.settle(&above).await.problem(400, "limit_exceeded");
    for secret in ["500", "1000"] {
        assert!(!refused.body.contains(secret), "{refused:?}");
    }
    let calls: Vec<Call> = paid.iter().map(|payment| refund(payment, &manager, "90")).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(done(&answers), 11, "{answers:?}");
    let partition = format!("merchant#{}", shop.id);
    assert_eq!(counted(&world, &partition, &id, "refund").await, "990");
    // The stored answers are repeated, whatever was counted since.
    for (call, first) in calls.iter().zip(&answers) {
        let again = world.api.settle(call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    }
    let _ = world.api.settle(&refund(&paid[0], &manager, "11")).await.problem(400, "limit_exceeded");
    let _ = world.api.settle(&refund(&paid[0], &manager, "10")).await.good();
    // The merchant's owner has no limit.
    let _ = world.api.settle(&refund(&paid[1], &shop.who, "510")).await.good();
    assert_eq!(counted(&world, &partition, &id, "refund").await, "1000");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_to_several_customers_count_together() {
    let world = world("amounts-grants", &points_alone("1000")).await;
    let (id, treasurer) = staff::member(&world, "treasurer").await;
    let customers = [world.customer().await.id, world.customer().await.id];
    let to = |customer: &str, points: &str| json!({"customer_id": customer, "asset": "POINT", "amount": points, "reason": "spring"});
    let one = |points: &str| to(&customers[0], points);
    let _ = world.api.settle(&grant(&treasurer, &one("301"))).await.problem(400, "limit_exceeded");
    let _ = world.api.settle(&grant(&treasurer, &to(&customers[1], "150"))).await.good();
    let calls: Vec<Call> = (0..8).map(|_| grant(&treasurer, &one("40"))).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    assert_eq!(done(&answers), 3, "{answers:?}");
    assert_eq!(counted(&world, "tenant#root", &id, "grant").await, "270");
    let _ = world.api.settle(&grant(&treasurer, &to(&customers[1], "150"))).await.problem(400, "limit_exceeded");
    // A change of the record keeps what was counted.
    let roles = json!({"roles": ["treasurer", "auditor"]});
    let change = Call::patch(&format!("/v1/admin/staff/{id}"), &world.operator.who, &roles).key(new_key());
    let _ = world.executes(&change).await.good();
    let _ = world.api.settle(&grant(&treasurer, &one("31"))).await.problem(400, "limit_exceeded");
    let _ = world.api.settle(&grant(&treasurer, &one("30"))).await.good();
    assert_eq!(counted(&world, "tenant#root", &id, "grant").await, "300");
}

/// A grant that another person approved is not counted: two people have seen it. What the member grants alone is counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_that_take_two_people_are_not_counted_and_those_of_one_person_are() {
    let world = world("amounts-two-people", &points_alone("100")).await;
    let (id, treasurer) = staff::member(&world, "treasurer").await;
    let customers = [world.customer().await, world.customer().await];
    let ids = customers.each_ref().map(|customer| customer.id.as_str());
    let one = |points: &str| {
        grant(&treasurer, &json!({"customer_id": ids[0], "asset": "POINT", "amount": points, "reason": "spring"}))
    };
    let many = json!({"customer_ids": ids, "asset": "POINT", "amount": "151", "reason": "spring"});
    for above in [one("301"), grant(&treasurer, &many)] {
        let approve = world.approving(&above).await;
        let _ = world.api.settle(&approve.clone().by(&treasurer)).await.problem(403, "permission_missing");
        let _ = world.api.settle(&approve).await.good();
    }
    let alone: Vec<Call> = (0..8).map(|_| one("100")).collect();
    let answers = join_all(alone.iter().map(|call| world.api.settle(call))).await;
    // What is above the limit of a person alone in the day is stored for another person.
    assert_eq!((done(&answers), answers.iter().filter(|answer| answer.status == 202).count()), (1, 7), "{answers:?}");
    assert_eq!(counted(&world, "tenant#root", &id, "grant").await, "100");
    assert_eq!(world.api.settle(&one("1")).await.status, 202);
    let _ = world.executes(&one("101")).await.good();
    assert_eq!(counted(&world, "tenant#root", &id, "grant").await, "100");
    let _ = world.run_jobs().await.expect("the run succeeds");
    let points = [world.balance(&customers[0], "POINT").await, world.balance(&customers[1], "POINT").await];
    assert_eq!(points, ["653", "151"]);
}
