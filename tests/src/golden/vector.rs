//! A golden vector in memory, and the paths of the files. [`super::file`] reads and writes one. Each case has one file,
//! `golden/v1/<operation>/<case>.json`. If the expected result has changed, the file with the same id in the newest
//! version is the current one.

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
    /// What the vector shows.
    pub why: String,
    /// The world from which the file gives the differences of the state.
    pub world: String,
    /// The state and the command.
    pub given: Given,
    /// The actions of the request, as DynamoDB's JSON.
    pub items: Vec<Json>,
    /// The outcomes of reasons. The first row is the result on `given.state`.
    pub verdicts: Vec<Row>,
    /// The changes, written by hand; they sum to zero per asset.
    pub effects: Effects,
}

/// The start of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// The time of the request.
    pub now: String,
    /// The command.
    pub command: Command,
    /// The table's items in the order of their keys.
    pub state: Vec<Json>,
}

/// Cancellation reasons and their outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The outcome, in words.
    pub outcome: String,
    /// Reasons by position; positions that are not listed are `None`.
    pub reasons: BTreeMap<String, ReasonJson>,
}

/// One cancellation reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ReasonJson {
    /// DynamoDB's code.
    pub code: String,
    /// The old item.
    pub item: Option<Json>,
}

/// The versions of vectors, oldest first.
pub const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];

/// The file text of the current vectors: the newest of each id.
#[must_use]
pub fn current() -> BTreeMap<String, String> {
    VERSIONS.into_iter().flat_map(files).collect()
}

/// The superseded vectors, by version and id. Items in their form are stored and stay valid.
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

/// The file text of every vector of a version, by id.
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
