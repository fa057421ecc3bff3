//! Reads and writes a golden vector's file: read strictly, written in one layout with members in a fixed order.
//!
//! A file leaves out what follows from elsewhere: the state is a difference from a world, each request lacks what every
//! request has ([`super::request`]), a reason's item is a difference from an item in the file ([`super::verdict`]), and
//! values of `golden/defaults.json` are not repeated.

use super::command::{AnswerJson, Command, ContextJson};
use super::vector::{Case, Effects, Given, Vector, directory};
use super::world::{self, Labelled, World};
use super::{patch, request, verdict};
use crate::layout;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::sync::LazyLock;

/// The order of a file's members: those of the author, and those that are filled in.
const MEMBERS: [&str; 11] =
    ["id", "why", "world", "now", "given", "command", "effects", "then", "precedence", "request", "verdicts"];

/// The values of a vector that states no others: `golden/defaults.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Defaults {
    /// The time of the request.
    now: String,
    /// The tenant's slug.
    tenant: String,
    /// Ids and randomness.
    context: ContextJson,
    /// The stored response, if the command claims a key.
    answer: AnswerJson,
}

static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    let text = std::fs::read_to_string(directory("defaults.json")).unwrap();
    let defaults: Defaults = serde_json::from_str(&text).unwrap_or_else(|error| panic!("the defaults: {error}"));
    layout::assert_laid_out(
        "defaults.json",
        &text,
        &text_of(&json!(defaults), &["now", "tenant", "context", "answer"]),
    );
    defaults
});

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: String,
    why: String,
    world: String,
    now: Option<String>,
    #[serde(default)]
    given: Map<String, Json>,
    command: Map<String, Json>,
    effects: Effects,
    then: String,
    #[serde(default)]
    precedence: bool,
    request: Option<Vec<Json>>,
    verdicts: Option<Vec<verdict::RowJson>>,
}

impl File {
    fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    fn into_vector(self) -> Result<Vector, String> {
        let (Some(request), Some(verdicts)) = (self.request, self.verdicts) else {
            return Err("no `request` and `verdicts`: run `golden-new`, as golden/README.md says".to_owned());
        };
        let case = Self { request: None, verdicts: None, ..self }.into_case()?;
        let items = request.iter().map(request::expand).collect::<Result<Vec<_>, _>>()?;
        let verdicts = verdicts.into_iter().map(|row| verdict::expand(row, &items, &case.given.state));
        let verdicts = verdicts.collect::<Result<Vec<_>, String>>()?;
        if verdicts.first().is_none_or(|first| first.outcome != case.then) {
            return Err("the first verdict is not `then`".to_owned());
        }
        Ok(Vector { case, items, verdicts })
    }

    fn into_case(self) -> Result<Case, String> {
        let table = World::named(&self.world)?.changed(&self.given);
        let state = world::sorted(table.values().cloned())?;
        let now = self.now.unwrap_or_else(|| DEFAULTS.now.clone());
        let given = Given { now, command: expand_command(self.command, &table)?, state };
        let Self { id, why, world, effects, then, precedence, .. } = self;
        Ok(Case { id, why, world, given, effects, then, precedence })
    }
}

impl Case {
    /// The case in a file that lacks `request` or `verdicts`; `None` if the file has both.
    ///
    /// # Errors
    /// Describes what is invalid, such as an unknown field.
    pub fn unfilled(text: &str) -> Result<Option<Self>, String> {
        let file = File::parse(text)?;
        if file.request.is_some() && file.verdicts.is_some() { Ok(None) } else { file.into_case().map(Some) }
    }
}

impl Vector {
    /// The text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        let Case { id, why, world: world_name, given, effects, then, precedence } = &self.case;
        let world = World::named(world_name).unwrap_or_else(|error| panic!("{id}: {error}"));
        let table = world.labelled(&given.state);
        let requests: Vec<Json> = self.items.iter().map(request::shorten).collect();
        let rows = self.verdicts.iter().map(|row| verdict::shorten(row, &self.items, &given.state));
        let mut file = json!({
            "id": id, "why": why, "world": world_name, "command": shorten_command(&given.command, world, &table),
            "effects": effects, "then": then, "request": requests, "verdicts": rows.collect::<Vec<_>>(),
        });
        let difference = world.difference(&given.state);
        if !difference.is_empty() {
            file["given"] = Json::Object(difference);
        }
        if given.now != DEFAULTS.now {
            file["now"] = json!(given.now);
        }
        if *precedence {
            file["precedence"] = json!(true);
        }
        text_of(&file, &MEMBERS)
    }

    /// Parses a file's text in any layout.
    ///
    /// # Errors
    /// Describes what is invalid, such as an unknown field.
    pub fn parse(text: &str) -> Result<Self, String> {
        File::parse(text)?.into_vector()
    }

    /// Reads a file's text; panics on unknown fields, another layout or another id.
    #[must_use]
    pub fn read(name: &str, text: &str) -> Self {
        let vector = Self::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        layout::assert_laid_out(name, text, &vector.text());
        assert_eq!(vector.case.id, name, "{name} holds another id");
        vector
    }
}

/// The text of a document with its members in this order, without absent members.
#[must_use]
pub(super) fn text_of(document: &Json, members: &[&str]) -> String {
    layout::document(members.iter().filter_map(|name| Some((*name, document.get(name)?))))
}

/// A command without the defaults. Items that had been read are differences from the table's.
fn shorten_command(command: &Command, world: &World, table: &Labelled) -> Json {
    let mut short = json!(command);
    let members = short.as_object_mut().expect("a command is an object");
    members.retain(|name, value| match name.as_str() {
        "tenant" => *value != json!(DEFAULTS.tenant),
        "context" => *value != json!(DEFAULTS.context),
        "answer" => command.claim.is_none() || *value != json!(DEFAULTS.answer),
        _ => true,
    });
    if command.claim.is_some() && command.answer.is_none() {
        members.insert("answer".to_owned(), Json::Null);
    }
    if !command.seen.is_empty() {
        let seen = command.seen.iter().map(|item| {
            let label = world.label(item);
            let change = match table.get(&label) {
                Some(_) if has_key_alone(item) => Json::Null,
                Some(present) => patch::difference(present, item),
                None => item.clone(),
            };
            (label, change)
        });
        members.insert("seen".to_owned(), Json::Object(seen.collect()));
    }
    short
}

/// The whole command, with the defaults.
fn expand_command(mut members: Map<String, Json>, table: &Labelled) -> Result<Command, String> {
    let has_claim = members.contains_key("claim");
    let mut default = |name: &str, value: Json| {
        members.entry(name).or_insert(value);
    };
    default("tenant", json!(DEFAULTS.tenant));
    default("context", json!(DEFAULTS.context));
    if has_claim {
        default("answer", json!(DEFAULTS.answer));
    }
    if let Some(seen) = members.get_mut("seen") {
        let changes = seen.as_object().ok_or("`seen` is an object")?;
        let items = changes.iter().map(|(label, change)| match (table.get(label), change) {
            (Some(present), Json::Null) => Ok(json!({ "uuid": present["uuid"], "type": present["type"] })),
            (Some(present), change) => Ok(patch::apply(present, change)),
            (None, Json::Null) => Err(format!("`seen` removes {label}, which is not in the table")),
            (None, item) => Ok(item.clone()),
        });
        *seen = Json::Array(world::sorted(items.collect::<Result<Vec<_>, _>>()?)?);
    }
    serde_json::from_value(Json::Object(members)).map_err(|error| error.to_string())
}

/// Whether an item has only its key, which means that it did not exist.
fn has_key_alone(item: &Json) -> bool {
    item.as_object().is_some_and(|item| item.len() == 2)
}
