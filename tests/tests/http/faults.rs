//! Faults of the store on the wire: down, throttled, in conflict, and answers lost after the effect.
//! The client gets an error that claims no more than is known, and its retry finds the outcome.
use futures::future::join_all;
use ledger_core::terms::TenantTerms;
use ledger_runtime::clock::Clock;
use ledger_runtime::metrics::{Counting, Metric};
use ledger_tests::http::assets::with_spring;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::tap::{Attempts, Fault, Tap};
use ledger_tests::http::{Answer, Call, Host, World};
use ledger_tests::share;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

const WRITE: &str = "TransactWriteItems";

/// A stage whose calls to the store can be made to fail.
struct Rig {
    stage: Stage,
    tap: Tap,
    counting: Arc<OnceLock<Counting>>,
}

impl Rig {
    async fn new(tenant: &str, attempts: Attempts) -> Self {
        Self::with_terms(tenant, attempts, |_| {}).await
    }

    async fn with_terms(tenant: &str, attempts: Attempts, change: impl Fn(&mut TenantTerms)) -> Self {
        let (tap, counting) = (Tap::default(), Arc::new(OnceLock::new()));
        let (wire, counts) = (tap.clone(), Arc::clone(&counting));
        let host = Host::with_app(move |backend| async move {
            let (app, counting) =
                wire.app((&backend.dynamodb_url, &backend.table), attempts, Clock::system(), &backend.stripe).await;
            assert!(counts.set(counting.clone()).is_ok(), "mounted once");
            (app, counting)
        });
        let stage = Stage::new(World::with_terms(host, tenant, change).await).await;
        let _ = stage.paid("1").await;
        Self { stage, tap, counting }
    }

    fn counted(&self, metric: Metric) -> u64 {
        self.counting.get().expect("mounted").total(metric)
    }

    /// Transactions sent since the last call.
    fn writes(&self) -> usize {
        self.tap.take_targets().iter().filter(|target| *target == WRITE).count()
    }
}

/// Asserts a 503 with a retry time in header and body.
fn assert_unknown(answer: Answer, code: &str) -> Answer {
    let answer = answer.problem(503, code);
    let seconds: u64 = answer.header("retry-after").expect("Retry-After").parse().expect("seconds");
    assert!(seconds >= 1 && answer.json()["retry_after_ms"].as_u64() <= Some(seconds * 1000), "{answer:?}");
    answer
}

/// On every wallet endpoint: after the effect the client gets `outcome_unknown`, and its retry the stored response.
#[tokio::test]
async fn retry_after_lost_answer_gets_the_stored_response() {
    let rig = Rig::new("lost", Attempts::One).await;
    let world = &rig.stage.world;
    let endpoints = share::of_family(Endpoint::wallet());
    for endpoint in &endpoints {
        let prepared = endpoint.prepare(&rig.stage).await;
        let before = world.books().await;
        rig.tap.next_writes([Some(Fault::AnswerCut)]);
        let _ = assert_unknown(world.api.send(&prepared.call).await, "outcome_unknown");
        let after = world.check_books().await;
        let entries = after.under("TXN#").count() - before.under("TXN#").count();
        assert_eq!(entries, prepared.entries, "{endpoint:?}: the effect");
        let found = world.api.settle(&prepared.call).await;
        assert_eq!((found.status, found.replayed()), (prepared.status, true), "{endpoint:?}: {found:?}");
        assert_eq!(world.api.send(&prepared.call).await.stored(), found.stored(), "{endpoint:?}");
        world.books().await.unchanged_since(&after, "a retry moved something");
    }
    assert_eq!(rig.tap.faults_left(), 0);
    assert_eq!(rig.counted(Metric::OutcomeUnknown), endpoints.len() as u64);
}

/// On every endpoint of commands: the approval's answer is lost after the effect, and its retry gets the stored response.
#[tokio::test]
async fn retry_of_an_approval_after_lost_answer_gets_the_stored_response() {
    let rig = Rig::with_terms("lost-approval", Attempts::One, with_spring).await;
    let world = &rig.stage.world;
    let commands = share::of_family(Endpoint::wallet().filter(|endpoint| endpoint.is_command()));
    for endpoint in &commands {
        let prepared = endpoint.prepare_executed(&rig.stage).await;
        let approve = world.approving(&prepared.call).await;
        let before = world.books().await;
        rig.tap.next_writes([Some(Fault::AnswerCut)]);
        let _ = assert_unknown(world.api.send(&approve).await, "outcome_unknown");
        let after = world.check_books().await;
        let entries = after.under("TXN#").count() - before.under("TXN#").count();
        assert_eq!(entries, prepared.entries, "{endpoint:?}: the effect");
        let found = world.api.settle(&approve).await;
        assert_eq!((found.status, found.replayed()), (200, true), "{endpoint:?}: {found:?}");
        assert_eq!(found.text("/status"), "approved", "{endpoint:?}");
        world.books().await.unchanged_since(&after, "a retry moved something");
    }
    assert_eq!(rig.tap.faults_left(), 0);
    assert_eq!(rig.counted(Metric::OutcomeUnknown), commands.len() as u64);
}

/// On every wallet endpoint: nothing is done, the client gets `outcome_unknown`, and its retry executes the request.
#[tokio::test]
async fn retry_after_failed_write_is_executed() {
    let rig = Rig::new("refused", Attempts::One).await;
    for endpoint in share::of_family(Endpoint::wallet()) {
        let prepared = endpoint.prepare(&rig.stage).await;
        check_failed_writes(&rig, endpoint, &prepared.call, prepared.status).await;
    }
    rig.stage.world.check_books().await;
}

/// On every endpoint of commands: the approval is not written, and its retry executes the command.
#[tokio::test]
async fn retry_of_an_approval_after_failed_write_is_executed() {
    let rig = Rig::with_terms("refused-approval", Attempts::One, with_spring).await;
    let world = &rig.stage.world;
    for endpoint in share::of_family(Endpoint::wallet().filter(|endpoint| endpoint.is_command())) {
        let prepared = endpoint.prepare_executed(&rig.stage).await;
        let approve = world.approving(&prepared.call).await;
        let before = world.books().await;
        check_failed_writes(&rig, endpoint, &approve, 200).await;
        let entries = world.books().await.under("TXN#").count() - before.under("TXN#").count();
        assert_eq!(entries, prepared.entries, "{endpoint:?}: the effect");
    }
    world.check_books().await;
}

async fn check_failed_writes(rig: &Rig, endpoint: Endpoint, call: &Call, status: u16) {
    let world = &rig.stage.world;
    let before = world.books().await;
    for fault in [Fault::Refused, Fault::Error(500, "InternalServerError"), Fault::Error(503, "ServiceUnavailable")] {
        rig.tap.next_writes([Some(fault)]);
        let _ = assert_unknown(world.api.send(call).await, "outcome_unknown");
    }
    world.books().await.unchanged_since(&before, "a write that never arrived moved something");
    let done = world.api.settle(call).await;
    assert_eq!((done.status, done.replayed()), (status, false), "{endpoint:?}: {done:?}");
}

/// After three retries the client gets `busy`.
#[tokio::test]
async fn conflicts_are_retried_three_times() {
    let rig = Rig::new("conflict", Attempts::One).await;
    let world = &rig.stage.world;
    let conflict = |at| Some(Fault::Cancelled(at, "TransactionConflict"));
    for endpoint in [Endpoint::Pay, Endpoint::Refund, Endpoint::CardTopup, Endpoint::CustomerPatch] {
        for at in [0, 1] {
            let prepared = endpoint.prepare(&rig.stage).await;
            let (conflicts, _) = (rig.counted(Metric::TransactionConflict), rig.tap.take());
            rig.tap.next_writes([conflict(at), conflict(at), conflict(at)]);
            let done = world.api.send(&prepared.call).await;
            assert_eq!(
                (done.status, done.replayed(), rig.writes()),
                (prepared.status, false, 4),
                "{endpoint:?}: {done:?}"
            );
            assert_eq!(rig.counted(Metric::TransactionConflict) - conflicts, 3);

            let prepared = endpoint.prepare(&rig.stage).await;
            let before = world.books().await;
            let _ = rig.tap.take();
            rig.tap.next_writes([conflict(at), conflict(at), conflict(at), conflict(at)]);
            let _ = assert_unknown(world.api.send(&prepared.call).await, "busy");
            assert_eq!(rig.writes(), 4, "{endpoint:?}");
            world.books().await.unchanged_since(&before, "a conflict moved something");
            assert_eq!(world.api.settle(&prepared.call).await.status, prepared.status);
        }
    }
    world.check_books().await;
}

/// After the last conflict the key is looked up once: another request may have stored its response.
#[tokio::test]
async fn conflicting_retry_gets_the_stored_response() {
    let rig = Rig::new("conflict-self", Attempts::One).await;
    let world = &rig.stage.world;
    for endpoint in [Endpoint::Pay, Endpoint::Transfer, Endpoint::CardPay] {
        let prepared = endpoint.prepare(&rig.stage).await;
        let first = world.api.settle(&prepared.call).await.good();
        let conflict = Some(Fault::Cancelled(0, "TransactionConflict"));
        rig.tap.next_writes([conflict.clone(), conflict.clone(), conflict.clone(), conflict]);
        let found = world.api.send(&prepared.call).await;
        assert_eq!((found.stored(), found.replayed()), (first.stored(), true), "{endpoint:?}");
    }
    world.check_books().await;
}

/// Neither as a cancellation's reason nor as the call's own error.
#[tokio::test]
async fn throttling_is_not_retried() {
    let rig = Rig::new("throttled", Attempts::One).await;
    let world = &rig.stage.world;
    let customer = world.customer_with("1000").await;
    let faults = [
        Fault::Cancelled(0, "ThrottlingError"),
        Fault::Cancelled(1, "ThrottlingError"),
        Fault::Cancelled(1, "ProvisionedThroughputExceeded"),
        Fault::Error(400, "ThrottlingException"),
        Fault::Error(400, "ProvisionedThroughputExceededException"),
        Fault::Error(400, "RequestLimitExceeded"),
    ];
    let before = world.books().await;
    for (count, fault) in faults.into_iter().enumerate() {
        let call = customer.pays(&rig.stage.merchant, "10");
        let _ = rig.tap.take();
        rig.tap.next_writes([Some(fault)]);
        let _ = assert_unknown(world.api.send(&call).await, "busy");
        assert_eq!((rig.writes(), rig.counted(Metric::Throttled)), (1, count as u64 + 1));
    }
    world.books().await.unchanged_since(&before, "a throttled write moved something");
    assert_eq!(rig.counted(Metric::TransactionConflict), 0);
}

/// An unexpected error is a 500 with a constant body, is not retried, and leaves the key usable.
#[tokio::test]
async fn unexpected_store_error_is_a_500_without_detail() {
    let rig = Rig::new("broken", Attempts::One).await;
    let world = &rig.stage.world;
    let customer = world.customer_with("1000").await;
    let faults = [
        Fault::Cancelled(0, "SomethingNew"),
        Fault::Cancelled(2, "SomethingNew"),
        Fault::Cancelled(1, "ValidationError"),
        Fault::Cancelled(0, "ItemCollectionSizeLimitExceeded"),
        Fault::Error(400, "ValidationException"),
        Fault::Error(400, "AccessDeniedException"),
        Fault::Error(400, "ResourceNotFoundException"),
    ];
    let call = customer.pays(&rig.stage.merchant, "10");
    let before = world.books().await;
    let mut bodies = BTreeSet::new();
    for fault in faults {
        let _ = rig.tap.take();
        rig.tap.next_writes([Some(fault)]);
        bodies.insert(world.api.send(&call).await.problem(500, "internal").body);
        assert_eq!(rig.writes(), 1);
    }
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert!(!bodies.iter().any(|body| body.contains("SomethingNew") || body.contains("Exception")), "{bodies:?}");
    world.books().await.unchanged_since(&before, "a failed write moved something");
    assert_eq!(world.api.settle(&call).await.status, 201);
    assert!(rig.counted(Metric::Broken) >= 7);
}

/// The store is down: writes and reads get 503. Once it is back, each retry is executed once.
#[tokio::test]
async fn unavailable_store_gives_503_and_retries_apply_once() {
    let rig = Rig::new("down", Attempts::One).await;
    let (world, merchant) = (&rig.stage.world, &rig.stage.merchant);
    let (customer, payment) = rig.stage.paid("1000").await;
    let rich = world.customer_with("1000").await;
    let calls = [rich.pays(merchant, "10"), rich.sends(&customer, "10"), merchant.refunds(&payment, "10")];
    let before = world.books().await;
    rig.tap.every_call(Some(Fault::Refused));
    for call in &calls {
        for _ in 0..2 {
            let answer = world.api.send(call).await;
            let read = call.path.ends_with("/refunds");
            let _ = assert_unknown(answer, if read { "unavailable" } else { "outcome_unknown" });
        }
    }
    let read = ledger_tests::http::Call::get("/v1/me/balances", &rich.who);
    let _ = assert_unknown(world.api.send(&read).await, "unavailable");
    rig.tap.every_call(None);
    world.books().await.unchanged_since(&before, "a request to an unavailable store moved something");
    for answer in join_all(calls.iter().map(|call| world.api.settle(call))).await {
        assert_eq!((answer.status, answer.replayed()), (201, false), "{answer:?}");
    }
    assert_eq!(world.balance(&rich, "ECOPAY").await, "980");
    world.check_books().await;
}

/// The refusal is stored, but the write's answer is lost.
#[tokio::test]
async fn stored_refusal_is_replayed_after_lost_answer() {
    let rig = Rig::new("lost-refusal", Attempts::One).await;
    let world = &rig.stage.world;
    let poor = world.customer_with("10").await;
    let call = poor.pays(&rig.stage.merchant, "11");
    rig.tap.next_writes([None, Some(Fault::AnswerCut)]);
    let _ = assert_unknown(world.api.send(&call).await, "outcome_unknown");
    world.adjust(&json!({"customer_id": poor.id}), "credit", "100").await;
    let found = world.api.settle(&call).await.problem(400, "insufficient_balance");
    assert!(found.replayed());
    assert_eq!(world.balance(&poor, "ECOPAY").await, "110");
    world.check_books().await;
}

/// With the SDK's own retries, as deployed: an attempt that fails after its effect is repeated under its token, and the
/// client gets the response. Each attempt of the ledger has a new token.
#[tokio::test]
async fn sdk_retry_keeps_its_token_and_ledger_retry_does_not() {
    let rig = Rig::new("tokens", Attempts::AsDeployed).await;
    let world = &rig.stage.world;
    let customer = world.customer_with("1000").await;
    let tokens = || -> Vec<String> {
        let writes = rig.tap.take().into_iter().filter(|seen| seen.target == WRITE);
        writes.map(|seen| seen.body["ClientRequestToken"].as_str().expect("a token").to_owned()).collect()
    };
    for fault in [Fault::AnswerLost, Fault::AnswerCut, Fault::Error(500, "InternalServerError")] {
        let _ = tokens();
        rig.tap.next_writes([Some(fault)]);
        let paid = world.api.send(&customer.pays(&rig.stage.merchant, "100")).await;
        assert_eq!((paid.status, paid.replayed()), (201, false), "{paid:?}");
        let tokens = tokens();
        assert!(tokens.len() == 2 && tokens[0] == tokens[1], "{tokens:?}");
    }
    assert_eq!(world.balance(&customer, "ECOPAY").await, "700");

    let _ = tokens();
    rig.tap.next_writes([Some(Fault::Cancelled(1, "TransactionConflict"))]);
    let _ = world.api.send(&customer.pays(&rig.stage.merchant, "100")).await.good();
    let tokens = tokens();
    assert!(tokens.len() == 2 && tokens[0] != tokens[1], "{tokens:?}");
    let books = world.check_books().await;
    assert_eq!(books.posted(&format!("customer:{}", customer.id), "ECOPAY"), 600.into());
}
