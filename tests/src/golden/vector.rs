//! A golden vector in memory, and the paths of the files. [`super::file`] reads and writes one. Each case has one file,
//! `golden/<operation>/<case>.json`.

use super::command::Command;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

/// The change of each account, by asset: signed decimal strings.
pub type Effects = BTreeMap<String, BTreeMap<String, String>>;

/// What the author of a vector writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// `<operation>/<case>`, the file's path.
    pub id: String,
    /// What the vector shows.
    pub why: String,
    /// The world from which the file gives the differences of the state.
    pub world: String,
    /// The state and the command.
    pub given: Given,
    /// The changes; they sum to zero per asset.
    pub effects: Effects,
    /// The outcome on `given.state`, in words.
    pub then: String,
    /// Whether the verdicts have rows of precedence.
    pub precedence: bool,
}

/// A vector: a case, with what [`super::fill`] finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// The case.
    pub case: Case,
    /// The actions of the request, as DynamoDB's JSON.
    pub items: Vec<Json>,
    /// The outcomes of reasons. The first row is the result on `given.state`.
    pub verdicts: Vec<Row>,
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

/// The folders of `golden` that hold no vectors of writes.
const OTHERS: [&str; 2] = ["reads", "worlds"];

/// The file of a vector. Its text is read strictly once in a process.
#[derive(Debug)]
pub struct GoldenFile {
    /// `<operation>/<case>`.
    pub id: String,
    /// The file's text.
    pub text: String,
    vector: OnceLock<Vector>,
}

impl GoldenFile {
    /// The vector.
    ///
    /// # Panics
    /// As [`Vector::read`].
    pub fn vector(&self) -> &Vector {
        self.vector.get_or_init(|| Vector::read(&self.id, &self.text))
    }
}

static ALL: LazyLock<Vec<GoldenFile>> =
    LazyLock::new(|| files().into_iter().map(|(id, text)| GoldenFile { id, text, vector: OnceLock::new() }).collect());

/// Every file, by id.
#[must_use]
pub fn all() -> &'static [GoldenFile] {
    &ALL
}

/// A folder or file of `golden`.
#[must_use]
pub fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(name)
}

/// The file text of every vector, by id.
#[must_use]
pub fn files() -> BTreeMap<String, String> {
    files_below("", &OTHERS)
}

/// The file text of every vector in the folders of a folder of `golden`, by `<folder>/<case>`; not of those named.
pub(super) fn files_below(directory_name: &str, but: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in std::fs::read_dir(directory(directory_name)).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        if !folder.path().is_dir() || but.contains(&name.as_str()) {
            continue;
        }
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            assert_eq!(path.extension().and_then(|e| e.to_str()), Some("json"), "{}", path.display());
            found.insert(format!("{name}/{stem}"), std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}
