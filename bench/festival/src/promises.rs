//! What the design promises, checked on outcomes.
//!
//! No refusals are promised with the most shards at every rate, and with the shards that the documents advise up to
//! [`CREDITED_RATE_MAX`]: above it, too many index keys may share a partition by chance. A payment's latency is promised
//! in both at every rate: customers do not wait for each other.

use crate::chance::{MILLISECOND, Micros, SECOND};
use crate::designs::Design;
use crate::scenarios::{MOST_SHARDS, PREPARED};
use crate::simulation::Outcome;

/// The rate of one merchant up to which the lag is promised, in payments a second.
///
/// One run at a time credits a merchant: 98 payments a transaction of some 60 ms, with a query of 8 ms for every 200,
/// and after 50 transactions another run takes the lease. That is 4,900 payments in about 3.4 s, 1,440 a second. But a
/// batch is of one shard, and takes a unit for each payment from the shard's key to be credited and from its key to be
/// settled. Where both lie in one partition of the index, its 1,000 units are enough for 500 payments a second.
pub const CREDITED_RATE_MAX: u64 = 500;
/// The longest lag up to that rate: a second of the stream's window, a quarter for its poll, 1.2 s of tries for the
/// lease, and a whole run of 3.4 s before; and if that run leaves the record, the same wait for another run.
pub const LAG_MAX: Micros = 10 * SECOND;
/// The latency that 99 % of the applied payments do not exceed: the threshold of the alarm on latency.
///
/// A payment is one transaction. It waits longer only if its customer pays twice at once.
pub const LATENCY_P99_MAX: Micros = 500 * MILLISECOND;

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
    if [PREPARED, MOST_SHARDS].contains(&outcome.scenario.as_str()) {
        let p99 = outcome.latency_p99 / MILLISECOND;
        check(outcome.latency_p99 <= LATENCY_P99_MAX, format!("p99 of the applied payments is {p99} ms"));
    }
    let is_slow = outcome.rate <= CREDITED_RATE_MAX;
    if outcome.scenario == MOST_SHARDS || outcome.scenario == PREPARED && is_slow {
        let refused = outcome.refused();
        check(refused == 0, format!("{refused} of {} payments were refused", outcome.offered));
    }
    if outcome.scenario == PREPARED && is_slow {
        let (lag, left) = (outcome.lag_max / SECOND, outcome.uncredited);
        check(outcome.lag_max <= LAG_MAX, format!("a merchant was credited {lag} s after a payment"));
        check(left == 0, format!("{left} payments were never credited"));
    }
    broken
}

/// What our design's outcomes show beside the promises: a sentence for each kind, then the outcomes that show it.
#[must_use]
pub fn findings(outcomes: &[Outcome]) -> Vec<String> {
    let ours: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.design == Design::Credited.name()).collect();
    let kinds: [(&str, Show); 6] = [
        ("Payments are refused: after all retries of a conflict, and because DynamoDB throttled", |outcome| {
            let (conflicts, throttled) = (outcome.refused_after_conflicts, outcome.refused_throttled);
            let shown = format!("{conflicts} and {throttled} of {}", outcome.offered);
            (outcome.refused() > 0).then_some(shown)
        }),
        ("Payments of one customer wait for each other: p99 of the applied ones", |outcome| {
            let p99 = outcome.latency_p99 / MILLISECOND;
            (outcome.latency_p99 > LATENCY_P99_MAX).then(|| format!("{p99} ms"))
        }),
        (
            "Crediting falls behind: the most uncredited payments at once, the longest lag, and how many were left",
            |outcome| {
                let (lag, left) = (outcome.lag_max / SECOND, outcome.uncredited);
                (outcome.lag_max > LAG_MAX).then(|| format!("{}, {lag} s, {left} left", outcome.uncredited_max))
            },
        ),
        ("Crediting workers conflict with each other more than 5 times in 300 s, which no alarm counts", |outcome| {
            let conflicts = outcome.worker_conflicts.crediting;
            let allowed = (outcome.duration / SECOND).saturating_mul(5) / 300;
            (conflicts > allowed).then(|| format!("{conflicts} in {} s", outcome.duration / SECOND))
        }),
        (
            "Workers read the index more often than its keys allow: throttled queries, and the longest delay of an event",
            |outcome| {
                let (throttled, lag) = (outcome.reads_throttled, outcome.publishing_lag_max / SECOND);
                (throttled > 0).then(|| format!("{throttled}, {lag} s"))
            },
        ),
        ("Sealing falls behind: entries that were published but not sealed when the run ended", |outcome| {
            let unsealed = outcome.published.saturating_sub(outcome.sealed);
            (unsealed > outcome.rate.saturating_mul(60)).then(|| format!("{unsealed} of {}", outcome.published))
        }),
    ];
    let mut found = Vec::new();
    for (what, show) in kinds {
        let shown = ours.iter().filter_map(|outcome| {
            Some(format!("  {} a second, {}: {}", outcome.rate, outcome.scenario, show(outcome)?))
        });
        let lines: Vec<String> = shown.collect();
        if !lines.is_empty() {
            found.push(format!("{what}.\n{}", lines.join("\n")));
        }
    }
    found
}

/// What an outcome shows of a kind of finding; `None` if nothing.
type Show = fn(&Outcome) -> Option<String>;

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
    fn latency_of_one_customers_payments_is_shown_and_not_promised() {
        let slow = Outcome { scenario: "one wallet".to_owned(), latency_p99: 2 * LATENCY_P99_MAX, ..outcome() };
        assert_eq!(broken(std::slice::from_ref(&slow)), Vec::<String>::new());
        let found = findings(&[slow]);
        assert!(found.iter().any(|finding| finding.contains("p99") && finding.contains("1000 ms")), "{found:#?}");
    }

    #[test]
    fn each_broken_promise_is_named() {
        let all = Outcome {
            money_difference: 5,
            refused_throttled: 1,
            conflicts_between_customers: 2,
            conflicts_with_workers: 3,
            latency_p99: LATENCY_P99_MAX + MILLISECOND,
            lag_max: LAG_MAX + 1,
            uncredited: 4,
            ..outcome()
        };
        let broken = broken(&[all]);
        let named = [
            "by 5 yen",
            "were answered",
            "2 conflicts",
            "3 conflicts",
            "is 501 ms",
            "1 of",
            "credited 10 s",
            "4 payments",
        ];
        for what in named {
            assert!(broken.iter().any(|sentence| sentence.contains(what)), "{what}: {broken:#?}");
        }
        assert_eq!(broken.len(), 8);
    }
}
