//! Executes the core's requests for a question on an engine that holds a world.

use super::question::{Page, Question, ReadPlan};
use super::vector::world;
use crate::engine::Table;
use crate::golden::world::Labelled;
use crate::wire;
use ledger_core::reads::{Query, Request};
use serde_json::Value as Json;

/// The requests of a question, and the items that answered them.
#[derive(Debug, PartialEq)]
pub struct Answered {
    /// The first request of each kind, as DynamoDB's JSON.
    pub requests: Vec<Json>,
    /// The returned items by their labels.
    pub items: Vec<Option<String>>,
}

/// Executes a question on the embedded engine.
#[must_use]
pub fn answered(of: &str, question: &Question, page: &Page) -> Answered {
    let world = world(of);
    let table = Table::new();
    for item in world.values() {
        table.put(item);
    }
    match question.read_plan(page) {
        ReadPlan::Requests(requests) => {
            let requests: Vec<Json> = requests.iter().map(wire::read_request).collect();
            let mut items: Vec<Option<String>> = Vec::new();
            for request in &requests {
                let answer = table.read(request);
                assert_eq!(answer.next, None, "one page: {request}");
                items.extend(answer.items.iter().map(|item| item.as_ref().map(|item| label(&world, item))));
            }
            if !matches!(question, Question::Item { .. } | Question::Snapshot { .. }) {
                // A scan has the store's order, and a batch has none.
                items.sort();
            }
            Answered { requests, items }
        }
        ReadPlan::Query(query) => queried(&table, &world, &query, page.start.as_ref()),
    }
}

fn queried(table: &Table, world: &Labelled, query: &Query, start: Option<&Json>) -> Answered {
    let Some(first) = query.request(0, start.map(wire::item_from_json)) else {
        return Answered { requests: Vec::new(), items: Vec::new() };
    };
    let mut request = Some(first.clone());
    let mut items = Vec::new();
    while let Some(page) = request.take() {
        let answer = table.read(&wire::read_request(&page));
        let rows = answer.items.into_iter().flatten();
        items.extend(rows.filter(|row| query.includes(row[query.sort_attribute()]["S"].as_str().unwrap())));
        let is_full = query.items_max().is_some_and(|most| items.len() >= most);
        let next = answer.next.filter(|_| !is_full);
        request = next.and_then(|next| query.request(items.len(), Some(wire::item_from_json(&next))));
    }
    items.truncate(query.items_max().unwrap_or(usize::MAX));
    assert!(matches!(first, Request::Query(_)));
    let items = items.iter().map(|item| Some(label(world, item))).collect();
    Answered { requests: vec![wire::read_request(&first)], items }
}

/// The label of an item, which must equal the world's unless a projection cut it.
fn label(world: &Labelled, item: &Json) -> String {
    let of = |other: &Json| other["uuid"] == item["uuid"] && other["type"] == item["type"];
    let (label, whole) = world.iter().find(|(_, other)| of(other)).unwrap_or_else(|| panic!("foreign: {item}"));
    let known = item.as_object().unwrap().iter().all(|(name, value)| whole.get(name) == Some(value));
    assert!(known, "{label} has changed: {item}");
    label.clone()
}
