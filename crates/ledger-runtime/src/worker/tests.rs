use super::*;
use crate::config::Config;
use crate::logging::tests::Lines;
use crate::metrics::{Counting, Metric};
use crate::testing::{Step, Store, terms};
use serde_json::{Value, json};
use std::cell::RefCell;

/// The result of a run, the tenants whose work was done with their numbers of changed items, and the counts.
type Ended<T> = (T, Vec<String>, Counting);

/// Runs `$act` with a worker that notes its tenants. Its work fails for `bad` and `closed`, is denied by the store for
/// `denied`, and panics for `ugly`.
macro_rules! with_worker {
    ($store:expr, |$worker:ident| $act:expr) => {{
        let (ledger, counting) = Store::script($store).ledger();
        let done = RefCell::new(Vec::new());
        let run = async |_: &App, due: &Due| {
            done.borrow_mut().push(format!("{} {}", due.tenant, due.changed.len()));
            match due.tenant.as_str() {
                "bad" => Err(Problem::busy()),
                "denied" => Err(Problem::store_refused("AccessDeniedException")),
                "ugly" => panic!("090-1234-5678"),
                "closed" => Err(Problem::tenant_unknown()),
                _ => Ok(json!({"done": 1})),
            }
        };
        let $worker = Worker::new(App::new(ledger, Config::of_table("ledger")), run);
        let came = $act.await;
        (came, done.into_inner(), counting)
    }};
}

/// Answers to the reads of the terms: each tick checks that its tenant is open.
fn all_open() -> impl Iterator<Item = Step> {
    std::iter::repeat_n(terms("mandatory"), 10)
}

fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).unwrap()
}

/// A run for everything that is due for a tenant, as an operator asks for it.
async fn by_hand(name: &str, store: impl IntoIterator<Item = Step>) -> Ended<Result<Option<Value>, &'static str>> {
    with_worker!(store, |worker| worker.run(&Due::everything(tenant(name))))
}

/// A batch of ticks; an empty name is a record that cannot be read.
async fn batch(names: &[&str], store: impl IntoIterator<Item = Step>) -> Ended<Vec<String>> {
    let due = |name: &str| (!name.is_empty()).then(|| Due::everything(tenant(name)));
    let records = names.iter().enumerate().map(|(at, name)| Record { id: format!("m{at}"), due: due(name) }).collect();
    with_worker!(store, |worker| worker.failed(records))
}

fn count(counting: &Counting, metric: Metric, name: &str) -> u64 {
    let now = crate::testing::now();
    counting.sum_between(metric, &tenant(name), None, now, now)
}

#[tokio::test]
async fn run_by_hand_answers_what_it_did() {
    let (answer, done, _) = by_hand("demo", all_open()).await;
    assert_eq!((answer, done), (Ok(Some(json!({"done": 1}))), vec!["demo 0".to_owned()]));
    assert_eq!(by_hand("bad", all_open()).await.0, Err("busy"));
}

#[test]
fn tick_of_a_malformed_tenant_or_another_tenants_item_requests_no_work() {
    let due = |text: &str| serde_json::from_str::<Tick>(text).unwrap().due();
    assert_eq!(due(r#"{"tenant":"a#b"}"#), None);
    assert_eq!(due(r#"{"tenant":"one","entry":{"pk":"two#customer#x","sk":"TXN#y"}}"#), None);
    assert_eq!(due(r#"{"tenant":"one"}"#), Some(Due::everything(tenant("one"))));
}

#[tokio::test]
async fn batch_runs_each_tenant_once_and_names_the_records_that_failed() {
    let (failed, done, _) = batch(&["one", "bad", "", "one", "bad", "two"], all_open()).await;
    assert_eq!(
        (failed, done),
        (["m2", "m1", "m4"].map(str::to_owned).into(), ["one 0", "bad 0", "two 0"].map(str::to_owned).into())
    );
    assert_eq!(batch(&["one"], all_open()).await.0, Vec::<String>::new());
}

#[tokio::test]
async fn batch_hands_over_all_changed_items_of_a_tenant() {
    let record = |id: &str, name: &str| {
        let due = Due { changed: vec![Item::new()], ..Due::everything(tenant(name)) };
        Record { id: id.to_owned(), due: Some(due) }
    };
    let records = vec![record("100", "one"), record("101", "bad"), record("103", "one")];
    let (failed, done, _) = with_worker!([], |worker| worker.failed(records));
    assert_eq!((failed, done), (vec!["101".to_owned()], vec!["one 2".to_owned(), "bad 1".to_owned()]));
}

#[tokio::test]
async fn panic_is_a_failed_run_without_its_text() {
    assert_eq!(by_hand("ugly", all_open()).await.0, Err("panicked"));
    let (failed, done, _) = batch(&["ugly", "one"], all_open()).await;
    assert_eq!((failed, done.len()), (vec!["m0".to_owned()], 2));
}

#[tokio::test]
async fn run_that_fails_is_counted_once() {
    let (_, done, counting) = batch(&["bad", "denied", "ugly", "one", "denied"], all_open()).await;
    assert_eq!(done.len(), 4);
    for (metric, by_tenant) in [
        (Metric::FailClosed, [("bad", 1), ("denied", 0), ("ugly", 0), ("one", 0)]),
        (Metric::StoreDenied, [("bad", 0), ("denied", 1), ("ugly", 0), ("one", 0)]),
        (Metric::Broken, [("bad", 0), ("denied", 1), ("ugly", 1), ("one", 0)]),
    ] {
        for (name, times) in by_tenant {
            assert_eq!(count(&counting, metric, name), times, "{metric:?} of {name}");
        }
    }
}

/// Schedules are deployed before their tenants are opened: that must not raise an alarm.
#[tokio::test]
async fn tick_for_a_tenant_that_is_not_open_does_nothing_and_warns_once() {
    let absent = || std::iter::repeat_n(Step::Ok(json!({})), 10);
    let (lines, guard) = Lines::capture("warn");
    let (answer, done, counting) = by_hand("closed", absent()).await;
    assert_eq!((answer, done), (Ok(None), Vec::new()));
    let (failed, done, in_queue) = batch(&["closed", "closed"], absent()).await;
    drop(guard);
    assert_eq!((failed, done), (Vec::new(), Vec::<String>::new()), "the tick is not retried");
    for metric in [Metric::CrossTenantDenied, Metric::FailClosed, Metric::Broken] {
        assert_eq!((count(&counting, metric, "closed"), count(&in_queue, metric, "closed")), (0, 0), "{metric:?}");
    }
    assert_eq!(lines.text().matches("tenant is not open").count(), 2, "once in each environment: {}", lines.text());
}

/// Work from the stream for a tenant without terms fails, but it is not counted as an attempt of a token to reach
/// another tenant.
#[tokio::test]
async fn work_of_a_tenant_that_is_not_open_is_not_counted_as_cross_tenant() {
    let due = Due { changed: vec![Item::new()], ..Due::everything(tenant("closed")) };
    let records = vec![Record { id: "100".to_owned(), due: Some(due) }];
    let (failed, done, counting) = with_worker!([], |worker| worker.failed(records));
    assert_eq!((failed, done), (vec!["100".to_owned()], vec!["closed 1".to_owned()]));
    assert_eq!(count(&counting, Metric::CrossTenantDenied, "closed"), 0);
}
