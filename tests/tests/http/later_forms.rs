//! Records of a later release: the format of a tenant, and the form of an item. What meets one refuses it, and writes
//! nothing.
use ledger_core::dynamo::{Item, Value};
use ledger_core::ids::Tenant;
use ledger_core::keys::{Key, Shards, kind_of};
use ledger_runtime::app::App;
use ledger_runtime::metrics::Metric;
use ledger_runtime::publishing::Publisher;
use ledger_runtime::reconcile::{Outlets, Settings};
use ledger_runtime::worker::Due;
use ledger_tests::cloud::gate;
use ledger_tests::engine::Contents;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::topup_rig::Rig;
use ledger_tests::http::world::{World, new_key};
use ledger_tests::http::{Answer, Call, Customer};
use ledger_tests::share;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A process refuses with this, and says no more.
fn refused(answer: Answer, what: &str) {
    let answer = answer.problem(503, "unavailable");
    let detail = answer.text("/detail");
    assert_eq!(detail, "A record was written by a later release of the ledger. Nothing was done.", "{what}");
}

/// Plants an item as it is stored, with one attribute more.
async fn plant_with(stage: &Stage, (pk, sk): (&str, &str), attribute: &str) -> Item {
    let tenant = stage.world.slug().to_string();
    let stored = stage.world.stored(&tenant).await;
    let found = stored.iter().find(|((of, at), _)| of == pk && at == sk);
    let (_, row) = found.unwrap_or_else(|| panic!("no item {pk} {sk}"));
    let mut later = row.clone();
    later.insert(attribute.to_owned(), Value::int(2));
    stage.world.plant(later).await;
    row.clone()
}

async fn run_every_worker(app: &App, tenant: &Tenant) -> Vec<(&'static str, Result<(), u16>)> {
    let publisher = Publisher::new(app, Arc::new(EventTap::default()));
    let due = Due::everything(tenant.clone());
    let (outlets, settings) = (Outlets::default(), Settings::of(app));
    let ends = [
        ("outbox", gate::as_function("outbox", outbox::pass_and_fold(app, Some(&publisher), tenant)).await.map(drop)),
        ("outbox", gate::as_function("outbox", outbox::run_due(app, tenant)).await.map(drop)),
        ("jobs", gate::as_function("jobs", jobs::run_due(app, tenant)).await.map(drop)),
        (
            "reconcile",
            gate::as_function("reconcile", reconcile::run_as((app, &outlets), &due, &settings)).await.map(drop),
        ),
        ("migrate", gate::as_function("migrate", migrate::run(app, &due)).await.map(drop)),
    ];
    ends.into_iter().map(|(name, end)| (name, end.map_err(|problem| problem.status().as_u16()))).collect()
}

#[tokio::test]
async fn format_of_a_later_release_stops_every_endpoint_and_worker() {
    let rig = Rig::new().await;
    let stage = rig.stage("later-format").await;
    let mut calls = Vec::new();
    // A terminal's request is signed by its own client.
    let is_sent = |endpoint: &Endpoint| !endpoint.is_migrations() && !endpoint.is_terminals();
    for endpoint in share::of_family(Endpoint::wallet().filter(is_sent)) {
        calls.push((endpoint, endpoint.prepare(&stage).await.call));
    }
    // An entry to be published and sealed.
    let _ = stage.paid("100").await;
    let _ = plant_with(&stage, ("later-format#tenant#root", "CONFIG"), "format").await;
    let before = stage.world.stored("later-format").await;
    let actor = rig.actor().await;
    for (endpoint, call) in &calls {
        refused(actor.send(call).await, &format!("{endpoint:?}"));
    }
    let ends = run_every_worker(&actor.app, &stage.world.slug()).await;
    // A tenant that does not migrate has no passes.
    assert!(ends.iter().all(|(name, end)| *name == "migrate" || *end == Err(503)), "{ends:?}");
    assert!(stage.world.stored("later-format").await == before, "something was written");
    assert!(actor.counted(Metric::FailClosed) > 0, "an alarm watches this count");
}

#[tokio::test]
async fn item_of_a_later_form_is_refused_and_left_alone() {
    let rig = Rig::new().await;
    let stage = rig.stage("later-form").await;
    let world = &stage.world;
    let customer = world.customer_with("5000").await;
    let payment = world.api.settle(&customer.pays(&stage.merchant, "1000")).await.good().text("/payment_id");
    let (holder, _) = stage.paid("500").await;
    let other = world.customer_with("5000").await;
    let merchant = &stage.merchant;
    let elsewhere = world.merchant().await;
    let paid = customer.pays(merchant, "1").key(new_key());
    let _ = world.api.settle(&paid).await.good();
    let of = |kind: &str, id: &str| format!("later-form#{kind}#{id}");
    let marker = format!("card_op_idem#pay#{}", paid.key.as_deref().expect("a key"));
    let entry = {
        let stored = world.stored("later-form").await;
        let mut rows = stored.keys().filter(|(pk, sk)| *pk == of("customer", &customer.id) && sk.starts_with("TXN#"));
        rows.next().expect("an entry").1.clone()
    };
    let cases: Vec<(&str, (String, String), Call)> = vec![
        ("a payment", (of("payment", &payment), "PAYMENT".into()), merchant.refunds(&payment, "1")),
        ("a marker", (of("customer", &customer.id), marker), paid.clone()),
        ("an entry", (of("customer", &customer.id), entry), Call::get("/v1/me/transactions", &customer.who)),
        ("a balance", (of("customer", &holder.id), "BALANCE#ECOPAY".into()), Call::get("/v1/me/balances", &holder.who)),
        ("a customer", (of("customer", &holder.id), "PROFILE".into()), Call::get("/v1/me", &holder.who)),
        ("a merchant", (of("merchant", &merchant.id), "PROFILE".into()), customer.pays(merchant, "2")),
    ];
    for (what, (pk, sk), call) in cases {
        let written = plant_with(&stage, (&pk, &sk), "f").await;
        let before = world.stored("later-form").await;
        let actor = rig.actor().await;
        refused(actor.send(&call).await, what);
        // Leases of request rates are of the tenant, not of the item.
        let without_rates = |mut rows: Contents| {
            rows.retain(|(_, sk), _| !sk.starts_with("RATE#"));
            rows
        };
        let after = world.stored("later-form").await;
        assert!(without_rates(before) == without_rates(after), "{what}: something was written");
        let _ = actor.settle(&other.pays(&elsewhere, "1")).await.good();
        world.plant(written).await;
    }
}

/// What is updated without being read, with the reason. The tenant's `format` alone protects such items.
const UPDATED_BLINDLY: [(&str, &str); 8] = [
    ("balance", "an update says by how much it changes"),
    ("card", "the same"),
    ("shop", "the same, of its terminals and staff"),
    ("PIN of a card", "a later one replaces it, and staff remove it"),
    ("event that needs review", "a decision takes it from the list"),
    ("payment code", "a later code replaces it"),
    ("what a customer is found by", "it is written whole with the profile"),
    ("what a merchant is found by", "the same"),
];

#[tokio::test]
async fn items_of_a_later_form_are_left_alone_in_each_kind() {
    let stage = Stage::new(World::alone("later-kinds").await).await;
    let world = &stage.world;
    let mut calls = Vec::new();
    for endpoint in share::of_family(Endpoint::ALL.into_iter().filter(|endpoint| !endpoint.is_migrations())) {
        calls.push(endpoint.prepare(&stage).await.call);
    }
    let _ = run_every_worker(&world.app, &world.slug()).await;
    // Requests and workers get as far as the records: what says who they are and what the tenant is stays as it was.
    let is_root = |pk: &str| pk.ends_with("#tenant#root");
    let (mut planted, mut kinds) = (Contents::new(), BTreeSet::new());
    for ((pk, sk), mut row) in world.stored("later-kinds").await {
        let kind = kind_of(&pk, &sk).expect("a known kind").name;
        if !is_root(&pk) && sk != "PROFILE" && !sk.starts_with("STAFF#") {
            row.insert("f".to_owned(), Value::int(2));
            world.plant(row.clone()).await;
            kinds.insert(kind);
            planted.insert((pk, sk), row);
        }
    }
    assert!(kinds.len() > 30, "{kinds:?}");
    for call in &calls {
        let _ = world.api.send(call).await;
    }
    for _ in 0..2 {
        let _ = run_every_worker(&world.app, &world.slug()).await;
    }
    let after = world.stored("later-kinds").await;
    let changed: BTreeSet<&str> = planted
        .iter()
        .filter(|(key, row)| after.get(*key) != Some(row))
        .map(|((pk, sk), _)| kind_of(pk, sk).expect("a known kind").name)
        .collect();
    assert!(changed.iter().all(|kind| UPDATED_BLINDLY.iter().any(|(known, _)| known == kind)), "{changed:?}");
    let (customer, merchant) = (world.customer_with("1000").await, world.merchant().await);
    let _ = world.api.settle(&customer.pays(&merchant, "1")).await.good();
}

#[tokio::test]
async fn entry_of_a_later_form_waits_to_be_published_and_sealed() {
    let world = World::alone("later-entries").await;
    let (one, other) = (world.customer_with("1000").await, world.customer_with("1000").await);
    let merchant = world.merchant().await;
    let tap = EventTap::default();
    let publisher = Publisher::new(&world.app, Arc::new(tap.clone()));
    let slug = world.slug();
    let pass = async || gate::as_function("outbox", outbox::pass_and_fold(&world.app, Some(&publisher), &slug)).await;
    let _ = pass().await.expect("nothing is of a later form");
    tap.forget();
    let paid = async |customer: &Customer| {
        world.api.settle(&customer.pays(&merchant, "10")).await.good().text("/transaction_id")
    };
    let (entry, of_other) = (paid(&one).await, paid(&other).await);
    let of_one = format!("later-entries#customer#{}", one.id);
    let written = world.stored("later-entries").await[&(of_one.clone(), format!("TXN#{entry}"))].clone();
    // An item that is no entry, in the partition of entries that are due.
    let (payment, sk) = (format!("later-entries#payment#{entry}"), "PAYMENT");
    let mut no_entry = written.clone();
    no_entry.extend([("uuid".to_owned(), Value::s(&payment)), ("type".to_owned(), Value::s(sk))]);
    let mut planted = Vec::new();
    for mut row in [written.clone(), no_entry] {
        row.insert("f".to_owned(), Value::int(2));
        world.plant(row.clone()).await;
        planted.push(row);
    }
    let keys = [(of_one.clone(), format!("TXN#{entry}")), (payment.clone(), sk.to_owned())];
    for _ in 0..2 {
        assert_eq!(pass().await.map_err(|problem| problem.status().as_u16()), Err(503), "it rings");
    }
    let stored = world.stored("later-entries").await;
    for (key, row) in keys.iter().zip(&planted) {
        assert_eq!(stored.get(key), Some(row), "it is left alone");
    }
    let published = || tap.delivered().into_iter().map(|event| event.id).collect::<Vec<_>>();
    assert_eq!(published(), std::slice::from_ref(&of_other), "other accounts go on");
    assert_eq!(tap.letters(), Vec::<serde_json::Value>::new(), "nothing is put aside");
    let key = Key::stored(&slug, &of_one, &keys[0].1).expect("a key");
    let again = gate::as_function("outbox", publisher.again(&slug, Shards::ONE, &key)).await;
    assert_eq!(again.expect("the stream goes on").waiting, 1);
    // The release that reads the form.
    world.plant(written).await;
    world.remove(&payment, sk).await;
    let _ = pass().await.expect("all is read");
    assert_eq!(published(), [of_other, entry.clone()]);
    let sealed = &world.stored("later-entries").await[&keys[0]];
    assert!(sealed.contains_key("_sealed") && !sealed.contains_key("_due_pk"), "{sealed:?}");
}

#[tokio::test]
async fn items_of_a_later_release_are_counted_by_name_and_are_no_breaks() {
    let rig = Rig::new().await;
    let stage = rig.stage("later-counted").await;
    let (customer, _) = stage.paid("1000").await;
    let partition = format!("later-counted#customer#{}", customer.id);
    let _ = plant_with(&stage, (&partition, "PROFILE"), "f").await;
    let lot = [("uuid", Value::S(partition)), ("type", Value::s("LOT#1")), ("amount", Value::int(5))];
    stage.world.plant(lot.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).await;
    let run = stage.world.reconciled().await;
    assert_eq!((&run["status"], &run["breaks"]), (&json!("unsettled"), &json!({})), "{run}");
    assert_eq!(run["newer"], json!({"customer": 1, "unknown kind": 1}));
}
