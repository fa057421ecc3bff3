use super::*;
use crate::config::Config;
use crate::logging::tests::Lines;
use crate::metrics::{Counting, Metric};
use crate::testing::{Step, Store, terms};
use lambda_runtime::Diagnostic;
use serde_json::{Value, json};
use std::cell::RefCell;

/// A worker that notes whose work it did; it fails for `bad`, is refused by the store for `denied`, and panics for
/// `ugly`.
async fn answered(event: Value) -> (Result<Value, &'static str>, Vec<String>) {
    let (answer, done, _) = counted(event).await;
    (answer, done)
}

/// The same, and what it counted.
async fn counted(event: Value) -> (Result<Value, &'static str>, Vec<String>, Counting) {
    // Each tick looks whether its tenant is open.
    counted_with(event, std::iter::repeat_n(terms("mandatory"), 10)).await
}

async fn counted_with(
    event: Value,
    store: impl IntoIterator<Item = Step>,
) -> (Result<Value, &'static str>, Vec<String>, Counting) {
    let (ledger, counting) = Store::script(store).ledger();
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
    let worker = Worker::new(App::new(ledger, Config::of_table("ledger")), run);
    let event: Event = serde_json::from_value(event).unwrap();
    let answer = worker.answer(event).await.map(|answer| serde_json::to_value(answer).unwrap());
    (answer.map_err(|error| error.0), done.into_inner(), counting)
}

/// As Lambda sends what a queue holds.
fn queue(bodies: &[&str]) -> Value {
    let message = |(at, body): (usize, &&str)| {
        json!({
            "messageId": format!("m{at}"), "receiptHandle": "r", "body": body,
            "attributes": {
                "ApproximateReceiveCount": "1", "SentTimestamp": "1795264147815",
                "SenderId": "AROA", "ApproximateFirstReceiveTimestamp": "1795264147816",
            },
            "messageAttributes": {}, "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
            "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:ap-northeast-1:123456789012:jobs",
            "awsRegion": "ap-northeast-1",
        })
    };
    json!({"Records": bodies.iter().enumerate().map(message).collect::<Vec<_>>()})
}

/// As Lambda sends what a table's stream holds.
fn stream(pks: &[&str]) -> Value {
    let record = |(at, pk): (usize, &&str)| {
        let keys = json!({"uuid": {"S": pk}, "type": {"S": "JOB#019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e"}});
        json!({
            "eventID": format!("e{at}"), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
            "awsRegion": "ap-northeast-1",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_795_264_147.0, "Keys": keys,
                "NewImage": {"uuid": {"S": pk}, "done": {"N": "0"}, "customers": {"L": [{"S": "x"}]}},
                "SequenceNumber": format!("10{at}"), "SizeBytes": 120, "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": "arn:aws:dynamodb:ap-northeast-1:123456789012:table/t/stream/2026-11-21T00:00:00.000",
        })
    };
    json!({"Records": pks.iter().enumerate().map(record).collect::<Vec<_>>()})
}

fn failures(ids: &[&str]) -> Value {
    json!({"batchItemFailures": ids.iter().map(|id| json!({"itemIdentifier": id})).collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_person_is_told_what_a_run_did() {
    assert_eq!(answered(json!({"tenant": "demo"})).await, (Ok(json!({"done": 1})), vec!["demo 0".to_owned()]));
    assert_eq!(answered(json!({"tenant": "bad"})).await.0, Err("busy"));
    assert_eq!(answered(json!({"tenant": "a#b"})).await, (Err("tenant_malformed"), Vec::new()));
}

#[tokio::test]
async fn of_a_queue_only_what_failed_comes_again_and_each_tenant_is_run_once() {
    let tick = |tenant: &str| format!(r#"{{"tenant":"{tenant}"}}"#);
    let bodies = [tick("one"), tick("bad"), "{}".to_owned(), tick("one"), tick("bad"), tick("two")];
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let (answer, done) = answered(queue(&bodies)).await;
    assert_eq!(answer, Ok(failures(&["m2", "m1", "m4"])));
    assert_eq!(done, ["one 0", "bad 0", "two 0"]);
    assert_eq!(answered(queue(&[r#"{"tenant":"one"}"#])).await.0, Ok(failures(&[])));
}

#[tokio::test]
async fn a_stream_names_its_tenants_by_their_keys() {
    let (answer, done) = answered(stream(&["one#tenant#root", "bad#tenant#root", "nobody", "one#tenant#root"])).await;
    assert_eq!(answer, Ok(failures(&["102", "101"])));
    assert_eq!(done, ["one 2", "bad 1"]);
}

#[test]
fn a_changed_item_comes_as_it_was_written_or_not_at_all() {
    let read = |image: Value| {
        let mut event = stream(&["one#tenant#root"]);
        event["Records"][0]["dynamodb"]["NewImage"] = image;
        let Event::Stream(event) = serde_json::from_value(event).unwrap() else { panic!("no stream") };
        of_stream(event).unwrap().remove(0).due.unwrap().changed.pop()
    };
    let image = json!({"due": {"BOOL": true}, "list": {"L": [{"M": {"delta": {"N": "-1.50"}}}]}, "raw": {"B": "AQI="}});
    use ledger_core::dynamo::Value as V;
    let list = V::L(vec![V::M([("delta".to_owned(), V::N("-1.50".to_owned()))].into())]);
    let whole = [("due", V::Bool(true)), ("list", list), ("raw", V::B(vec![1, 2]))];
    assert_eq!(read(image), Some(whole.map(|(name, value)| (name.to_owned(), value)).into()));
    assert_eq!(read(json!({"due": {"NULL": true}})), None);
    assert_eq!(read(json!({})), None);
}

#[test]
fn a_dead_letter_is_a_message_that_names_its_item() {
    use ledger_core::events::DeadLetter;
    let tenant = Tenant::parse("one").unwrap();
    let key = Key::stored(&tenant, "one#customer#x", "TXN#y").unwrap();
    let letter = DeadLetter { tenant: tenant.clone(), key: key.clone(), why: "it is odd".to_owned() }.text();
    let foreign = letter.replace("one#customer", "two#customer");
    let Event::Queue(event) = serde_json::from_value(queue(&[&letter, &foreign])).unwrap() else { panic!("no queue") };
    let asked: Vec<Option<Due>> = of_queue(event).unwrap().into_iter().map(|record| record.due).collect();
    let named = Due { named: vec![key], ..Due::everything(tenant) };
    assert_eq!(asked, [Some(named.clone()), None], "another tenant's item is nobody's to name");
    let by_hand: Event = serde_json::from_str(&letter).unwrap();
    assert!(matches!(by_hand, Event::ByHand(tick) if tick.due() == Some(named)));
}

#[tokio::test]
async fn a_panic_is_a_failed_run_and_says_nothing() {
    assert_eq!(answered(json!({"tenant": "ugly"})).await.0, Err("panicked"));
    let (answer, done) = answered(queue(&[r#"{"tenant":"ugly"}"#, r#"{"tenant":"one"}"#])).await;
    assert_eq!((answer, done.len()), (Ok(failures(&["m0"])), 2));
    let told = Diagnostic::from(EventError("panicked"));
    assert!(!told.error_message.contains("090") && told.error_type == "panicked");
}

/// As a request's answer is counted: by tenant, once a run, however many records asked for it.
#[tokio::test]
async fn what_does_not_end_well_is_counted() {
    let bodies = ["bad", "denied", "ugly", "one", "denied"].map(|tenant| format!(r#"{{"tenant":"{tenant}"}}"#));
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let (_, done, counting) = counted(queue(&bodies)).await;
    assert_eq!(done.len(), 4);
    for (metric, by_tenant) in [
        (Metric::FailClosed, [("bad", 1), ("denied", 0), ("ugly", 0), ("one", 0)]),
        (Metric::StoreDenied, [("bad", 0), ("denied", 1), ("ugly", 0), ("one", 0)]),
        (Metric::Broken, [("bad", 0), ("denied", 1), ("ugly", 1), ("one", 0)]),
    ] {
        for (tenant, times) in by_tenant {
            let (tenant, now) = (Tenant::parse(tenant).unwrap(), crate::testing::now());
            assert_eq!(counting.sum_between(metric, &tenant, None, now, now), times, "{metric:?} of {tenant}");
        }
    }
}

#[test]
fn what_is_none_of_these_is_refused() {
    for other in [json!({}), json!({"tenant": "a", "and": 1}), json!([]), json!({"Records": [{}]}), json!("demo")] {
        let event = serde_json::from_value::<Event>(other.clone());
        // A record without an id cannot be reported: it fails the whole batch.
        let refused = match event {
            Err(_) => true,
            Ok(Event::Queue(event)) => of_queue(event).is_err(),
            Ok(Event::ByHand(_) | Event::Stream(_)) => false,
        };
        assert!(refused, "{other}");
    }
}

/// A deployment's schedules come before its tenants: that pages no one.
#[tokio::test]
async fn tick_for_a_tenant_that_is_not_open_does_nothing_and_warns_once() {
    let absent = || std::iter::repeat_n(Step::Ok(json!({})), 10);
    let sums = |counting: &Counting, metric| {
        let now = crate::testing::now();
        counting.sum_between(metric, &Tenant::parse("closed").unwrap(), None, now, now)
    };
    let (lines, guard) = Lines::capture("warn");
    let (answer, done, counting) = counted_with(json!({"tenant": "closed"}), absent()).await;
    assert_eq!((answer, done), (Ok(json!({"skipped": "tenant_not_open"})), Vec::new()));
    let tick = r#"{"tenant":"closed"}"#;
    let (answer, done, in_queue) = counted_with(queue(&[tick, tick]), absent()).await;
    drop(guard);
    assert_eq!((answer, done), (Ok(failures(&[])), Vec::new()), "the tick does not come again");
    for metric in [Metric::CrossTenantDenied, Metric::FailClosed, Metric::Broken] {
        assert_eq!((sums(&counting, metric), sums(&in_queue, metric)), (0, 0), "{metric:?}");
    }
    assert_eq!(lines.text().matches("tenant is not open").count(), 2, "once in each environment: {}", lines.text());
}

/// What the stream hands over of a tenant without terms is a failed run; but no token has reached for anything.
#[tokio::test]
async fn work_of_a_tenant_that_is_not_open_is_not_counted_as_a_token_s() {
    let (answer, done, counting) = counted_with(stream(&["closed#tenant#root"]), []).await;
    assert_eq!((answer, done), (Ok(failures(&["100"])), vec!["closed 1".to_owned()]));
    let now = crate::testing::now();
    let tenant = Tenant::parse("closed").unwrap();
    assert_eq!(counting.sum_between(Metric::CrossTenantDenied, &tenant, None, now, now), 0);
}
