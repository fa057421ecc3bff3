//! The same histories on the embedded engine, with the shapes that only DynamoDB has; and the model's table held
//! against the engine in what only a migration does.

use crate::fault::Fault;
use crate::seeds::{adjacent, ends, play, run, times, whole};
use ledger_core::migration::Model as Legacy;
use ledger_tests::engine::Table;
use ledger_tests::legacy::Kinds;

#[test]
fn the_engine_keeps_every_customer_right() {
    let pairs = adjacent();
    let seeds = 2 * pairs.len() as u64 * times();
    let figures = whole(run(seeds, |seed| {
        let pair = pairs[usize::try_from(seed % pairs.len() as u64).unwrap()];
        play(Table::new(), pair, seed, Fault::None, Kinds::All)
    }));
    println!("{} pairs: {figures:?}", pairs.len());
    assert!(figures.histories == seeds && figures.applied > 5 * seeds, "{figures:?}");
}

#[test]
fn the_engine_empties_god_records() {
    let seeds = 20 * times();
    let figures = whole(run(seeds, |seed| ends(Table::new(), Legacy::ALL[usize::try_from(seed % 2).unwrap()], seed)));
    println!("{figures:?}");
    assert!(figures.histories == seeds, "{figures:?}");
}
