//! Checks that broken links and named paths are found in a document.

use ledger_tests::documents::{broken_links, named_paths};
use std::collections::BTreeSet;
use std::path::Path;

fn broken(text: &str) -> Vec<String> {
    let other = "# A page\n## What is `x`?\n## What is `x`?\n```\n# not a heading\n```\n";
    broken_links(Path::new("docs/this.md"), |path| match path.to_str() {
        Some("docs/this.md") => Some(text.to_owned()),
        Some("docs/other.md" | "README.md") => Some(other.to_owned()),
        _ => None,
    })
}

#[test]
fn links_to_files_and_headings_that_exist_are_not_broken() {
    let links = "# Here\n[a](other.md) [b](../README.md#a-page) [c](#here) [d](other.md#what-is-x-1) [`e`]\n\
        [f](https://example.com/none) `[g](none.md)`\n```\n[h](none.md)\n```\n\n[`e`]: other.md#what-is-x\n";
    assert_eq!(broken(links), [""; 0]);
}

#[test]
fn links_to_missing_files_headings_and_definitions_are_broken() {
    let links = "[a](none.md) [b](other.md#not-a-heading) [c](#none) [`d`] [0001]\n\n[`e`]: ../none.rs\n";
    let expected = ["[`d`]", "[0001]", "none.md", "other.md#not-a-heading", "#none", "../none.rs"];
    assert_eq!(broken(links), expected);
}

#[test]
fn paths_with_placeholders_are_not_complete() {
    let text = "`crates/a/src/b.rs`, `functions/<name>`, `tests/tests/cloud_*`, `cargo run` and `golden`";
    assert_eq!(named_paths(text), BTreeSet::from(["crates/a/src/b.rs".to_owned()]));
}
