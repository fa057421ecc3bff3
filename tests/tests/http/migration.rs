//! A tenant's migration over HTTP as its operator runs it: phase by phase, with requests of every kind in each phase;
//! back from the middle; and to the end, where only split records are left.
use ledger_core::keys::attr;
use ledger_core::migration::{Model, Phase};
use ledger_tests::audit::opt_text;
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::migrating::Migrating;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Merchant, World};
use ledger_tests::share;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The cards that one customer is given at most.
const CARDS_MAX: usize = 15;

/// The customer's profile, wallet and history by the customer API, without `updated_at`.
async fn customer_view(world: &World, customer: &Customer) -> [Value; 3] {
    let get = async |path: &str| world.api.send(&Call::get(path, &customer.who)).await.good().json();
    let mut wallet = get("/v1/me/balances").await;
    for balance in wallet["balances"].as_array_mut().expect("balances") {
        balance.as_object_mut().expect("a balance").remove("updated_at");
    }
    let mut profile = get("/v1/me").await;
    profile.as_object_mut().expect("a profile").remove("updated_at");
    [profile, wallet, get("/v1/me/transactions?limit=100").await]
}

fn number(text: &Value) -> i64 {
    text.as_str().expect("a number").parse().expect("a whole number")
}

async fn money(world: &World, customer: &Customer, asset: &str) -> i64 {
    number(&world.wallet(customer, asset).await["balance"])
}

async fn patch(world: &World, customer: &Customer, body: &Value) {
    let _ = world.api.settle(&Call::patch("/v1/me", &customer.who, body).key(new_key())).await.good();
}

/// Makes a request of every kind; in all, 100 yen move from the customer to the other one.
async fn make_requests(world: &World, merchant: &Merchant, customer: &Customer, other: &Customer, at: u8) {
    let before = (money(world, customer, "ECOPAY").await, money(world, other, "ECOPAY").await);
    let points = money(world, customer, "POINT").await;
    // 500 are paid and 300 of them refunded: five points are earned and three taken back.
    let pay = json!({"merchant_id": merchant.id, "amount": "500"});
    let paid = Call::post("/v1/me/payments", &customer.who, &pay).key(new_key());
    let payment = world.api.settle(&paid).await.good();
    let again = world.api.settle(&paid).await.good();
    assert!(again.replayed() && again.stored() == payment.stored(), "phase {at}");
    let _ = world.api.settle(&merchant.refunds(&payment.text("/payment_id"), "300")).await.good();
    let _ = world.api.settle(&customer.sends(other, "100")).await.good();
    // A voided hold is released in full.
    let held = world.api.settle(&merchant.authorizes(&customer.code(world).await, "400")).await.good();
    let _ = world.api.settle(&merchant.voids(&held.text("/payment_id"))).await.good();
    // More than the balance is refused.
    let poor = customer.pays(merchant, "49000");
    let short = world.api.settle(&poor).await.problem(400, "insufficient_balance");
    let missing = 49_000 - (before.0 - 300);
    assert_eq!(short.json()["balance_short"], json!(missing.to_string()), "phase {at}");
    world.adjust(&json!({"customer_id": customer.id}), "credit", "200").await;
    world.grant(customer, "POINT", "10").await;
    world.grant(other, "REGIONAL#aoba", "7").await;
    // Cleared fields stay cleared, and set fields stay set.
    patch(world, customer, &json!({"phone": null, "email": format!("phase{at}@example.com")})).await;
    patch(world, other, &json!({"phone": format!("+81-3-0000-{at:04}")})).await;
    let freeze = |status: &str| json!({"status": status, "reason": "for a test"});
    let path = format!("/v1/admin/customers/{}", customer.id);
    world.change(&path, &freeze("frozen")).await;
    let _ = world.api.settle(&customer.pays(merchant, "1")).await.problem(400, "account_frozen");
    world.change(&path, &freeze("active")).await;
    let after = (money(world, customer, "ECOPAY").await, money(world, other, "ECOPAY").await);
    assert_eq!(after, (before.0 - 100, before.1 + 100), "phase {at}");
    assert_eq!(money(world, customer, "POINT").await, points + 2 + 10, "phase {at}");
    let profile = &customer_view(world, customer).await[0];
    assert_eq!(profile["email"], json!(format!("phase{at}@example.com")));
    assert_eq!(profile.get("phone"), None, "phase {at}");
}

/// The cards that a customer sees.
async fn cards_of(world: &World, customer: &Customer) -> BTreeSet<String> {
    ids(&world.api.send(&Call::get("/v1/me/cards", &customer.who)).await.good().json(), "card_id")
}

fn ids(page: &Value, name: &str) -> BTreeSet<String> {
    let items = page["items"].as_array().expect("items").iter();
    items.map(|item| item[name].as_str().expect("an id").to_owned()).collect()
}

/// Runs all phases, and checks the customers' money in each of the share.
async fn run_all_phases(tenant: &str, model: Model) {
    let migrating = Migrating::start(tenant, model, 9).await;
    let (world, merchant) = (&migrating.world, &migrating.merchant);
    let [one, two, quiet] = [migrating.customer(0).await, migrating.customer(1).await, migrating.customer(4).await];
    let before = customer_view(world, &quiet).await;
    make_requests(world, merchant, &one, &two, 0).await;
    let (mut opened, chosen) = (Vec::new(), share::of_family(migrating.phases()));
    let mut cards = BTreeSet::new();
    for phase in migrating.phases() {
        let seen = [customer_view(world, &one).await, customer_view(world, &two).await];
        migrating.enter(phase).await;
        // Reads agree in environments that have not read the phase yet.
        for (customer, seen) in [&one, &two].into_iter().zip(&seen) {
            for (part, seen) in customer_view(world, customer).await.iter().zip(seen) {
                assert!(part == seen, "phase {phase}:\n{seen}\n{part}");
            }
        }
        assert_eq!(cards_of(world, &one).await, cards, "phase {phase}");
        if !chosen.contains(&phase) {
            continue;
        }
        if cards.len() < CARDS_MAX {
            cards.insert(world.card(Some(&one), "0").await);
            assert_eq!(cards_of(world, &one).await, cards, "phase {phase}");
        }
        make_requests(world, merchant, &one, &two, phase.number()).await;
        migrating.settle();
        make_requests(world, merchant, &two, &one, phase.number()).await;
        let new = world.customer_with("1000").await;
        make_requests(world, merchant, &new, &two, phase.number()).await;
        opened.push(new);
        let _ = world.check_books().await;
    }
    migrating.contract().await;
    assert_eq!(cards_of(world, &one).await, cards);
    for customer in &opened {
        assert_eq!(money(world, customer, "ECOPAY").await, 900);
    }
    make_requests(world, merchant, &one, &two, 99).await;
    let _ = world.check_books().await;
    let now = customer_view(world, &quiet).await;
    assert_eq!((&now[0], &now[1]), (&before[0], &before[1]), "an idle customer keeps profile and wallet");
    check_legacy_remains(world, model).await;
}

/// After the contraction the legacy items keep only attributes unknown to the ledger, and the name of the transaction that
/// last wrote them.
async fn check_legacy_remains(world: &World, model: Model) {
    let rows = world.books().await;
    let mut records = 0;
    for row in rows.rows.values() {
        let text = |name: &str| opt_text(row, name).unwrap_or_default();
        let is_own = |name: &&str| !["uuid", "type"].contains(name) && !name.starts_with(attr::OUTSIDE_SEAL);
        let names: Vec<&str> = row.keys().map(String::as_str).filter(is_own).collect();
        if text("type") == "customer" {
            records += 1;
            assert!(names.iter().all(|name| ["fence_phase", "loyalty_tier"].contains(name)), "{names:?}");
        }
        if text("type") == "METRICS" && model == Model::HalfWay {
            assert!(!names.iter().any(|name| name.starts_with("point") || name.starts_with("jcredit")), "{names:?}");
        }
        if text("type").starts_with("history#") {
            assert!(row.contains_key("ttl"), "{}", text("type"));
        }
    }
    assert!(records >= 9, "{records}");
}

#[tokio::test]
async fn migration_from_god_record_keeps_all_money() {
    run_all_phases("legacy-god", Model::GodRecord).await;
}

#[tokio::test]
async fn migration_from_half_way_model_keeps_all_money() {
    run_all_phases("legacy-half", Model::HalfWay).await;
}

/// A God Record is in no list. What the legacy model has no place for is refused until the migration has ended; then every
/// customer is listed and searched, also one that no request has touched.
#[tokio::test]
async fn customers_are_listed_once_the_migration_has_ended() {
    let migrating = Migrating::start("legacy-lists", Model::GodRecord, 4).await;
    let world = &migrating.world;
    let one = migrating.customer(0).await;
    let opened = world.customer_with("1000").await;
    let path = |of: &str| format!("/v1/admin/customers/{}{of}", one.id);
    let operator = &world.operator.who;
    let search = async |body: Value| {
        let call = Call::post("/v1/admin/customers/search", operator, &body);
        ids(&world.api.send(&call).await.good().json(), "customer_id")
    };
    let reason = json!({"reason": "for a test"});
    let kana = json!({"kana": "ハナコ", "reason": "for a test"});
    let phases = std::iter::once(None).chain(migrating.phases().into_iter().map(Some));
    for phase in phases {
        if let Some(phase) = phase {
            migrating.enter(phase).await;
        }
        let name = Call::post("/v1/admin/customers/search", operator, &json!({"name": "Customer"}));
        for call in [
            Call::get("/v1/admin/customers", operator),
            Call::get(&path("/file"), operator),
            name,
            Call::post(&path("/close"), operator, &reason).key(new_key()),
            Call::post(&path("/sign-in"), operator, &json!({"subject": new_id(), "reason": "lost"})).key(new_key()),
            Call::post("/v1/admin/wind-downs", operator, &reason).key(new_key()),
        ] {
            let refused = world.api.send(&call).await.problem(400, "wrong_state").text("/detail");
            assert!(refused.contains("legacy model"), "{refused}");
        }
        for call in [
            Call::patch(&path(""), operator, &kana).key(new_key()),
            Call::patch("/v1/me", &one.who, &json!({"kana": "ハナコ"})).key(new_key()),
            Call::post("/v1/admin/customers", operator, &json!({"name": "Hanako", "kana": "ハナコ"})).key(new_key()),
        ] {
            let refused = world.api.send(&call).await.problem(400, "invalid_request").json();
            assert_eq!(refused["field"], json!("kana"), "{refused}");
        }
    }
    patch(world, &one, &json!({"email": "changed@example.com"})).await;
    let pass = migrating.contract().await;
    assert_eq!((&pass["done"], &pass["changed"]), (&json!(5), &json!(5)), "{pass}");
    let mut all = BTreeSet::from([opened.id.clone()]);
    for number in 0..4 {
        all.insert(migrating.customer(number).await.id);
    }
    let listed = world.api.send(&Call::get("/v1/admin/customers", operator)).await.good().json();
    assert_eq!(ids(&listed, "customer_id"), all);
    let quiet = migrating.customer(2).await.id;
    assert_eq!(search(json!({"email": "Customer2@example.com"})).await, [quiet].into());
    assert_eq!(search(json!({"phone": "+81-90-00000003"})).await, [migrating.customer(3).await.id].into());
    assert_eq!(search(json!({"email": "changed@example.com"})).await, [one.id.clone()].into());
    assert_eq!(search(json!({"email": "customer0@example.com"})).await, BTreeSet::new());
    assert_eq!(search(json!({"name": "customer"})).await.len(), 4);
    world.change(&path(""), &kana).await;
    assert_eq!(search(json!({"kana": "はなこ"})).await, [one.id.clone()].into());
    let _ = world.api.send(&Call::get(&path("/file"), operator)).await.good();
    let close = Call::post(&path("/close"), operator, &reason).key(new_key());
    let refused = world.api.send(&close).await.problem(400, "wrong_state").json();
    assert_eq!(refused["open"][0], json!("balance:ECOPAY"), "a customer with money stays open: {refused}");
    let _ = world.check_books().await;
}

/// Of an address that is changed the previous one is kept, and a missing recipient has the same refusal as one above the cap.
#[tokio::test]
async fn previous_address_is_kept_and_a_recipient_is_not_disclosed_in_each_phase() {
    let migrating = Migrating::start("legacy-notices", Model::GodRecord, 3).await;
    let (world, tap) = (&migrating.world, EventTap::default());
    let [one, full] = [migrating.customer(0).await, migrating.customer(1).await];
    world.adjust(&json!({"customer_id": full.id}), "credit", "39000").await;
    let missing = Customer { id: new_id(), who: full.who.clone() };
    let mut previous = "0@example.jp".to_owned();
    let patch = async |email: &str| {
        let call = Call::patch("/v1/me", &one.who, &json!({ "email": email })).key(new_key());
        let _ = world.api.settle(&call).await.good();
    };
    patch(&previous).await;
    let _ = world.announce_notices(&tap).await.expect("the run succeeds");
    let phases = std::iter::once(None).chain(migrating.phases().into_iter().map(Some));
    for (number, phase) in phases.enumerate() {
        if let Some(phase) = phase {
            migrating.enter(phase).await;
        }
        let next = format!("{}@example.jp", number + 1);
        patch(&next).await;
        assert_eq!(world.announce_notices(&tap).await.expect("the run succeeds"), 1, "phase {number}");
        let event: Value = serde_json::from_str(&tap.announced().pop().expect("an event").detail).expect("JSON");
        let path = format!("/v1/admin/notices/{}", event["notice_id"].as_str().expect("an id"));
        let notice = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
        assert_eq!((&notice["previous_email"], &notice["customer_id"]), (&json!(previous), &json!(one.id)));
        previous = next;
        for recipient in [&full, &missing] {
            let _ = world.api.settle(&one.sends(recipient, "1100")).await.problem(400, "recipient_unavailable");
        }
    }
    let _ = world.check_books().await;
}

#[tokio::test]
async fn migration_goes_back_to_first_phase_and_forward_again() {
    let migrating = Migrating::start("legacy-back", Model::GodRecord, 4).await;
    let (world, merchant) = (&migrating.world, &migrating.merchant);
    let [one, two] = [migrating.customer(0).await, migrating.customer(1).await];
    for phase in migrating.phases() {
        migrating.enter(phase).await;
    }
    make_requests(world, merchant, &one, &two, 28).await;
    let chosen = share::of_family(0..28);
    for phase in (0..28).rev() {
        migrating.settle();
        let _ = world.put_phase(phase).await.good();
        if chosen.contains(&phase) {
            make_requests(world, merchant, &one, &two, phase).await;
            let _ = world.check_books().await;
        }
    }
    for phase in migrating.phases() {
        migrating.enter(phase).await;
        if chosen.contains(&phase.number()) {
            make_requests(world, merchant, &two, &one, phase.number()).await;
        }
    }
    migrating.contract().await;
    let _ = world.check_books().await;
}

#[tokio::test]
async fn phase_is_entered_only_after_its_passes() {
    let migrating = Migrating::start("legacy-evidence", Model::GodRecord, 3).await;
    let world = &migrating.world;
    let refused = async |number: u8, code: &str, what: &str| {
        let detail = world.put_phase(number).await.problem(400, code).text("/detail");
        assert!(detail.contains(what), "{detail}");
    };
    refused(2, "invalid_request", "change by one phase").await;
    refused(29, "invalid_request", "from 0 to 28").await;
    let _ = world.put_phase(1).await.good();
    refused(2, "wrong_state", "just changed").await;
    migrating.settle();
    refused(2, "wrong_state", "no pass has been run").await;
    migrating.clean("backfill").await;
    let _ = world.put_phase(2).await.good();
    migrating.settle();
    refused(3, "wrong_state", "no pass has been run").await;
    migrating.clean("verify").await;
    let _ = world.put_phase(1).await.good();
    migrating.settle();
    refused(2, "wrong_state", "under another setting").await;
    migrating.clean("backfill").await;
    let _ = world.put_phase(2).await.good();
    migrating.settle();
    refused(3, "wrong_state", "under another setting").await;
    let detail = world.request_pass("contract", &json!({})).await.problem(400, "wrong_state").text("/detail");
    assert!(detail.contains("last phase"), "{detail}");
}

#[tokio::test]
async fn pass_continues_where_it_stopped() {
    let migrating = Migrating::start("legacy-slices", Model::HalfWay, 30).await;
    let world = &migrating.world;
    let _ = world.put_phase(1).await.good();
    migrating.settle();
    let answer = world.request_pass("backfill", &json!({"customers_per_second": 5})).await.good();
    assert_eq!(answer.json()["status"], "waiting");
    let _ = migrating.slice(Duration::from_millis(900)).await;
    let pass = world.last_pass("backfill").await;
    let seen = pass["done"].as_i64().expect("a count");
    assert!((5..30).contains(&seen) && pass["status"] == "running", "{pass}");
    let pass = migrating.clean("backfill").await;
    assert_eq!((&pass["done"], &pass["changed"]), (&json!(30), &json!(30)));
    assert_eq!(migrating.clean("backfill").await["changed"], json!(0), "a repeated backfill changes nothing");
    assert_eq!(Phase::all(Model::HalfWay).count(), 25);
}
