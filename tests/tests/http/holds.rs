//! Authorized payments over HTTP: captured in whole or part, voided, expired. Of a capture, a void and an expiry at
//! once exactly one applies; a later request gets the payment's state. The books are audited from the raw table.
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::join_all;
use jobs::Progress;
use ledger_core::ids::Tenant;
use ledger_core::terms::HoldHours;
use ledger_core::time::Timestamp;
use ledger_runtime::app::App;
use ledger_runtime::clock::Clock;
use ledger_runtime::problem::Problem;
use ledger_tests::cloud::gate;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Host, World, host};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(60 * 60);
/// A little longer than a request takes to reach the table.
const STEP: Duration = Duration::from_millis(3);
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The available and the held money.
async fn money(world: &World, customer: &Customer) -> (String, String) {
    let wallet = world.wallet(customer, "ECOPAY").await;
    let of = |name: &str| wallet[name].as_str().expect("a number").to_owned();
    (of("balance"), of("held"))
}

fn amounts(balance: &str, held: &str) -> (String, String) {
    (balance.to_owned(), held.to_owned())
}

async fn detail(stage: &Stage, payment: &str) -> Value {
    let call = Call::get(&format!("/v1/merchant/payments/{payment}"), &stage.merchant.who);
    stage.world.api.send(&call).await.good().json()
}

/// The merchant's uncredited money.
async fn uncredited(stage: &Stage) -> String {
    let balances = stage.world.api.send(&Call::get("/v1/merchant/balances", &stage.merchant.who)).await.good().json();
    let all = balances["balances"].as_array().expect("balances").iter();
    let of = all.filter(|balance| balance["asset"] == "ECOPAY").map(|balance| balance["uncredited"].as_str());
    of.flatten().next().unwrap_or("0").to_owned()
}

/// The customer's history, oldest first: operation, payment status, change of money.
async fn history(world: &World, customer: &Customer) -> Vec<[String; 3]> {
    let page = world.api.send(&Call::get("/v1/me/transactions", &customer.who)).await.good().json();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let lines = page["items"].as_array().expect("items").iter().rev();
    lines
        .map(|line| [text(&line["operation"]), text(&line["payment_status"]), text(&line["changes"]["ECOPAY"])])
        .collect()
}

fn line(operation: &str, status: &str, change: &str) -> [String; 3] {
    [operation, status, change].map(str::to_owned)
}

/// The jobs worker on a stack's table, with a clock `ahead` of the system's.
async fn worker(host: &Host, ahead: Duration) -> App {
    let (stack, system) = (host.stack(), Clock::system());
    let clock = Clock::from_fn(move || system.now().plus(ahead));
    host::app((host::functions_client(stack.dynamodb_url()).await, stack.table()), clock, stack.stripe()).0
}

async fn run(worker: &App, world: &World) -> Result<Progress, Problem> {
    let tenant = Tenant::parse(&world.tenant).expect("a slug");
    gate::as_function("jobs", jobs::run_due(worker, &tenant)).await
}

fn expired(expired: usize) -> Progress {
    Progress { expired, ..Progress::default() }
}

/// Asserts a refusal that states the payment's status.
fn assert_wrong_state(answer: Answer, status: &str) -> Answer {
    let refused = answer.problem(400, "wrong_state");
    assert_eq!(refused.text("/payment_status"), status, "{refused:?}");
    refused
}

#[tokio::test]
async fn authorization_is_captured_in_part_and_refunded() {
    let stage = Stage::new(World::new("hold-story").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("1000").await;
    let authorize = merchant.authorizes(&customer.code(world).await, "800").field("memo", "room 7");
    let held = world.api.settle(&authorize).await;
    assert_eq!(held.status, 201, "{held:?}");
    let payment = held.text("/payment_id");
    assert_eq!(held.header("location"), Some(format!("/v1/merchant/payments/{payment}").as_str()));
    let body = held.json();
    assert_eq!((&body["status"], &body["amount"]), (&json!("authorized"), &json!("800")), "{body}");
    assert_eq!((&body["authorized"], &body["paid"]), (&json!({"ECOPAY": "800"}), &json!({})), "{body}");
    let [made, ends] = ["/created_at", "/expires_at"].map(|at| Timestamp::parse(&held.text(at)).expect("a time"));
    assert_eq!(ends, made.plus(WEEK));
    assert_eq!(money(world, &customer).await, amounts("200", "800"));
    let shown = detail(&stage, &payment).await;
    assert_eq!((&shown["status"], &shown["refundable"]), (&json!("authorized"), &json!({})), "{shown}");
    assert_eq!(uncredited(&stage).await, "0");
    let list = world.api.send(&Call::get("/v1/merchant/payments", &merchant.who)).await.good().json();
    assert_eq!((&list["items"][0]["status"], &list["items"][0]["amount"]), (&json!("authorized"), &json!("800")));
    // Held money cannot be spent, and an uncaptured payment cannot be refunded.
    let _ = world.api.settle(&customer.pays(merchant, "201")).await.problem(400, "insufficient_balance");
    assert_wrong_state(world.api.settle(&merchant.refunds(&payment, "1")).await, "authorized");
    world.check_books().await;

    for over in ["801", "0"] {
        let _ = world.api.settle(&merchant.captures(&payment, Some(over))).await.problem(400, "invalid_request");
    }
    let capture = merchant.captures(&payment, Some("300"));
    let captured = world.api.settle(&capture).await;
    assert_eq!(captured.status, 200, "{captured:?}");
    let shown = captured.json();
    assert_eq!((&shown["status"], &shown["amount"]), (&json!("captured"), &json!("300")), "{shown}");
    assert_eq!((&shown["paid"], &shown["refundable"]), (&json!({"ECOPAY": "300"}), &json!({"ECOPAY": "300"})));
    assert_eq!((&shown["authorized"], &shown["memo"]), (&json!({"ECOPAY": "800"}), &json!(null)));
    assert!(shown["captured_at"].is_string(), "{shown}");
    // A stored response has no text that a person typed.
    let mut with_memo = shown.clone();
    with_memo["memo"] = json!("room 7");
    assert_eq!(detail(&stage, &payment).await, with_memo);
    assert_eq!((money(world, &customer).await, uncredited(&stage).await), (amounts("700", "0"), "300".to_owned()));
    assert_eq!(world.balance(&customer, "POINT").await, "3");
    let wallet = world.api.send(&Call::get("/v1/me/balances", &customer.who)).await.good().json();
    assert_eq!((&wallet["metrics"]["paid_total"], &wallet["metrics"]["co2_kg"]), (&json!("300"), &json!("3")));

    // Each key replays its own response, whatever happened to the payment since.
    for (call, first) in [(&authorize, &held), (&capture, &captured)] {
        let again = world.api.send(call).await;
        assert_eq!((again.stored(), again.replayed()), (first.stored(), true));
    }
    let _ = world.api.settle(&merchant.refunds(&payment, "301")).await.problem(400, "over_refund");
    let _ = world.api.settle(&merchant.refunds(&payment, "100")).await.good();
    let _ = world.api.settle(&merchant.refunds(&payment, "201")).await.problem(400, "over_refund");
    let rest = merchant.refunds(&payment, "1").json(&json!({}));
    assert_eq!(world.api.settle(&rest).await.good().text("/payment_status"), "refunded");
    assert_eq!((money(world, &customer).await, uncredited(&stage).await), (amounts("1000", "0"), "0".to_owned()));
    assert_eq!(
        history(world, &customer).await,
        [
            line("adjustment", "-", "1000"),
            line("charge", "authorized", "-800"),
            line("capture", "captured", "500"),
            line("refund", "-", "100"),
            line("refund", "-", "200"),
        ]
    );
    world.check_books().await;
}

#[tokio::test]
async fn late_capture_or_void_gets_the_payment_status() {
    let stage = Stage::new(World::new("hold-late").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (customer, payment) = stage.held("500").await;
    let _ = world.api.settle(&merchant.captures(&payment, Some("200"))).await.good();
    let before = world.check_books().await;
    let present = detail(&stage, &payment).await;
    for amount in [None, Some("200"), Some("200.0")] {
        let late = merchant.captures(&payment, amount);
        let answer = world.api.settle(&late).await;
        assert_eq!((answer.status, answer.replayed(), answer.json()), (200, false, present.clone()), "{amount:?}");
    }
    assert_wrong_state(world.api.settle(&merchant.captures(&payment, Some("500"))).await, "captured");
    let refused = merchant.voids(&payment);
    let first = assert_wrong_state(world.api.settle(&refused).await, "captured");
    // After a refund, the stored responses are unchanged.
    let repeated = merchant.captures(&payment, None);
    let stored = world.api.settle(&repeated).await.good();
    let _ = world.api.settle(&merchant.refunds(&payment, "50")).await.good();
    assert_eq!(world.api.send(&repeated).await.stored(), stored.stored());
    assert_eq!(world.api.send(&refused).await.stored(), first.stored());
    let now = world.api.settle(&merchant.captures(&payment, Some("200"))).await.good().json();
    assert_eq!((&now["status"], &now["refundable"]), (&json!("partially_refunded"), &json!({"ECOPAY": "150"})));
    let after = world.check_books().await;
    assert_eq!((after.entries_of("capture"), after.entries_of("void")), (1, 0));
    assert_eq!(after.under("TXN#").count() - before.under("TXN#").count(), 1);
    assert_eq!(money(world, &customer).await, amounts("350", "0"));

    let (customer, payment) = stage.held("500").await;
    let voided = world.api.settle(&merchant.voids(&payment).field("reason", "sold out")).await.good().json();
    assert_eq!(
        (&voided["status"], &voided["paid"], &voided["amount"]),
        (&json!("canceled"), &json!({}), &json!("500"))
    );
    assert_eq!(world.api.settle(&merchant.voids(&payment)).await.good().json(), voided);
    for amount in [None, Some("500"), Some("501")] {
        assert_wrong_state(world.api.settle(&merchant.captures(&payment, amount)).await, "canceled");
    }
    assert_wrong_state(world.api.settle(&merchant.refunds(&payment, "1")).await, "canceled");
    assert_eq!(money(world, &customer).await, amounts("500", "0"));
    let lines = history(world, &customer).await;
    assert_eq!(lines[1..], [line("charge", "authorized", "-500"), line("void", "canceled", "500")]);

    // A payment captured at once counts as captured.
    let (_, payment) = stage.paid("300").await;
    assert_eq!(world.api.settle(&merchant.captures(&payment, None)).await.good().text("/status"), "captured");
    assert_wrong_state(world.api.settle(&merchant.voids(&payment)).await, "captured");
    let _ = world.api.settle(&merchant.captures(&new_id(), None)).await.problem(404, "not_found");
    world.check_books().await;
}

/// A charge's key is the same with and without `capture`, and a code can be used once.
#[tokio::test]
async fn charge_and_authorization_under_one_key_mismatch() {
    let stage = Stage::new(World::new("hold-keys").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("900").await;
    let code = customer.code(world).await;
    let charge = merchant.charges(&code, "300");
    let explicit = charge.clone().field("capture", true);
    let paid = world.api.settle(&charge).await.good();
    assert_eq!(world.api.send(&explicit).await.stored(), paid.stored(), "`capture` defaults to true");
    let held = charge.clone().field("capture", false);
    let _ = world.api.send(&held).await.problem(422, "idempotency_key_fingerprint_mismatch");
    let _ = world.api.settle(&merchant.authorizes(&code, "300")).await.problem(400, "wrong_state");
    assert!(paid.json().get("authorized").is_none() && paid.json().get("expires_at").is_none(), "{paid:?}");
    assert_eq!(money(world, &customer).await, amounts("600", "0"));
    world.check_books().await;
}

/// Captures, voids and two workers at once on every payment: exactly one of the three applies.
#[tokio::test]
async fn concurrent_capture_void_and_expiry_apply_once() {
    let host = Host::fresh();
    let stage = Stage::new(World::with_terms(Arc::clone(&host), "hold-race", |_| {}).await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let workers = [worker(&host, WEEK + HOUR).await, worker(&host, WEEK + HOUR).await];
    let mut ends = Vec::new();
    for round in 0..6 {
        let held = join_all((0..4).map(|_| stage.held("500"))).await;
        let calls: Vec<_> = held
            .iter()
            .map(|(_, payment)| {
                let part = merchant.captures(payment, Some("200"));
                [part, merchant.captures(payment, Some("300")), merchant.voids(payment)]
            })
            .collect();
        // Delays vary which of them comes first.
        let send = async |place: usize, call: &Call| {
            tokio::time::sleep(STEP * u32::try_from(place % 3).expect("small")).await;
            world.api.settle(call).await
        };
        let merchants = join_all(calls.iter().enumerate().map(|(at, calls)| {
            join_all(calls.iter().enumerate().map(|(place, call)| send(at + place, call)).collect::<Vec<_>>())
        }));
        let late = async |worker: &App| {
            tokio::time::sleep(STEP * round).await;
            run(worker, world).await
        };
        let (answers, one, two) = futures::join!(merchants, late(&workers[0]), late(&workers[1]));
        let by_workers: usize = [one, two].into_iter().map(|run| run.map_or(0, |run| run.expired)).sum();
        // Payments with too many conflicts are left to the next run.
        let by_workers = by_workers + run(&workers[0], world).await.expect("the run succeeds").expired;
        let mut expired = 0;
        for ((customer, payment), answers) in held.iter().zip(&answers) {
            let end = detail(&stage, payment).await;
            let end = end["status"].as_str().expect("a status").to_owned();
            let (balance, taken) = match &answers[..] {
                [part, more, void] => check_answers(&end, part, more, void),
                other => panic!("{other:?}"),
            };
            assert_eq!(money(world, customer).await, amounts(&balance.to_string(), "0"), "{end}");
            assert_eq!(world.balance(customer, "POINT").await, (taken / 100).to_string());
            expired += usize::from(end == "expired");
            ends.push(end);
        }
        // A run that failed does not state how many it expired.
        assert!(by_workers <= expired, "{by_workers} of {expired}");
    }
    assert!(ends.iter().any(|end| end != &ends[0]), "every payment ended in the same way: {ends:?}");
    let books = world.check_books().await;
    for (operation, end) in [("capture", "captured"), ("void", "canceled"), ("hold_expire", "expired")] {
        assert_eq!(books.entries_of(operation), ends.iter().filter(|name| *name == end).count(), "{operation}");
    }
    assert_eq!(run(&workers[0], world).await, Ok(Progress::default()));
    world.books().await.unchanged_since(&books, "an idle worker moved something");
}

/// The customer's money left and the captured amount; asserts that the answers agree with the payment's end.
fn check_answers(end: &str, part: &Answer, more: &Answer, void: &Answer) -> (u32, u32) {
    match end {
        "captured" => {
            assert_wrong_state(void.clone(), "captured");
            let (won, lost, taken) = if part.status == 200 { (part, more, 200) } else { (more, part, 300) };
            assert_eq!((won.status, won.text("/amount")), (200, taken.to_string()));
            assert_wrong_state(lost.clone(), "captured");
            (500 - taken, taken)
        }
        "canceled" | "expired" => {
            assert_eq!((void.status, void.text("/status")), (200, end.to_owned()), "{void:?}");
            for lost in [part, more] {
                assert_wrong_state(lost.clone(), end);
            }
            (500, 0)
        }
        other => panic!("unexpected end: {other}"),
    }
}

/// The test sets the clock of the functions and of the worker.
#[tokio::test]
async fn uncaptured_hold_expires_and_is_released() {
    let ahead_s = Arc::new(AtomicU64::new(0));
    let (ahead, system) = (Arc::clone(&ahead_s), Clock::system());
    let clock = Clock::from_fn(move || system.now().plus(Duration::from_secs(ahead.load(Ordering::SeqCst))));
    let host =
        Host::with_app(|backend| async move { host::app((backend.dynamodb, &backend.table), clock, &backend.stripe) });
    let for_an_hour = |terms: &mut ledger_core::terms::TenantTerms| terms.hold_hours = HoldHours::new(1);
    let stage = Stage::new(World::with_terms(Arc::clone(&host), "hold-expiry", for_an_hour).await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (customer, late) = stage.held("500").await;
    let (_, in_time) = stage.held("500").await;
    let (frozen, of_frozen) = stage.held("500").await;
    let (_, voided) = stage.held("500").await;
    let freeze = json!({"status": "frozen", "reason": "for a test"});
    world.change(&format!("/v1/admin/customers/{}", frozen.id), &freeze).await;

    // Nothing expires before its time.
    let held = world.check_books().await;
    assert_eq!(run(&worker(&host, HOUR - Duration::from_secs(60)).await, world).await, Ok(Progress::default()));
    world.books().await.unchanged_since(&held, "a hold expired before its time");
    ahead_s.store(HOUR.as_secs() - 60, Ordering::SeqCst);
    let _ = world.api.settle(&merchant.captures(&in_time, None)).await.good();

    // After the time, even before the worker runs, it cannot be captured but can be voided.
    ahead_s.store(HOUR.as_secs() + 60, Ordering::SeqCst);
    let capture = merchant.captures(&late, Some("100"));
    let refused = assert_wrong_state(world.api.settle(&capture).await, "authorized");
    assert_eq!(refused.text("/expired_at"), detail(&stage, &late).await["expires_at"].as_str().expect("a time"));
    assert_eq!(money(world, &customer).await, amounts("0", "500"));
    assert_eq!(world.api.settle(&merchant.voids(&voided)).await.good().text("/status"), "canceled");
    world.check_books().await;

    let over = worker(&host, HOUR + Duration::from_secs(60)).await;
    assert_eq!(run(&over, world).await, Ok(expired(2)));
    let done = world.check_books().await;
    assert_eq!(run(&over, world).await, Ok(Progress::default()));
    world.books().await.unchanged_since(&done, "a second run changed an expired hold");
    assert_eq!(money(world, &customer).await, amounts("500", "0"));
    assert_eq!(money(world, &frozen).await, amounts("500", "0"), "a freeze does not stop expiry");
    assert_eq!(history(world, &customer).await.last(), Some(&line("hold_expire", "expired", "500")));
    let shown = detail(&stage, &late).await;
    assert_eq!(shown["status"], "expired", "{shown}");
    assert_wrong_state(world.api.settle(&merchant.captures(&late, None)).await, "expired");
    assert_eq!(world.api.settle(&merchant.voids(&of_frozen)).await.good().text("/status"), "expired");
    // The refusal stored under the key is unchanged.
    assert_eq!(world.api.send(&capture).await.stored(), refused.stored());
    assert_eq!(detail(&stage, &in_time).await["status"], "captured");
    world.check_books().await;
}

/// A freeze and a suspension stop new authorizations, not captures and voids.
#[tokio::test]
async fn freeze_and_suspension_stop_only_new_authorizations() {
    let stage = Stage::new(World::alone("hold-frozen").await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (customer, captured) = stage.held("500").await;
    world.adjust(&json!({"customer_id": customer.id}), "credit", "600").await;
    let voided = world.api.settle(&merchant.authorizes(&customer.code(world).await, "200")).await.good();
    let voided = voided.text("/payment_id");
    let code = customer.code(world).await;
    let status = |path: String, status: &'static str| async move {
        world.change(&path, &json!({"status": status, "reason": "for a test"})).await;
    };
    status(format!("/v1/admin/customers/{}", customer.id), "frozen").await;
    let _ = world.api.settle(&merchant.authorizes(&code, "1")).await.problem(400, "account_frozen");
    let _ = world.api.settle(&merchant.captures(&captured, Some("300"))).await.good();
    let _ = world.api.settle(&merchant.voids(&voided)).await.good();
    assert_eq!(money(world, &customer).await, amounts("800", "0"));
    status(format!("/v1/admin/customers/{}", customer.id), "active").await;

    let late = world.api.settle(&merchant.authorizes(&code, "100")).await.good().text("/payment_id");
    let code = customer.code(world).await;
    status(format!("/v1/admin/merchants/{}", merchant.id), "suspended").await;
    let _ = world.api.settle(&merchant.authorizes(&code, "1")).await.problem(400, "wrong_state");
    let _ = world.api.settle(&merchant.captures(&late, None)).await.good();
    assert_eq!(money(world, &customer).await, amounts("700", "0"));
    world.check_books().await;
}

/// A hold that cannot be released blocks neither other holds nor jobs, and the run fails.
/// A job that cannot be read does not block holds.
#[tokio::test]
async fn failing_hold_or_job_does_not_block_others() {
    let host = Host::fresh();
    let stage = Stage::new(World::with_terms(Arc::clone(&host), "hold-rogue", |_| {}).await).await;
    let world = &stage.world;
    let table = host::client(host.stack().dynamodb_url()).await;
    let (customer, _) = stage.held("500").await;
    let bulk = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "25", "reason": "campaign"});
    let _ = world.operator("/v1/admin/grants", &bulk).await;
    plant(&table, world, "hold", &new_id()).await;
    let later = worker(&host, WEEK + HOUR).await;
    let failed = run(&later, world).await.expect_err("the run fails");
    assert_eq!(failed.code(), "not_found");
    assert_eq!(
        (money(world, &customer).await, world.balance(&customer, "POINT").await),
        (amounts("500", "0"), "25".to_owned())
    );

    let (customer, _) = stage.held("500").await;
    plant(&table, world, "grant_job", "no id").await;
    let failed = run(&later, world).await.expect_err("the run fails");
    assert_eq!(failed.code(), "not_found");
    assert_eq!(money(world, &customer).await, amounts("500", "0"));
    let _ = world.api.settle(&customer.pays(&stage.merchant, "500").key(new_key())).await.good();
    world.check_books().await;
}

/// Plants a row with a due index entry for work that does not exist.
#[expect(clippy::disallowed_methods, reason = "no code of the ledger's writes such a row")]
async fn plant(table: &Client, world: &World, due: &str, id: &str) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let row = table.put_item().table_name(world.table_name());
    let row = row.item("uuid", text(&format!("{}#rogue#1", world.tenant))).item("type", text(due));
    let row = row.item("_due_pk", text(&format!("{}#due#0", world.tenant)));
    let row = row.item("_due_sk", text(&format!("2026-01-01T00:00:00.000Z#{due}#{id}")));
    let _ = row.send().await.expect("a row");
}
