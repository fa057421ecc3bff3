//! The pages for operators in `docs/operations`: their sections, and the page that the index names for each alarm.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A page.
#[derive(Clone, Debug)]
pub struct Page {
    /// The file's name in `docs/operations`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// The names in its first cell.
    pub names: Vec<&'a str>,
    /// Its second cell.
    pub second: &'a str,
    /// The target of the link in the later cells.
    pub target: &'a str,
}

/// The folder of the pages.
fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations"))
}

/// Every page, by name.
///
/// # Panics
/// When a page cannot be read.
#[must_use]
pub fn pages() -> BTreeMap<String, Page> {
    let entries = std::fs::read_dir(folder()).unwrap_or_else(|error| panic!("docs/operations: {error}"));
    let page = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name.clone(), Page { name, text })
    };
    entries.map(page).collect()
}

impl Page {
    /// The lines outside of code blocks.
    fn lines(&self) -> impl Iterator<Item = &str> {
        let mut is_code = false;
        self.text.lines().filter(move |line| {
            let is_fence = line.trim_start().starts_with("```");
            is_code ^= is_fence;
            !is_code && !is_fence
        })
    }

    /// The headings below the title.
    #[must_use]
    pub fn sections(&self) -> BTreeSet<&str> {
        let headings = self.lines().filter(|line| line.starts_with("##"));
        headings.map(|line| line.trim_start_matches('#').trim()).collect()
    }

    /// The rows of its tables that begin with names in backticks and have a link.
    #[must_use]
    pub fn rows(&self) -> Vec<Row<'_>> {
        self.lines().filter_map(|line| line.strip_prefix("| `")).filter_map(row).collect()
    }
}

fn row(line: &str) -> Option<Row<'_>> {
    let (names, rest) = line.split_once(" |")?;
    let (second, rest) = rest.split_once(" |")?;
    let (target, _) = rest.split_once("](")?.1.split_once(')')?;
    Some(Row { names: names.split('`').step_by(2).collect(), second: second.trim(), target })
}
