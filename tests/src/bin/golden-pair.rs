//! What changed in the golden vectors since a commit: `golden-pair BASE`. Fails for a difference that no rule of
//! `tests/src/golden/pair.rs` names, and for any in what a vector does to the books.

use ledger_tests::golden::pair::{self, Differences, RULES};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

/// The vectors that are named for each difference without a rule.
const NAMES_MAX: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base] = &arguments[..] else {
        eprintln!("golden-pair BASE: a commit, for example HEAD~1");
        return ExitCode::FAILURE;
    };
    let (before, after) = match (pair::vectors(Some(base)), pair::vectors(None)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) | (_, Err(error)) => {
            eprintln!("golden-pair: {error}");
            return ExitCode::FAILURE;
        }
    };
    let differences = pair::differences(&before, &after);
    let changed: BTreeSet<&String> = differences.values().flatten().collect();
    let same = after.keys().filter(|name| !changed.contains(name)).count();
    println!("{} vectors at {base}, {} here: {same} are the same", before.len(), after.len());
    if print(&differences) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the differences by rule, and those without one; returns whether each has a rule.
fn print(differences: &Differences) -> bool {
    let mut by_rule: BTreeMap<Option<&str>, Vec<(&String, &BTreeSet<String>)>> = BTreeMap::new();
    for (line, names) in differences {
        by_rule.entry(pair::rule_of(RULES, line).map(|rule| rule.name)).or_default().push((line, names));
    }
    for (rule, lines) in &by_rule {
        println!("\n{}", rule.unwrap_or("WITHOUT A RULE"));
        for (line, names) in lines {
            println!("{:6}  {line}", names.len());
            if rule.is_none() {
                names.iter().take(NAMES_MAX).for_each(|name| println!("          {name}"));
            }
        }
    }
    !by_rule.contains_key(&None)
}
