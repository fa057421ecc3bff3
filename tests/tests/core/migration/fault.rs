//! Faults planted into transactions: each is what a mistake in the core would cause.

use crate::migration::ops::Op;
use crate::migration::scene::Seen;
use ledger_core::dynamo::{Condition, Value};
use ledger_core::migration::{Layout, Migration, Phase, Stage};
use ledger_core::transaction::{Clause, RenderedAction, Transaction};
use ledger_tests::audit::MARKERS;
use ledger_tests::model::Act;

/// The planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// A copy is written without its marker.
    NoMarker,
    /// A copy is not guarded on the concern's truth.
    NoTruth,
    /// Both `NoMarker` and `NoTruth`.
    NeitherMarkerNorTruth,
    /// Guards are on the model that is not the truth.
    WrongSide,
    /// A refund omits the model that is not the truth.
    NoMirror,
    /// A transaction does not stamp the God Record.
    NoStamp,
    /// A transaction does not check the fence.
    NoFence,
    /// A transaction does not check the concern's truth.
    NoTruthCheck,
    /// A copy of the profile is not guarded on what was read.
    UnguardedProfile,
    /// A copy is made of what was read before the fence was raised.
    ReadBeforeRaised,
}

const FENCE: &str = "fence_phase";

fn attribute(condition: &Condition) -> &str {
    match condition {
        Condition::Exists(name)
        | Condition::Absent(name)
        | Condition::Null(name)
        | Condition::Compare(name, ..)
        | Condition::IsNot(name, _) => name,
        Condition::Either(one, _) => attribute(one),
    }
}

fn is_truth(clause: &Clause) -> bool {
    attribute(&clause.condition).starts_with("truth_")
}

fn is_fence(clause: &Clause) -> bool {
    attribute(&clause.condition) == FENCE
}

fn without(mut acts: Vec<Act>, which: impl Fn(&Clause) -> bool) -> Vec<Act> {
    acts.iter_mut().for_each(|act| act.clauses.retain(|clause| !which(clause)));
    acts
}

/// The actions of a transaction with the fault planted.
pub(crate) fn plant_in_placed(
    fault: Fault,
    acts: Vec<Act>,
    transaction: &Transaction,
    layout: &Layout,
    op: &Op,
) -> Vec<Act> {
    match fault {
        Fault::None
        | Fault::NoMarker
        | Fault::NoTruth
        | Fault::NeitherMarkerNorTruth
        | Fault::UnguardedProfile
        | Fault::ReadBeforeRaised => acts,
        Fault::NoFence => without(acts, is_fence),
        Fault::NoTruthCheck => without(acts, is_truth),
        Fault::NoStamp => acts.into_iter().map(unstamped).collect(),
        Fault::NoMirror => {
            let is_omitted = |act: &Act| {
                let is_split = ledger_core::migration::Counterpart::of(&act.key).is_some();
                matches!(op, Op::Refund { .. }) && is_split && act.clauses.is_empty()
            };
            acts.into_iter().map(|act| if is_omitted(&act) { nothing(act) } else { act }).collect()
        }
        Fault::WrongSide => wrong_side(acts, transaction, layout),
    }
}

fn is_marker(act: &Act) -> bool {
    MARKERS.iter().any(|prefix| act.key.sk().starts_with(prefix))
}

/// The actions of a copy with the fault planted.
pub(crate) fn plant_in_copy(fault: Fault, acts: Vec<Act>) -> Vec<Act> {
    let unmarked = |acts: Vec<Act>| acts.into_iter().filter(|act| !is_marker(act)).collect();
    match fault {
        Fault::None
        | Fault::WrongSide
        | Fault::NoMirror
        | Fault::NoStamp
        | Fault::NoFence
        | Fault::NoTruthCheck
        | Fault::ReadBeforeRaised => acts,
        Fault::NoMarker => unmarked(acts),
        Fault::NoTruth => without(acts, is_truth),
        Fault::NeitherMarkerNorTruth => unmarked(without(acts, is_truth)),
        Fault::UnguardedProfile => {
            let is_own = |clause: &Clause| is_truth(clause) || is_fence(clause);
            let (marker, rest): (Vec<Act>, Vec<Act>) = acts.into_iter().partition(is_marker);
            marker.into_iter().chain(without(rest, |clause| !is_own(clause))).collect()
        }
    }
}

/// What was read before the fence was raised, with the raised fence in it.
pub(crate) fn read_before_raised(fault: Fault, migration: &Migration, seen: &Seen) -> Option<Seen> {
    (fault == Fault::ReadBeforeRaised).then(|| {
        let mut seen = seen.clone();
        if let Some(record) = seen.items.first_mut().and_then(Option::as_mut) {
            record.insert(FENCE.to_owned(), Value::int(migration.fence.number()));
        }
        seen
    })
}

fn nothing(mut act: Act) -> Act {
    if let RenderedAction::Update(key, _) = act.rendered.action {
        act.rendered.action = RenderedAction::ConditionCheck(key);
    }
    act
}

fn unstamped(mut act: Act) -> Act {
    if let RenderedAction::Update(key, update) = &act.rendered.action {
        let stamp = "#fence_phase = :fence";
        let rest = update.replace(&format!("{stamp}, "), "").replace(&format!(", {stamp}"), "");
        act.rendered.action = if rest.ends_with(&format!("SET {stamp}")) {
            let rest = rest.replace(&format!("SET {stamp}"), "");
            if rest.trim().is_empty() {
                RenderedAction::ConditionCheck(key.clone())
            } else {
                RenderedAction::Update(key.clone(), rest)
            }
        } else {
            RenderedAction::Update(key.clone(), rest)
        };
    }
    act
}

/// Exchanges the guards of the concern that moved last for those of the other side; truth and fence clauses stay.
fn wrong_side(acts: Vec<Act>, transaction: &Transaction, layout: &Layout) -> Vec<Act> {
    let Layout::Migrating(migration) = layout else { return acts };
    let Some((concern, stage)) = migration.phase.entered_by() else { return acts };
    let other = match stage {
        Stage::DualWrite | Stage::Backfilled => Stage::ReadNew,
        Stage::ReadNew => Stage::DualWrite,
        Stage::LegacyOnly | Stage::NewOnly => return acts,
    };
    let entered = |phase: &Phase| phase.entered_by() == Some((concern, other));
    let Some(phase) = Phase::all(migration.phase.model()).find(entered) else { return acts };
    let other = Layout::Migrating(Migration { phase, ..migration.clone() });
    let other: Vec<Act> = transaction.placed(&other).unwrap().items().iter().map(Act::of).collect();
    let is_own = |clause: &Clause| is_truth(clause) || is_fence(clause);
    let mut acts = acts;
    for act in &mut acts {
        act.clauses.retain(is_own);
        let guards = other.iter().filter(|other| other.key == act.key).flat_map(|other| &other.clauses);
        act.clauses.extend(guards.filter(|clause| !is_own(clause)).cloned());
    }
    acts
}
