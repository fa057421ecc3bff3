//! The functions' binaries behind a Lambda Runtime API, through the runtime's real loop: each kind of event, malformed
//! ones, and SIGTERM while idle and during a request.
use ledger_core::migration::Model;
use ledger_local::demo::Demo;
use ledger_local::stack::TABLE_DEFAULT;
use ledger_tests::http::Answer;
use ledger_tests::http::migrating::last;
use ledger_tests::lambda::kept::{self, Sizes};
use ledger_tests::lambda::{FUNCTIONS, Function, Gate, Kind, Rig, events, function_of_event};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Long enough for a signal to arrive.
const A_MOMENT: Duration = Duration::from_millis(300);
/// Lambda waits half a second between SIGTERM and SIGKILL; a test machine with all cores busy is slower.
const GRACE: Duration = Duration::from_secs(2);

async fn http(function: &Function, event: &Value) -> Answer {
    function.invoke(event).await.http()
}

/// The demo customer's balance, by the customer function.
async fn balance(rig: &Rig, customer: &Function, asset: &str) -> String {
    let event = events::at(rig.event("customer-history"), "GET", "/v1/me/balances");
    let balances = http(customer, &event).await.good().json();
    let all = balances["balances"].as_array().expect("balances").iter();
    let of = all.filter(|balance| balance["asset"] == asset).map(|balance| balance["balance"].as_str());
    of.flatten().next().unwrap_or_else(|| panic!("no {asset} in {balances}")).to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payment_event_is_applied_once_and_listed_in_history() {
    let rig = Rig::new().await;
    let (customer, payment) = (rig.function("customer").await, rig.event("customer-payment"));
    let paid = http(&customer, &payment).await;
    assert_eq!((paid.status, paid.header("content-type")), (201, Some("application/json")), "{paid:?}");
    let location = format!("/v1/me/transactions/{}", paid.text("/transaction_id"));
    assert_eq!(paid.header("location"), Some(location.as_str()));
    let again = http(&customer, &payment).await;
    assert_eq!((again.stored(), again.replayed()), (paid.stored(), true));
    // The same request under another key, with the body in base64 as API Gateway may send it.
    let encoded = http(&customer, &rig.fresh(events::in_base64(payment))).await;
    assert_eq!((encoded.status, encoded.replayed()), (201, false), "{encoded:?}");

    let history = http(&customer, &rig.event("customer-history")).await.good().json();
    let ids = [encoded, paid].map(|paid| json!(paid.text("/transaction_id")));
    assert_eq!([0, 1].map(|at| history["items"][at]["transaction_id"].clone()), ids, "{history}");
    assert_eq!(balance(&rig, &customer, "ECOPAY").await, "9800");
    assert_eq!(rig.world.check_books().await.entries_of("pay"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topup_is_credited_by_the_stripe_event() {
    let rig = Rig::new().await;
    let (customer, webhook) = (rig.function("customer").await, rig.function("stripe-webhook").await);
    let topup = http(&customer, &rig.event("customer-topup")).await;
    assert_eq!(topup.status, 201, "{topup:?}");
    let paid = events::edited(events::kept("stripe-webhook-payment"), |event| {
        event["data"]["object"]["id"] = topup.text("/payment_intent_id").into();
        event["data"]["object"]["metadata"] = json!({
            "ecopay_ledger": TABLE_DEFAULT, "ecopay_tenant": "demo", "ecopay_topup": topup.text("/topup_id"),
        });
    });
    let unsigned = http(&webhook, &paid).await;
    let _ = unsigned.problem(400, "signature_invalid");
    for status in ["applied", "behind"] {
        let received = http(&webhook, &rig.fresh(paid.clone())).await;
        assert_eq!((received.status, received.json()), (200, json!({"status": status})));
    }
    let foreign = http(&webhook, &rig.event("stripe-webhook-payment")).await;
    assert_eq!((foreign.status, foreign.json()), (200, json!({"status": "foreign"})));
    assert_eq!(balance(&rig, &customer, "ECOPAY").await, "13000");
    let _ = rig.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_charges_a_customers_code() {
    let rig = Rig::new().await;
    let (customer, merchant) = (rig.function("customer").await, rig.function("merchant").await);
    let code_request = events::at(rig.event("customer-payment"), "POST", "/v1/me/payment-code");
    let code = http(&customer, &events::edited(code_request, |body| *body = json!({}))).await.good().text("/code");
    let charge = events::edited(rig.event("merchant-charge"), |body| body["code"] = code.into());
    let charged = http(&merchant, &charge).await;
    assert_eq!(charged.status, 201, "{charged:?}");
    let payments = http(&merchant, &rig.event("merchant-payments")).await.good().json();
    assert_eq!(payments["items"][0]["payment_id"], charged.text("/payment_id"), "{payments}");
    // The sample event has a code that was never issued.
    let _ = http(&merchant, &rig.event("merchant-charge")).await.problem(404, "not_found");
    let _ = rig.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operator_opens_a_customer() {
    let rig = Rig::new().await;
    let admin = rig.function("admin").await;
    let opened = http(&admin, &rig.event("admin-customer")).await;
    assert_eq!(opened.status, 201, "{opened:?}");
    let attention = http(&admin, &rig.event("admin-attention")).await;
    assert_eq!((attention.status, attention.json()), (200, json!({"operations": [], "events": []})));
    let mut stranger = rig.event("admin-attention");
    // The client decides, and not what a token says.
    stranger["requestContext"]["authorizer"]["jwt"]["claims"]["face"] = "admin".into();
    for client in [events::CLIENTS[0].1, "another"] {
        stranger["requestContext"]["authorizer"]["jwt"]["claims"]["client_id"] = client.into();
        let _ = http(&admin, &stranger).await.problem(403, "wrong_face");
    }
    stranger["requestContext"]["authorizer"] = Value::Null;
    let _ = http(&admin, &stranger).await.problem(401, "unauthenticated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminal_is_authenticated_by_its_signature() {
    let rig = Rig::new().await;
    let terminal = rig.function("terminal").await;
    let unsigned = http(&terminal, &events::kept("terminal-topup")).await;
    let _ = unsigned.problem(401, "signature_invalid");
    let event = rig.event("terminal-topup");
    let topped = http(&terminal, &event).await;
    assert_eq!(topped.status, 201, "{topped:?}");
    let again = http(&terminal, &event).await;
    assert_eq!((again.stored(), again.replayed()), (topped.stored(), true));
    let other = events::edited(event, |body| body["amount"] = "9000".into());
    let _ = http(&terminal, &other).await.problem(401, "signature_invalid");
    let _ = rig.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_process_schedule_events() {
    let rig = Rig::new().await;
    let demo = Demo::fixed();
    let grant = json!({"customer_ids": demo.customers, "asset": "POINT", "amount": "10", "reason": "spring campaign"});
    let _ = rig.world.operator("/v1/admin/grants", &grant).await;
    let jobs = rig.function("jobs").await;
    for done in [2, 0] {
        assert_eq!(jobs.invoke(&rig.event("jobs-schedule")).await.response(), jobs_done(done));
    }
    let outbox = rig.function("outbox").await;
    let entries = rig.world.books().await.under("TXN#").count();
    let recovered = json!({"completed": 0, "waiting": 0, "checked": 0, "attention": 0});
    for published in [entries, 0] {
        let did = outbox.invoke(&rig.event("outbox-schedule")).await.response();
        let events = json!({"published": published, "dead_letters": 0, "waiting": 0});
        assert_eq!((&did["recovered"], &did["events"]), (&recovered, &events));
        let sealed = did["sealed"]["records"].as_u64().expect("a count");
        assert_eq!(sealed >= entries as u64, published > 0, "{did}");
        assert!(sealed == 0 || published > 0, "{did}");
    }
    let messages = rig.queue.messages();
    let is_of_its_group = |message: &Value| {
        let event: Value = serde_json::from_str(message["MessageBody"].as_str().expect("a text")).expect("JSON");
        let group = format!("demo#{}", event["subject"].as_str().expect("an account"));
        message["MessageGroupId"] == group && message["MessageDeduplicationId"] == event["id"]
    };
    assert!(messages.len() == entries && entries > 0 && messages.iter().all(is_of_its_group), "{messages:#?}");
    let customer = rig.function("customer").await;
    let _ = http(&customer, &rig.event("customer-payment")).await.good();
    // The seal of its entry credits the merchant.
    let did = outbox.invoke(&rig.event("outbox-schedule")).await.response();
    assert_eq!(did["events"]["published"], 1, "{did}");
    // No customer has a God Record, so the first run finishes the pass.
    rig.world.set_phase(last(Model::GodRecord)).await;
    let _ = rig.world.operator("/v1/admin/migration/verify", &json!({})).await;
    let migrate = rig.function("migrate").await;
    for passes in [1, 0] {
        let did = migrate.invoke(&rig.event("migrate-schedule")).await.response();
        assert_eq!(did, json!({"customers": 0, "passes": passes}));
    }
    for worker in [&jobs, &outbox, &migrate] {
        let (_, message) = worker.invoke(&json!({"tenant": "no tenant"})).await.error();
        assert!(!message.is_empty());
    }
    let books = rig.world.check_books().await;
    books.check_credited();
    assert_eq!(books.entries_of("bulk_grant"), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_process_queue_and_stream_events() {
    let rig = Rig::new().await;
    let _ = http(&rig.function("customer").await, &rig.event("customer-payment")).await.good();
    for (name, event) in events::all() {
        let function = function_of_event(&name).expect("an event is some function's");
        if function.kind == Kind::Worker && event["Records"].is_array() {
            let did = rig.function(function.name).await.invoke(&event).await.response();
            assert_eq!(did["batchItemFailures"], json!([]), "{name}: {did}");
        }
    }
    let books = rig.world.check_books().await;
    books.check_credited();
    assert_eq!(books.under("TXN#").filter(|(_, _, entry)| entry.contains_key("_credited_at")).count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settlement_tasks_return_outcomes_and_broken_errors() {
    let rig = Rig::new().await;
    let settlement = rig.function("settlement").await;
    let task = |name: &str| {
        let mut event = rig.event("settlement-collect");
        event["task"] = name.into();
        event
    };
    assert_eq!(settlement.invoke(&task("collect")).await.response(), json!({"outcome": "next"}));
    assert_eq!(settlement.invoke(&task("undo_hold")).await.response(), json!({"outcome": "next"}));
    assert_eq!(settlement.invoke(&task("undo_collect")).await.response(), json!({"outcome": "over"}));
    let mut unknown = task("collect");
    unknown["settlement_id"] = "00000000-0000-7000-8000-000000000000".into();
    for event in [task("collet"), unknown] {
        let (kind, _) = settlement.invoke(&event).await.error();
        assert_eq!(kind, "Settlement.Broken");
    }
}

/// An export with one balance that has no posting, through all tasks, over S3's HTTP API.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn export_is_reconciled_task_by_task() {
    let rig = Rig::new().await;
    let function = rig.function("reconcile-export").await;
    let facts = rig.event("reconcile-export-facts");
    let task = |changes: Value| {
        let mut event = facts.clone();
        event.as_object_mut().expect("an object").remove("file");
        event.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
        event
    };
    // The facts to fold must exist.
    let (kind, _) = function.invoke(&task(json!({"task": "fold", "part": 0}))).await.error();
    assert_eq!(kind, "Export.Broken");
    assert_eq!(function.invoke(&facts).await.response(), json!({"items": 1}));
    let mut breaks = 0;
    for part in 0..2 {
        breaks += function.invoke(&task(json!({"task": "fold", "part": part}))).await.response()["breaks"]
            .as_u64()
            .expect("a number");
    }
    let report = task(json!({"task": "report"}));
    assert_eq!(
        (breaks, function.invoke(&report).await.response()),
        (1, json!({"items": 1, "tenants": 1, "breaks": 1}))
    );
    let kept = rig.bucket.kept();
    let lines = String::from_utf8_lossy(&kept["/reports/demo/reconciliation-night.jsonl"]).into_owned();
    let found: Value = serde_json::from_str(lines.lines().nth(1).expect("a break")).expect("JSON");
    assert_eq!((&found["kind"], &found["expected"]), (&json!("balance_differs"), &json!("0")), "{lines}");
    function.terminate();
    let counted = function.ended().await.out.into_iter().filter(|line| line.contains("\"ReconciliationBreak\""));
    assert_eq!(counted.count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cognito_trigger_adds_the_token_claims() {
    let rig = Rig::new().await;
    let trigger = rig.function("token-claims").await;
    let response = trigger.invoke(&rig.event("token-claims-cognito")).await.response();
    let claims =
        &response["response"]["claimsAndScopeOverrideDetails"]["accessTokenGeneration"]["claimsToAddOrOverride"];
    let merchant = &Demo::fixed().merchants[0];
    let expected = json!({
        "tenant": "demo", "merchant_id": merchant, "roles": ["cashier"],
        "email": "hanako@example.com", "email_verified": true,
    });
    assert_eq!(*claims, expected, "{response}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_path_or_method_is_a_problem_document() {
    let rig = Rig::new().await;
    for function in FUNCTIONS.into_iter().filter(|function| function.kind == Kind::Http) {
        let started = rig.function(function.name).await;
        let event = rig.event(function.event);
        let nowhere = http(&started, &events::at(event.clone(), "GET", "/v1/nowhere")).await;
        let _ = nowhere.problem(404, "not_found");
        let path = event["rawPath"].as_str().expect("a path").to_owned();
        let _ = http(&started, &events::at(event, "DELETE", &path)).await.problem(405, "method_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_event_is_an_error_and_the_next_is_served() {
    let rig = Rig::new().await;
    for function in FUNCTIONS {
        let started = rig.function(function.name).await;
        for garbage in ["", "no event", "[]", r#"{"tenant":["hanako@example.com"]}"#] {
            let (kind, message) = started.invoke_raw(garbage).await.error();
            assert!(!kind.is_empty() && !message.contains("hanako"), "{}: {kind} {message}", function.name);
        }
        let _ = started.invoke(&rig.event(function.event)).await.response();
        let lines = started.lines();
        assert!(lines.iter().all(|line| !line.contains("hanako")), "{}: {lines:?}", function.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn log_lines_are_json_without_personal_data() {
    let rig = Rig::new().await;
    let customer = rig.function("customer").await;
    let event = rig.event("customer-payment");
    let paid = http(&customer, &event).await.good();
    customer.terminate();
    let lines = customer.ended().await.out;
    let json = lines.iter().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")));
    let json: Vec<Value> = json.collect();
    let request = json.iter().find(|line| line["message"] == "request").expect("a line for the request");
    assert_eq!((&request["status"], &request["path"]), (&json!(201), &json!("/v1/me/payments")));
    assert_eq!(request["request_id"], event["requestContext"]["requestId"]);
    let written: Vec<&Value> = json.iter().filter(|line| !line["KeyedRequest"].is_null()).collect();
    assert_eq!(written, [request], "the request's values are in its line");
    assert_eq!(request["KeyedRequest"], 1);
    assert_eq!(request["_aws"]["CloudWatchMetrics"][0]["Namespace"], "EcoPay/Payments");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let (key, token) = (text(&event["headers"]["idempotency-key"]), text(&event["headers"]["authorization"]));
    let customer = text(&event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"]);
    for secret in [key, token, customer, "two coffees".to_owned(), paid.text("/payment_id")] {
        assert!(lines.iter().all(|line| !line.contains(&secret)), "{secret} in {lines:?}");
    }
}

/// At the level that logs the most of our own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_time_secrets_pins_and_addresses_are_in_no_log_line() {
    const PIN: &str = "730193";
    let rig = Rig::new().await;
    let mut variables = rig.variables(rig.store());
    variables.push(("LOG_LEVEL".to_owned(), "debug".to_owned()));
    let start = async |name: &str| {
        let mut function = rig.spawn(name, &variables).await;
        let _ = function.ready().await;
        function
    };
    let (customer, merchant) = (start("customer").await, start("merchant").await);
    let send = async |method: &str, path: &str, body: Value| {
        let event = events::edited(events::at(rig.event("customer-payment"), method, path), |sent| *sent = body);
        http(&customer, &event).await
    };
    let code = send("POST", "/v1/me/payment-code", json!({})).await.good().text("/code");
    let topup = send("POST", "/v1/me/topups", json!({"amount": "1000"})).await.good();
    let (email, phone) = ("hanako.secret@example.jp", "090-7301-9355");
    let _ = send("PATCH", "/v1/me", json!({"email": email, "phone": phone})).await.good();
    let card = Demo::fixed().cards.remove(0);
    // Without the keys of PINs it is an error, and the PIN is not in that either.
    let set = send("POST", &format!("/v1/me/cards/{card}/pin"), json!({"pin": PIN})).await;
    assert_eq!(set.status, 503, "{set:?}");
    let charge = events::edited(rig.event("merchant-charge"), |body| body["code"] = code.clone().into());
    let _ = http(&merchant, &charge).await.good();
    let spent = events::edited(rig.event("merchant-charge"), |body| body["code"] = code.clone().into());
    assert_eq!(http(&merchant, &spent).await.status, 400);
    let secrets = [code, topup.text("/client_secret"), PIN.to_owned(), email.to_owned(), phone.to_owned()];
    for function in [customer, merchant] {
        function.terminate();
        let ended = function.ended().await;
        assert!(ended.out.len() > 1, "{ended:?}");
        for line in ended.out.iter().chain(&ended.err) {
            assert!(secrets.iter().all(|secret| !line.contains(secret)), "{line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn function_without_table_name_reports_it_and_ends() {
    let rig = Rig::new().await;
    let stores = |kind: Kind| !matches!(kind, Kind::Trigger | Kind::Objects);
    for function in FUNCTIONS.into_iter().filter(|function| stores(function.kind)) {
        let variables = rig.variables(rig.store()).into_iter().filter(|(name, _)| name != "TABLE_NAME");
        let ended = rig.spawn(function.name, &variables.collect::<Vec<_>>()).await.ended().await;
        assert_eq!((ended.status.code(), ended.err.len()), (Some(1), 1), "{}: {ended:?}", function.name);
        assert!(ended.err[0].contains("TABLE_NAME=ecopay-ledger"), "{}: {ended:?}", function.name);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_function_ends_on_sigterm() {
    let rig = Rig::new().await;
    for function in FUNCTIONS {
        let started = rig.function(function.name).await;
        let _ = started.invoke(&rig.event(function.event)).await.response();
        let signalled = Instant::now();
        started.terminate();
        let ended = started.ended().await;
        assert_eq!(ended.status.code(), Some(0), "{}: {ended:?}", function.name);
        assert!(signalled.elapsed() < GRACE, "{} took {:?}", function.name, signalled.elapsed());
    }
}

/// Starts an event, holds the store's responses, sends SIGTERM, and releases them: the function must reply, then end.
async fn ends_after_its_request(rig: &Rig, name: &str, event: &Value) -> Value {
    let gate = Gate::to(rig.store()).await;
    let mut function = rig.function_over(name, gate.url()).await;
    gate.shut();
    let reply = function.begin(event.to_string());
    gate.holds().await;
    function.terminate();
    tokio::time::sleep(A_MOMENT).await;
    assert!(!function.has_ended(), "{name} ended before its request");
    gate.open();
    let reply = function.replied(reply).await.response();
    let replied = Instant::now();
    let ended = function.ended().await;
    assert_eq!(ended.status.code(), Some(0), "{name}: {ended:?}");
    assert!(replied.elapsed() < GRACE, "{name} took {:?} after its reply", replied.elapsed());
    reply
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn running_request_is_finished_before_the_end() {
    let rig = Rig::new().await;
    let payment = rig.event("customer-payment");
    let paid = ends_after_its_request(&rig, "customer", &payment).await;
    assert_eq!(paid["statusCode"], 201, "{paid}");
    // The reply's effect has happened.
    let again = http(&rig.function("customer").await, &payment).await;
    assert_eq!((again.body.as_str(), again.replayed()), (paid["body"].as_str().expect("a body"), true));
    assert_eq!(ends_after_its_request(&rig, "jobs", &rig.event("jobs-schedule")).await, jobs_done(0));
    let _ = rig.world.check_books().await;
}

#[test]
fn grown_size_is_reported_as_bad_and_shrunk_as_good() {
    let sizes = |bytes| Sizes::from([("ci x86_64-linux customer zip".to_owned(), bytes)]);
    let compared = |bytes| {
        let compared = kept::compare(&sizes(1_000_000), &sizes(bytes));
        (compared.bad.len(), compared.good.len())
    };
    assert_eq!([1_050_001, 1_050_000, 952_381, 952_380].map(compared), [(1, 0), (0, 0), (0, 0), (0, 1)]);
    assert_eq!(kept::compare(&Sizes::new(), &sizes(1)).bad.len(), 1, "a size that is not recorded is reported as bad");
}

#[test]
fn size_of_every_function_is_recorded() {
    let kept = kept::read();
    // Profile and target.
    let build = |name: &String| name.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
    let builds: BTreeSet<String> = kept.keys().map(build).collect();
    for kept in ["ci x86_64-linux", "release aarch64-linux", "release x86_64-linux"] {
        assert!(builds.contains(kept), "no sizes of `{kept}` are recorded: {builds:?}");
    }
    for build in builds {
        for function in FUNCTIONS {
            let name = format!("{build} {} zip", function.name);
            assert!(kept.contains_key(&name), "tests/lambda-figures.txt lacks {name}");
        }
    }
}

/// The response of the jobs function to a run that finished this many jobs and did nothing else.
fn jobs_done(subjects: u32) -> Value {
    json!({"expired": 0, "bonuses": 0, "subjects": subjects})
}
