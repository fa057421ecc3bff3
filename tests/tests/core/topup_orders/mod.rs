//! The PSP's events in every order, repeated, late and concurrent: a history always ends in the same books.

mod books;
pub(crate) mod desk;
mod engine;
mod explore;
mod sample;
pub(crate) mod story;

use desk::Handler;
use explore::{Difference, Run, explore};
use ledger_core::terms::SpentPoints;
use ledger_tests::share;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use story::{Story, histories};

/// Every so many histories are played by default.
const STEP: usize = 8;

/// The least figure of the default share, given that of every history.
fn least(of_all: u64) -> u64 {
    share::count(of_all, 2 * STEP as u64)
}

/// Covers histories that begin alike together, on all processors; returns the differences, shortest history first.
fn every_order(stories: &[Story], races: bool) -> (Run, Vec<Difference>) {
    let mut alike: BTreeMap<_, Vec<Story>> = BTreeMap::new();
    for story in stories {
        alike.entry((story.refunds.clone(), story.balance, story.spends)).or_default().push(story.clone());
    }
    let (next, groups) = (AtomicUsize::new(0), alike.into_values().collect::<Vec<_>>());
    let part = || {
        let handler = Handler::new(SpentPoints::Deduct);
        let mut part = (Run::default(), Vec::new());
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (run, differences) = explore(&handler, group, races);
            part = (part.0.plus(run), part.1.into_iter().chain(differences).collect());
        }
        part
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        let (mut run, mut differences) = (Run::default(), Vec::new());
        for (one, others) in parts.into_iter().map(|part| part.join().unwrap()) {
            run = run.plus(one);
            differences.extend(others);
        }
        differences.sort_by_key(|difference: &Difference| difference.story.events.len());
        (run, differences)
    })
}

/// Three wallets: one with much more money, one with the top-up alone, one that spent most of it and its points.
/// The longest histories omit the first.
fn wallets(story: &Story) -> Vec<Story> {
    let dull = (story.events.len() < 6).then_some((50_000, (0, 0)));
    let wallets = [(0, (0, 0)), (0, (6_500, 90))].into_iter().chain(dull);
    wallets.map(|(balance, spends)| Story { balance, spends, ..story.clone() }).collect()
}

fn assert_no_difference(differences: &[Difference]) {
    let Some(first) = differences.first() else { return };
    let Difference { story, orders: [one, other], lines } = first;
    panic!(
        "{} histories have no one set of books, first {story:#?}\n{one:?}\n{other:?}\n{lines:#?}",
        differences.len()
    );
}

#[test]
fn every_event_order_ends_in_the_same_books() {
    let stories: Vec<Story> = share::of(histories(6), STEP).iter().flat_map(wallets).collect();
    let (run, differences) = every_order(&stories, false);
    println!("{run:?}");
    assert_no_difference(&differences);
    assert!(run.histories > least(3_000) && run.orders > least(1_000_000), "{run:?}");
    assert!(run.duplicates > least(50_000), "{run:?}");
}

#[test]
fn concurrently_handled_events_end_in_the_same_books() {
    let stories: Vec<Story> = share::of(histories(4), STEP).iter().flat_map(wallets).collect();
    let (run, differences) = every_order(&stories, true);
    println!("{run:?}");
    assert_no_difference(&differences);
    assert!(run.histories > least(1_000) && run.races > least(30_000), "{run:?}");
}

#[test]
fn long_histories_with_other_traffic_keep_the_invariants() {
    let seeds = share::count(2_000, STEP as u64);
    let next = AtomicU64::new(0);
    let part = || {
        let mut run = Run::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return run;
            }
            match catch_unwind(|| sample::run(seed)) {
                Ok(one) => run = run.plus(one),
                Err(why) => {
                    println!("seed {seed}");
                    resume_unwind(why);
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let run = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        parts.into_iter().map(|part| part.join().unwrap()).fold(Run::default(), Run::plus)
    });
    println!("{run:?}");
    assert!(run.histories == seeds && run.deliveries > 7 * seeds && run.races > seeds, "{run:?}");
}
