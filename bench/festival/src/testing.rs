//! Compares what this package repeats with the ledger's own files.

/// Fails unless a file of the repository contains a text.
#[track_caller]
pub(crate) fn assert_source_has(path: &str, text: &str) {
    let file = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert!(source.contains(text), "{path} has no `{text}`: change the simulation as the ledger was changed");
}
