//! Checks every response that a test gets from [`super::Api`] against openapi.json: status, code, headers and body.

use super::Answer;
use boon::{Compiler, SchemaIndex, Schemas};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

const DOCUMENT: &str = "http://openapi.test/openapi.json";
const PROBLEM: &str = "/components/schemas/Problem";
const GATEWAY_MESSAGE: &str = "/components/schemas/GatewayMessage";
/// Headers that a response may have only where the document states them.
const STATED: [&str; 4] = ["idempotent-replayed", "location", "retry-after", "www-authenticate"];

/// The document, made strict, with its compiled schemas by JSON pointer.
pub struct Contract {
    document: Value,
    schemas: Schemas,
    compiled: BTreeMap<String, SchemaIndex>,
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| Contract::of(document()));

/// The `openapi.json` of the repository.
///
/// # Panics
/// When the file cannot be read or is not JSON.
#[must_use]
pub fn document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("openapi.json")).expect("JSON")
}

/// Checks a response, and the request if it succeeded, against the document.
///
/// # Panics
/// When the document does not state the response.
pub fn check_exchange(method: &Method, path: &str, body: Option<&str>, answer: &Answer) {
    if let Err(why) = CONTRACT.check(method.as_str(), path, body, answer) {
        panic!("openapi.json does not state this: {why}\n{method} {path}\n{body:?}\n{answer:?}");
    }
}

/// The `operationId` of the operation that a request matches, if any.
#[must_use]
pub fn operation_id(method: &Method, path: &str) -> Option<String> {
    let (_, pointer) = CONTRACT.operation(method.as_str(), path)?;
    CONTRACT.document.pointer(&format!("{pointer}/operationId"))?.as_str().map(str::to_owned)
}

impl Contract {
    /// The contract of a document. A body may have no member that the document does not state.
    ///
    /// # Panics
    /// When the document cannot be compiled.
    #[must_use]
    pub fn of(mut document: Value) -> Self {
        close(&mut document);
        let mut compiler = Compiler::new();
        compiler.enable_format_assertions();
        compiler.add_resource(DOCUMENT, document.clone()).expect("a document");
        let mut schemas = Schemas::new();
        let compiled = bodies(&document).into_iter().map(|pointer| {
            let location = format!("{DOCUMENT}#{}", pointer.replace('{', "%7B").replace('}', "%7D"));
            let compiled = compiler.compile(&location, &mut schemas);
            let index = compiled.unwrap_or_else(|error| panic!("the schema at {pointer}: {error:#}"));
            (pointer, index)
        });
        let compiled = compiled.collect();
        Self { document, schemas, compiled }
    }

    /// Checks that the document states a response.
    ///
    /// # Errors
    /// Names what the document does not state.
    pub fn check(&self, method: &str, path: &str, body: Option<&str>, answer: &Answer) -> Result<(), String> {
        if !path.starts_with("/v1/") {
            return Ok(());
        }
        if answer.header("request-id").is_none_or(str::is_empty) {
            return Err("an answer without Request-Id".to_owned());
        }
        // API Gateway answers a malformed path itself, without a function.
        if answer.status == 400 && answer.header("content-type") == Some("application/json") {
            let message = serde_json::from_str(&answer.body).map_err(|error| format!("no JSON: {error}"))?;
            return self.validate(GATEWAY_MESSAGE, &message);
        }
        // The gateway decodes escapes, so the function's path may match any operation or none.
        if path.split('?').next().is_some_and(|path| path.contains('%')) {
            return if answer.status < 400 { Ok(()) } else { self.validate(PROBLEM, &answer.json()) };
        }
        let Some((template, operation)) = self.operation(method, path) else {
            return self.check_outside(method, answer);
        };
        let name = format!("{} {template}: {}", method, answer.status);
        let stated = self.resolved(&format!("{operation}/responses/{}", answer.status));
        let stated = stated.ok_or_else(|| format!("{name}: the status"))?;
        self.check_headers(&stated, answer).map_err(|why| format!("{name}: {why}"))?;
        let media_type = answer.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        let schema = format!("{stated}/content/{}/schema", media_type.replace('/', "~1"));
        if self.document.pointer(&schema).is_none() {
            return Err(format!("{name}: the content type {media_type}"));
        }
        let instance = if media_type == "text/csv" {
            Value::from(answer.body.as_str())
        } else {
            serde_json::from_str(&answer.body).map_err(|error| format!("{name}: no JSON: {error}"))?
        };
        self.validate(&schema, &instance).map_err(|why| format!("{name}: the body: {why}"))?;
        if (200..300).contains(&answer.status) && media_type == "application/json" {
            self.check_request(&operation, body).map_err(|why| format!("{name}: the request: {why}"))?;
        }
        Ok(())
    }

    /// Checks a response to an unknown path or method, or to a request that reached no function.
    fn check_outside(&self, method: &str, answer: &Answer) -> Result<(), String> {
        if method == "HEAD" || method == "OPTIONS" || answer.json().get("message").is_some() {
            return Ok(());
        }
        match (answer.status, answer.code().as_deref()) {
            (401, Some("unauthenticated" | "signature_invalid"))
            | (404, Some("not_found"))
            | (405, Some("method_not_allowed"))
            | (413, Some("body_too_large")) => self.validate(PROBLEM, &answer.json()),
            (status, code) => Err(format!("the document has no such operation, but the response is {status} {code:?}")),
        }
    }

    /// Checks that the document allows the body of a request that succeeded.
    fn check_request(&self, operation: &str, body: Option<&str>) -> Result<(), String> {
        let schema = format!("{operation}/requestBody/content/application~1json/schema");
        // An empty body counts as absent.
        let stated = |body: &&str| !body.is_empty() && self.document.pointer(&schema).is_some();
        let Some(body) = body.filter(stated) else { return Ok(()) };
        let mut instance: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        if let Some(members) = instance.as_object_mut() {
            // The parameter's description allows the key in the body.
            members.remove("idempotencyKey");
        }
        self.validate(&schema, &instance)
    }

    fn check_headers(&self, response: &str, answer: &Answer) -> Result<(), String> {
        let empty = Map::new();
        let stated = self.document.pointer(&format!("{response}/headers")).and_then(Value::as_object).unwrap_or(&empty);
        for name in stated.keys() {
            let place = format!("{response}/headers/{name}");
            let header = self.resolved(&place).and_then(|place| self.document.pointer(&place)).unwrap_or(&Value::Null);
            let value = answer.header(&name.to_ascii_lowercase());
            match value {
                None if header["required"] == true => return Err(format!("without the header {name}")),
                Some(value) if header["schema"]["type"] == "integer" && value.parse::<u64>().is_err() => {
                    return Err(format!("{name}: {value} is no whole number"));
                }
                Some(_) | None => {}
            }
        }
        let unstated = STATED.into_iter().filter(|name| answer.header(name).is_some());
        let mut unstated = unstated.filter(|name| !stated.keys().any(|stated| stated.eq_ignore_ascii_case(name)));
        unstated.next().map_or(Ok(()), |name| Err(format!("the header {name}")))
    }

    fn validate(&self, pointer: &str, instance: &Value) -> Result<(), String> {
        let index = self.compiled.get(pointer).ok_or_else(|| format!("no schema at {pointer}"))?;
        self.schemas.validate(instance, *index).map_err(|error| format!("{error:#}"))
    }

    /// A JSON pointer with its `$ref` resolved; `None` if nothing is there.
    fn resolved(&self, pointer: &str) -> Option<String> {
        let found = self.document.pointer(pointer)?;
        match found.get("$ref").and_then(Value::as_str) {
            Some(to) => Some(to.trim_start_matches('#').to_owned()),
            None => Some(pointer.to_owned()),
        }
    }

    /// The path template that a request matches, and the JSON pointer of its operation.
    fn operation(&self, method: &str, path: &str) -> Option<(String, String)> {
        let path = path.split('?').next().unwrap_or(path);
        let segments: Vec<&str> = path.split('/').collect();
        let fits = |template: &&String| {
            let wanted: Vec<&str> = template.split('/').collect();
            let same = |(wanted, sent): (&&str, &&str)| wanted.starts_with('{') || wanted == sent;
            wanted.len() == segments.len() && wanted.iter().zip(&segments).all(same)
        };
        let templates = self.document["paths"].as_object()?.keys().filter(fits);
        // A literal segment takes precedence over a variable one.
        let template = templates.min_by_key(|template| template.matches('{').count())?;
        let pointer = format!("/paths/{}/{}", template.replace('/', "~1"), method.to_ascii_lowercase());
        self.document.pointer(&pointer)?;
        Some((template.clone(), pointer))
    }
}

/// The JSON pointers of the schemas of all bodies.
fn bodies(document: &Value) -> BTreeSet<String> {
    let mut pointers = BTreeSet::from([PROBLEM, GATEWAY_MESSAGE].map(str::to_owned));
    // A schema may have a property of the name `content`.
    for part in ["/paths", "/components/responses", "/components/requestBodies"] {
        if let Some(value) = document.pointer(part) {
            pointers_of(value, part.to_owned(), &mut pointers);
        }
    }
    pointers
}

fn pointers_of(value: &Value, at: String, pointers: &mut BTreeSet<String>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let place = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
        if name == "content" {
            let types = member.as_object().into_iter().flat_map(Map::keys);
            pointers.extend(types.map(|media_type| format!("{place}/{}/schema", media_type.replace('/', "~1"))));
        } else {
            pointers_of(member, place, pointers);
        }
    }
}

/// Makes the document strict: no member that is not stated. `AmountText` also allows a JSON number, which the document
/// says in words only.
fn close(document: &mut Value) {
    let mut parts = BTreeSet::new();
    parts_of_compositions(document, &mut parts);
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    for (name, schema) in schemas.into_iter().flatten() {
        if name == "AmountText" {
            schema["type"] = json!(["string", "number"]);
        }
        if !parts.contains(name) {
            close_schema(schema);
        }
    }
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    paths.into_iter().flat_map(Map::values_mut).for_each(close_compositions);
}

fn close_compositions(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if members.contains_key("allOf") {
                members.insert("unevaluatedProperties".to_owned(), json!(false));
                return;
            }
            members.values_mut().for_each(close_compositions);
        }
        Value::Array(elements) => elements.iter_mut().for_each(close_compositions),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn close_schema(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else { return };
    if members.contains_key("allOf") {
        members.insert("unevaluatedProperties".to_owned(), json!(false));
    } else if members.contains_key("properties") && !members.contains_key("additionalProperties") {
        members.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// The names of the schemas that `allOf` refers to.
fn parts_of_compositions(value: &Value, parts: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for part in members.get("allOf").and_then(Value::as_array).into_iter().flatten() {
                let name = part.get("$ref").and_then(Value::as_str).and_then(|to| to.rsplit('/').next());
                parts.extend(name.map(str::to_owned));
            }
            members.values().for_each(|member| parts_of_compositions(member, parts));
        }
        Value::Array(elements) => elements.iter().for_each(|element| parts_of_compositions(element, parts)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
