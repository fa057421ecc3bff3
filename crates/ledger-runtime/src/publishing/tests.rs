//! Situations that the engine never produces: an index that is behind, a read between two commits.

use super::*;
use crate::config::Config;
use crate::testing::{Step, Store, now};
use futures::future::{BoxFuture, FutureExt};
use ledger_core::dynamo::Value as V;
use serde_json::{Value, json};
use std::sync::Mutex;

const CUSTOMER: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5a";

/// A sink that takes and records every event.
#[derive(Clone, Default)]
struct Taken(Arc<Mutex<Vec<Uuid>>>);

impl EventSink for Taken {
    fn send<'a>(&'a self, events: &'a [Event]) -> BoxFuture<'a, Vec<Sent>> {
        self.0.lock().unwrap().extend(events.iter().map(|event| event.id.uuid()));
        std::future::ready(vec![Sent::Taken; events.len()]).boxed()
    }

    fn keep<'a>(&'a self, _: &'a DeadLetter) -> BoxFuture<'a, Result<(), SinkError>> {
        panic!("nothing here is put aside")
    }
}

/// Returns an entry's id made this long ago.
fn minted(before: Duration, last: u8) -> Uuid {
    let millis = u64::try_from(now().minus(before).millis()).unwrap();
    uuid::Builder::from_unix_timestamp_millis(millis, &[0, 0, 0, 0, 0, 0, 0, 0, 0, last]).into_uuid()
}

fn pk() -> String {
    format!("demo#customer#{CUSTOMER}")
}

/// Returns an entry as stored, with a due index entry if `due`.
fn row(id: Uuid, due: bool) -> Value {
    let side = |account: &str, delta: &str| json!({"M": {"account": {"S": account}, "asset": {"S": "POINT"}, "delta": {"N": delta}}});
    let mut row = json!({
        "uuid": {"S": pk()}, "type": {"S": format!("TXN#{id}")}, "transaction_id": {"S": id.to_string()},
        "operation": {"S": "grant"}, "created_at": {"S": now().rfc3339()},
        "postings": {"L": [side(&format!("customer:{CUSTOMER}"), "1"), side("points_issued", "-1")]},
    });
    if due {
        row["_due_pk"] = json!({"S": "demo#due#publish#0"});
        row["_due_sk"] = json!({"S": id.to_string()});
    }
    row
}

/// Returns a page of a query.
fn page(rows: &[(Uuid, bool)]) -> Step {
    let items: Vec<Value> = rows.iter().map(|(id, due)| row(*id, *due)).collect();
    Step::Ok(json!({"Items": items, "Count": items.len(), "ScannedCount": items.len()}))
}

/// Returns the pages of the floor: the first entry of each kind of work.
fn floor(rows: &[(Uuid, bool)]) -> Vec<Step> {
    vec![page(&[]), page(rows)]
}

/// Returns an entry as the stream has it.
fn due_entry(id: Uuid) -> Item {
    Item::from([("uuid".to_owned(), V::s(pk())), ("type".to_owned(), V::s(format!("TXN#{id}")))])
}

/// Runs a publisher on one batch of the stream for each of these entries, and returns the events taken, the last result
/// and the store.
async fn publish_each(due_entries: &[Uuid], steps: Vec<Step>) -> (Vec<Uuid>, Result<Published, Problem>, Store) {
    let (store, sink) = (Store::script(steps), Taken::default());
    let (ledger, _) = store.ledger();
    let publisher = Publisher::new(&App::new(ledger, Config::of_table("ecopay")), Arc::new(sink.clone()));
    let mut ended = Ok(Published::default());
    for due in due_entries {
        ended = publisher.changed(&Tenant::parse("demo").unwrap(), Shards::ONE, &[due_entry(*due)]).await;
    }
    let taken = sink.0.lock().unwrap().clone();
    (taken, ended, store)
}

/// Runs a publisher on one entry of the stream.
async fn publish(due_entries: Uuid, steps: Vec<Step>) -> (Vec<Uuid>, Result<Published, Problem>, Store) {
    publish_each(&[due_entries], steps).await
}

fn published(count: usize) -> Result<Published, Problem> {
    Ok(Published { published: count, ..Published::default() })
}

#[tokio::test(start_paused = true)]
async fn older_entry_missing_from_the_index_is_sent_first() {
    let [older, due_entries] = [minted(Duration::from_secs(9 * 60), 1), minted(Duration::ZERO, 2)];
    let both = [(older, true), (due_entries, true)];
    let (taken, ended, store) = publish(due_entries, [floor(&[]), vec![page(&both), page(&both)]].concat()).await;
    assert_eq!((taken, ended), (vec![older, due_entries], published(2)));
    // The account is read consistently, from the margin on.
    let read = &store.seen()[2].body;
    let low = read["ExpressionAttributeValues"][":low"]["S"].as_str().unwrap().to_owned();
    let border = format!("TXN#{}", minted(Duration::from_secs(9 * 60 + 59), 0));
    assert!(read["ConsistentRead"] == true && low <= border, "{read}");
    assert!(low > format!("TXN#{}", minted(Duration::from_secs(10 * 60 + 1), 0)), "{low}");
    assert!(store.is_through(), "nothing is written");
}

/// The index lists an entry from before the margin: the account is read from there.
#[tokio::test(start_paused = true)]
async fn account_is_read_from_the_oldest_due_entry_of_the_tenant() {
    let [older, due_entries] = [minted(Duration::from_secs(3 * 60 * 60), 1), minted(Duration::ZERO, 2)];
    let both = [(older, true), (due_entries, true)];
    let steps = [floor(&[(older, true)]), vec![page(&both), page(&both)]].concat();
    let (taken, ended, store) = publish(due_entries, steps).await;
    assert_eq!((taken, ended), (vec![older, due_entries], published(2)));
    let low = store.seen()[2].body["ExpressionAttributeValues"][":low"]["S"].as_str().unwrap().to_owned();
    assert!(low <= format!("TXN#{older}"), "{low}");
}

/// An entry seen for the first time is sent only after another read.
///
/// An older entry may have been committed behind the position of the first read, and before this entry.
#[tokio::test(start_paused = true)]
async fn entry_seen_for_the_first_time_waits_for_another_read() {
    let [due_entries, between, news] = [3, 2, 1].map(|second| minted(Duration::from_secs(second), 0));
    let all = [(due_entries, true), (between, true), (news, true)];
    let reads = vec![page(&[(due_entries, true), (news, true)]), page(&all), page(&all)];
    let (taken, ended, store) = publish(due_entries, [floor(&[]), reads].concat()).await;
    assert_eq!((taken, ended), (vec![due_entries, between, news], published(3)));
    assert!(store.is_through());
}

/// Entries stay due until they are sealed. The process that sent one does not send it again, and the next one is sent
/// after one read.
#[tokio::test(start_paused = true)]
async fn entry_sent_by_this_process_is_not_sent_again() {
    let [first, second] = [minted(Duration::from_secs(1), 1), minted(Duration::ZERO, 2)];
    let steps = [floor(&[]), vec![page(&[(first, true)]), page(&[(first, true), (second, true)])]].concat();
    let (taken, ended, store) = publish_each(&[first, second], steps).await;
    assert_eq!((taken, ended), (vec![first, second], published(1)));
    assert!(store.is_through(), "the floor is read once");
}

#[tokio::test(start_paused = true)]
async fn entry_that_is_sealed_is_not_sent_again() {
    let [sent, due_entries] = [minted(Duration::from_secs(1), 1), minted(Duration::ZERO, 2)];
    let steps = [floor(&[]), vec![page(&[(sent, false), (due_entries, false)])]].concat();
    let (taken, ended, _) = publish(due_entries, steps).await;
    assert_eq!((taken, ended), (Vec::new(), published(0)));
}

#[tokio::test(start_paused = true)]
async fn failed_read_ends_the_run() {
    let due_entries = minted(Duration::ZERO, 1);
    let (taken, ended, _) = publish(due_entries, vec![Step::Error(400, "ThrottlingException"); 8]).await;
    assert_eq!((taken, ended.unwrap_err().code()), (Vec::new(), "busy"));
    let steps = [floor(&[]), vec![Step::Error(400, "AccessDeniedException")]].concat();
    let (taken, ended, _) = publish(due_entries, steps).await;
    assert_eq!((taken, ended.unwrap_err().code()), (Vec::new(), "internal"));
}
