//! The same histories with a slip planted: a check tells, or another mechanism makes it harmless, and then both
//! together are told.

use crate::migration::fault::Fault;
use crate::migration::play::Figures;
use crate::migration::scene::Broken;
use crate::migration::seeds::{Pair, adjacent, play, run};
use ledger_core::migration::Stage;
use ledger_tests::legacy::Kinds;
use ledger_tests::model::Model;

/// The first history that breaks something, of so many for each pair.
fn first(fault: Fault, pairs: &[Pair], each: u64) -> Result<Figures, (u64, Broken)> {
    run(each * pairs.len() as u64, |seed| {
        let pair = pairs[usize::try_from(seed % pairs.len() as u64).unwrap()];
        play(Model::new(), pair, seed, fault, Kinds::Core)
    })
}

/// Pairs of which one phase has just entered a stage.
fn entering(stages: &[Stage]) -> Vec<Pair> {
    let enters =
        |pair: &Pair| [pair.0, pair.1].iter().any(|p| p.entered_by().is_some_and(|(_, s)| stages.contains(&s)));
    adjacent().into_iter().filter(enters).collect()
}

fn told(fault: Fault, stages: &[Stage], by: &[&str]) {
    let (seed, broken) = first(fault, &entering(stages), 40).expect_err("nothing tells");
    println!("{fault:?}: seed {seed}, by \"{}\"", broken.check);
    assert!(by.contains(&broken.check), "{fault:?}: {broken:?}");
}

const KEPT_IN_BOTH: [Stage; 3] = [Stage::DualWrite, Stage::Backfilled, Stage::ReadNew];

#[test]
fn guards_on_the_wrong_side_are_told() {
    told(Fault::WrongSide, &KEPT_IN_BOTH, &["refused", "accepted", "verdict", "below nothing", "reading"]);
}

#[test]
fn a_forgotten_mirror_is_told() {
    told(Fault::NoMirror, &KEPT_IN_BOTH, &["parity", "reading"]);
}

#[test]
fn a_forgotten_stamp_is_told() {
    told(Fault::NoStamp, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading", "comes to an end"]);
}

#[test]
fn a_fence_that_nobody_asks_about_is_told() {
    told(Fault::NoFence, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading"]);
}

#[test]
fn a_truth_that_nobody_asks_about_is_told() {
    told(Fault::NoTruthAsked, &Stage::ALL, &["parity", "reading", "refused", "accepted", "verdict"]);
}

#[test]
fn a_profile_that_comes_back_is_told() {
    told(Fault::UnguardedProfile, &[Stage::DualWrite, Stage::LegacyOnly], &["parity", "reading"]);
}

#[test]
fn a_copy_of_what_was_read_too_early_is_told() {
    told(Fault::ReadBeforeRaised, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading"]);
}

#[test]
fn a_copy_that_is_made_twice_is_told() {
    told(Fault::NeitherMarkerNorTruth, &KEPT_IN_BOTH, &["parity", "reading", "below nothing"]);
}

/// Either of the two keeps a copy from being made twice.
#[test]
fn of_marker_and_truth_one_is_enough() {
    for fault in [Fault::NoMarker, Fault::NoTruth] {
        let figures = first(fault, &entering(&KEPT_IN_BOTH), 1).map_err(|(seed, broken)| panic!("{seed}: {broken:?}"));
        println!("{fault:?}: {figures:?}");
    }
}
