//! Reads and writes the file of a read's vector: decoded strictly, written with members in a fixed order.

use super::judge;
use super::question::{Page, Question};
use crate::golden::file::text_of;
use crate::golden::vector::directory;
use crate::golden::world::{Labelled, World};
use crate::layout;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A vector of a read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadVector {
    /// `<question>/<case>`, the file's path.
    pub id: String,
    /// What the vector shows.
    pub why: String,
    /// The name of the table that is read, in `golden/reads/worlds`.
    pub world: String,
    /// The question.
    pub question: Question,
    /// A query's direction and limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<Page>,
    /// The labels of the returned items, in order except for scans and batches. `null` is a key without an item.
    pub items: Vec<Option<String>>,
    /// The first request of each kind as DynamoDB's JSON; empty if nothing can match.
    pub requests: Vec<Json>,
}

impl ReadVector {
    /// The text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        text_of(&json!(self), &["id", "why", "world", "question", "page", "items", "requests"])
    }

    /// Reads the text of the file of this vector, `<question>/<case>`; panics on unknown fields, another layout or another
    /// id.
    #[must_use]
    pub fn read(id: &str, text: &str) -> Self {
        let vector: Self = serde_json::from_str(text).unwrap_or_else(|error| panic!("{id}: {error}"));
        layout::assert_laid_out(id, text, &vector.text());
        assert_eq!(vector.id, id, "the file holds another id");
        vector
    }

    /// The vector of a file that lacks `requests`; `None` if the file has them.
    ///
    /// # Errors
    /// Describes what is invalid, such as an unknown field.
    ///
    /// # Panics
    /// If other items are the answer than the file states.
    pub fn filled(text: &str) -> Result<Option<Self>, String> {
        let mut file: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.get("requests").is_some() {
            return Ok(None);
        }
        file["requests"] = json!([]);
        let vector: Self = serde_json::from_value(file).map_err(|error| error.to_string())?;
        let answered = judge::answered(&vector.world, &vector.question, &vector.page.clone().unwrap_or_default());
        assert_eq!(answered.items, vector.items, "{}", vector.id);
        Ok(Some(Self { requests: answered.requests, ..vector }))
    }
}

/// The folder of the worlds of reads, in `golden/reads`.
const WORLDS: &str = "worlds";

/// The path of the file of this vector, `<question>/<case>`.
#[must_use]
pub fn path(id: &str) -> PathBuf {
    directory("reads").join(format!("{id}.json"))
}

/// The file text of every vector of a read, by id.
#[must_use]
pub fn files() -> BTreeMap<String, String> {
    crate::golden::vector::files_below("reads", &[WORLDS])
}

/// A world by its name.
#[must_use]
pub fn world(name: &str) -> Labelled {
    World::read(&directory("reads").join(WORLDS).join(format!("{name}.json"))).items
}
