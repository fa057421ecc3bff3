//! How many cases the largest tests run. A landing runs a share of them that rotates, so that `cargo test` ends within
//! minutes and no case of a family goes unrun for long; a release runs every one. `docs/development.md` lists them.

use std::ops::Range;
use std::sync::LazyLock;

/// The environment variable that has every case run: `.ci/run --release` sets it.
pub const EVERY_CASE: &str = "EVERY_CASE";
/// The environment variable that chooses the share: 0 without it. `.ci/run` sets 0, 1 or 2 by the tree's hash.
pub const SHARE: &str = "LEDGER_SHARE";

/// Every so many cases of a family are run that has a fault at every write, a phase of a migration, or an endpoint in each.
pub const FAMILY_STEP: usize = 3;

static NUMBER: LazyLock<usize> = LazyLock::new(|| {
    let text = std::env::var(SHARE).unwrap_or_default();
    if text.is_empty() { 0 } else { text.parse().unwrap_or_else(|_| panic!("{SHARE} is a number, not {text:?}")) }
});

/// Whether every case is run.
#[must_use]
pub fn is_whole() -> bool {
    std::env::var_os(EVERY_CASE).is_some()
}

/// Every how many cases one is run: 1 where every case is.
#[must_use]
pub fn step(step: usize) -> usize {
    if is_whole() { 1 } else { step }
}

/// Whether the case at a position is run, of which every `step`-th is.
#[must_use]
pub fn is_chosen(at: usize, step: usize) -> bool {
    at % step == *NUMBER % step
}

/// Every case, or every `step`-th of a landing's share; of fewer cases one.
pub fn of<T>(cases: impl IntoIterator<Item = T>, step: usize) -> Vec<T> {
    let cases: Vec<T> = cases.into_iter().collect();
    let step = self::step(step).min(cases.len().max(1));
    cases.into_iter().enumerate().filter(|(at, _)| is_chosen(*at, step)).map(|(_, case)| case).collect()
}

/// Every case, or a third of them: see [`FAMILY_STEP`].
pub fn of_family<T>(cases: impl IntoIterator<Item = T>) -> Vec<T> {
    of(cases, FAMILY_STEP)
}

/// Whether the case at a position of a family is run.
#[must_use]
pub fn is_of_family(at: usize) -> bool {
    is_chosen(at, step(FAMILY_STEP))
}

/// The numbers of the writes that meet a fault, for ever: every one, or every third.
pub fn writes() -> impl Iterator<Item = usize> {
    let step = step(FAMILY_STEP);
    (*NUMBER % step..).step_by(step)
}

/// The seeds of a share: every one of `all`, or a run of them that the share chooses.
#[must_use]
pub fn seeds(all: u64, step: usize) -> Range<u64> {
    let step = self::step(step) as u64;
    let (each, at) = (all.div_ceil(step), *NUMBER as u64 % step);
    at * each..(at + 1) * each
}

/// How many of `all` cases [`of`] takes, or one more.
#[must_use]
pub fn count(all: u64, step: u64) -> u64 {
    if is_whole() { all } else { all.div_ceil(step) }
}
