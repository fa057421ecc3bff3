//! Properties that hold for any input, checked with random cases. Failing inputs are printed, never written.

mod authorizations;
mod builders;
mod conditions;
mod holds;
mod limits;
mod money;
mod observed_items;
mod outside;
mod refunds;
mod replay;
mod stored_types;
mod world;

use proptest::test_runner::Config;

/// A configuration of this many cases that writes no file of failures.
fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
