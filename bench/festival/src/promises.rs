//! What the design promises, checked on outcomes.
//!
//! No refusals are promised with the most shards at every rate, and with the shards that the documents advise up to
//! [`PEAK_RATE_MAX`]: above it, too many index keys may share a partition by chance. A payment's latency is promised
//! in both at every rate: customers do not wait for each other.

use crate::chance::{MILLISECOND, Micros, SECOND};
use crate::designs::Design;
use crate::scenarios::{FOR_MINUTES, FOR_MINUTES_IN_LANES, IN_LANES, MOST_SHARDS, PREPARED};
use crate::simulation::Outcome;

/// The rate of one merchant, and of one tenant, that crediting keeps up with for as long as it lasts, in payments a second.
///
/// A step of a run reads 160 accounts and sends their events in some 54 ms: the slowest read and the slowest of 16 batches
/// of events. A segment is one transaction of 95 entries, some 60 ms. One lane takes a step for each segment, 115 ms:
/// 820 entries a second. 16 lanes take 10 steps for 1,520 entries and wait for the slowest of 16 transactions, some
/// 100 ms: 640 ms, and as the lanes are not full at once, 2,110 a second. A run seals for 58 s of each minute, so one lane
/// takes 790 a second on average and 16 take 2,040. At 2,000 a second a trail with one lane is behind and doubles it.
///
/// No partition is near its 1,000 write units a second then. 2,110 entries are 22 segments: 44 units of the merchant's
/// partition, 2 for each segment on the item of its lane, and 352 of the tenant's, 2 for the lane's head and 14 for the
/// segment. One lane's 9 segments a second take 18 of each of the two items. The index `due` takes 2 units for each entry,
/// from 16 shards.
pub const CREDITED_RATE_MAX: u64 = 1_000;
/// The rate that it catches up with after a peak of [`PEAK`].
pub const PEAK_RATE_MAX: u64 = 2_000;
/// The longest peak that is promised.
pub const PEAK: Micros = 60 * SECOND;
/// The longest lag up to [`CREDITED_RATE_MAX`], and of a peak where the trail has its lanes: 60 s until the tick, and
/// 40 s for what waits before an entry in its run.
///
/// A run at 1,000 a second with one lane seals 48,000 of the minute's 60,000 entries. The others wait for the next run,
/// which begins 2 s later with two lanes, and seals the oldest first. Of a peak's 120,000, 16 lanes seal all in a run.
pub const LAG_MAX: Micros = 100 * SECOND;
/// The longest lag of a peak where the trail begins with one lane: another tick.
///
/// Runs with one and two lanes seal 48,000 and some 72,000 entries, and a peak has 120,000. The second run begins a tick
/// after the first.
pub const LAG_MAX_DOUBLING: Micros = 160 * SECOND;
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
    let scenario = outcome.scenario.as_str();
    if IS_PREPARED.contains(&scenario) {
        let p99 = outcome.latency_p99 / MILLISECOND;
        check(outcome.latency_p99 <= LATENCY_P99_MAX, format!("p99 of the applied payments is {p99} ms"));
    }
    if scenario == MOST_SHARDS || IS_PREPARED.contains(&scenario) && outcome.rate <= PEAK_RATE_MAX {
        let refused = outcome.refused();
        check(refused == 0, format!("{refused} of {} payments were refused", outcome.offered));
    }
    if let Some(lag_max) = lag_promised(outcome) {
        let (lag, left) = (outcome.lag_max / SECOND, outcome.uncredited);
        check(outcome.lag_max <= lag_max, format!("a merchant was credited {lag} s after a payment"));
        check(left == 0, format!("{left} payments were never credited"));
    }
    broken
}

/// The scenarios on a prepared table with the published latency.
const IS_PREPARED: [&str; 5] = [PREPARED, MOST_SHARDS, IN_LANES, FOR_MINUTES, FOR_MINUTES_IN_LANES];

/// The longest lag that is promised for an outcome of our design; `None` if none is.
fn lag_promised(outcome: &Outcome) -> Option<Micros> {
    let scenario = outcome.scenario.as_str();
    if !IS_PREPARED.contains(&scenario) {
        return None;
    }
    if outcome.rate <= CREDITED_RATE_MAX {
        return Some(LAG_MAX);
    }
    let has_lanes = [IN_LANES, FOR_MINUTES_IN_LANES].contains(&scenario);
    let is_peak = outcome.rate <= PEAK_RATE_MAX && outcome.duration <= PEAK;
    is_peak.then_some(if has_lanes { LAG_MAX } else { LAG_MAX_DOUBLING })
}

/// What our design's outcomes show beside the promises: a sentence for each kind, then the outcomes that show it.
#[must_use]
pub fn findings(outcomes: &[Outcome]) -> Vec<String> {
    let ours: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.design == Design::Credited.name()).collect();
    let kinds: [(&str, Show); 5] = [
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
    fn lag_is_promised_up_to_a_rate_for_ever_and_above_it_for_a_peak() {
        let of = |scenario: &str, rate, duration| {
            lag_promised(&Outcome { scenario: scenario.to_owned(), rate, duration, ..outcome() })
        };
        assert_eq!(of(FOR_MINUTES, CREDITED_RATE_MAX, 10 * PEAK), Some(LAG_MAX));
        assert_eq!(of(IN_LANES, PEAK_RATE_MAX, PEAK), Some(LAG_MAX));
        assert_eq!(of(PREPARED, PEAK_RATE_MAX, PEAK), Some(LAG_MAX_DOUBLING));
        assert_eq!(of(FOR_MINUTES_IN_LANES, PEAK_RATE_MAX, PEAK + 1), None);
        assert_eq!(of(IN_LANES, PEAK_RATE_MAX + 1, PEAK), None);
        assert_eq!(of("as deployed", 1, 1), None);
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
            "credited 100 s",
            "4 payments",
        ];
        for what in named {
            assert!(broken.iter().any(|sentence| sentence.contains(what)), "{what}: {broken:#?}");
        }
        assert_eq!(broken.len(), 8);
    }
}
