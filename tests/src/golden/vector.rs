//! A golden vector as it stands in its file: decoded strictly, written canonically.
//! One case a file, `golden/v1/<operation>/<case>.json`. Where a meaning has changed, the file of the same
//! id in `golden/v2` says what is built now.

use super::command::Command;
use crate::wire;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The change of each account, by asset: signed decimal strings.
pub type Effects = BTreeMap<String, BTreeMap<String, String>>;

/// A vector.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vector {
    /// `<operation>/<case>`, the file's path.
    pub id: String,
    /// What it shows.
    pub why: String,
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// When the request comes.
    pub now: String,
    /// What is asked for.
    pub command: Command,
    /// What stands in the table.
    pub state: Vec<Json>,
}

/// Cancellation reasons and what they mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The meaning, in words.
    pub outcome: String,
    /// Reasons by position; positions that are not listed are `None`.
    pub reasons: BTreeMap<String, ReasonJson>,
}

/// One cancellation reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasonJson {
    /// DynamoDB's code.
    pub code: String,
    /// The item as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<Json>,
}

impl Vector {
    /// The canonical text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        wire::canonical(&serde_json::to_value(self).unwrap())
    }

    /// Reads a file's text; panics on unknown fields and on a text that is not canonical.
    #[must_use]
    pub fn read(name: &str, text: &str) -> Self {
        let vector: Self = serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(vector.text(), text, "{name} is not canonical");
        assert_eq!(vector.id, name, "{name} holds another id");
        vector
    }
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

/// Where the vectors of a version stand.
#[must_use]
pub fn directory(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(version)
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
