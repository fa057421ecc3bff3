//! Builds the steps of a reconciliation run, and the adjustment that corrects one of its breaks.

use super::build::{Made, NoPlan};
use super::decode::World;
use crate::holders;
use ledger_core::forms::SeenCorrections;
use ledger_core::ids::{RunId, StaffId};
use ledger_core::keys;
use ledger_core::money::{Asset, Delta};
use ledger_core::reconcile::run::{self, Run, RunState, Tally};
use ledger_core::reconcile::{BreakKind, Finding, Proposal};
use ledger_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// An optional field, `null` in the file if it is `None`.
type Maybe<T> = Option<T>;

/// A step. Runs and breaks are read from the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[expect(missing_docs, reason = "the steps are those of the core's run, where they are described")]
pub enum ReconcileDoes {
    Request {
        staff: String,
    },
    /// The nightly run.
    Night {},
    Take {
        run: String,
    },
    Progress {
        run: String,
        items: String,
        units: String,
    },
    Store {
        run: String,
        first: String,
        breaks: Vec<BreakJson>,
    },
    Finish {
        run: String,
        state: String,
        breaks: Vec<(String, String)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        newer: Vec<(String, String)>,
        file: Maybe<String>,
    },
    Announced {
        run: String,
    },
}

/// A break that a run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the core's finding, where they are described")]
pub struct BreakJson {
    pub kind: String,
    pub subject: String,
    pub asset: Maybe<String>,
    pub expected: String,
    pub found: String,
    pub evidence: Vec<String>,
    pub follows: Maybe<String>,
    pub proposed: Maybe<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_exposure: Maybe<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_corrections: Maybe<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_corrected_at: Maybe<String>,
}

pub(super) fn make(world: &World, does: &ReconcileDoes) -> Result<Made, NoPlan> {
    let (tenant, cx) = (&world.tenant, &world.cx);
    let staff = |id: &str| StaffId::parse(id).unwrap();
    let count = |text: &str| text.parse::<i64>().unwrap();
    let held = |run: &str| holders::of_run(tenant, &read(world, run), cx.now);
    let built = match does {
        ReconcileDoes::Request { staff: by } => {
            return Ok(Made::Draft(run::plan(tenant, staff(by), cx)?.draft));
        }
        ReconcileDoes::Night {} => run::of_the_night(tenant, cx.now).unwrap().map(|(_, begun)| begun),
        ReconcileDoes::Take { run } => read(world, run).take(tenant, cx.now).unwrap().map(|(_, taken)| taken),
        ReconcileDoes::Progress { run, items, units } => {
            let tally = Tally { items: count(items), units: count(units), ..Tally::default() };
            Some(held(run).progress(&tally, cx.now).unwrap())
        }
        ReconcileDoes::Store { run, first, breaks } => {
            let breaks: Vec<Finding> = breaks.iter().map(|found| finding(world, found)).collect();
            Some(held(run).store(tenant, first.parse().unwrap(), &breaks, cx.now).unwrap())
        }
        ReconcileDoes::Finish { run, state, breaks, newer, file } => {
            let state = RunState::parse(state).unwrap();
            let breaks = breaks.iter().map(|(kind, number)| (BreakKind::parse(kind).unwrap(), count(number)));
            let tally = Tally {
                items: 318,
                units: 40,
                suspects: 3,
                breaks: breaks.collect(),
                newer: newer.iter().map(|(name, number)| (name.clone(), count(number))).collect(),
                unsettled: 1,
                stored: 2,
                provider: "listed".to_owned(),
                file: file.clone(),
            };
            Some(held(run).finish(state, &tally, cx.now).unwrap().1)
        }
        ReconcileDoes::Announced { run } => Some(read(world, run).mark_announced(tenant, cx.now).unwrap()),
    };
    Ok(built.map_or(Made::Nothing, Made::Whole))
}

fn read(world: &World, run: &str) -> Run {
    Run::read(world.must(&keys::reconciliation(&world.tenant, RunId::parse(run).unwrap()))).unwrap()
}

fn seen(found: &BreakJson) -> SeenCorrections {
    let last_at = found.seen_corrected_at.as_deref().map(|at| Timestamp::parse(at).unwrap());
    SeenCorrections { count: found.seen_corrections.as_deref().unwrap().parse().unwrap(), last_at }
}

fn finding(world: &World, found: &BreakJson) -> Finding {
    let asset = found.asset.as_deref().map(|asset| Asset::parse(asset).unwrap());
    let delta = |number: &String| Delta::from_stored(asset.clone().unwrap(), number).unwrap();
    Finding {
        tenant: world.tenant.clone(),
        kind: BreakKind::parse(&found.kind).unwrap(),
        subject: found.subject.clone(),
        expected: found.expected.clone(),
        found: found.found.clone(),
        evidence: found.evidence.iter().cloned().collect(),
        follows: found.follows.clone(),
        proposal: (found.proposed.is_some() || found.proposed_exposure.is_some()).then(|| Proposal {
            delta: found.proposed.as_ref().map(delta),
            exposure: found.proposed_exposure.as_ref().map(delta),
            seen: seen(found),
        }),
        seen_at: None,
        asset,
    }
}
