//! What the limiter asks a scripted store, and what it makes of the answers. The clock stands where the
//! test sets it.

use super::*;
use crate::app::App;
use crate::clock::Clock;
use crate::config::Config;
use crate::metrics::Counting;
use crate::testing::{Step as Answer, Store, now, reasons, terms_with};
use futures::future::join_all;
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

/// A function over the store, whose clock is ahead by so many milliseconds.
struct Rig {
    app: App,
    store: Store,
    counting: Counting,
    ahead_ms: Arc<AtomicU64>,
}

fn demo() -> Tenant {
    Tenant::parse("demo").unwrap()
}

/// The terms of a tenant with this rate, as the first answer.
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
    /// The statuses of so many requests, one after another.
    async fn ask(&self, times: usize) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..times {
            let decided = self.app.limiter().check(&demo()).await;
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
async fn a_quiet_tenant_costs_nothing() {
    let rig = over(Store::default());
    for window in 0..5 {
        rig.at_ms(window * 10_000);
        assert_eq!(rig.ask(1).await, [200]);
    }
    assert!(rig.store.seen().is_empty());
}

#[tokio::test(start_paused = true)]
async fn leased_until_the_store_refuses_and_anew_in_the_next_window() {
    // Two a second: 20 in a window, one at a time, and one for nothing.
    let rig = rig(Some(2), [granted(), granted(), used_up("20"), granted()]);
    rig.at_ms(2_500);
    assert_eq!(rig.ask(5).await, [200, 200, 200, 429, 429]);
    assert_eq!((rig.leases(), rig.counted()), (3, [2, 0, 0]), "who was refused asks no more");
    let refused = rig.app.limiter().check(&demo()).await.unwrap_err();
    assert!(refused.body().ends_with(r#""code":"rate_limited","retry_after_ms":7500}"#), "{}", refused.body());
    let sent = &rig.store.seen()[1].body["TransactItems"][0]["Update"];
    assert_eq!(sent["Key"]["type"]["S"], format!("RATE#{}", now().seconds()));
    assert_eq!(sent["ExpressionAttributeValues"][":most"]["N"], "19");
    rig.at_ms(9_999);
    assert_eq!(rig.ask(1).await, [429]);
    rig.at_ms(10_000);
    assert_eq!(rig.ask(2).await, [200, 200]);
    assert!(rig.store.is_through());
}

#[tokio::test(start_paused = true)]
async fn the_deployments_rate_applies_where_the_terms_say_nothing() {
    // 200 a second: 20 for nothing, then 40 for a lease.
    let rig = rig(None, [granted(), used_up("1961")]);
    assert_eq!(rig.ask(60).await, [200; 60]);
    assert_eq!(rig.leases(), 1);
    assert_eq!(rig.ask(1).await, [429]);
    assert!(rig.store.is_through());
}

/// Requests that come at once in one process share a lease: while it is under way they wait.
#[tokio::test(start_paused = true)]
async fn one_lease_at_a_time() {
    // A conflict makes a lease last.
    let rig = rig(None, [cancelled("TransactionConflict"), granted(), used_up("1961")]);
    assert!(rig.app.terms(&demo()).await.is_ok());
    let tenant = demo();
    let decided = join_all((0..60).map(|_| rig.app.limiter().check(&tenant))).await;
    assert_eq!((decided.iter().filter(|decided| decided.is_ok()).count(), rig.leases()), (60, 2));
    let decided = join_all((0..60).map(|_| rig.app.limiter().check(&tenant))).await;
    assert!(decided.iter().all(Result::is_err));
    assert_eq!((rig.leases(), rig.counted()), (3, [60, 0, 0]), "the refusal is for all of them");
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_tried_once_more_and_is_no_conflict_of_money() {
    let conflict = || cancelled("TransactionConflict");
    let rig = rig(Some(1), [conflict(), granted(), conflict(), conflict(), used_up("10")]);
    assert_eq!(rig.ask(2).await, [200, 200]);
    assert_eq!(rig.counted(), [0, 0, 0]);
    // Twice: this request passes, and the next one asks again.
    assert_eq!(rig.ask(2).await, [200, 429]);
    assert_eq!(rig.counted(), [1, 1, 0]);
    assert!(rig.store.is_through());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_say_is_no_reason_to_refuse() {
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
        assert!(began.elapsed() <= PATIENCE, "{name}: {:?}", began.elapsed());
        assert_eq!(rig.counted(), [0, 1, 0], "{name}");
        // It has its rest: nothing is asked.
        let asked = rig.store.seen().len();
        rig.at_ms(999);
        assert_eq!((rig.ask(3).await, rig.store.seen().len()), (vec![200; 3], asked), "{name}");
        assert_eq!(rig.counted(), [0, 1, 0], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_its_rest_the_store_is_asked_again() {
    let rig = rig(Some(1), [cancelled("ThrottlingError"), used_up("10")]);
    assert_eq!(rig.ask(2).await, [200, 200]);
    rig.at_ms(1_000);
    assert_eq!(rig.ask(1).await, [429]);
    assert!(rig.store.is_through());
}

#[tokio::test(start_paused = true)]
async fn terms_that_cannot_be_read_let_pass_and_so_does_a_tenant_that_is_not_set_up() {
    let rig = over(Store::script([Answer::Error(400, "AccessDeniedException"), Answer::Hang, Answer::Hang]));
    assert_eq!((rig.ask(2).await, rig.counted()), (vec![200, 200], [0, 1, 0]));
    assert_eq!((rig.ask(1).await, rig.counted()), (vec![200], [0, 2, 0]));
    let stranger = over(Store::script(vec![Answer::Ok(json!({})); 3]));
    assert_eq!((stranger.ask(4).await, stranger.counted()), (vec![200; 4], [0, 0, 0]));
}

#[tokio::test(start_paused = true)]
async fn tenants_do_not_share() {
    let rig = rig(Some(1), [used_up("10")]);
    assert_eq!(rig.ask(2).await, [200, 429]);
    assert!(rig.app.limiter().check(&Tenant::parse("other").unwrap()).await.is_ok());
}

#[test]
fn the_count_of_tenants_stays_within_its_bound() {
    let limiter = over(Store::script([])).app.limiter().clone();
    let fill = |from: usize, at: Timestamp| {
        for number in from..from + TENANTS_MAX {
            drop(limiter.bucket(&Tenant::parse(&format!("t-{number}")).unwrap(), at));
        }
        limiter.0.buckets.lock().unwrap().len()
    };
    assert_eq!(fill(0, now()), TENANTS_MAX);
    // In the same window anybody goes; in the next one, those of the old.
    assert_eq!(fill(1, now()), TENANTS_MAX);
    let later = now().plus(Duration::from_secs(10));
    drop(limiter.bucket(&Tenant::parse("later").unwrap(), later));
    assert_eq!(limiter.0.buckets.lock().unwrap().len(), 1);
}
