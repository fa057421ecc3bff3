//! Known differences of engines from DynamoDB: `tests/engines/deviations.txt`. A line that is no longer needed fails
//! the tests, so that the list can only shrink.

use std::collections::BTreeSet;
use std::path::Path;

/// The environment variable with the judged engine's name in the list.
pub const NAME_VARIABLE: &str = "LEDGER_ENGINE_NAME";
const FILE: &str = "engines/deviations.txt";

/// The known cases of the judged engine whose names begin with `kind`.
///
/// # Panics
/// When a line of the list is not `<engine> <case> # <reason>`.
#[must_use]
pub fn known(kind: &str) -> BTreeSet<String> {
    let name = std::env::var(NAME_VARIABLE).unwrap_or_default();
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)).expect("the list");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entries = lines.map(|line| {
        let (entry, reason) = line.split_once(" # ").unwrap_or_else(|| panic!("{FILE}: no reason in {line:?}"));
        let (engine, case) = entry.trim().split_once(' ').unwrap_or_else(|| panic!("{FILE}: no case in {line:?}"));
        assert!(!reason.trim().is_empty(), "{FILE}: no reason in {line:?}");
        (engine, case.trim().to_owned())
    });
    entries.filter(|(engine, case)| *engine == name && case.starts_with(kind)).map(|(_, case)| case).collect()
}

/// Checks that the known cases differ, and no others.
///
/// # Panics
/// When another case differs, or a known case no longer differs.
pub fn check(known: &BTreeSet<String>, differs: &BTreeSet<String>) {
    let new: Vec<_> = differs.difference(known).collect();
    assert!(new.is_empty(), "{} cases differ from DynamoDB: {new:#?}", new.len());
    let gone: Vec<_> = known.difference(differs).collect();
    assert!(gone.is_empty(), "these do not differ any more; delete them from tests/{FILE}: {gone:#?}");
}
