//! Which golden files have changed since a base, as `.ci/engines` finds by git: another engine executes all of them.

use super::vector::GoldenFile;
use std::collections::BTreeSet;

/// The environment variable that names a list of changed files: paths below `golden`, one a line.
pub const LIST_VARIABLE: &str = "LEDGER_CHANGED_VECTORS";

/// The changed files.
#[derive(Debug, Default)]
pub struct Changed(BTreeSet<String>);

impl Changed {
    /// No file.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Those that the environment names; none without the variable.
    ///
    /// # Panics
    /// When the list cannot be read.
    #[must_use]
    pub fn given() -> Self {
        let Some(path) = std::env::var_os(LIST_VARIABLE) else { return Self::none() };
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        Self::listed(&text)
    }

    /// The files of a list.
    #[must_use]
    pub fn listed(text: &str) -> Self {
        Self(text.lines().map(str::to_owned).collect())
    }

    /// Whether a vector, its world or the defaults are among them.
    #[must_use]
    pub fn has(&self, file: &GoldenFile) -> bool {
        let has_file = || self.0.contains(&format!("{}.json", file.id));
        let has_world = || self.0.contains(&format!("worlds/{}.json", file.vector().case.world));
        !self.0.is_empty() && (self.0.contains("defaults.json") || has_file() || has_world())
    }
}
