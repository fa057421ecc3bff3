//! Simplifies the schemas that `utoipa` derives: pages refer to their items, and responses have no `null`.

use serde_json::{Map, Value};
use std::collections::BTreeSet;

const PAGE: &str = "Page_";
const REFERENCE: &str = "#/components/schemas/";

/// Replaces the inline item schemas of pages by references.
pub(super) fn replace_inline_items(schemas: &mut Value) {
    let Some(schemas) = schemas.as_object_mut() else { return };
    let pages: Vec<String> = schemas.keys().filter(|name| name.starts_with(PAGE)).cloned().collect();
    for page in pages {
        let Some(name) = page.strip_prefix(PAGE).map(str::to_owned) else { continue };
        let reference = serde_json::json!({"$ref": format!("{REFERENCE}{name}")});
        let items = schemas.get_mut(&page).and_then(|page| page.pointer_mut("/properties/items/items"));
        let Some(inline) = items.map(|items| std::mem::replace(items, reference)) else { continue };
        if inline.get("$ref").is_none() {
            schemas.entry(name).or_insert(inline);
        }
    }
}

/// Removes `null` from the schemas of responses, which leave absent fields out.
pub(super) fn drop_null_of_answers(document: &mut Value) {
    let of_answers = reachable(document, "responses");
    let of_requests = reachable(document, "requestBody");
    let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else { return };
    for name in of_answers.difference(&of_requests) {
        if let Some(schema) = schemas.get_mut(name) {
            drop_null(schema);
        }
    }
}

/// The names of the schemas that an operation's member refers to, directly or not.
fn reachable(document: &Value, member: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let items = document.get("paths").and_then(Value::as_object).into_iter().flat_map(Map::values);
    for operation in items.filter_map(Value::as_object).flat_map(Map::values) {
        collect(operation.get(member).unwrap_or(&Value::Null), document, &mut names);
    }
    names
}

fn collect(value: &Value, document: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let name = members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(REFERENCE));
            if let Some(name) = name
                && names.insert(name.to_owned())
            {
                let schema = document.pointer(&format!("/components/schemas/{name}"));
                collect(schema.unwrap_or(&Value::Null), document, names);
            }
            members.values().for_each(|member| collect(member, document, names));
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, document, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn drop_null(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_mut_slice() {
                    let only = only.take();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(of)) = members.get_mut("oneOf") {
                of.retain(|one| one.get("type").is_none_or(|name| name != "null"));
                if let [Value::Object(only)] = of.as_mut_slice() {
                    let only = std::mem::take(only);
                    members.remove("oneOf");
                    members.extend(only);
                }
            }
            members.values_mut().for_each(drop_null);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
