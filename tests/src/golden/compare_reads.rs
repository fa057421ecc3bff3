//! Runs a read's golden vector on two engines: items and order must be equal, and match the vector.

use super::compare::normal;
use super::reads::vector::{self, ReadVector};
use super::world::Labelled;
use crate::engine::Engine;
use serde_json::{Value as Json, json};

/// The part of a read's vector that is needed to send its requests.
pub struct ReadCase {
    /// Its id.
    pub id: String,
    /// Every item of its world, by label.
    pub world: Labelled,
    /// Operation and body of each request.
    pub requests: Vec<(String, Json)>,
    /// The items that the vector names, in order, without those that do not exist.
    pub items: Vec<Json>,
}

/// Every vector of a read.
#[must_use]
pub fn all() -> Vec<ReadCase> {
    vector::files().into_iter().map(|(id, text)| case(ReadVector::read(&id, &text))).collect()
}

fn case(vector: ReadVector) -> ReadCase {
    let world = vector::world(&vector.world);
    let requests = vector.requests.iter().map(|request| {
        let (operation, body) = request.as_object().and_then(|only| only.iter().next()).expect("an operation");
        (operation.clone(), body.clone())
    });
    let items = vector.items.iter().flatten().map(|label| normal(&world[label])).collect();
    ReadCase { id: vector.id.clone(), requests: requests.collect(), items, world }
}

impl ReadCase {
    /// The engine's responses to the requests; the engine must hold the world.
    ///
    /// # Errors
    /// The operation and code of a request that the engine refuses.
    pub fn answers(&self, engine: &dyn Engine) -> Result<Vec<Json>, String> {
        let mut answers = Vec::new();
        for (operation, body) in &self.requests {
            let answer = engine.read(operation, body).map_err(|refused| format!("{operation}: {}", refused.code))?;
            answers.extend(items(operation, &answer));
        }
        Ok(answers)
    }

    /// Whether responses have the vector's items in order. A page's query also returns the item before the page.
    #[must_use]
    pub fn is_answered_by(&self, answers: &[Json]) -> bool {
        let named = answers.iter().filter(|answer| self.items.iter().any(|item| is_of(answer, item)));
        let (mut named, mut items): (Vec<String>, Vec<String>) =
            (named.map(key).collect(), self.items.iter().map(key).collect());
        if self.requests.iter().any(|(operation, _)| is_unordered(operation)) {
            named.sort();
            items.sort();
        }
        named == items && answers.len() <= self.items.len() + 1
    }
}

/// The items of a response; those of a batch or a scan, which come in any order, are sorted by key.
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

/// Whether an answer is an item, or the part of it that an index or a projection has.
fn is_of(answer: &Json, item: &Json) -> bool {
    let is_part = || answer.as_object().is_some_and(|of| of.iter().all(|(name, value)| item.get(name) == Some(value)));
    key(answer) == key(item) && is_part()
}

fn is_unordered(operation: &str) -> bool {
    matches!(operation, "BatchGetItem" | "Scan")
}

fn key(item: &Json) -> String {
    json!([item["uuid"], item["type"]]).to_string()
}
