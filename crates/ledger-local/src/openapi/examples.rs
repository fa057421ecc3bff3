//! Adds examples of request and response bodies, made from the schemas of their fields.

use serde_json::{Map, Value, json};

/// A limit above the nesting of the schemas; none contains itself.
const DEPTH_MAX: usize = 32;

/// Adds an example to each body without one.
pub(super) fn add(document: &mut Value) {
    let schemas = document.pointer("/components/schemas").cloned().unwrap_or_default();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for item in paths.into_iter().flat_map(Map::values_mut) {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            let Some(operation) = operation.as_object_mut() else { continue };
            add_to(operation.get_mut("requestBody"), &schemas);
            let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
            for response in responses.into_iter().flat_map(Map::values_mut) {
                add_to(Some(response), &schemas);
            }
        }
    }
}

fn add_to(body: Option<&mut Value>, schemas: &Value) {
    let contents = body.and_then(|body| body.get_mut("content")).and_then(Value::as_object_mut);
    for content in contents.into_iter().flat_map(Map::values_mut) {
        let made = content.get("schema").map(|schema| example(schema, schemas, 0));
        if let (Some(content), Some(made)) = (content.as_object_mut(), made) {
            content.entry("example").or_insert(made);
        }
    }
}

/// A value of a schema: its own example if it has one.
fn example(schema: &Value, schemas: &Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    let deeper = |schema: &Value| example(schema, schemas, depth.saturating_add(1));
    let own = schema.get("example").or_else(|| schema.pointer("/examples/0"));
    if let Some(own) = own.or_else(|| schema.pointer("/enum/0")).or_else(|| schema.get("const")) {
        return own.clone();
    }
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.rsplit('/').next()) {
        return schemas.get(name).map_or(Value::Null, deeper);
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        let parts = parts.iter().map(deeper).filter_map(|part| part.as_object().cloned());
        return Value::Object(parts.flatten().collect());
    }
    if let Some(first) = schema.pointer("/oneOf/0") {
        return deeper(first);
    }
    let kind = schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind.unwrap_or("object") {
        "string" => json!(text(schema)),
        "integer" | "number" => schema.get("minimum").cloned().filter(|least| *least != 0).unwrap_or(json!(1)),
        "boolean" => json!(false),
        "array" => json!([schema.get("items").map(deeper).unwrap_or_default()]),
        _ => object(schema, schemas, depth),
    }
}

/// The beginning of the description, or `text`.
fn text(schema: &Value) -> String {
    let about = schema.get("description").and_then(Value::as_str).unwrap_or("text");
    let first = about.split(['.', '`', '\n']).next().unwrap_or(about).trim();
    if first.is_empty() { "text".to_owned() } else { first.to_owned() }
}

fn object(schema: &Value, schemas: &Value, depth: usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let made = properties
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_required(name))
        .map(|(name, property)| (name.clone(), example(property, schemas, depth.saturating_add(1))));
    let mut object: Map<_, _> = made.filter(|(_, value)| !value.is_null()).collect();
    if let (None, Some(of)) = (properties, schema.get("additionalProperties").filter(|of| of.is_object())) {
        object.insert("name".to_owned(), example(of, schemas, depth.saturating_add(1)));
    }
    Value::Object(object)
}
