//! A start of the local stack repeats the demo's opening: it adds what an earlier start did not, and gives nothing twice.
use aws_sdk_dynamodb::Client;
use ledger_core::time::Timestamp;
use ledger_local::backend::Backend;
use ledger_local::demo::Demo;
use ledger_local::faces::{self, MountError};
use ledger_local::table;
use ledger_runtime::clock::Clock;
use ledger_tests::audit::{Books, number, s};
use ledger_tests::engine::other::new_table_name;
use ledger_tests::http::tap::{Fault, Tap};
use ledger_tests::http::{Host, books, host};
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Longer than a command awaits approval.
const WEEK_LATER: Duration = DAY.saturating_mul(8);
/// Longer than an idempotency key is valid.
const KEYS_LATER: Duration = DAY.saturating_mul(91);

/// A table that is seeded several times.
struct Seeded {
    /// Runs the engine and Stripe.
    _host: Arc<Host>,
    backend: Backend,
    client: Client,
    tap: Tap,
    began: Timestamp,
}

impl Seeded {
    async fn new() -> Self {
        let shown = Arc::new(Mutex::new(None));
        let show = Arc::clone(&shown);
        let host = Host::with_app(move |backend| async move {
            *show.lock().expect("no other thread failed") = Some(backend.clone());
            host::app((backend.dynamodb, &backend.table), backend.clock, &backend.stripe)
        });
        let backend = shown.lock().expect("no other thread failed").take().expect("the stack runs");
        let (client, tap) = (host::client(&backend.dynamodb_url).await, Tap::default());
        let backend = Backend { dynamodb: tap.operators_client(&backend.dynamodb_url).await, ..backend };
        Self { _host: host, backend, client, tap, began: Clock::system().now() }
    }

    /// Goes on with a table of no rows.
    async fn emptied(&mut self) {
        let name = new_table_name();
        table::ensure(&self.client, &self.backend.dynamodb_url, &name).await.expect("a table");
        self.backend.table = name;
    }

    /// A start, so long after the first.
    async fn start(&self, later: Duration) -> Result<(), MountError> {
        let at = self.began.plus(later);
        faces::seeded(&Backend { clock: Clock::from_fn(move || at), ..self.backend.clone() }).await
    }

    async fn books(&self) -> Books {
        books::read(&self.client, &self.backend.table, &Demo::fixed().tenant).await
    }

    /// Ends a table that is not the stack's own.
    async fn drop_table(&self) {
        host::delete_table(&self.backend.dynamodb_url, &self.backend.table).await;
    }
}

/// The balances of all accounts, and the number of entries.
fn money(books: &Books) -> (BTreeMap<(String, String), Decimal>, usize) {
    let held = books.rows.iter().filter(|(_, row)| row.contains_key("balance"));
    let balances = held.map(|(key, row)| (key.clone(), number(row, "balance"))).collect();
    (balances, books.under("TXN#").count())
}

/// The records that have no id of their own: profiles, merchants, terminals, cards, terms.
fn records(books: &Books) -> BTreeSet<(String, String)> {
    let has_id = |pk: &str| pk.contains("#rate#");
    books.rows.keys().filter(|(pk, sk)| !sk.contains('#') && !has_id(pk)).cloned().collect()
}

#[tokio::test]
async fn demo_started_again_after_its_keys_expired_gets_nothing_again() {
    let seeded = Seeded::new().await;
    seeded.start(Duration::ZERO).await.unwrap();
    let first = seeded.books().await;
    for later in [Duration::ZERO, DAY, WEEK_LATER, KEYS_LATER] {
        seeded.start(later).await.unwrap();
        let again = seeded.books().await;
        assert_eq!((money(&again), records(&again)), (money(&first), records(&first)), "{later:?}");
    }
    first.check();
}

#[tokio::test]
async fn start_ended_at_any_write_and_repeated_after_approvals_expired_opens_the_whole_demo() {
    let mut seeded = Seeded::new().await;
    seeded.start(Duration::ZERO).await.unwrap();
    let whole = seeded.books().await;
    let writes = seeded.tap.take_targets().iter().filter(|target| *target == "TransactWriteItems").count();
    assert!(writes > 30, "{writes}");
    let mut were_pending = 0;
    for done in 1..writes {
        seeded.emptied().await;
        seeded.tap.next_writes((0..done).map(|_| None).chain([Some(Fault::Refused)]));
        assert!(seeded.start(Duration::ZERO).await.is_err(), "ended after {done} writes");
        assert_eq!(seeded.tap.faults_left(), 0);
        let begun = seeded.books().await;
        let is_pending = begun.under("APPROVAL#").any(|(.., row)| row.get("state") == Some(&s("pending")));
        were_pending += usize::from(is_pending);
        seeded.start(WEEK_LATER).await.unwrap_or_else(|error| panic!("after {done} writes: {error}"));
        let ended = seeded.books().await;
        assert_eq!((money(&ended), records(&ended)), (money(&whole), records(&whole)), "after {done} writes");
        seeded.drop_table().await;
    }
    assert!(were_pending > 5, "{were_pending}");
}
