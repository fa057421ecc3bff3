//! Every committed journal entry is published at least once, in the order of its account; nothing else is.
//! All due index entries are removed in the end, through crashes, losses, concurrency and entries that cannot be
//! published.
mod crashes;
mod late;
mod order;
mod poison;
mod quiet;

use ledger_core::dynamo::{Item, Value};
use ledger_tests::audit::{Books, n, opt_text, s, text};
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Customer, World};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use uuid::Uuid;

/// The transaction ids of each group, in the order of first publication.
type IdsByGroup = BTreeMap<String, Vec<String>>;

/// The events that the journal requires.
fn journal(books: &Books) -> IdsByGroup {
    let mut ids_by_group = IdsByGroup::new();
    for (pk, sk, _) in books.under("TXN#") {
        let (tenant, account) = pk.split_once('#').expect("a tenant");
        let home = account.strip_prefix("own#").map_or_else(|| account.replacen('#', ":", 1), str::to_owned);
        let group = format!("{tenant}#{home}");
        ids_by_group.entry(group).or_default().push(sk.trim_start_matches("TXN#").to_owned());
    }
    ids_by_group
}

/// Puts journal rows back as they were before they were sealed.
async fn reset(world: &World, journal_rows: &[Item]) {
    let books = world.books().await;
    let of_trail = ["LANES", "HEAD", "SEGMENT#", "BINDING#", "CREDITED#"];
    for (pk, sk, _) in of_trail.into_iter().flat_map(|prefix| books.under(prefix)) {
        world.remove(pk, sk).await;
    }
    for row in journal_rows {
        world.plant(row.clone()).await;
    }
}

/// How many entries are still to be published, or to be sealed once they are.
fn due(books: &Books) -> usize {
    // A published entry that could not be sealed is due for that.
    let is_published = |row: &Item| opt_text(row, "_due_sk").is_some_and(|due| due.ends_with("#published"));
    let is_to_publish = |row: &Item| opt_text(row, "_due_pk").is_some_and(|mark| mark.contains("#due#publish"));
    let is_due = |row: &Item| is_to_publish(row) && !is_published(row);
    assert!(books.under("TXN#").all(|(_, _, row)| is_due(row) || is_published(row) || !row.contains_key("_due_pk")));
    books.under("TXN#").filter(|(_, _, row)| is_due(row)).count()
}

/// Asserts that the journal and nothing else was published, in order, and that no entry is due.
async fn check(world: &World, tap: &EventTap) {
    let books = world.books().await;
    assert_eq!(tap.first_deliveries(), journal(&books));
    assert_eq!(due(&books), 0);
}

/// Publishes until a run succeeds, as ticks do.
async fn settle(world: &World, tap: &EventTap) {
    for _ in 0..5 {
        if world.publish(tap, Vec::new()).await.is_ok() {
            return;
        }
    }
    panic!("no run succeeds");
}

/// The key of an entry: all that the publisher reads of a stream record.
fn entry_key(pk: &str, sk: &str) -> Item {
    Item::from([("uuid".to_owned(), Value::s(pk)), ("type".to_owned(), Value::s(sk))])
}

/// An id that was made `ago` before now.
fn minted(ago: Duration, world: &World) -> Uuid {
    let at = world.app.now().minus(ago);
    let millis = u64::try_from(at.millis()).expect("our times");
    // The last ten bytes of an id are random.
    let random = Uuid::parse_str(&new_id()).expect("an id").into_bytes();
    let random: [u8; 10] = random[6..].try_into().expect("ten bytes");
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}

/// An entry of an account that is still to be published, as the table stores it.
fn entry(world: &World, customer: &str, id: Uuid, shard: u32) -> Item {
    let side = |account: String, delta: &str| {
        Value::M(Item::from([
            ("account".to_owned(), s(account)),
            ("asset".to_owned(), s("POINT")),
            ("delta".to_owned(), n(delta)),
        ]))
    };
    let postings = vec![side(format!("customer:{customer}"), "1"), side("points_issued".to_owned(), "-1")];
    let texts = [
        ("uuid", format!("{}#customer#{customer}", world.tenant)),
        ("type", format!("TXN#{id}")),
        ("transaction_id", id.to_string()),
        ("operation", "grant".to_owned()),
        ("idempotency_key", "k-secret".to_owned()),
        ("created_at", world.app.now().rfc3339()),
        ("_due_pk", format!("{}#due#publish#{shard}", world.tenant)),
        ("_due_sk", id.to_string()),
    ];
    let mut row: Item = texts.into_iter().map(|(name, text)| (name.to_owned(), s(text))).collect();
    row.insert("postings".to_owned(), Value::L(postings));
    row.insert("_memo".to_owned(), Value::M(Item::from([("text".to_owned(), s("for Hanako"))])));
    row
}

/// The journal's rows.
fn rows(books: &Books) -> Vec<Item> {
    books.under("TXN#").map(|(_, _, row)| row.clone()).collect()
}

/// Customers with money; each has paid one merchant `payments` times.
async fn payers(world: &World, customers: usize, payments: usize) -> Vec<Customer> {
    let merchant = world.merchant().await;
    let mut payers = Vec::new();
    for _ in 0..customers {
        let customer = world.customer_with("1000").await;
        for _ in 0..payments {
            let _ = world.api.settle(&customer.pays(&merchant, "10")).await.good();
        }
        payers.push(customer);
    }
    payers
}

/// The ids of all deliveries, with repetitions.
fn ids(tap: &EventTap) -> Vec<String> {
    tap.delivered().into_iter().map(|delivery| delivery.id).collect()
}

fn distinct(tap: &EventTap) -> BTreeSet<String> {
    ids(tap).into_iter().collect()
}

fn id_of(row: &Item) -> String {
    text(row, "transaction_id").to_owned()
}
