//! What the limiter sends to a scripted store, and how it handles the answers. The test sets the clock.

use super::*;
use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::metrics::Counting;
use crate::testing::{Step as Answer, Store, now, reasons, terms_with};
use futures::future::join_all;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

/// A function over a scripted store. Its clock is ahead by `ahead_ms` milliseconds.
struct Rig {
    app: App,
    store: Store,
    counting: Counting,
    ahead_ms: Arc<AtomicU64>,
}

fn demo() -> Tenant {
    Tenant::parse("demo").unwrap()
}

/// A rig whose first answer is the terms of a tenant with this rate.
fn rig(rate: Option<u32>, answers: impl IntoIterator<Item = Answer>) -> Rig {
    let terms = terms_with("mandatory", rate.and_then(RequestRate::new));
    over(Store::script([terms].into_iter().chain(answers)))
}

fn over(store: Store) -> Rig {
    let ahead_ms = Arc::new(AtomicU64::new(0));
    let ahead = Arc::clone(&ahead_ms);
    let clock = Clock::from_fn(move || now().plus(Duration::from_millis(ahead.load(Ordering::SeqCst))));
    let (ledger, counting) = store.ledger_at(clock);
    Rig { app: App::new(ledger, Config::of_table("ledger")), store, counting, ahead_ms }
}

impl Rig {
    /// The statuses of `times` requests, one after another.
    async fn ask(&self, times: usize) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..times {
            let decided = self.app.limiter().check(&demo(), None).await;
            statuses.push(decided.map_or_else(|problem| problem.status().as_u16(), |()| 200));
        }
        statuses
    }

    fn at_ms(&self, ms: u64) {
        self.ahead_ms.store(ms, Ordering::SeqCst);
    }

    fn leases(&self) -> usize {
        self.store.seen().iter().filter(|seen| seen.target == "TransactWriteItems").count()
    }

    fn counted(&self) -> [u64; 3] {
        [Metric::RateLimited, Metric::RateLimitUnknown, Metric::TransactionConflict]
            .map(|metric| self.counting.total(metric))
    }
}

fn granted() -> Answer {
    Answer::Ok(json!({}))
}

fn cancelled(code: &str) -> Answer {
    Answer::Cancelled(reasons(1, 0, code, None))
}

fn used_up(leased: &str) -> Answer {
    Answer::Cancelled(reasons(1, 0, "ConditionalCheckFailed", Some(json!({"leased": {"N": leased}}))))
}

#[tokio::test(start_paused = true)]
async fn request_within_free_allowance_does_not_reach_the_store() {
    let rig = over(Store::default());
    for window in 0..5 {
        rig.at_ms(window * 10_000);
        assert_eq!(rig.ask(1).await, [200]);
    }
    assert!(rig.store.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn tenant_is_refused_when_its_window_is_used_up_until_the_next_window() {
    // 2 requests per second: 20 in a window, leased one at a time, and one free.
    let rig = rig(Some(2), [granted(), granted(), used_up("20"), granted()]);
    rig.at_ms(2_500);
    assert_eq!(rig.ask(5).await, [200, 200, 200, 429, 429]);
    assert_eq!((rig.leases(), rig.counted()), (3, [2, 0, 0]), "after a refusal no further lease is requested");
    let refused = rig.app.limiter().check(&demo(), None).await.unwrap_err();
    assert!(refused.body().ends_with(r#""code":"rate_limited","retry_after_ms":7500}"#), "{}", refused.body());
    let sent = &rig.store.seen()[1].body["TransactItems"][0]["Update"];
    assert_eq!(sent["Key"]["uuid"]["S"], format!("demo#rate#{}", now().seconds()));
    assert_eq!(sent["ExpressionAttributeValues"][":most"]["N"], "19");
    rig.at_ms(9_999);
    assert_eq!(rig.ask(1).await, [429]);
    rig.at_ms(10_000);
    assert_eq!(rig.ask(2).await, [200, 200]);
    assert!(rig.store.is_through());
}

#[tokio::test(start_paused = true)]
async fn default_rate_applies_if_terms_have_none() {
    // 200 requests per second: 20 free, then 40 for each lease.
    let rig = rig(None, [granted(), used_up("1961")]);
    assert_eq!(rig.ask(60).await, [200; 60]);
    assert_eq!(rig.leases(), 1);
    assert_eq!(rig.ask(1).await, [429]);
    assert!(rig.store.is_through());
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_share_one_lease() {
    // The conflict delays the lease, so that the other requests wait for it.
    let rig = rig(None, [cancelled("TransactionConflict"), granted(), used_up("1961")]);
    assert!(rig.app.terms(&demo()).await.is_ok());
    let tenant = demo();
    let decided = join_all((0..60).map(|_| rig.app.limiter().check(&tenant, None))).await;
    assert_eq!((decided.iter().filter(|decided| decided.is_ok()).count(), rig.leases()), (60, 2));
    let decided = join_all((0..60).map(|_| rig.app.limiter().check(&tenant, None))).await;
    assert!(decided.iter().all(Result::is_err));
    assert_eq!((rig.leases(), rig.counted()), (3, [60, 0, 0]), "the refusal is for all of them");
}

#[tokio::test(start_paused = true)]
async fn conflicting_lease_is_retried_once_and_not_counted_as_transaction_conflict() {
    let conflict = || cancelled("TransactionConflict");
    let rig = rig(Some(1), [conflict(), granted(), conflict(), conflict(), used_up("10")]);
    assert_eq!(rig.ask(2).await, [200, 200]);
    assert_eq!(rig.counted(), [0, 0, 0]);
    // After two conflicts the request passes, and the next one leases again.
    assert_eq!(rig.ask(2).await, [200, 429]);
    assert_eq!(rig.counted(), [1, 1, 0]);
    assert!(rig.store.is_through());
}

#[tokio::test(start_paused = true)]
async fn request_passes_if_the_store_fails() {
    let faults = [
        vec![cancelled("ThrottlingError")],
        vec![cancelled("SomethingNew")],
        vec![Answer::Error(400, "ThrottlingException"); 4],
        vec![Answer::Error(400, "AccessDeniedException")],
        vec![Answer::Error(500, "InternalServerError"); 4],
        vec![Answer::Broken; 4],
        vec![Answer::Hang; 4],
        vec![Answer::Garbage; 4],
    ];
    for fault in faults {
        let name = format!("{fault:?}");
        let rig = rig(Some(1), fault);
        let began = tokio::time::Instant::now();
        assert_eq!(rig.ask(2).await, [200, 200], "{name}");
        assert!(began.elapsed() <= LEASE_TIMEOUT, "{name}: {:?}", began.elapsed());
        assert_eq!(rig.counted(), [0, 1, 0], "{name}");
        // The store is not called again within the pause.
        let reads_before = rig.store.seen().len();
        rig.at_ms(999);
        assert_eq!((rig.ask(3).await, rig.store.seen().len()), (vec![200; 3], reads_before), "{name}");
        assert_eq!(rig.counted(), [0, 1, 0], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn store_is_called_again_after_the_pause() {
    let rig = rig(Some(1), [cancelled("ThrottlingError"), used_up("10")]);
    assert_eq!(rig.ask(2).await, [200, 200]);
    rig.at_ms(1_000);
    assert_eq!(rig.ask(1).await, [429]);
    assert!(rig.store.is_through());
}

#[tokio::test(start_paused = true)]
async fn request_passes_if_terms_are_unreadable_or_tenant_is_unknown() {
    let rig = over(Store::script([Answer::Error(400, "AccessDeniedException"), Answer::Hang, Answer::Hang]));
    assert_eq!((rig.ask(2).await, rig.counted()), (vec![200, 200], [0, 1, 0]));
    assert_eq!((rig.ask(1).await, rig.counted()), (vec![200], [0, 2, 0]));
    let stranger = over(Store::script(vec![Answer::Ok(json!({})); 3]));
    assert_eq!((stranger.ask(4).await, stranger.counted()), (vec![200; 4], [0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn tenants_are_limited_separately() {
    let rig = rig(Some(1), [used_up("10")]);
    assert_eq!(rig.ask(2).await, [200, 429]);
    assert!(rig.app.limiter().check(&Tenant::parse("other").unwrap(), None).await.is_ok());
}

#[test]
fn number_of_counted_tenants_is_bounded() {
    let limiter = over(Store::script([])).app.limiter().clone();
    let fill = |from: usize, at: Timestamp| {
        for number in from..from + TENANTS_MAX {
            drop(limiter.bucket(&Tenant::parse(&format!("t-{number}")).unwrap(), at));
        }
        limiter.0.buckets.lock().unwrap().len()
    };
    assert_eq!(fill(0, now()), TENANTS_MAX);
    // In the same window an arbitrary tenant is removed; in the next window, all those of the old one.
    assert_eq!(fill(1, now()), TENANTS_MAX);
    let later = now().plus(Duration::from_secs(10));
    drop(limiter.bucket(&Tenant::parse("later").unwrap(), later));
    assert_eq!(limiter.0.buckets.lock().unwrap().len(), 1);
}
