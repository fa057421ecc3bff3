//! Tables for a page, and JSON lines.

use super::local_stack::{Measured, Scenario};
use super::our_code::OurCode;
use crate::stats::{Latencies, milliseconds};
use serde_json::json;
use std::fmt::Write;
use std::time::Duration;

/// The name of our system in JSON lines.
const OURS: &str = "ecopay-ledger";

/// A run of a system.
#[derive(Clone, Debug)]
pub struct Run {
    /// The system.
    pub system: &'static str,
    /// The variant: for our system, the scenario.
    pub variant: String,
    /// The number of clients.
    pub clients: u32,
    /// The measured seconds.
    pub seconds: u64,
    /// The payments that were answered in them.
    pub payments: usize,
    /// Half of the payments took at most this long.
    pub p50: Duration,
    /// 99 % took at most this long.
    pub p99: Duration,
    /// 99.9 % took at most this long.
    pub p99_9: Duration,
    /// What was seen inside our system.
    pub inside: Option<Measured>,
}

impl Run {
    /// A run of our system.
    #[must_use]
    pub fn of_ours(scenario: Scenario, clients: u32, seconds: u64, measured: Measured) -> Self {
        let at = |per_mille| measured.load.latencies.percentile(per_mille);
        Self {
            system: OURS,
            variant: scenario.name().to_owned(),
            clients,
            seconds,
            payments: measured.load.latencies.count(),
            p50: at(500),
            p99: at(990),
            p99_9: at(999),
            inside: Some(measured),
        }
    }

    /// Payments a second, rounded.
    #[must_use]
    pub fn per_second(&self) -> u64 {
        let payments = u64::try_from(self.payments).unwrap_or(u64::MAX);
        (payments + self.seconds / 2).checked_div(self.seconds).unwrap_or_default()
    }
}

/// Our runs beside PostgreSQL's, as a table.
#[must_use]
pub fn beside(ours: &[Run], theirs: &[Run]) -> String {
    let mut text = String::from(
        "| paid | clients | ledger, payments/s | p50 ms | p99 ms | p99.9 ms | PostgreSQL | payments/s | p50 ms | p99 ms \
         | p99.9 ms | ledger / PostgreSQL |\n|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|\n",
    );
    for run in ours {
        let figures = |run: &Run| {
            let [p50, p99, p99_9] = [run.p50, run.p99, run.p99_9].map(milliseconds);
            format!("{} | {p50} | {p99} | {p99_9}", run.per_second())
        };
        let scenario = Scenario::ALL.into_iter().find(|scenario| scenario.name() == run.variant);
        let variants = scenario.map_or(&[][..], Scenario::variants);
        let same = |other: &&Run| other.clients == run.clients && variants.contains(&other.variant.as_str());
        let others: Vec<&Run> = theirs.iter().filter(same).collect();
        let begin = format!("| {} | {} | {}", run.variant, run.clients, figures(run));
        if others.is_empty() {
            let _ = writeln!(text, "{begin} | - | - | - | - | - | - |");
        }
        for other in others {
            let share = hundredths(run.per_second(), other.per_second());
            let _ = writeln!(text, "{begin} | {} | {} | {share} |", other.variant, figures(other));
        }
    }
    text
}

/// Where our runs' processor time was used, as a table.
#[must_use]
pub fn processors(ours: &[Run]) -> String {
    let mut text = String::from(
        "| paid | clients | engine's threads, ms a payment | gateway, functions and workers, ms a payment | uncredited at \
         the end, yen | credited after, s | rows audited |\n|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for run in ours {
        let Some(Measured { engine, functions, checked, .. }) = &run.inside else { continue };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} |",
            run.variant,
            run.clients,
            milliseconds(*engine),
            milliseconds(*functions),
            checked.uncredited_at_end,
            tenths(checked.credited_after),
            checked.rows,
        );
    }
    text
}

/// The time in our code, as a table and a sentence.
#[must_use]
pub fn time_in_our_code(measured: &OurCode, processors: usize) -> String {
    let mut text =
        String::from("| one payment at a time, in one process | p50 ms | p99 ms | p99.9 ms |\n|---|---:|---:|---:|\n");
    let mut row = |name: &str, latencies: &Latencies| {
        let [p50, p99, p99_9] = [500, 990, 999].map(|at| milliseconds(latencies.percentile(at)));
        let _ = writeln!(text, "| {name} | {p50} | {p99} | {p99_9} |");
    };
    row("whole request, over the engine", &measured.requests);
    row("of it the store's calls", &measured.in_store);
    row("of it our code", &measured.in_our_code);
    row("our code over a store that answers at once", &measured.alone);
    let _ = writeln!(
        text,
        "\nProcessor time of our code: {} ms a payment ({} payments). On {processors} processors that is enough for {} \
         payments a second: what the functions' code would do beside a store that costs these processors nothing.",
        milliseconds(measured.processor),
        measured.payments,
        measured.per_second(processors),
    );
    text
}

/// A run as a line of JSON.
#[must_use]
pub fn json_line(run: &Run) -> String {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let mut line = json!({
        "kind": "run", "system": run.system, "variant": run.variant, "clients": run.clients, "seconds": run.seconds,
        "payments": run.payments, "payments_per_second": run.per_second(), "failed": 0,
        "p50_us": micros(run.p50), "p99_us": micros(run.p99), "p99_9_us": micros(run.p99_9),
    });
    if let Some(Measured { engine, functions, checked, .. }) = &run.inside {
        line["engine_processor_us"] = micros(*engine).into();
        line["other_processor_us"] = micros(*functions).into();
        line["uncredited_at_end"] = checked.uncredited_at_end.into();
        line["credited_after_us"] = micros(checked.credited_after).into();
        line["rows"] = checked.rows.into();
    }
    line.to_string()
}

/// A ratio with two decimals; a dash if nothing can be compared.
fn hundredths(one: u64, other: u64) -> String {
    let Some(hundredths) = (one * 100 + other / 2).checked_div(other) else { return "-".to_owned() };
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Seconds with one decimal.
fn tenths(time: Duration) -> String {
    format!("{}.{}", time.as_secs(), time.subsec_millis() / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(system: &'static str, variant: &str, clients: u32, payments: usize) -> Run {
        let [p50, p99, p99_9] = [1, 2, 3].map(Duration::from_millis);
        Run { system, variant: variant.to_owned(), clients, seconds: 10, payments, p50, p99, p99_9, inside: None }
    }

    #[test]
    fn each_run_is_beside_the_variants_of_its_scenario() {
        let ours = [run(OURS, "uniform", 1, 1_000), run(OURS, "hot", 1, 1_004), run(OURS, "hot", 4, 10)];
        let theirs = [("uniform", 4_000), ("hot", 2_000), ("sharded", 3_000), ("batched", 0)];
        let theirs = theirs.map(|(variant, payments)| run("postgresql", variant, 1, payments));
        let table = beside(&ours, &theirs);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows.len(), 5, "{table}");
        assert_eq!(rows[0], "| uniform | 1 | 100 | 1.00 | 2.00 | 3.00 | uniform | 400 | 1.00 | 2.00 | 3.00 | 0.25 |");
        assert!(rows[2].ends_with("| sharded | 300 | 1.00 | 2.00 | 3.00 | 0.33 |"), "{table}");
        assert!(rows[3].ends_with("| - |") && rows[4].ends_with("| - | - | - | - | - | - |"), "{table}");
    }

    #[test]
    fn line_of_a_run_has_its_kind() {
        let line: serde_json::Value = serde_json::from_str(&json_line(&run(OURS, "hot", 16, 55))).unwrap();
        assert_eq!((line["kind"].as_str(), line["payments_per_second"].as_u64()), (Some("run"), Some(6)));
        assert_eq!(line["p99_us"].as_u64(), Some(2_000));
    }
}
