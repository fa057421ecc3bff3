//! Markdown tables of figures beside ours.

use std::fmt::Write as _;
use std::time::Duration;

/// A table with a heading. The first column is to the left, the others to the right.
pub(super) fn table(heading: &str, columns: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("### {heading}\n\n");
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    text += &line(&columns.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>());
    text += &format!("|---|{}\n", "---:|".repeat(columns.len().saturating_sub(1)));
    rows.iter().for_each(|row| text += &line(row));
    text += "\n";
    text
}

/// A figure, and how many times ours it is.
pub(super) fn beside(text: &str, figure: u128, ours: u128) -> String {
    format!("{text} ({}x)", crate::stats::times(figure, ours))
}

/// A duration in whole microseconds.
pub(super) fn microseconds(duration: Duration) -> String {
    grouped(u64::try_from((duration.as_nanos() + 500) / 1_000).unwrap_or(u64::MAX))
}

/// Bytes in MiB with one decimal.
pub(super) fn mebibytes(bytes: u64) -> String {
    let tenths = (bytes * 10 + 512 * 1024) / (1024 * 1024);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Bytes in whole kB.
pub(super) fn kilobytes(bytes: u64) -> String {
    grouped((bytes + 500) / 1_000)
}

/// A number with a comma before every three digits.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        write!(text, "{digit}").expect("a string takes it");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_markdown() {
        let rows = [vec!["a".to_owned(), beside("30", 30, 20)]];
        assert_eq!(
            table("T", &["function", "ms"], &rows),
            "### T\n\n| function | ms |\n|---|---:|\n| a | 30 (1.5x) |\n\n"
        );
    }

    #[test]
    fn figures_are_rounded() {
        assert_eq!(
            (microseconds(Duration::from_nanos(1_234_567)), mebibytes(11_219_763)),
            ("1,235".into(), "10.7".into())
        );
        assert_eq!([0, 999, 1_000, 12_345_678].map(grouped), ["0", "999", "1,000", "12,345,678"]);
        assert_eq!((kilobytes(1_499), kilobytes(4_500_500)), ("1".into(), "4,501".into()));
    }
}
