//! A read's golden vector on two engines: the same items in the same order, and those that the vector names.

use super::compare::normal;
use crate::engine::Engine;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A vector of a read, as far as it is needed to send its requests.
pub struct ReadCase {
    /// Its id.
    pub id: String,
    /// Every item of its world, by label.
    pub world: BTreeMap<String, Json>,
    /// Operation and body of each request.
    pub requests: Vec<(String, Json)>,
    /// The items that answer it, in order; those that are not there are left out.
    pub items: Vec<Json>,
}

/// Every vector of a read.
#[must_use]
pub fn all() -> Vec<ReadCase> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/reads");
    let versions = folders(&root).into_iter().filter(|folder| !folder.ends_with("worlds"));
    let questions = versions.flat_map(|version| folders(&version));
    questions.flat_map(|question| folders(&question)).map(|file| case(&root, &read(&file))).collect()
}

fn case(root: &Path, vector: &Json) -> ReadCase {
    let text = |name: &str| vector[name].as_str().expect("a text").to_owned();
    let world = read(&root.join("worlds").join(format!("{}.json", text("world"))));
    let world: BTreeMap<String, Json> = serde_json::from_value(world).expect("a world");
    let requests = vector["requests"].as_array().expect("requests").iter().map(|request| {
        let (operation, body) = request.as_object().and_then(|only| only.iter().next()).expect("an operation");
        (operation.clone(), body.clone())
    });
    let labels = vector["items"].as_array().expect("items").iter().filter_map(Json::as_str);
    let items = labels.map(|label| normal(&world[label])).collect();
    ReadCase { id: text("id"), requests: requests.collect(), items, world }
}

impl ReadCase {
    /// What the engine, which holds the world, answers to each request.
    ///
    /// # Errors
    /// The code with which it refuses one.
    pub fn answers(&self, engine: &dyn Engine) -> Result<Vec<Json>, String> {
        let mut answers = Vec::new();
        for (operation, body) in &self.requests {
            let answer = engine.read(operation, body).map_err(|refused| format!("{operation}: {}", refused.code))?;
            answers.extend(items(operation, &answer));
        }
        Ok(answers)
    }

    /// Whether answers are the items of the vector, in order. A page's query returns the item before the page as well.
    #[must_use]
    pub fn is_answered_by(&self, answers: &[Json]) -> bool {
        let mut named: Vec<&Json> = answers.iter().filter(|item| self.items.contains(item)).collect();
        let mut items: Vec<&Json> = self.items.iter().collect();
        if self.requests.iter().any(|(operation, _)| is_unordered(operation)) {
            named.sort_by_key(|item| key(item));
            items.sort_by_key(|item| key(item));
        }
        named == items && answers.len() <= self.items.len() + 1
    }
}

/// The items of an answer; those of a batch and of a scan, which come in any order, by their keys.
fn items(operation: &str, answer: &Json) -> Vec<Json> {
    let list = |json: &Json| json.as_array().cloned().unwrap_or_default();
    let mut items = match operation {
        "GetItem" => vec![answer["Item"].clone()],
        "Query" | "Scan" => list(&answer["Items"]),
        "TransactGetItems" => list(&answer["Responses"]).iter().map(|got| got["Item"].clone()).collect(),
        "BatchGetItem" => answer["Responses"].as_object().into_iter().flatten().flat_map(|(_, of)| list(of)).collect(),
        other => panic!("not a read: {other}"),
    };
    if is_unordered(operation) {
        items.sort_by_key(key);
    }
    items.iter().map(normal).filter(|item| !item.is_null()).collect()
}

fn is_unordered(operation: &str) -> bool {
    matches!(operation, "BatchGetItem" | "Scan")
}

fn key(item: &Json) -> String {
    json!([item["uuid"], item["type"]]).to_string()
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn read(file: &Path) -> Json {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
