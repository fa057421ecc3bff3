//! The same histories with a planted fault: a check detects it, or another mechanism makes it harmless.

use crate::migration::fault::Fault;
use crate::migration::play::Figures;
use crate::migration::scene::Broken;
use crate::migration::seeds::{Pair, adjacent, play, run};
use ledger_core::migration::Stage;
use ledger_tests::legacy::Kinds;
use ledger_tests::model::Model;

/// The first history that fails a check, of `each` histories per pair.
fn first(fault: Fault, pairs: &[Pair], each: u64) -> Result<Figures, (u64, Broken)> {
    run(each * pairs.len() as u64, |seed| {
        let pair = pairs[usize::try_from(seed % pairs.len() as u64).unwrap()];
        play(Model::new(), pair, seed, fault, Kinds::Core)
    })
}

/// Pairs of which one phase has just entered one of the stages.
fn entering(stages: &[Stage]) -> Vec<Pair> {
    let enters =
        |pair: &Pair| [pair.0, pair.1].iter().any(|p| p.entered_by().is_some_and(|(_, s)| stages.contains(&s)));
    adjacent().into_iter().filter(enters).collect()
}

fn assert_detected(fault: Fault, stages: &[Stage], by: &[&str]) {
    let (seed, broken) = first(fault, &entering(stages), 40).expect_err("no check fails");
    println!("{fault:?}: seed {seed}, by \"{}\"", broken.check);
    assert!(by.contains(&broken.check), "{fault:?}: {broken:?}");
}

const KEPT_IN_BOTH: [Stage; 3] = [Stage::DualWrite, Stage::Backfilled, Stage::ReadNew];

#[test]
fn guards_on_the_wrong_side_are_detected() {
    assert_detected(
        Fault::WrongSide,
        &KEPT_IN_BOTH,
        &["refused", "accepted", "verdict", "negative balance", "reading"],
    );
}

#[test]
fn missing_mirror_is_detected() {
    assert_detected(Fault::NoMirror, &KEPT_IN_BOTH, &["parity", "reading"]);
}

#[test]
fn missing_fence_stamp_is_detected() {
    assert_detected(Fault::NoStamp, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading", "terminates"]);
}

#[test]
fn unchecked_fence_is_detected() {
    assert_detected(Fault::NoFence, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading"]);
}

#[test]
fn unchecked_truth_is_detected() {
    assert_detected(Fault::NoTruthCheck, &Stage::ALL, &["parity", "reading", "refused", "accepted", "verdict"]);
}

#[test]
fn stale_profile_copy_is_detected() {
    assert_detected(Fault::UnguardedProfile, &[Stage::DualWrite, Stage::LegacyOnly], &["parity", "reading"]);
}

#[test]
fn copy_read_before_the_fence_is_detected() {
    assert_detected(Fault::ReadBeforeRaised, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading"]);
}

#[test]
fn repeated_copy_is_detected() {
    assert_detected(Fault::NeitherMarkerNorTruth, &KEPT_IN_BOTH, &["parity", "reading", "negative balance"]);
}

/// Either of the two prevents a second copy.
#[test]
fn either_marker_or_truth_prevents_a_second_copy() {
    for fault in [Fault::NoMarker, Fault::NoTruth] {
        let figures = first(fault, &entering(&KEPT_IN_BOTH), 1).map_err(|(seed, broken)| panic!("{seed}: {broken:?}"));
        println!("{fault:?}: {figures:?}");
    }
}
