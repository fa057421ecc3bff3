//! Properties that hold for any input: of money, of conditions, of every builder, of sequences of
//! refunds, holds and the provider's facts, and of replay. Failing inputs are printed, never written.

mod authorizations;
mod builders;
mod conditions;
mod holds;
mod money;
mod observed_items;
mod outside;
mod refunds;
mod replay;
mod stored_types;
mod world;

use proptest::test_runner::Config;

/// So many cases, and no file of failures.
fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}
