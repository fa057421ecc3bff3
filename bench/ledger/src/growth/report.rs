//! Series as Markdown tables and as JSON lines.

use super::operations::shape;
use super::series::{Measured, Point, Series, collect};
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write;

/// A row of a table: its first cell, and a cell for each size.
type Cell = fn(&Point, bool) -> String;

/// A table for each family, with the values at each size in one cell, the smallest first.
#[must_use]
pub fn tables(all: &[Series]) -> String {
    let mut text = String::new();
    let mut families: Vec<&str> = all.iter().map(|series| series.family.as_str()).collect();
    families.dedup();
    for family in families {
        let of_family: Vec<&Series> = all.iter().filter(|series| series.family == family).collect();
        let sizes = of_family.iter().map(|series| &series.points).max_by_key(|points| points.len());
        let sizes: Vec<String> = sizes.into_iter().flatten().map(|point| point.size.to_string()).collect();
        let _ = writeln!(text, "### {family}: {}\n", sizes.join(" · "));
        table(&mut text, &of_family);
        memory(&mut text, &of_family);
    }
    text
}

fn table(text: &mut String, series: &[&Series]) {
    const CELLS: [(&str, Cell); 6] = [
        ("calls", |point, each| ratio(point.counts.calls, 1, point, each)),
        ("items", |point, each| ratio(point.counts.items_read + point.counts.items_written, 1, point, each)),
        ("read units", |point, each| ratio(point.counts.read_units.0, 2, point, each)),
        ("write units", |point, each| ratio(point.counts.write_units.0, 2, point, each)),
        ("KiB", |point, each| ratio(point.counts.bytes_sent + point.counts.bytes_received, 1_024, point, each)),
        ("ms", |point, each| ratio(point.micros, 1_000, point, each)),
    ];
    let names: Vec<&str> = CELLS.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(text, "| operation | must be | {} |", names.join(" | "));
    let _ = writeln!(text, "|---|---|{}", "---:|".repeat(CELLS.len()));
    for series in series {
        let shape = shape(&series.family, &series.operation);
        let each = shape.is_per_record();
        let unit = if each { ", each" } else { "" };
        let _ = write!(text, "| {}{unit} | {shape} |", series.operation);
        for (_, cell) in CELLS {
            let values: Vec<String> = series.points.iter().map(|point| cell(point, each)).collect();
            let _ = write!(text, " {} |", values.join(" · "));
        }
        text.push('\n');
    }
    text.push('\n');
}

fn memory(text: &mut String, series: &[&Series]) {
    let with_peaks: Vec<&&Series> =
        series.iter().filter(|of| of.points.iter().any(|p| p.peak_bytes.is_some())).collect();
    if with_peaks.is_empty() {
        return;
    }
    text.push_str("| worker | done | largest resident memory, MiB |\n|---|---:|---:|\n");
    for series in with_peaks {
        let join = |cell: fn(&Point) -> String| series.points.iter().map(cell).collect::<Vec<_>>().join(" · ");
        let done = join(|point| point.work.to_string());
        let peaks = join(|point| point.peak_bytes.map_or_else(|| "-".to_owned(), |bytes| (bytes >> 20).to_string()));
        let _ = writeln!(text, "| {} | {done} | {peaks} |", series.operation);
    }
    text.push('\n');
}

/// A value in parts of `parts`, for each unit of work or in all, rounded to two decimals below ten and else to one.
fn ratio(value: u64, parts: u64, point: &Point, each: bool) -> String {
    let divisor = u128::from(parts) * u128::from(if each { point.work.max(1) } else { 1 });
    let hundredths = (u128::from(value) * 100 + divisor / 2) / divisor;
    let (whole, rest) = (hundredths / 100, hundredths % 100);
    match (rest, whole) {
        (0, _) => whole.to_string(),
        (_, 0..10) => format!("{whole}.{rest:02}"),
        _ => format!("{whole}.{}", rest / 10),
    }
}

/// The series as JSON, a line for each measurement.
#[must_use]
pub fn json_lines(all: &[Series]) -> String {
    let mut text = String::new();
    for series in all {
        let shape = shape(&series.family, &series.operation);
        for point in &series.points {
            let line = json!({
                "kind": "growth", "family": series.family, "operation": series.operation, "shape": shape.to_string(),
                "exception": shape.exception(), "size": point.size, "work": point.work, "counts": point.counts,
                "micros": point.micros, "peak_bytes": point.peak_bytes,
            });
            let _ = writeln!(text, "{line}");
        }
    }
    text
}

/// A measurement as it is read from a line.
#[derive(Deserialize)]
struct Line {
    family: String,
    size: u64,
    #[serde(flatten)]
    measured: Measured,
}

/// The series of lines that [`json_lines`] wrote.
///
/// # Errors
/// A sentence that names the line that is not one.
pub fn read_lines(text: &str) -> Result<Vec<Series>, String> {
    let mut all = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Line { family, size, measured } =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        collect(&mut all, &family, size, vec![measured]);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::counts::{Counts, HalfUnits};

    fn series(operation: &str) -> Series {
        let point = |size: u64| {
            let counts = Counts { calls: size / 2, read_units: HalfUnits(size * 3), ..Counts::default() };
            Point { size, work: size, counts, micros: 1_500 * size, peak_bytes: Some(9 << 20) }
        };
        Series { family: "customers".into(), operation: operation.into(), points: vec![point(10), point(100)] }
    }

    #[test]
    fn linear_work_is_stated_for_each_record() {
        let text = tables(&[series("reconciliation"), series("payment")]);
        assert!(text.contains("### customers: 10 · 100"), "{text}");
        let row = "| reconciliation, each | linear | 0.50 · 0.50 | 0 · 0 | 1.50 · 1.50 | 0 · 0 | 0 · 0 | 1.50 · 1.50 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| payment | flat | 5 · 50 | 0 · 0 | 15 · 150 |"), "{text}");
        assert!(text.contains("| reconciliation | 10 · 100 | 9 · 9 |"), "{text}");
    }

    #[test]
    fn each_measurement_is_one_json_line() {
        let text = json_lines(&[series("reconciliation")]);
        assert_eq!(text.lines().count(), 2);
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!((line["kind"].as_str(), line["size"].as_u64()), (Some("growth"), Some(10)));
        assert_eq!(line["counts"]["read_units"], 30);
    }

    #[test]
    fn lines_in_any_order_give_the_series_again() {
        let all = [series("reconciliation"), series("payment")];
        let lines = json_lines(&all);
        let backwards: Vec<&str> = lines.lines().rev().collect();
        assert_eq!(read_lines(&lines).unwrap(), all);
        let [payment, reconciliation] = &read_lines(&backwards.join("\n")).unwrap()[..] else { panic!("two series") };
        assert_eq!((reconciliation, payment), (&all[0], &all[1]));
        assert!(read_lines(&format!("{lines}{{}}")).unwrap_err().starts_with("line 5: "));
    }
}
