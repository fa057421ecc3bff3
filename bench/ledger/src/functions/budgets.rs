//! The budgets of our function in `budgets.txt`: calls of the store and instructions of each operation.

use super::operation::{Operation, PerOperation};
use super::table::{grouped, table};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// By how much the instructions of a request may grow, in percent.
const INSTRUCTIONS_MARGIN: u64 = 5;
const CALLS: &str = "calls";
const INSTRUCTIONS: &str = "instructions";
const HEADER: &str = "\
# Budgets of the customer function: its calls of the store, and the instructions of a request by profile and target.
# Held by: cargo run -p ledger-bench --bin functions -- --short; --update rewrites them.
";

/// Numbers by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets(BTreeMap<String, u64>);

/// The result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// The budgets that are exceeded, one line each.
    pub lost: Vec<String>,
    /// The budgets that can be lowered, one line each.
    pub lower: Vec<String>,
}

impl Budgets {
    /// Those in the repository.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn kept() -> Result<Self, String> {
        let text = fs::read_to_string(file()).map_err(|error| format!("{}: {error}", file().display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let budget = |line: &str| {
            let (name, number) = line.rsplit_once(' ')?;
            Some((name.to_owned(), number.parse().ok()?))
        };
        let budgets =
            lines.map(|line| budget(line).ok_or_else(|| format!("budgets.txt: not a name and a number: {line}")));
        budgets.collect::<Result<_, _>>().map(Self)
    }

    /// What was found of our function: its calls, and its instructions if they were counted.
    #[must_use]
    pub fn found(
        build: &str,
        calls: &PerOperation<BTreeMap<String, u64>>,
        instructions: Option<&PerOperation<u64>>,
    ) -> Self {
        let of_calls = Operation::ALL.into_iter().zip(calls).flat_map(|(operation, calls)| {
            calls.iter().map(move |(call, count)| (format!("{CALLS} {operation} {call}"), *count))
        });
        let of_instructions = instructions.into_iter().flat_map(|counts| {
            let named = |operation: Operation| format!("{INSTRUCTIONS} {build} {operation}");
            Operation::ALL.into_iter().map(move |operation| (named(operation), counts[operation.place()]))
        });
        Self(of_calls.chain(of_instructions).collect())
    }

    /// Compares what was found with these budgets.
    #[must_use]
    pub fn compare(&self, found: &Self) -> Comparison {
        let mut comparison = Comparison::default();
        for (name, count) in &found.0 {
            let Some(kept) = self.0.get(name) else {
                comparison.lost.push(format!("{name}: {count}, and there is no budget: --update keeps it"));
                continue;
            };
            let margin = if name.starts_with(INSTRUCTIONS) { INSTRUCTIONS_MARGIN } else { 0 };
            if count * 100 > kept * (100 + margin) {
                let beyond = if margin > 0 { format!(" by over {margin} %") } else { String::new() };
                comparison.lost.push(format!("{name}: {count} exceeds the budget of {kept}{beyond}"));
            } else if count * (100 + margin) < kept * 100 {
                comparison.lower.push(format!("{name}: {count}, down from {kept}: --update keeps it"));
            }
        }
        comparison
    }

    /// A table of what was found beside these budgets.
    #[must_use]
    pub fn table(&self, found: &Self) -> String {
        let row = |(name, count): (&String, &u64)| {
            let kept = self.0.get(name).map_or_else(|| "none".to_owned(), |kept| grouped(*kept));
            vec![name.clone(), grouped(*count), kept]
        };
        let rows: Vec<Vec<String>> = found.0.iter().map(row).collect();
        table("Budgets of the customer function", &["figure", "found", "budget"], &rows)
    }

    /// Writes what was found to the repository. Keeps the instructions of other builds.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn update(mut self, found: Self) -> Result<(), String> {
        self.0.retain(|name, _| !name.starts_with(CALLS));
        self.0.extend(found.0);
        let lines: String = self.0.iter().map(|(name, number)| format!("{name} {number}\n")).collect();
        fs::write(file(), format!("{HEADER}{lines}")).map_err(|error| format!("{}: {error}", file().display()))
    }
}

fn file() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/budgets.txt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(counts: [u64; 4]) -> PerOperation<BTreeMap<String, u64>> {
        counts.map(|count| BTreeMap::from([("TransactWriteItems".to_owned(), count)]))
    }

    fn comparison(counts: [u64; 4], instructions: [u64; 4]) -> Comparison {
        let kept = Budgets::found("release x", &calls([1, 1, 2, 1]), Some(&[1_000; 4]));
        kept.compare(&Budgets::found("release x", &calls(counts), Some(&instructions)))
    }

    #[test]
    fn call_more_is_lost_and_instructions_have_a_margin() {
        assert_eq!(comparison([1, 1, 2, 1], [1_000, 1_050, 960, 1_000]), Comparison::default());
        let worse = comparison([1, 2, 2, 1], [1_051, 1_000, 1_000, 1_000]);
        assert_eq!(
            worse.lost,
            [
                "calls replay TransactWriteItems: 2 exceeds the budget of 1",
                "instructions release x payment: 1051 exceeds the budget of 1000 by over 5 %",
            ]
        );
        let better = comparison([1, 1, 1, 1], [1_000, 1_000, 1_000, 900]);
        assert_eq!((better.lost.len(), better.lower.len()), (0, 2));
    }

    #[test]
    fn figure_without_a_budget_is_lost() {
        let found = Budgets::found("release x", &calls([1; 4]), None);
        assert_eq!(Budgets::default().compare(&found).lost.len(), 4);
        let row = "| calls payment TransactWriteItems | 1 | none |\n";
        assert!(Budgets::default().table(&found).contains(row));
    }

    #[test]
    fn file_has_names_and_numbers() {
        let budgets = Budgets::parse("# words\n\ncalls payment TransactWriteItems 1\n").unwrap();
        assert_eq!(budgets.0, BTreeMap::from([("calls payment TransactWriteItems".to_owned(), 1)]));
        assert!(Budgets::parse("calls payment\n").unwrap_err().contains("not a name and a number"));
        assert!(Budgets::kept().is_ok());
    }
}
