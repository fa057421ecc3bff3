//! The audit trail records every act, attempt and answer, and verification finds what is planted.
use futures::future::join;
use ledger_core::dynamo::{self, Item};
use ledger_core::ids::Tenant;
use ledger_core::sealing::Fault as Wrong;
use ledger_core::time::UtcDay;
use ledger_local::audit_command::{self, VerifyCommand};
use ledger_local::opened::Place;
use ledger_local::stack::TABLE_DEFAULT;
use ledger_runtime::problem::Problem;
use ledger_runtime::sealing::{OVERDUE_AFTER, Sealed, Verified, Verify, verify};
use ledger_tests::audit::{Books, n, opt_text, s, text};
use ledger_tests::cloud::gate;
use ledger_tests::http::books::null;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::topup_rig::{Actor, LEASE_OVER, Rig};
use ledger_tests::http::workers;
use ledger_tests::http::{Call, Host, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

const RECORDS: [&str; 3] = ["TXN#", "AUDIT#", "TRAIL#"];

pub(crate) async fn seal(actor: &Actor, tenant: &str) -> Result<Sealed, Problem> {
    let tenant = Tenant::parse(tenant).expect("a slug");
    workers::seal(&actor.app, &tenant).await
}

/// Verifies the tenant's whole trail as of `later` from now.
pub(crate) async fn verified_in(world: &World, later: Duration, head: Option<&str>) -> Verified {
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    let shards = gate::as_test(world.app.terms(&tenant)).await.expect("terms").due_shards;
    let (from, to, now) = (UtcDay::MIN, UtcDay::MAX, world.app.now().plus(later));
    let request = Verify { tenant, from, to, head: head.map(str::to_owned), shards, now };
    gate::as_test(verify(world.app.dynamo(), &request)).await.expect("the store is available")
}

pub(crate) async fn verified(world: &World) -> Verified {
    verified_in(world, Duration::ZERO, None).await
}

/// Keys of all records of the trail.
pub(crate) fn records(books: &Books) -> Vec<(String, String)> {
    let under = RECORDS.into_iter().flat_map(|prefix| books.under(prefix));
    under.map(|(pk, sk, _)| (pk.to_owned(), sk.to_owned())).collect()
}

/// A world with payments, acts and a top-up.
pub(crate) async fn busy(rig: &Rig, name: &str) -> World {
    let scene = rig.scene(name).await;
    let (merchant, customer) = join(scene.world.merchant(), scene.world.customer_with("1000")).await;
    let _ = scene.paid().await;
    for _ in 0..3 {
        let _ = scene.world.api.settle(&customer.pays(&merchant, "10")).await.good();
    }
    scene.world
}

/// Asserts that every record is sealed once, its due index entry is removed, and verification finds nothing.
pub(crate) async fn assert_all_sealed(world: &World, name: &str) {
    let found = verified_in(world, OVERDUE_AFTER * 2, None).await;
    assert_eq!(found.findings, [], "{name}");
    let books = world.books().await;
    books.check_sealed();
    let all = records(&books);
    assert_eq!(found.records, all.len() as u64, "{name}");
    for (pk, sk) in all {
        let row = books.row(&pk, &sk).expect("a row");
        assert!(opt_text(row, "_sealed").is_some() && !row.contains_key("_due_pk"), "{name}: {pk} {sk} {row:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_staff_act_is_on_record() {
    let stage = Stage::new(World::with_terms(Host::fresh(), "acts", |_| {}).await).await;
    let acts = async || stage.world.books().await.under("AUDIT#").count();
    let mut looked_at = 0;
    for endpoint in Endpoint::ALL {
        let prepared = endpoint.prepare(&stage).await;
        // A customer's change of an address is on record too.
        let is_act = endpoint == Endpoint::ProfilePatch
            || ["/v1/admin/", "/v1/merchant/staff", "/v1/merchant/shops", "/v1/merchant/terminals"]
                .iter()
                .any(|path| prepared.call.path.starts_with(path));
        let before = acts().await;
        let _ = stage.world.api.settle(&prepared.call).await.good();
        assert_eq!(acts().await - before, usize::from(is_act), "{endpoint:?}");
        looked_at += usize::from(is_act);
    }
    assert!(looked_at > 10, "{looked_at}");
    // Each act names its actor and reason, and is listed by day.
    let staff = &stage.world.operator;
    let today = stage.world.app.now().utc_day();
    let page = stage.world.api.send(&Call::get(&format!("/v1/admin/audit?day={today}&limit=100"), &staff.who)).await;
    let page = page.good().json();
    let acts = page["items"].as_array().expect("items");
    // The first owners are set by a command, and a terminal enrols itself.
    let by_staff = |act: &Value| {
        let actor = act["actor"].as_str().unwrap_or_default();
        ["staff:", "merchant_staff:", "terminal:"].iter().any(|kind| actor.starts_with(kind)) || actor == "system"
    };
    assert!(acts.iter().all(by_staff), "{page}");
    assert!(acts.iter().any(|act| act["reason"].is_string()), "{page}");
    let long_ago = Call::get("/v1/admin/audit?day=2020-01-01", &staff.who);
    assert_eq!(stage.world.api.send(&long_ago).await.good().json()["items"], json!([]));
    // No record of the trail expires.
    let books = stage.world.books().await;
    for (pk, sk) in records(&books) {
        assert!(!books.row(&pk, &sk).expect("a row").contains_key("ttl"), "{pk} {sk} would be deleted");
    }
}

/// The trail records of a top-up, as the operator API lists them.
async fn trail_of(world: &World, resource: &str) -> Vec<Value> {
    let call = Call::get(&format!("/v1/admin/audit?resource={resource}"), &world.operator.who);
    world.api.send(&call).await.good().json()["items"].as_array().expect("items").clone()
}

/// One step as a line: action, attempt, outcomes, states.
fn line_of_step(step: &Value) -> String {
    let outcomes = step["answers"].as_array().cloned().unwrap_or_default();
    let outcomes: Vec<&str> = outcomes.iter().filter_map(|outcome| outcome["outcome"].as_str()).collect();
    let states = step["states"].as_object().cloned().unwrap_or_default();
    let states: Vec<String> = states.iter().map(|(of, state)| format!("{of}={}", state.as_str().unwrap())).collect();
    let parts = [step["action"].as_str().unwrap(), step["attempt"].as_str().unwrap_or("-")];
    format!("{} {} {}", parts.join(" "), outcomes.join(","), states.join(",")).trim_end().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_topup_attempt_and_answer_is_on_record() {
    let rig = Rig::new().await;
    let (scene, client, worker) = (rig.scene("attempts").await, rig.actor().await, rig.actor().await);
    client.psp.next_sends([Some(Mishap::LostBefore), Some(Mishap::LostAfter)]);
    let call = scene.topup();
    assert_eq!(client.send(&call).await.status, 503);
    worker.clock.ahead(LEASE_OVER);
    assert_eq!(worker.recover(&scene).await.expect("the run succeeds").completed, 1);
    scene.pay();
    worker.deliver_all(&scene, &scene.events()).await;
    let id = client.settle(&call).await.good().text("/topup_id");
    let trail = trail_of(&scene.world, &format!("topup:{id}")).await;
    let words: Vec<String> = trail.iter().map(line_of_step).collect();
    assert_eq!(
        words,
        [
            "topup.claimed 1  claim=IN_FLIGHT,topup=requested",
            "topup.sent_again 2 unknown",
            "topup.answered - unknown",
            "topup.taken_over 1  claim=IN_FLIGHT",
            "topup.answered - done claim=COMPLETED,topup=pending",
            "topup.reported - reported topup=succeeded",
            "topup -",
        ]
    );
    assert_eq!(trail[0]["actor"], json!(format!("customer:{}", scene.customer.id)));
    assert_eq!(trail[3]["reason"], "lease_over");
    let times: Vec<&str> = trail.iter().map(|step| step["created_at"].as_str().expect("a time")).collect();
    assert!(times.is_sorted(), "{times:?}");
    // The trail holds no personal data and no secret.
    let text = json!(trail).to_string();
    assert!(!text.contains("_secret_") && !text.contains('@'), "{text}");
    let unknown = Call::get("/v1/admin/audit?resource=wallet:1", &scene.world.operator.who);
    let _ = scene.world.api.send(&unknown).await.problem(400, "invalid_request");
    let _ = scene.world.check_books().await;
}

/// The faults found, each with the sort key of its record.
async fn wrong(world: &World) -> BTreeSet<(&'static str, String)> {
    verified(world).await.findings.iter().map(|found| (found.fault.name(), found.key.sk().to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planted_edits_and_deletions_are_found() {
    let rig = Rig::new().await;
    let (world, worker) = (busy(&rig, "planted").await, rig.actor().await);
    let overdue = verified_in(&world, OVERDUE_AFTER * 2, None).await.findings;
    assert!(!overdue.is_empty() && overdue.iter().all(|found| found.fault == Wrong::Unsealed), "{overdue:?}");
    for _ in 0..3 {
        world.grant(&world.customer().await, "POINT", "5").await;
        let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    }
    worker.clock.ahead(Duration::from_secs(60 * 60));
    let _ = seal(&worker, &world.tenant).await.expect("the run succeeds");
    worker.clock.ahead(Duration::ZERO);
    assert_all_sealed(&world, "planted").await;

    let books = world.books().await;
    let stored = |(pk, sk, _)| books.stored(pk, sk).expect("a row").clone();
    let first = |prefix: &'static str| books.under(prefix).map(stored).next().expect("a row");
    for (row, attribute, value) in [
        (first("TXN#"), "actor", s("staff:somebody")),
        (first("TXN#"), "postings", dynamo::Value::L(Vec::new())),
        (first("AUDIT#"), "memo_hash", dynamo::Value::B(vec![4])),
        (first("AUDIT#"), "more", null()),
        (first("TRAIL#"), "created_at", s("2026-11-21T03:00:00.000Z")),
        (first("TRAIL#"), "_sealed", s("L0/9")),
        (first("SEGMENT#"), "records", dynamo::Value::B(vec![4])),
        (first("SEGMENT#"), "sealed_at", s("2026-11-21T03:00:00.000Z")),
        (first("BINDING#"), "day_records", n("77")),
    ] {
        world.plant(with(&row, attribute, value)).await;
        let found = wrong(&world).await;
        assert!(found.contains(&("edited", text(&row, "type").to_owned())), "{attribute}: {found:?}");
        // The tests' audit computes everything again.
        assert!(!world.books().await.findings_when_sealed().is_empty(), "{attribute}");
        world.plant(row).await;
        assert_eq!(wrong(&world).await, BTreeSet::new());
    }
    // A head that is set back, or that has one lane less than there are.
    for (head, attribute, value) in [("HEAD", "number", n("1")), ("LANES", "number", n("0"))] {
        let row = books.under(head).map(|(_, _, row)| row.clone()).next().expect("a row");
        world.plant(with(&row, attribute, value)).await;
        let found = wrong(&world).await;
        assert!(found.contains(&("broken_link", head.to_owned())), "{head}: {found:?}");
        assert!(!world.books().await.findings_when_sealed().is_empty(), "{head}");
        world.plant(row).await;
    }
    for prefix in ["TXN#", "AUDIT#", "TRAIL#", "SEGMENT#", "BINDING#", "LANES"] {
        // The day of a binding that another follows is not known when it is gone.
        let last = || books.under(prefix).map(stored).last().expect("a row");
        let row = if prefix == "BINDING#" { last() } else { first(prefix) };
        world.remove(text(&row, "uuid"), text(&row, "type")).await;
        let found = wrong(&world).await;
        assert!(found.contains(&("missing", text(&row, "type").to_owned())), "{prefix}: {found:?}");
        assert!(!world.books().await.findings_when_sealed().is_empty(), "{prefix}");
        world.plant(row).await;
    }
    assert_eq!(wrong(&world).await, BTreeSet::new());
}

pub(crate) fn with(row: &Item, attribute: &str, value: dynamo::Value) -> Item {
    let mut row = row.clone();
    let _ = row.insert(attribute.to_owned(), value);
    row
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_command_reports_the_head_of_the_seals_endpoint() {
    let host = Host::fresh();
    let (url, table) = (host.stack().dynamodb_url().to_owned(), host.stack().table().to_owned());
    let world = World::with_terms(host, "commanded", |_| {}).await;
    let (merchant, customer) = join(world.merchant(), world.customer_with("100")).await;
    let _ = world.api.settle(&customer.pays(&merchant, "10")).await.good();
    let sealed = world.seal().await.expect("the run succeeds");
    let seals = world.api.send(&Call::get("/v1/admin/audit/seals", &world.operator.who)).await.good().json();
    assert_eq!(seals["segments"], json!(sealed.segments));
    let head = seals["last"]["hash"].as_str().expect("a hash").to_owned();
    let command = |head: Option<&str>, from: Option<&str>| VerifyCommand {
        slug: "commanded".to_owned(),
        from: from.map(str::to_owned),
        to: None,
        head: head.map(str::to_owned),
        place: Place::Table { name: table.clone(), endpoint_url: Some(url.clone()) },
    };
    let (report, whole) = audit_command::run(&command(Some(&head), None)).await.expect("the run succeeds");
    assert!(whole && report.contains(&head) && report.ends_with("nothing is wrong"), "{report}");
    assert!(report.contains("\nlane L0/1 "), "{report}");
    let (report, whole) = audit_command::run(&command(Some(&"0".repeat(64)), None)).await.expect("the run succeeds");
    assert!(!whole && report.starts_with("other_head chain commanded#bindings#root LANES"), "{report}");
    // A segment counts to the day of the binding after it, which is still to be written.
    let early = VerifyCommand { to: Some("2020-01-01".to_owned()), ..command(None, Some("2020-01-01")) };
    let (report, whole) = audit_command::run(&early).await.expect("the run succeeds");
    assert!(whole && report.contains("0 segments, 0 records"), "{report}");
    assert!(audit_command::run(&command(None, Some("yesterday"))).await.is_err());
    let no_table = Place::File { data: "/nowhere/ledger.db".into(), table: TABLE_DEFAULT.to_owned() };
    assert!(audit_command::run(&VerifyCommand { place: no_table, ..command(None, None) }).await.is_err());
}
