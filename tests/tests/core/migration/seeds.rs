//! Thousands of histories on the model's table.

use crate::migration::checks;
use crate::migration::fault::Fault;
use crate::migration::play::{Figures, Play};
use crate::migration::scene::{Broken, Scene, Store};
use ledger_core::migration::{Layout, Model as Legacy, Phase};
use ledger_tests::chance::Dice;
use ledger_tests::legacy::{self, Kinds};
use ledger_tests::model::Model;
use ledger_tests::share;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Two phases that are in use at the same time.
pub(crate) type Pair = (Phase, Phase);

/// Every pair of adjacent phases, forwards and backwards.
pub(crate) fn adjacent() -> Vec<Pair> {
    let of = |model| Phase::all(model).zip(Phase::all(model).skip(1)).flat_map(|(a, b)| [(a, b), (b, a)]);
    Legacy::ALL.into_iter().flat_map(of).collect()
}

/// Any two phases of a model.
fn any(seed: u64) -> Pair {
    let mut dice = Dice::new(seed ^ 0x5eed);
    let model = Legacy::ALL[usize::try_from(dice.below(2)).unwrap()];
    let phases: Vec<Phase> = Phase::all(model).collect();
    let mut one = || phases[usize::try_from(dice.below(phases.len() as u64)).unwrap()];
    (one(), one())
}

/// Plays some time in phase `a`, sometimes in another one before it, then in `b` while some environments still use `a`.
/// Every other history returns to `a`.
pub(crate) fn play<S: Store>(store: S, (a, b): Pair, seed: u64, fault: Fault, kinds: Kinds) -> Result<Figures, Broken> {
    let terms = legacy::terms();
    let mut dice = Dice::new(seed);
    let before = Phase::all(a.model()).nth(usize::try_from(dice.below(Phase::all(a.model()).count() as u64)).unwrap());
    let before = before.filter(|_| dice.below(2) == 0).unwrap_or(a);
    let third = if dice.below(2) == 0 { a } else { b };
    let settings = [before, a, b, third].into_iter().zip(0..).map(|(phase, n)| legacy::layout(&terms, phase, n));
    // Every other history is about the concern that moves between the two.
    let moves = if a.number() < b.number() { b.entered_by() } else { a.entered_by() };
    let about = moves.map(|(concern, _)| concern).filter(|_| fault != Fault::None || dice.below(2) == 0);
    let play = Play::new(store, Scene::new(settings.collect(), fault), a.model(), seed, kinds);
    let mut play = play.about(about);
    play.play(if before == a { 5 } else { 25 })?;
    play.drain()?;
    play.next_setting();
    play.refresh_environments();
    play.play(20)?;
    play.next_setting();
    play.play(60)?;
    if third == a {
        // Every environment has the setting before by then.
        play.refresh_environments();
        play.next_setting();
        play.play(50)?;
    }
    play.drain()?;
    play.refresh_environments();
    if dice.below(4) == 0 {
        play.pass()?;
        checks::settled(&play.world, &play.scene)?;
    }
    play.finish()
}

/// Plays to the end: God Records are emptied while some environments have not read that setting yet, then left.
fn to_the_end<S: Store>(store: S, model: Legacy, seed: u64, kinds: Kinds) -> Result<Figures, Broken> {
    let terms = legacy::terms();
    let last = Phase::all(model).last().unwrap();
    let before = last.previous().unwrap();
    let settings = vec![
        legacy::layout(&terms, before, 3),
        legacy::layout(&terms, last, 4),
        legacy::contracting(&terms, last, 5),
        Layout::Split,
    ];
    let mut play = Play::new(store, Scene::new(settings, Fault::None), model, seed, kinds);
    play.play(40)?;
    play.next_setting();
    play.play(30)?;
    play.refresh_environments();
    play.pass()?;
    checks::settled(&play.world, &play.scene)?;
    play.next_setting();
    play.play(15)?;
    play.empty()?;
    play.drain()?;
    play.refresh_environments();
    play.empty_alone()?;
    checks::everything(&play.world, &play.scene)?;
    checks::emptied(&play.world, &play.scene)?;
    play.next_setting();
    play.play(40)?;
    play.drain()?;
    checks::emptied(&play.world, &play.scene)?;
    play.finish()
}

/// Runs the histories of these seeds on all processors; returns the first failure.
pub(crate) fn run(
    seeds: Range<u64>,
    one: impl Fn(u64) -> Result<Figures, Broken> + Sync,
) -> Result<Figures, (u64, Broken)> {
    let (next, one) = (AtomicU64::new(seeds.start), &one);
    let part = || {
        let mut figures = Figures::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok(figures);
            }
            match one(seed) {
                Ok(more) => figures = figures.plus(more),
                Err(broken) => {
                    next.store(seeds.end, Ordering::Relaxed);
                    return Err((seed, broken));
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        parts.into_iter().map(|part| part.join().unwrap()).try_fold(Figures::default(), |all, one| Ok(all.plus(one?)))
    })
}

/// The factor of the number of histories: `MIGRATION_SEEDS=10` plays ten times as many.
pub(crate) fn times() -> u64 {
    std::env::var("MIGRATION_SEEDS").map_or(1, |times| times.parse().unwrap())
}

pub(crate) fn whole(figures: Result<Figures, (u64, Broken)>) -> Figures {
    match figures {
        Ok(figures) => figures,
        Err((seed, broken)) => panic!("seed {seed} breaks \"{}\": {}", broken.check, broken.what),
    }
}

#[test]
fn two_adjacent_phases_at_once_keep_every_customer_right() {
    let pairs = adjacent();
    let seeds = share::seeds(20 * pairs.len() as u64 * times(), 20);
    let figures = run(seeds.clone(), |seed| {
        let pair = pairs[usize::try_from(seed % pairs.len() as u64).unwrap()];
        play(Model::new(), pair, seed, Fault::None, Kinds::Core)
    });
    let figures = whole(figures);
    println!("{} pairs: {figures:?}", pairs.len());
    let seeds = seeds.end - seeds.start;
    assert!(figures.histories == seeds && figures.applied > 5 * seeds && figures.crashes > seeds, "{figures:?}");
}

#[test]
fn two_phases_at_once_keep_every_customer_right() {
    let seeds = share::seeds(600 * times(), 12);
    let figures = whole(run(seeds.clone(), |seed| play(Model::new(), any(seed), seed, Fault::None, Kinds::Core)));
    println!("{figures:?}");
    let seeds = seeds.end - seeds.start;
    assert!(figures.histories == seeds && figures.applied > 5 * seeds, "{figures:?}");
}

#[test]
fn god_records_are_emptied_while_some_environments_are_behind() {
    let seeds = share::seeds(200 * times(), 12);
    let figures = whole(run(seeds.clone(), |seed| {
        let model = Legacy::ALL[usize::try_from(seed % 2).unwrap()];
        to_the_end(Model::new(), model, seed, Kinds::Core)
    }));
    println!("{figures:?}");
    let seeds = seeds.end - seeds.start;
    assert!(figures.histories == seeds && figures.applied > 5 * seeds, "{figures:?}");
}

/// The same on the engine, which `engine.rs` runs.
pub(crate) fn ends<S: Store>(store: S, model: Legacy, seed: u64) -> Result<Figures, Broken> {
    to_the_end(store, model, seed, Kinds::All)
}
