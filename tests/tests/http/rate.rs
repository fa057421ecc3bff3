//! Request limits per tenant over HTTP, by a clock that the test sets: an exact number of requests pass per window,
//! from any client and across environments, and other tenants are not counted.
use futures::future::join_all;
use ledger_core::rate::{RateWindow, RequestRate};
use ledger_core::time::Timestamp;
use ledger_local::credential::Credential;
use ledger_local::stack::{Stack, StackConfig, Store};
use ledger_runtime::clock::Clock;
use ledger_runtime::metrics::{Counting, Metric};
use ledger_tests::audit::{Books, number};
use ledger_tests::http::stripe::{delivery, signature, signed};
use ledger_tests::http::tap::{Attempts, Fault, Tap};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Api, Call, Host, Who, World, host};
use reqwest::Method;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const WRITE: &str = "TransactWriteItems";
const CLIENTS: usize = 32;
/// The slow tenants: 20 requests per window by leases of one, and one free request.
const SLOW: u32 = 2;
const SLOW_PASSES: usize = 21;

/// A stack whose clock is a number of milliseconds after the beginning of a window.
struct Rig {
    host: Arc<Host>,
    tap: Tap,
    counting: Arc<OnceLock<Counting>>,
    start: Timestamp,
    ahead_ms: Arc<AtomicU64>,
}

impl Rig {
    fn new(attempts: Attempts) -> Self {
        let (tap, counting, ahead_ms) = (Tap::default(), Arc::new(OnceLock::new()), Arc::new(AtomicU64::new(0)));
        let start = RateWindow::of(Clock::system().now()).starts_at();
        let (wire, counts, clock) = (tap.clone(), Arc::clone(&counting), clock(start, &ahead_ms));
        let host = Host::with_app(move |backend| async move {
            let (app, counting) =
                wire.app((&backend.dynamodb_url, &backend.table), attempts, clock, &backend.stripe).await;
            assert!(counts.set(counting.clone()).is_ok(), "mounted once");
            (app, counting)
        });
        Self { host, tap, counting, start, ahead_ms }
    }

    /// A tenant with a limit of requests per second.
    async fn tenant(&self, slug: &str, per_second: Option<u32>) -> World {
        let rate = per_second.and_then(RequestRate::new);
        World::with_terms(Arc::clone(&self.host), slug, |terms| terms.requests_per_second = rate).await
    }

    /// Sets the clock to a window, counted from the start, and to the milliseconds into it.
    fn at(&self, window: u64, ms: u64) {
        self.ahead_ms.store(window * 10_000 + ms, Ordering::SeqCst);
    }

    fn counted(&self, metric: Metric) -> u64 {
        self.counting.get().expect("mounted").total(metric)
    }

    /// What was leased of a tenant's window.
    async fn leased(&self, world: &World, window: u64) -> Option<String> {
        leased(&world.books().await, self.start.seconds() + 10 * i64::try_from(window).expect("a small number"))
    }
}

fn clock(start: Timestamp, ahead_ms: &Arc<AtomicU64>) -> Clock {
    let ahead = Arc::clone(ahead_ms);
    Clock::from_fn(move || start.plus(Duration::from_millis(ahead.load(Ordering::SeqCst))))
}

fn leased(books: &Books, window_s: i64) -> Option<String> {
    let row = books.row(&format!("{}#rate#{window_s}", books.tenant), "RATE")?;
    assert_eq!(number(row, "ttl"), (window_s + 3_610).into());
    Some(number(row, "leased").to_string())
}

/// Sends every call once, from `CLIENTS` clients at a time.
async fn all_at_once(api: &Api, calls: &[Call]) -> Vec<Answer> {
    let clients = (0..CLIENTS.min(calls.len())).map(|client| async move {
        let mut answers = Vec::new();
        for (at, call) in calls.iter().enumerate().skip(client).step_by(CLIENTS) {
            answers.push((at, api.send(call).await));
        }
        answers
    });
    let mut answers: Vec<_> = join_all(clients).await.into_iter().flatten().collect();
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// The number of answers that are not the limiter's; asserts that the others are complete 429s.
fn passed(answers: &[Answer]) -> usize {
    let (limited, passed): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 429);
    for answer in limited {
        let _ = answer.clone().problem(429, "rate_limited");
    }
    passed.len()
}

fn balances(who: &Who) -> Call {
    Call::get("/v1/me/balances", who)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exact_number_of_requests_pass_and_others_leave_no_trace() {
    let rig = Rig::new(Attempts::Retried);
    let (slow, other) = (rig.tenant("rate-slow", Some(SLOW)).await, rig.tenant("rate-other", None).await);
    let (customer, merchant) = (slow.customer_with("1000").await, slow.merchant().await);
    let busy = other.customer_with("1000").await;
    rig.at(1, 3_250);
    let payments: Vec<_> = (0..60).map(|_| customer.pays(&merchant, "10")).collect();
    let others: Vec<_> = (0..200).map(|_| balances(&busy.who)).collect();
    let (answers, theirs) = tokio::join!(all_at_once(&slow.api, &payments), all_at_once(&other.api, &others));
    assert_eq!(passed(&answers), SLOW_PASSES);
    assert!(theirs.iter().all(|answer| answer.status == 200), "another tenant's requests are not limited");
    assert_eq!(rig.leased(&slow, 1).await.as_deref(), Some("20"));
    assert_eq!(rig.counted(Metric::RateLimited), 60 - 21);
    assert_eq!([Metric::RateLimitUnknown, Metric::TransactionConflict].map(|metric| rig.counted(metric)), [0, 0]);
    for limited in answers.iter().filter(|answer| answer.status == 429) {
        assert_eq!(limited.header("retry-after"), Some("7"), "{limited:?}");
        assert_eq!(limited.json()["retry_after_ms"], 6_750, "{limited:?}");
    }
    let books = slow.check_books().await;
    assert_eq!((books.entries_of("pay"), books.under("card_op_idem#pay#").count()), (SLOW_PASSES, SLOW_PASSES));

    // A refused request is retried under its key, and executed as a new one.
    let mut left: Vec<_> = payments
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| answer.status == 429)
        .map(|(call, _)| call.clone())
        .collect();
    for (window, pass) in [(2, 21), (3, 18)] {
        rig.at(window, 0);
        let answers = all_at_once(&slow.api, &left).await;
        assert_eq!(passed(&answers), pass, "window {window}");
        assert!(answers.iter().all(|answer| answer.status == 429 || (answer.status == 201 && !answer.replayed())));
        let refused = answers.iter().map(|answer| answer.status == 429);
        left = left.into_iter().zip(refused).filter(|(_, refused)| *refused).map(|(call, _)| call).collect();
    }
    assert_eq!(slow.check_books().await.entries_of("pay"), 60);
    rig.at(4, 0);
    assert_eq!(slow.balance(&customer, "ECOPAY").await, "400");
}

#[tokio::test]
async fn replays_and_all_apis_count_towards_the_limit() {
    let rig = Rig::new(Attempts::Retried);
    let world = rig.tenant("rate-faces", Some(SLOW)).await;
    let merchant = world.merchant().await;
    let (customer, terminal) = (world.customer_with("1000").await, world.terminal(&merchant).await);
    let card = world.card(None, "1000").await;
    rig.at(1, 0);
    let payment = customer.pays(&merchant, "10");
    let pays = |_| terminal.does("pay", &card, &json!({"amount": "10"}));
    let card_pays: Vec<Call> = (0..12).map(pays).collect();
    for (at, expected) in [(0, false), (1, true), (2, true)] {
        assert_eq!(world.api.send(&payment).await.good().replayed(), expected, "{at}");
    }
    let reads =
        [("/v1/me/balances", &customer.who), ("/v1/merchant", &merchant.who), ("/v1/admin/audit", &world.operator.who)];
    for (path, who) in reads {
        for _ in 0..3 {
            let _ = world.api.send(&Call::get(path, who)).await.good();
        }
    }
    // 12 have passed: 9 are left, for all APIs together.
    let answers = all_at_once(&world.api, &card_pays).await;
    assert_eq!(passed(&answers), 9);
    let before = world.check_books().await;
    let _ = world.api.send(&payment).await.problem(429, "rate_limited");
    let refused = card_pays.iter().zip(&answers).find(|(_, answer)| answer.status == 429).expect("a refused one").0;
    let _ = world.api.send(refused).await.problem(429, "rate_limited");
    world.books().await.unchanged_since(&before, "a refused request left something");
    rig.at(2, 0);
    let settled = world.api.send(refused).await;
    assert_eq!((settled.status, settled.replayed()), (201, false), "{settled:?}");
    assert_eq!(world.check_books().await.entries_of("card_pay"), 10);
}

/// Two environments on one table, each with its own memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_environments_share_one_budget() {
    let rig = Rig::new(Attempts::Retried);
    let world = rig.tenant("rate-shared", Some(10)).await;
    let customer = world.customer().await;
    let clock = clock(rig.start, &rig.ahead_ms);
    let store = Store::Endpoint(rig.host.stack().dynamodb_url().to_owned());
    let table = rig.host.stack().table().to_owned();
    let second = Stack::start_with(StackConfig { store, table, ..StackConfig::in_memory() }, |backend| async move {
        let client = host::functions_client(&backend.dynamodb_url).await;
        Ok(host::mounted(host::app((client, &backend.table), clock, &backend.stripe)))
    });
    let second = Box::pin(second).await.expect("a second environment");
    let grant = world.grant_of("customer", &customer.id, None);
    let token = second.issuer().issue(&grant, ledger_local::clock::epoch_s(), 3_600).expect("a token");
    let other = Api::new(&second.url());

    rig.at(1, 9_999);
    let here: Vec<_> = (0..120).map(|_| balances(&customer.who)).collect();
    let there: Vec<_> = (0..120).map(|_| balances(&Who::Bearer(token.clone()))).collect();
    let (here, there) = tokio::join!(all_at_once(&world.api, &here), all_at_once(&other, &there));
    // 100 of the budget, all used, and one free request in each.
    assert_eq!(passed(&here) + passed(&there), 102, "{} and {}", passed(&here), passed(&there));
    assert_eq!(rig.leased(&world, 1).await.as_deref(), Some("100"));
    let _ = world.api.send(&balances(&customer.who)).await.problem(429, "rate_limited");
    // An environment that has not read the leases yet finds the budget used up.
    rig.at(2, 0);
    let calls: Vec<_> = (0..120).map(|_| balances(&customer.who)).collect();
    assert_eq!(passed(&all_at_once(&world.api, &calls).await), 101);
    let late = other.send(&balances(&Who::Bearer(token.clone()))).await;
    assert_eq!(late.status, 200, "each environment has one free request: {late:?}");
    let _ = other.send(&balances(&Who::Bearer(token))).await.problem(429, "rate_limited");
    second.stop().await;
}

/// If the store is unavailable, throttled or in conflict, requests are not limited.
#[tokio::test]
async fn unavailable_store_lets_requests_pass() {
    let rig = Rig::new(Attempts::One);
    let world = rig.tenant("rate-away", Some(SLOW)).await;
    let (customer, merchant) = (world.customer_with("1000").await, world.merchant().await);
    let pay = async || world.api.send(&customer.pays(&merchant, "10")).await;
    let leases = || {
        let keys = rig.tap.take().into_iter().filter(|seen| seen.target == WRITE).map(|seen| seen.keys());
        keys.filter(|keys| keys.len() == 1 && keys[0].1 == "RATE").count()
    };
    rig.at(1, 0);
    let _ = (leases(), pay().await.good());
    for (ms, fault) in [(0, "ThrottlingError"), (1_000, "ProvisionedThroughputExceeded")] {
        rig.at(1, ms);
        rig.tap.next_writes([Some(Fault::Cancelled(0, fault))]);
        let _ = (pay().await.good(), pay().await.good());
    }
    assert_eq!(
        (leases(), rig.counted(Metric::RateLimitUnknown)),
        (2, 2),
        "no lease is requested for a second after a failure"
    );
    // A conflict of a lease is retried, and not counted as a transaction conflict.
    rig.at(1, 2_000);
    rig.tap.next_writes([Some(Fault::Cancelled(0, "TransactionConflict"))]);
    let _ = pay().await.good();
    assert_eq!((leases(), rig.counted(Metric::TransactionConflict)), (2, 0));

    rig.tap.every_call(Some(Fault::Refused));
    for (call, code) in [(balances(&customer.who), "unavailable"), (customer.pays(&merchant, "10"), "outcome_unknown")]
    {
        for _ in 0..20 {
            let _ = world.api.send(&call).await.problem(503, code);
        }
    }
    assert_eq!((rig.counted(Metric::RateLimitUnknown), rig.counted(Metric::RateLimited)), (3, 0));
    rig.tap.every_call(None);
    // The store is back: earlier leases still count.
    rig.at(1, 3_000);
    let calls: Vec<_> = (0..40).map(|_| balances(&customer.who)).collect();
    assert_eq!(passed(&all_at_once(&world.api, &calls).await), 19);
    assert_eq!(rig.leased(&world, 1).await.as_deref(), Some("20"));
    assert_eq!(world.check_books().await.entries_of("pay"), 6);
}

/// Unauthenticated requests and unknown paths do not use any budget.
#[tokio::test]
async fn unauthenticated_requests_do_not_count() {
    let rig = Rig::new(Attempts::Retried);
    let world = rig.tenant("rate-forged", Some(SLOW)).await;
    let merchant = world.merchant().await;
    let (customer, terminal) = (world.customer().await, world.terminal(&merchant).await);
    let card = world.card(None, "0").await;
    rig.at(1, 0);
    let Who::Bearer(token) = &customer.who else { panic!("customers have tokens") };
    let (signed_part, _) = token.rsplit_once('.').expect("a JWT");
    let stranger = Who::Bearer(format!("{signed_part}.{}", "A".repeat(86)));
    let (private_key, _) = Credential::key_pair().expect("a key pair");
    let imposter = Who::Terminal(Credential { private_key, ..terminal.credential.clone() });
    let replaced = Who::Terminal(Credential { epoch: terminal.credential.epoch + 1, ..terminal.credential.clone() });
    let event = world.paid_event(&new_id(), "pi_unknown", 300).to_string();
    let unverified = [
        (balances(&stranger), 401),
        (balances(&Who::Anonymous), 401),
        (Call::get(&format!("/v1/terminal/cards/{card}"), &imposter), 401),
        (Call::get(&format!("/v1/terminal/cards/{card}"), &replaced), 401),
        (delivery(&event, &signature("whsec_unknown", rig.start.seconds(), &event)), 400),
        (Call::get("/v1/me/nothing", &customer.who), 404),
        (Call::new(Method::DELETE, "/v1/me/balances", &customer.who), 405),
    ];
    for (call, status) in &unverified {
        for _ in 0..30 {
            let answer = world.api.send(call).await;
            assert_eq!(answer.status, *status, "{call:?}: {answer:?}");
        }
    }
    assert_eq!(rig.leased(&world, 1).await, None);
    let calls: Vec<_> = (0..30).map(|_| balances(&customer.who)).collect();
    assert_eq!(passed(&all_at_once(&world.api, &calls).await), SLOW_PASSES);
    // Only authenticated callers learn that the budget is used up.
    for (call, status) in &unverified {
        assert_eq!(world.api.send(call).await.status, *status, "{call:?}");
    }
    let card = Call::get(&format!("/v1/terminal/cards/{card}"), &terminal.who);
    let _ = world.api.send(&card).await.problem(429, "rate_limited");
}

/// Stripe's events are accepted whatever the tenant has used up: Stripe would only send them again.
#[tokio::test]
async fn stripe_events_are_not_limited() {
    let rig = Rig::new(Attempts::Retried);
    let world = rig.tenant("rate-stripe", Some(SLOW)).await;
    world.hold_deliveries().await;
    let topup = world.topup(&world.customer().await, "300").await;
    rig.at(1, 0);
    let calls: Vec<_> = (0..30).map(|_| Call::get("/v1/admin/audit", &world.operator.who)).collect();
    assert_eq!(passed(&all_at_once(&world.api, &calls).await), SLOW_PASSES);
    let event = signed(&world.paid_event(&topup.id, &topup.intent, 300).to_string());
    assert_eq!(world.api.send(&event).await.good().text("/status"), "applied");
    for _ in 0..30 {
        assert_eq!(world.api.send(&event).await.good().text("/status"), "behind");
    }
}

/// Requests of an unknown tenant are refused as such, not limited.
#[tokio::test]
async fn unknown_tenant_is_refused_and_not_limited() {
    let rig = Rig::new(Attempts::Retried);
    let world = rig.tenant("rate-known", Some(SLOW)).await;
    let mut grant = world.grant_of("customer", &new_id(), None);
    "rate-unknown".clone_into(&mut grant.tenant);
    let caller = world.issue(&grant, ledger_local::clock::epoch_s(), 3_600);
    let body = json!({"merchant_id": new_id(), "amount": "10"});
    for _ in 0..50 {
        let call = Call::post("/v1/me/payments", &caller, &body).key(new_key());
        let _ = world.api.send(&call).await.problem(403, "tenant_unknown");
    }
    assert_eq!(rig.counted(Metric::RateLimited), 0);
}

/// A lease costs two write units and covers a fiftieth of the budget. The first is taken after half as many requests.
#[tokio::test]
async fn lease_of_a_fiftieth_of_the_budget_costs_two_units() {
    let rig = Rig::new(Attempts::Retried);
    let world = rig.tenant("rate-costs", Some(200)).await;
    let customer = world.customer().await;
    rig.tap.meter();
    rig.at(1, 0);
    let mut written = Vec::new();
    for at in 0..105 {
        let _ = rig.tap.take();
        let _ = world.api.send(&balances(&customer.who)).await.good();
        let writes = rig.tap.take().into_iter().filter(|seen| seen.target == WRITE);
        written.extend(writes.map(|seen| (at, seen.keys().len(), seen.write_units())));
    }
    let lease = |at: usize| (at, 1, Some(2));
    assert_eq!(written, [lease(20), lease(60), lease(100)]);
}
