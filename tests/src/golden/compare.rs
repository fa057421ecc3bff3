//! Runs a vector's request on two engines: verdict, reasons with old items, and table must be equal.

use super::vector::Vector;
use crate::engine::{Engine, PrimaryKey};
use crate::wire::{OF, TX};
use rust_decimal::Decimal;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The result of a request on an engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// The error's code; `None` if the request was applied.
    pub code: Option<String>,
    /// The reasons by position: code and old item.
    pub reasons: Vec<(String, Json)>,
    /// The table after the request.
    pub table: BTreeMap<PrimaryKey, Json>,
}

/// The tables that a request runs on: its given state, the table after the first run, and an empty one.
pub const RUNS: [&str; 3] = ["given", "again", "empty"];

/// Runs a vector's request on its state, on the resulting table, and on an empty table.
#[must_use]
pub fn runs(vector: &Vector, engine: &dyn Engine) -> [Ended; 3] {
    engine.hold(&vector.case.given.state);
    let first = [run(vector, engine), run(vector, engine)];
    engine.hold(&[]);
    let [given, again] = first;
    [given, again, run(vector, engine)]
}

fn run(vector: &Vector, engine: &dyn Engine) -> Ended {
    let (code, reasons) = match engine.write(&vector.items) {
        Ok(()) => (None, Vec::new()),
        Err(refused) => (Some(refused.code), refused.reasons.unwrap_or_default()),
    };
    let text = |reason: &Json| reason["Code"].as_str().unwrap_or("None").to_owned();
    let reasons = reasons.iter().map(|reason| (text(reason), normal(reason.get("Item").unwrap_or(&Json::Null))));
    Ended { code, reasons: reasons.collect(), table: table(engine) }
}

fn table(engine: &dyn Engine) -> BTreeMap<PrimaryKey, Json> {
    let key = |item: &Json, name: &str| item[name]["S"].as_str().expect("keys are strings").to_owned();
    engine.stored().iter().map(|item| ((key(item, "uuid"), key(item, "type")), normal(item))).collect()
}

/// A value in canonical form: numbers without trailing zeros, sets in order, no empty item, no name of a transaction.
#[must_use]
pub fn normal(json: &Json) -> Json {
    match json {
        Json::Object(map) if map.is_empty() => Json::Null,
        Json::Object(map) => {
            let has_meaning = |(name, _): &(&String, &Json)| ![TX, OF].contains(&name.as_str());
            let member = |(name, value): (&String, &Json)| {
                let value = match (name.as_str(), value) {
                    ("N", Json::String(text)) => json!(number(text)),
                    ("M", Json::Object(inner)) => {
                        json!(
                            inner.iter().map(|(name, value)| (name.clone(), normal(value))).collect::<BTreeMap<_, _>>()
                        )
                    }
                    ("SS" | "NS" | "BS", Json::Array(set)) => {
                        let mut set: Vec<String> = set.iter().filter_map(Json::as_str).map(str::to_owned).collect();
                        if name == "NS" {
                            set = set.iter().map(|text| number(text)).collect();
                        }
                        set.sort();
                        json!(set)
                    }
                    (_, other) => normal(other),
                };
                (name.clone(), value)
            };
            Json::Object(map.iter().filter(has_meaning).map(member).collect())
        }
        Json::Array(list) => Json::Array(list.iter().map(normal).collect()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.clone(),
    }
}

fn number(text: &str) -> String {
    text.parse::<Decimal>().map_or_else(|_| text.to_owned(), |number| number.normalize().to_string())
}
