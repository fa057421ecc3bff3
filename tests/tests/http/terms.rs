//! Versions of a tenant's terms over HTTP: stored and cancelled by two people, in force at their time for every request
//! from then on, and for none before.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_core::migration::Model;
use ledger_core::terms::TERMS_LEAD;
use ledger_core::time::Timestamp;
use ledger_local::seed;
use ledger_tests::audit::text;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::terms::{CANCELLATION, CHANGES, body, in_an_hour, timed};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Answer, Call, Customer, Host, Who, World, staff};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);

fn post(path: &str, who: &Who, body: &Value) -> Call {
    Call::post(path, who, body).key(new_key())
}

async fn versions(world: &World) -> Vec<Value> {
    let terms = world.api.send(&Call::get("/v1/admin/terms", &world.operator.who)).await.good().json();
    terms["versions"].as_array().expect("versions").clone()
}

/// Number and status of each version, the latest first.
async fn statuses(world: &World) -> Vec<(u64, String)> {
    let of = |version: &Value| {
        (version["version"].as_u64().expect("a number"), version["status"].as_str().expect("a text").to_owned())
    };
    versions(world).await.iter().map(of).collect()
}

fn listed(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected.iter().map(|(version, status)| (*version, (*status).to_owned())).collect()
}

/// What the history says of a payment: the version of the terms, 1 if it names none.
async fn version_of(world: &World, customer: &Customer) -> BTreeMap<String, u64> {
    let mut found = BTreeMap::new();
    let mut path = "/v1/me/transactions?limit=100".to_owned();
    loop {
        let page = world.api.send(&Call::get(&path, &customer.who)).await.good().json();
        for line in page["items"].as_array().expect("items") {
            let id = line["transaction_id"].as_str().expect("an id").to_owned();
            let _ = found.insert(id, line["terms_version"].as_u64().unwrap_or(1));
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/me/transactions?limit=100&cursor={cursor}"),
            None => return found,
        }
    }
}

/// A change of the points from 1 % to 2 %, as an approval shows it.
fn points_twice() -> Value {
    json!({"name": "points_rate", "from": "0.01", "to": "0.02", "from_percent": "1", "to_percent": "2"})
}

#[tokio::test]
async fn terms_of_a_tenant_without_changes_are_version_1() {
    let world = World::new("terms-first").await;
    assert_eq!(statuses(&world).await, listed(&[(1, "in_force")]));
    let only = &versions(&world).await[0];
    assert_eq!(only["terms"]["points_rate"], "0.01", "{only}");
    assert_eq!(only["terms"]["assets.ECOPAY.cap"], "50000", "{only}");
    let percents = json!({
        "card.bonus_rate": "0", "points_rate": "1", "settlement.fee_rate": "1.5", "settlement.tax_rate": "10",
        "topup.points_rate": "5",
    });
    assert_eq!((&only["terms"]["settlement.fee_rate"], &only["percents"]), (&json!("0.015"), &percents), "{only}");
    assert!(only.get("from").is_none() && only.get("requested_by").is_none(), "{only}");
}

#[tokio::test]
async fn approved_change_is_scheduled_and_cancelled_and_its_number_is_given_once() {
    let world = World::new("terms-scheduled").await;
    let from = in_an_hour(&world);
    let change =
        post(CHANGES, &world.operator.who, &body(&json!({"points_rate": "0.020", "card.pin_above": "3000"}), from));
    let change = world.approving(&change).await;
    let stored = world.api.settle(&change).await.good();
    let changes = json!([{"name": "card.pin_above", "to": "3000"}, points_twice()]);
    assert_eq!(stored.json()["changes"], changes);
    assert_eq!(statuses(&world).await, listed(&[(2, "scheduled"), (1, "in_force")]));
    let scheduled = &versions(&world).await[0];
    assert_eq!(scheduled["from"], from.to_string());
    assert_eq!(
        (&scheduled["terms"]["card.pin_above"], &scheduled["terms"]["points_rate"]),
        (&json!("3000"), &json!("0.02"))
    );
    // One at a time.
    let another = post(CHANGES, &world.operator.who, &body(&json!({"points_rate": "0.03"}), from));
    let refused = world.api.settle(&another).await.problem(400, "wrong_state");
    assert!(refused.text("/detail").starts_with("Version 2 is scheduled"), "{refused:?}");
    let other = post(CANCELLATION, &world.operator.who, &json!({"version": 3}));
    let _ = world.api.settle(&other).await.problem(400, "wrong_state");
    let cancel = post(CANCELLATION, &world.operator.who, &json!({"version": 2, "reason": "later"}));
    let cancel = world.approving(&cancel).await;
    let _ = world.api.settle(&cancel).await.good();
    assert_eq!(statuses(&world).await, listed(&[(2, "cancelled"), (1, "in_force")]));
    // A number is given once.
    let again = post(CHANGES, &world.operator.who, &body(&json!({"points_rate": "0.03"}), from));
    let _ = world.executes(&again).await.good();
    assert_eq!(statuses(&world).await, listed(&[(3, "scheduled"), (2, "cancelled"), (1, "in_force")]));
    for call in [&change, &cancel] {
        assert!(world.api.settle(call).await.replayed());
    }
    let _ = world.check_books().await;
}

/// The name is a term: two people change it, from a stated time on. The slug in keys and tokens stays.
#[tokio::test]
async fn programme_is_renamed_by_two_people_from_a_stated_time_on() {
    let (world, clock) = timed("terms-name", |_| {}).await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("1000").await);
    let named = async || {
        let mut names = Vec::new();
        for (path, who) in [("/v1/me/balances", &customer.who), ("/v1/merchant/balances", &merchant.who)] {
            names.push(world.api.send(&Call::get(path, who)).await.good().text("/programme"));
        }
        names
    };
    assert_eq!(named().await, [seed::DISPLAY_NAME; 2]);
    let from = in_an_hour(&world);
    let change = post(CHANGES, &world.operator.who, &body(&json!({"display_name": " Aoba  Pay "}), from));
    let stored = world.api.settle(&world.approving(&change).await).await.good();
    let changes = json!([{"name": "display_name", "from": seed::DISPLAY_NAME, "to": "Aoba  Pay"}]);
    assert_eq!(stored.json()["changes"], changes);
    assert_eq!(named().await, [seed::DISPLAY_NAME; 2]);
    clock.forward(HOUR);
    assert_eq!(named().await, ["Aoba  Pay"; 2]);
    assert_eq!(versions(&world).await[0]["terms"]["display_name"], "Aoba  Pay");
    let _ = world.api.settle(&customer.pays(&merchant, "100")).await.good();
}

#[tokio::test]
async fn invalid_change_names_every_field_and_stores_nothing() {
    let world = World::new("terms-invalid").await;
    let before = world.books().await;
    let changes = json!({
        "points_rate": "5%", "card.cap": null, "spent_points": "keep", "hold_hours": "721", "colour": "red",
        "assets.JCREDIT.cap": "1.2345", "assets.REGIONAL#yen.cap": "1", "grant_limits.POINT": "1.5",
        "limits.customer.ECOPAY.pay_week": "1", "requests_per_second": "10",
    });
    let request = post(CHANGES, &world.operator.who, &json!({"changes": changes, "from": "tomorrow"}));
    let refused = world.api.settle(&request).await.problem(400, "invalid_request").json();
    let named: Vec<&str> =
        refused["errors"].as_array().expect("errors").iter().filter_map(|error| error["field"].as_str()).collect();
    let expected = [
        "assets.JCREDIT.cap",
        "assets.REGIONAL#yen.cap",
        "card.cap",
        "colour",
        "grant_limits.POINT",
        "hold_hours",
        "limits.customer.ECOPAY.pay_week",
        "points_rate",
        "spent_points",
        "from",
    ];
    assert_eq!(named, expected, "{refused}");
    assert_eq!(refused["field"], expected[0]);
    for (changes, from, field) in [
        (json!({"points_rate": "0.01"}), in_an_hour(&world), "changes"),
        (json!({}), in_an_hour(&world), "changes"),
        (json!({"points_rate": "0.02"}), world.app.now().plus(TERMS_LEAD).minus(Duration::from_secs(5)), "from"),
        (json!({"points_rate": "0.02"}), world.app.now().minus(HOUR), "from"),
    ] {
        let request = post(CHANGES, &world.operator.who, &body(&changes, from));
        let refused = world.api.settle(&request).await.problem(400, "invalid_request");
        assert_eq!(refused.text("/field"), field, "{changes}");
    }
    assert!(world.books().await.changes_since(&before).is_empty());
}

#[tokio::test]
async fn share_of_money_above_its_most_is_refused_with_its_bound_in_per_cent() {
    let world = World::new("terms-shares").await;
    let before = world.books().await;
    for (field, to, why) in [
        ("settlement.fee_rate", "1.5", "150 % is more than the 30 % that this share may be"),
        ("settlement.tax_rate", "10", "1000 % is more than the 30 % that this share may be"),
        ("points_rate", "0.51", "51 % is more than the 50 % that this share may be"),
    ] {
        let request = post(CHANGES, &world.operator.who, &body(&json!({field: to}), in_an_hour(&world)));
        let refused = world.api.settle(&request).await.problem(400, "invalid_request").json();
        assert!(refused["errors"].to_string().contains(why), "{field}: {refused}");
        assert_eq!(refused["field"], field);
    }
    assert!(world.books().await.changes_since(&before).is_empty());
    let most = json!({"settlement.fee_rate": "0.3", "settlement.tax_rate": "0.3", "points_rate": "0.5"});
    let request = post(CHANGES, &world.operator.who, &body(&most, in_an_hour(&world)));
    let _ = world.executes(&request).await.good();
}

/// Payments at once before, at and after the time: each is whole under the version of its own time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_across_the_time_are_each_planned_under_one_version() {
    let (world, clock) = timed("terms-across", |_| {}).await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("40000").await);
    let first = customer.pays(&merchant, "100");
    let first_answer = world.api.settle(&first).await.good();
    assert_eq!(first_answer.text("/points_earned"), "1");
    let from = world.app.now().plus(TERMS_LEAD + Duration::from_secs(2));
    let change = json!({"points_rate": "0.05", "co2.kg_per_yen": "0.03"});
    let _ = world.executes(&post(CHANGES, &world.operator.who, &body(&change, from))).await.good();
    // Every cache has a time to be filled again, and the instant is a second away.
    clock.forward(TERMS_LEAD - Duration::from_secs(1));
    let payments: Vec<Call> = (0..120).map(|_| customer.pays(&merchant, "100")).collect();
    let tasks = payments.chunks(8).enumerate().map(|(at, few)| {
        let (world, clock) = (&world, &clock);
        async move {
            tokio::time::sleep(Duration::from_millis(60 * at as u64)).await;
            clock.forward(Duration::from_millis(150));
            join_all(few.iter().map(|call| world.api.settle(call))).await
        }
    });
    let answers: Vec<Answer> = join_all(tasks).await.into_iter().flatten().map(Answer::good).collect();
    let versions = version_of(&world, &customer).await;
    let (mut before, mut after) = (0, 0);
    for answer in &answers {
        let made = Timestamp::parse(&answer.text("/created_at")).expect("a time");
        let is_after = from <= made;
        let expected = if is_after { ("5", "3", 2) } else { ("1", "1", 1) };
        let found =
            (&*answer.text("/points_earned"), &*answer.text("/co2_kg"), versions[&answer.text("/transaction_id")]);
        assert_eq!(found, expected, "{made} with a change at {from}");
        if is_after { after += 1 } else { before += 1 }
    }
    assert!(before > 0 && after > 0, "{before} before and {after} after");
    assert_eq!(statuses(&world).await, listed(&[(2, "in_force"), (1, "past")]));
    // A replay is independent of the terms.
    let again = world.api.settle(&first).await;
    assert_eq!((again.stored(), again.replayed()), (first_answer.stored(), true));
    // The next change folds: the version in force becomes the attributes of the configuration.
    let _ = world.executes(&post(CHANGES, &world.operator.who, &body(&change, from.plus(HOUR)))).await;
    let just = world.app.now().plus(HOUR);
    let early = post(CHANGES, &world.operator.who, &body(&json!({"points_rate": "0.04"}), just));
    let refused = world.api.settle(&early).await.problem(400, "wrong_state");
    assert!(refused.text("/detail").starts_with("Version 2 has just begun"), "{refused:?}");
    clock.forward(TERMS_LEAD);
    let from = world.app.now().plus(HOUR);
    let next = post(CHANGES, &world.operator.who, &body(&json!({"points_rate": "0.04"}), from));
    let _ = world.executes(&next).await.good();
    assert_eq!(self::versions(&world).await[0]["version"], 3);
    let paid = world.api.settle(&customer.pays(&merchant, "100")).await.good();
    assert_eq!((paid.text("/points_earned"), paid.text("/co2_kg")), ("5".to_owned(), "3".to_owned()));
    clock.forward(HOUR);
    let paid = world.api.settle(&customer.pays(&merchant, "100")).await.good();
    assert_eq!((paid.text("/points_earned"), paid.text("/co2_kg")), ("4".to_owned(), "3".to_owned()));
    assert_eq!(version_of(&world, &customer).await[&paid.text("/transaction_id")], 3);
    assert_eq!(statuses(&world).await, listed(&[(3, "in_force"), (2, "past"), (1, "past")]));
    let entries = world.check_books().await;
    let named = entries.under("TXN#").filter(|(_, _, entry)| entry.contains_key("terms_version")).count();
    assert_eq!(named, after + 2, "entries that name a version above 1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_is_requested_by_one_person_and_approved_by_another() {
    let (world, clock) = timed("terms-four-eyes", |_| {}).await;
    let (owner, second) = (&world.operator.who, &world.second.who);
    let from = in_an_hour(&world);
    let request = post(
        CHANGES,
        owner,
        &json!({
            "changes": {"points_rate": "0.02", "hold_hours": "48", "grant_limits.POINT": "500"},
            "from": from.to_string(), "reason": "winter campaign",
        }),
    );
    let stored = world.api.settle(&request).await.good();
    assert_eq!(stored.status, 202, "{stored:?}");
    let id = stored.text("/approval_id");
    let shown = world.api.send(&Call::get(&format!("/v1/admin/approvals/{id}"), second)).await.good().json();
    let changes = json!([
        {"name": "grant_limits.POINT", "to": "500"},
        {"name": "hold_hours", "to": "48"},
        points_twice(),
    ]);
    assert_eq!((&shown["details"], &shown["changes"]), (&json!({"from": from.to_string()}), &changes));
    let _ = world.api.settle(&decides("approve", &id, owner)).await.problem(403, "four_eyes_required");
    assert_eq!(statuses(&world).await, listed(&[(1, "in_force")]));
    // Another change is stored meanwhile: the first one that is approved makes the other stale.
    let other = post(CHANGES, owner, &body(&json!({"points_rate": "0.03"}), from));
    let other = world.api.settle(&other).await.good().text("/approval_id");
    let approve = decides("approve", &id, second);
    let approved = world.api.settle(&approve).await.good();
    assert_eq!(statuses(&world).await, listed(&[(2, "scheduled"), (1, "in_force")]));
    let scheduled = &versions(&world).await[0];
    assert_eq!(
        (&scheduled["requested_by"], &scheduled["approved_by"], &scheduled["reason"]),
        (&json!(world.operator.id), &json!(world.second.id), &json!("winter campaign")),
    );
    let _ = world.api.settle(&decides("approve", &other, second)).await.problem(400, "approval_stale");
    // It is cancelled in the same way.
    let cancel = world.api.settle(&post(CANCELLATION, owner, &json!({"version": 2}))).await.good();
    assert_eq!(cancel.status, 202);
    let _ = world.api.settle(&decides("approve", &cancel.text("/approval_id"), second)).await.good();
    assert_eq!(statuses(&world).await, listed(&[(2, "cancelled"), (1, "in_force")]));
    // One whose time has come too near when it is approved is never executed.
    let late = post(CHANGES, owner, &body(&json!({"points_rate": "0.03"}), from));
    let late = world.api.settle(&late).await.good().text("/approval_id");
    clock.forward(Duration::from_secs(55 * 60));
    let _ = world.api.settle(&decides("approve", &late, second)).await.problem(400, "approval_stale");
    assert_eq!(statuses(&world).await, listed(&[(2, "cancelled"), (1, "in_force")]));
    let again = world.api.settle(&approve).await;
    assert_eq!((again.stored(), again.replayed()), (approved.stored(), true));
    let books = world.check_books().await;
    let acts = books.under("AUDIT#").filter(|(_, _, act)| text(act, "action") == "terms_change");
    assert_eq!(acts.count(), 1);
}

#[tokio::test]
async fn cancellation_near_the_time_is_refused() {
    let (world, clock) = timed("terms-near", |_| {}).await;
    let from = in_an_hour(&world);
    let change = body(&json!({"points_rate": "0.02"}), from);
    let _ = world.executes(&post(CHANGES, &world.operator.who, &change)).await.good();
    clock.forward(Duration::from_secs(55 * 60));
    let cancel = post(CANCELLATION, &world.operator.who, &json!({"version": 2}));
    let refused = world.api.settle(&cancel).await.problem(400, "wrong_state");
    assert!(refused.text("/detail").contains("can no longer be cancelled"), "{refused:?}");
    assert_eq!(statuses(&world).await, listed(&[(2, "scheduled"), (1, "in_force")]));
}

/// Limits of a version bound payments from its time on, also where the configuration had none.
#[tokio::test]
async fn limit_of_a_version_holds_from_its_time_and_accounts_may_have_their_own() {
    let (world, clock) = timed("terms-limits", |_| {}).await;
    let (merchant, customer) = (world.merchant().await, world.customer_with("20000").await);
    let from = in_an_hour(&world);
    let change = json!({"limits.customer.ECOPAY.pay_operation": "1000"});
    let _ = world.executes(&post(CHANGES, &world.operator.who, &body(&change, from))).await.good();
    let _ = world.api.settle(&customer.pays(&merchant, "1001")).await.good();
    clock.forward(HOUR);
    let _ = world.api.settle(&customer.pays(&merchant, "1001")).await.problem(400, "limit_exceeded");
    let _ = world.api.settle(&customer.pays(&merchant, "1000")).await.good();
    let own = json!({
        "account": format!("customer:{}", customer.id), "asset": "ECOPAY", "limits": {"pay_operation": "3000"},
    });
    let _ = world.executes(&post("/v1/admin/account-limits", &world.operator.who, &own)).await.good();
    clock.forward(Duration::from_secs(61));
    let _ = world.api.settle(&customer.pays(&merchant, "3000")).await.good();
    // The next version keeps what accounts have of their own.
    clock.forward(TERMS_LEAD);
    let from = in_an_hour(&world);
    let change = json!({"limits.customer.ECOPAY.pay_operation": "500"});
    let _ = world.executes(&post(CHANGES, &world.operator.who, &body(&change, from))).await.good();
    clock.forward(HOUR);
    let _ = world.api.settle(&customer.pays(&merchant, "3000")).await.good();
    let stranger = world.customer_with("2000").await;
    let _ = world.api.settle(&stranger.pays(&merchant, "501")).await.problem(400, "limit_exceeded");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn other_roles_and_tenants_change_and_see_no_terms() {
    let (one, two) = (World::new("terms-roles").await, World::new("terms-roles-other").await);
    let change = body(&json!({"points_rate": "0.02"}), in_an_hour(&one));
    for role in ["viewer", "support", "operator", "treasurer", "approver", "auditor"] {
        let (_, who) = staff::member(&one, role).await;
        for (path, sent) in [(CHANGES, &change), (CANCELLATION, &json!({"version": 2}))] {
            let refused = one.api.send(&post(path, &who, sent)).await.problem(403, "permission_missing");
            assert_eq!(refused.text("/permission"), "terms.change", "{role}");
        }
        let read = one.api.send(&Call::get("/v1/admin/terms", &who)).await;
        let _ = if role == "support" { read.problem(403, "permission_missing") } else { read.good() };
    }
    let stored = one.api.settle(&post(CHANGES, &one.operator.who, &change)).await.good().text("/approval_id");
    let _ = two.api.settle(&decides("approve", &stored, &two.second.who)).await.problem(404, "not_found");
    let _ = one.api.settle(&decides("approve", &stored, &one.second.who)).await.good();
    assert_eq!(statuses(&two).await, listed(&[(1, "in_force")]));
}

#[tokio::test]
async fn terms_of_a_migrating_tenant_cannot_be_changed() {
    let world = World::legacy(Host::fresh(), "terms-migrating", Model::GodRecord).await;
    let change = body(&json!({"points_rate": "0.02"}), in_an_hour(&world));
    let _ = world.api.settle(&post(CHANGES, &world.operator.who, &change)).await.problem(400, "wrong_state");
    assert_eq!(statuses(&world).await, listed(&[(1, "in_force")]));
}
