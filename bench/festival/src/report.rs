//! Outcomes as a table and as JSON lines.

use crate::chance::{MILLISECOND, Micros, SECOND};
use crate::simulation::Outcome;
use std::fmt::Write;

/// The names and widths of the columns.
const COLUMNS: [(&str, usize); 16] = [
    ("rate", 5),
    ("offered", 8),
    ("applied", 8),
    ("refused", 8),
    ("conflicts", 10),
    ("retries", 8),
    ("p50", 6),
    ("p99", 6),
    ("p99.9", 6),
    ("lag mean", 9),
    ("lag max", 9),
    ("behind", 8),
    ("left", 8),
    ("throttles", 10),
    ("lanes", 6),
    ("partitions", 12),
];

/// The outcomes as a plain table, a section for each scenario and design.
#[must_use]
pub fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "rate: payments a second. refused: 503 after retries or throttling. conflicts: of payments. retries: a payment.\n\
         p50, p99, p99.9: latency of applied payments, ms. lag: from a payment to its merchant's credit, s.\n\
         behind: most uncredited payments at once. left: uncredited when the run ended. throttles: payments and\n\
         workers. lanes: of the audit trail, at the end. partitions: of the table, of by_owner and of due, at the end.\n",
    );
    let mut section = None;
    for outcome in outcomes {
        let this = Some((&outcome.scenario, &outcome.design));
        if section != this {
            section = this;
            let _ = writeln!(text, "\n{}, {}", outcome.design, outcome.scenario);
            line(&mut text, COLUMNS.map(|(name, _)| name.to_owned()));
        }
        line(&mut text, cells(outcome));
    }
    text
}

/// The outcomes as JSON, one a line.
///
/// # Errors
/// What `serde_json` reports; it never does for an outcome.
pub fn json_lines(outcomes: &[Outcome]) -> serde_json::Result<String> {
    let mut text = String::new();
    for outcome in outcomes {
        text.push_str(&serde_json::to_string(outcome)?);
        text.push('\n');
    }
    Ok(text)
}

fn line(text: &mut String, cells: [String; COLUMNS.len()]) {
    for (cell, (_, width)) in cells.iter().zip(COLUMNS) {
        let _ = write!(text, "{cell:>width$}");
    }
    text.push('\n');
}

fn cells(outcome: &Outcome) -> [String; COLUMNS.len()] {
    let throttles = outcome.throttles;
    let throttled = [throttles.base, throttles.by_owner, throttles.due, throttles.quota];
    let [base, by_owner, due] = outcome.partitions;
    [
        outcome.rate.to_string(),
        outcome.offered.to_string(),
        outcome.applied.to_string(),
        outcome.refused().to_string(),
        outcome.conflicts().to_string(),
        thousandths(outcome.retries_per_mille),
        (outcome.latency_p50 / MILLISECOND).to_string(),
        (outcome.latency_p99 / MILLISECOND).to_string(),
        (outcome.latency_p999 / MILLISECOND).to_string(),
        seconds(outcome.lag_mean),
        seconds(outcome.lag_max),
        outcome.uncredited_max.to_string(),
        outcome.uncredited.to_string(),
        throttled.into_iter().fold(0, u64::saturating_add).to_string(),
        outcome.lanes.to_string(),
        format!("{base}/{by_owner}/{due}"),
    ]
}

/// A number of thousandths with three decimals.
fn thousandths(number: u64) -> String {
    format!("{}.{:03}", number / 1_000, number % 1_000)
}

/// Seconds with one decimal.
fn seconds(time: Micros) -> String {
    format!("{}.{}", time / SECOND, time % SECOND / (100 * MILLISECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::designs::Design;
    use crate::scenarios::{PREPARED, Preparation, Scenario, festival};

    #[test]
    fn table_and_json_have_a_line_for_each_outcome() {
        let run = |rate| {
            let setup = festival(Design::Synchronous, rate, 2, Preparation::AsAdvised, 1);
            Scenario { name: PREPARED, setup }.run()
        };
        let outcomes = [run(1), run(50)];
        let table = table(&outcomes);
        assert_eq!(table.matches("synchronous, prepared").count(), 1, "{table}");
        assert_eq!(table.lines().count(), 4 + 3 + 2, "{table}");
        let json = json_lines(&outcomes).unwrap();
        let read: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((read.len(), read[1]["rate"].as_u64()), (2, Some(50)));
    }

    #[test]
    fn numbers_are_shown_with_their_decimals() {
        assert_eq!((thousandths(1_042), seconds(61_950_000)), ("1.042".to_owned(), "61.9".to_owned()));
    }
}
