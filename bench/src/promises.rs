//! What the design promises, checked on outcomes.

use crate::chance::{Micros, SECOND};
use crate::designs::Design;
use crate::scenarios::PREPARED;
use crate::simulation::Outcome;

/// The rate of one merchant up to which the lag is promised, in payments a second.
///
/// One run at a time credits a merchant: 98 payments a transaction of some 60 ms, with a query of 8 ms for every 200,
/// and after 50 transactions another run takes the lease. That is 4,900 payments in about 3.4 s.
pub const CREDITED_RATE_MAX: u64 = 1_000;
/// The longest lag up to that rate: a second of the stream's window, a quarter for its poll, 1.2 s of tries for the
/// lease, and a whole run of 3.4 s before; and if that run leaves the record, the same wait for another run.
pub const LAG_MAX: Micros = 10 * SECOND;

/// The promises that outcomes break, in sentences; empty if all hold.
#[must_use]
pub fn broken(outcomes: &[Outcome]) -> Vec<String> {
    outcomes.iter().flat_map(broken_by).collect()
}

fn broken_by(outcome: &Outcome) -> Vec<String> {
    let mut broken = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            broken.push(format!("{} at {} a second ({}): {what}", outcome.design, outcome.rate, outcome.scenario));
        }
    };
    let difference = outcome.money_difference;
    check(difference == 0, format!("the balances differ by {difference} yen from what they began with"));
    let answered = outcome.applied.saturating_add(outcome.refused()).saturating_add(outcome.rejected);
    check(answered == outcome.offered, format!("{answered} of {} payments were answered", outcome.offered));
    if outcome.design != Design::Credited.name() {
        return broken;
    }
    let conflicts = outcome.conflicts_between_customers;
    check(conflicts == 0, format!("{conflicts} conflicts between different customers"));
    let with_workers = outcome.conflicts_with_workers;
    check(with_workers == 0, format!("{with_workers} conflicts of payments with workers"));
    let is_prepared = outcome.scenario == PREPARED;
    if is_prepared {
        let refused = outcome.refused();
        check(refused == 0, format!("{refused} of {} payments were refused", outcome.offered));
    }
    if is_prepared && outcome.rate <= CREDITED_RATE_MAX {
        let (lag, left) = (outcome.lag_max / SECOND, outcome.uncredited);
        check(outcome.lag_max <= LAG_MAX, format!("a merchant was credited {lag} s after a payment"));
        check(left == 0, format!("{left} payments were never credited"));
    }
    broken
}

/// What the outcomes show beside the promises, in sentences.
#[must_use]
pub fn findings(outcomes: &[Outcome]) -> Vec<String> {
    let ours = outcomes.iter().filter(|outcome| outcome.design == Design::Credited.name());
    ours.flat_map(|outcome| {
        let mut found = Vec::new();
        let mut note = |is_found: bool, what: String| {
            if is_found {
                found.push(format!("{} a second ({}): {what}", outcome.rate, outcome.scenario));
            }
        };
        let seconds = outcome.duration / SECOND;
        note(
            outcome.lag_max > LAG_MAX,
            format!(
                "crediting falls behind: {} payments uncredited at once; {} s after the last arrival {} still are",
                outcome.uncredited_max,
                outcome.drained_after / SECOND,
                outcome.uncredited
            ),
        );
        let conflicts = outcome.worker_conflicts.crediting;
        note(
            conflicts > 5,
            format!(
                "{conflicts} conflicts of crediting workers with each other in {seconds} s; the alarm allows 5 in 300 s"
            ),
        );
        note(
            outcome.reads_throttled > 0,
            format!("{} queries of the index by workers were throttled", outcome.reads_throttled),
        );
        let unsealed = outcome.published.saturating_sub(outcome.sealed);
        note(
            unsealed > outcome.rate.saturating_mul(60),
            format!("{unsealed} of {} published entries were not sealed by the end", outcome.published),
        );
        note(
            outcome.refused() > 0,
            format!(
                "{} of {} payments were refused: {} after the retries of a conflict, {} throttled",
                outcome.refused(),
                outcome.offered,
                outcome.refused_after_conflicts,
                outcome.refused_throttled
            ),
        );
        found
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::{Preparation, Scenario, festival};

    fn outcome() -> Outcome {
        let setup = festival(Design::Credited, 100, 5, Preparation::AsAdvised, 1);
        Scenario { name: PREPARED, setup }.run()
    }

    #[test]
    fn outcome_of_our_design_breaks_no_promise() {
        assert_eq!(broken(&[outcome()]), Vec::<String>::new());
    }

    #[test]
    fn each_broken_promise_is_named() {
        let all = Outcome {
            money_difference: 5,
            refused_throttled: 1,
            conflicts_between_customers: 2,
            conflicts_with_workers: 3,
            lag_max: LAG_MAX + 1,
            uncredited: 4,
            ..outcome()
        };
        let broken = broken(&[all]);
        for what in ["by 5 yen", "were answered", "2 conflicts", "3 conflicts", "1 of", "credited 10 s", "4 payments"] {
            assert!(broken.iter().any(|sentence| sentence.contains(what)), "{what}: {broken:#?}");
        }
        assert_eq!(broken.len(), 7);
    }
}
