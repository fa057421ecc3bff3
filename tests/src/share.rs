//! How many cases the largest tests run: a share of them by default, so that `cargo test` ends within minutes, and every
//! one where the environment variable `EVERY_CASE` is set, as `.ci/run --release` does.

/// The environment variable that has every case run.
pub const EVERY_CASE: &str = "EVERY_CASE";

/// Whether every case is run.
#[must_use]
pub fn is_whole() -> bool {
    std::env::var_os(EVERY_CASE).is_some()
}

/// Every case, or by default every `step`-th, beginning with the first.
pub fn of<T>(cases: impl IntoIterator<Item = T>, step: usize) -> Vec<T> {
    cases.into_iter().step_by(if is_whole() { 1 } else { step }).collect()
}

/// How many of `all` cases [`of`] takes.
#[must_use]
pub fn count(all: u64, step: u64) -> u64 {
    if is_whole() { all } else { all.div_ceil(step) }
}
