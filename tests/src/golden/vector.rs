//! A golden vector in memory, and where the files are. [`super::file`] reads and writes one.
//! One case a file, `golden/v1/<operation>/<case>.json`. Where a meaning has changed, the file of the same
//! id in `golden/v2` says what is built.

use super::command::Command;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The change of each account, by asset: signed decimal strings.
pub type Effects = BTreeMap<String, BTreeMap<String, String>>;

/// A vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// `<operation>/<case>`, the file's path.
    pub id: String,
    /// What it shows.
    pub why: String,
    /// The world from which its file gives the differences of the state.
    pub world: String,
    /// From what.
    pub given: Given,
    /// The actions of the request, as DynamoDB's JSON.
    pub items: Vec<Json>,
    /// What cancellations mean. The first row is what happens when it is executed on `given.state`.
    pub verdicts: Vec<Row>,
    /// What changes, written by hand. Sums to zero per asset.
    pub effects: Effects,
}

/// What a vector starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// When the request comes.
    pub now: String,
    /// What is asked for.
    pub command: Command,
    /// What is in the table, in the order of the keys.
    pub state: Vec<Json>,
}

/// Cancellation reasons and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The meaning, in words.
    pub outcome: String,
    /// Reasons by position; positions that are not listed are `None`.
    pub reasons: BTreeMap<String, ReasonJson>,
}

/// One cancellation reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ReasonJson {
    /// DynamoDB's code.
    pub code: String,
    /// The item as it was.
    pub item: Option<Json>,
}

/// The versions, oldest first.
pub const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];

/// The vectors that say what is built now: the newest of each id.
#[must_use]
pub fn current() -> BTreeMap<String, String> {
    VERSIONS.into_iter().flat_map(files).collect()
}

/// The vectors that a newer one of the same id has superseded, by version and id. What they say was written, and
/// remains valid.
#[must_use]
pub fn superseded() -> Vec<(&'static str, String, String)> {
    let mut newer = BTreeSet::new();
    let mut found = Vec::new();
    for version in VERSIONS.into_iter().rev() {
        for (id, text) in files(version) {
            if !newer.insert(id.clone()) {
                found.push((version, id, text));
            }
        }
    }
    found
}

/// A folder or file of `golden`, for example that of a version.
#[must_use]
pub fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(name)
}

/// Every vector of a version: its id and its file's text.
#[must_use]
pub fn files(version: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for operation in std::fs::read_dir(directory(version)).unwrap() {
        let operation = operation.unwrap();
        for file in std::fs::read_dir(operation.path()).unwrap() {
            let path = file.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            assert_eq!(path.extension().and_then(|e| e.to_str()), Some("json"), "{}", path.display());
            let id = format!("{}/{stem}", operation.file_name().to_str().unwrap());
            found.insert(id, std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}
