//! Measures what becomes of an operation's records: by the workers themselves, for many records at once and for one.

use super::clock::measuring;
use super::kept::{BUSY, Left, LifeStep, SETTLEMENT, Storage};
use super::parties::take_shards;
use super::requests::{stored, units};
use super::size::bytes_of;
use super::subjects::{Subject, points_alone};
use super::units::Units;
use super::workers::{Shop, Workers, is_credited};
use crate::http::endpoints::Stage;
use crate::http::settling::payable;
use crate::http::tap::{Attempts, Seen, Tap};
use crate::http::{Host, World};
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::{Shards, attr};
use ledger_core::terms::TenantTerms;
use ledger_runtime::clock::Clock;
use std::sync::Arc;

/// What an entry of the list by owner holds.
const LISTED: [&str; 4] = [attr::PK, attr::SK, attr::OWNER_PK, attr::OWNER_SK];

/// The steps of one operation's records, and what stays of them.
struct Life {
    steps: Vec<(&'static str, Units)>,
    settlement: Option<Units>,
    left: Left,
}

/// What was measured of one operation: for many records at once, and for one.
struct Measured {
    subject: Subject,
    busy: Life,
    thin: Life,
}

/// Measures the lives of all operations, and what their records store for ever, on two stacks at once.
///
/// # Panics
/// When a worker leaves a record undone.
pub async fn measure() -> (Vec<LifeStep>, Vec<Storage>) {
    let (some, others) = Subject::ALL.split_at(Subject::ALL.len() / 2);
    let [some, others] = [some, others].map(|of| tokio::spawn(measure_some(of)));
    let (some, others) = (some.await.expect("measured"), others.await.expect("measured"));
    let (mut lives, mut storage, mut settlement) = (Vec::new(), Vec::new(), None);
    for Measured { subject, busy, thin } in some.into_iter().chain(others) {
        let operation = subject.name();
        assert_eq!(busy.names(), thin.names(), "{operation}");
        let steps = busy.steps.iter().zip(&thin.steps);
        lives.extend(steps.map(|((name, busy), (_, thin))| step(operation, name, *busy, *thin)));
        storage.push(Storage { operation: operation.to_owned(), busy: busy.left, thin: thin.left });
        settlement = settlement.or(busy.settlement.zip(thin.settlement));
    }
    let (busy, thin) = settlement.expect("a payment is settled");
    lives.push(step(SETTLEMENT, "tasks", busy, thin));
    (lives, storage)
}

fn step(operation: &str, step: &str, busy: Units, thin: Units) -> LifeStep {
    LifeStep { operation: operation.to_owned(), step: step.to_owned(), busy, thin }
}

/// Measures these operations on a stack of their own.
async fn measure_some(subjects: &'static [Subject]) -> Vec<Measured> {
    let tap = Tap::default();
    // One clock: the workers are ahead of the requests by the same time at every moment.
    let clock = measuring(Clock::system());
    let (of_app, of_requests) = (tap.clone(), clock.clone());
    let host = Host::with_app(|backend| async move {
        of_app.app((&backend.dynamodb_url, &backend.table), Attempts::Retried, of_requests, &backend.stripe).await
    });
    tap.meter();
    let workers = Workers::over(&host, clock).await;
    let mut measured = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        let of = *subject;
        let busy = live(&host, (&tap, &workers), of, (BUSY, &format!("life-{at}b"))).await;
        let thin = live(&host, (&tap, &workers), of, (1, &format!("life-{at}t"))).await;
        measured.push(Measured { subject: *subject, busy, thin });
    }
    measured
}

impl Life {
    fn names(&self) -> Vec<&'static str> {
        self.steps.iter().map(|(name, _)| *name).collect()
    }
}

/// Performs an operation `count` times in a new tenant, and all work on its records.
async fn live(
    host: &Arc<Host>,
    (tap, workers): (&Tap, &Workers),
    subject: Subject,
    (count, slug): (usize, &str),
) -> Life {
    let terms = |terms: &mut TenantTerms| {
        terms.due_shards = Shards::new(1).expect("a number of shards");
        terms.grant_limits = points_alone();
    };
    let world = World::with_terms(Arc::clone(host), slug, terms).await;
    world.hold_deliveries().await;
    let merchant = payable(&world).await;
    take_shards(&world, &merchant).await;
    let terminal = world.terminal_with_cash(&merchant, "100000").await;
    let stage = Stage { world, merchant, terminal };
    let ready = subject.ready(&stage, count + 1).await;
    let (first, rest) = ready.split_first().expect("one at least");
    // The first fills the caches, and makes the items that a later one updates.
    first.perform(&stage).await;
    let tenant = Tenant::parse(slug).expect("a slug");
    let shop = Shop { world: &stage.world, tenant: &tenant, merchant: &stage.merchant };
    workers.finish(&shop).await;
    let (_, _) = (workers.take(), tap.take());
    // One after the other: a query's units are those of its pages, whose sizes follow from the order of the entries.
    for ready in rest {
        ready.perform(&stage).await;
    }
    after(&shop, workers, tap.take()).await
}

/// All work on the records that these calls made.
async fn after(shop: &Shop<'_>, workers: &Workers, made: Vec<Seen>) -> Life {
    let mut calls = vec![("request", made)];
    let published = workers.publish(shop).await;
    calls.push(("published", workers.take()));
    let sealed = workers.seal(shop).await;
    calls.push(("sealed", workers.take()));
    assert!(published > 0 && sealed >= published, "{published} published, {sealed} sealed");
    let mut settlement = None;
    if is_credited(shop).await {
        let at = workers.collect(shop).await;
        calls.push(("settled", workers.take()));
        settlement = Some(workers.settle(&at).await);
    }
    let steps = calls.iter().map(|(name, calls)| (*name, units(calls)));
    let steps = steps.filter(|(_, units)| *units != Units::default()).collect();
    let written = calls.iter().flat_map(|(_, calls)| calls).filter(|seen| seen.is_written());
    let created = written.flat_map(Seen::created);
    Life { steps, settlement, left: left(shop.world, created.collect()).await }
}

/// What is never deleted of these items.
async fn left(world: &World, mut created: Vec<(String, String)>) -> Left {
    created.sort();
    created.dedup();
    let mut left = Left::default();
    for item in stored(world, &created).await.into_iter().filter(|item| !item.contains_key(attr::TTL)) {
        let bytes = bytes_of(&item) as u64;
        (left.items, left.bytes) = (left.items + 1, left.bytes + bytes);
        // The list by owner holds keys, the index of due work copies of whole items.
        let listed: Item =
            LISTED.iter().filter_map(|name| Some(((*name).to_owned(), item.get(*name)?.clone()))).collect();
        for (name, entry) in [(attr::OWNER_PK, bytes_of(&listed) as u64), (attr::DUE_PK, bytes)] {
            if item.contains_key(name) {
                (left.entries, left.entry_bytes) = (left.entries + 1, left.entry_bytes + entry);
            }
        }
    }
    left
}
