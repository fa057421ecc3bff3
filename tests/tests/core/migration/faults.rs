//! The same histories with a planted fault: a check detects it, or another mechanism makes it harmless.

use crate::migration::fault::Fault;
use crate::migration::play::Figures;
use crate::migration::scene::Broken;
use crate::migration::seeds::{Pair, adjacent, play, run};
use ledger_core::migration::Stage;
use ledger_tests::legacy::Kinds;
use ledger_tests::model::Model;
use ledger_tests::share;

/// The first history that fails a check, of `each` histories per pair.
fn first(fault: Fault, pairs: &[Pair], each: u64) -> Result<Figures, (u64, Broken)> {
    run(0..each * pairs.len() as u64, |seed| {
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

const KEPT_IN_BOTH: [Stage; 3] = [Stage::DualWrite, Stage::Backfilled, Stage::ReadNew];

/// Each fault, the stages that a phase has just entered, and the checks that find it.
const DETECTED: [(Fault, &[Stage], &[&str]); 8] = [
    (Fault::WrongSide, &KEPT_IN_BOTH, &["refused", "accepted", "verdict", "negative balance", "reading"]),
    (Fault::NoMirror, &KEPT_IN_BOTH, &["parity", "reading"]),
    (Fault::NoStamp, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading", "terminates"]),
    (Fault::NoFence, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading"]),
    (Fault::NoTruthCheck, &Stage::ALL, &["parity", "reading", "refused", "accepted", "verdict"]),
    (Fault::UnguardedProfile, &[Stage::DualWrite, Stage::LegacyOnly], &["parity", "reading"]),
    (Fault::ReadBeforeRaised, &[Stage::DualWrite, Stage::NewOnly], &["parity", "reading"]),
    (Fault::NeitherMarkerNorTruth, &KEPT_IN_BOTH, &["parity", "reading", "negative balance"]),
];

#[test]
fn planted_faults_are_detected_by_the_checks_that_are_listed() {
    for (fault, stages, by) in share::of_family(DETECTED) {
        let (seed, broken) = first(fault, &entering(stages), 40).expect_err("no check fails");
        println!("{fault:?}: seed {seed}, by \"{}\"", broken.check);
        assert!(by.contains(&broken.check), "{fault:?}: {broken:?}");
    }
}

/// Either of the two prevents a second copy.
#[test]
fn either_marker_or_truth_prevents_a_second_copy() {
    for fault in share::of([Fault::NoMarker, Fault::NoTruth], 2) {
        let figures = first(fault, &entering(&KEPT_IN_BOTH), 1).map_err(|(seed, broken)| panic!("{seed}: {broken:?}"));
        println!("{fault:?}: {figures:?}");
    }
}
