//! Compares items with the pages that declare every attribute, `docs/architecture/items-*.md`.

use crate::engine::PrimaryKey;
use crate::tree;
use ledger_core::dynamo::{Item, Value};
use ledger_local::items::{ItemPages, Section};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

/// The words of an update expression.
const CLAUSES: [&str; 3] = ["SET ", "ADD ", "REMOVE "];

/// What items have that no page declares, and which declarations they use.
#[derive(Debug)]
pub struct Compared<'a> {
    pages: &'a ItemPages,
    /// What no page declares, each with the first place where it was found.
    pub undeclared: BTreeMap<String, String>,
    /// Sections and attributes, as the pages name them.
    pub used: BTreeSet<(String, String)>,
    /// The kinds that were met.
    pub kinds: BTreeSet<String>,
}

impl<'a> Compared<'a> {
    /// Nothing was compared.
    #[must_use]
    pub fn new(pages: &'a ItemPages) -> Self {
        Self { pages, undeclared: BTreeMap::new(), used: BTreeSet::new(), kinds: BTreeSet::new() }
    }

    /// Compares an item. `place` says where it was found.
    pub fn item(&mut self, (pk, sk): (&str, &str), item: &Item, place: &str) {
        let Some(kind) = self.kind((pk, sk), place) else { return };
        for (name, value) in item {
            self.attribute(kind, name, Some(value), place);
        }
    }

    /// Compares the request of a vector, and what its table is given.
    ///
    /// # Panics
    /// When a vector has another form.
    pub fn vector(&mut self, vector: &Json, world: &Json, place: &str) {
        for action in vector["request"].as_array().into_iter().flatten() {
            if let Some(item) = action["Put"]["Item"].as_object() {
                self.json_item(item, place);
            }
            if action["Update"].is_object() {
                self.update(&action["Update"], place);
            }
        }
        for (label, given) in vector["given"].as_object().into_iter().flatten() {
            let Some(given) = given.as_object() else { continue };
            match key_of(given) {
                Some(_) => self.json_item(given, place),
                // A merge patch of an item of the world.
                None => {
                    let key = world[label].as_object().and_then(key_of).expect("a label of the world");
                    let Some(kind) = self.kind((&key.0, &key.1), place) else { continue };
                    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                        self.attribute(kind, name, value_of(value).as_ref(), place);
                    }
                }
            }
        }
    }

    /// Compares the items of a world of vectors.
    pub fn world(&mut self, world: &Json, place: &str) {
        for item in world.as_object().into_iter().flatten().filter_map(|(_, item)| item.as_object()) {
            self.json_item(item, place);
        }
    }

    fn json_item(&mut self, item: &Map<String, Json>, place: &str) {
        let (pk, sk) = key_of(item).unwrap_or_else(|| panic!("{place}: an item without a key"));
        let Some(kind) = self.kind((&pk, &sk), place) else { return };
        for (name, value) in item.iter().filter(|(_, value)| !value.is_null()) {
            self.attribute(kind, name, value_of(value).as_ref(), place);
        }
    }

    fn update(&mut self, update: &Json, place: &str) {
        let (pk, sk) = update["Key"].as_object().and_then(key_of).expect("a key");
        let Some(kind) = self.kind((&pk, &sk), place) else { return };
        let names = &update["ExpressionAttributeNames"];
        let values = &update["ExpressionAttributeValues"];
        for part in parts(update["UpdateExpression"].as_str().expect("an expression")) {
            let word = |text: &str| {
                text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
            };
            let Some(path) = part.strip_prefix('#') else { panic!("{place}: {part}") };
            let placeholder = word(path);
            let name = names[format!("#{placeholder}")].as_str().unwrap_or(&placeholder).to_owned();
            // A member of a map has no declaration, and what is removed has no value.
            let is_member = path.strip_prefix(placeholder.as_str()).is_some_and(|rest| rest.starts_with('.'));
            let value = part.rsplit_once(':').filter(|_| !is_member);
            let value = value.map(|(_, of)| &values[format!(":{}", word(of))]);
            self.attribute(kind, &name, value.and_then(value_of).as_ref(), place);
        }
    }

    fn kind(&mut self, (pk, sk): (&str, &str), place: &str) -> Option<&'a Section> {
        let pages = self.pages;
        if let Some(kind) = pages.kind_of(pk, sk) {
            self.kinds.insert(kind.section.name.to_owned());
            return Some(kind.section);
        }
        self.undeclared.entry(format!("an item {pk} {sk}")).or_insert_with(|| place.to_owned());
        None
    }

    fn attribute(&mut self, kind: &Section, name: &str, value: Option<&Value>, place: &str) {
        let what = match self.pages.attribute(kind, name) {
            None => format!("{}: {name}", kind.name),
            Some((section, row)) => {
                self.used.insert((section.name.to_owned(), row.name.to_owned()));
                match value {
                    Some(value) if !row.value.is_of(value) && !is_foreign(value) => {
                        format!("{}: {name} is no {:?}", kind.name, row.value)
                    }
                    Some(_) | None => return,
                }
            }
        };
        self.undeclared.entry(what).or_insert_with(|| place.to_owned());
    }
}

/// The assignments and names of an update expression.
fn parts(expression: &str) -> Vec<String> {
    let mut text = expression.to_owned();
    for clause in CLAUSES {
        text = text.replace(&format!("{clause}#"), "\n#");
    }
    let parts = text.lines().flat_map(|clause| clause.split(", #")).map(|part| part.trim_start_matches('#').trim());
    parts.filter(|part| !part.is_empty()).map(|part| format!("#{part}")).collect()
}

fn key_of(item: &Map<String, Json>) -> Option<(String, String)> {
    let text = |name: &str| Some(item.get(name)?.get("S")?.as_str()?.to_owned());
    Some((text("uuid")?, text("type")?))
}

/// The value of an attribute, as far as its type says: members are left out. `None` for a type that the ledger never writes.
fn value_of(json: &Json) -> Option<Value> {
    let (kind, inner) = json.as_object()?.iter().next()?;
    Some(match kind.as_str() {
        "S" => Value::s(inner.as_str()?),
        "N" => Value::N(inner.as_str()?.to_owned()),
        "BOOL" => Value::Bool(inner.as_bool()?),
        "B" => Value::B(Vec::new()),
        "L" => Value::L(Vec::new()),
        "M" => Value::M(Item::new()),
        _ => return None,
    })
}

/// Checks that rows, as they are stored or with entries expanded, have declared attributes alone.
///
/// # Panics
/// With what no page declares.
pub fn check(rows: &BTreeMap<PrimaryKey, Item>) {
    static PAGES: LazyLock<ItemPages> = LazyLock::new(|| ItemPages::read().expect("pages"));
    let mut compared = Compared::new(&PAGES);
    for ((pk, sk), row) in rows {
        compared.item((pk, sk), row, sk);
    }
    assert!(
        compared.undeclared.is_empty(),
        "no page of docs/architecture/items-*.md declares: {:?}",
        compared.undeclared
    );
}

/// Whether a value stands for one of a type that the ledger never writes, which a legacy system may have written.
fn is_foreign(value: &Value) -> bool {
    matches!(value, Value::M(map) if map.keys().any(|name| name.starts_with('#')))
}

/// Compares every golden vector and every world.
///
/// # Panics
/// When a file cannot be read.
pub fn compare_vectors(compared: &mut Compared<'_>) {
    let read = |path: &Path| -> Json { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
    let folder = tree::root().join("golden");
    for path in tree::files(&["golden"], "json") {
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        if name == "defaults.json" {
            continue;
        }
        let json = read(&path);
        let of = if name.starts_with("reads/") { folder.join("reads") } else { folder.clone() };
        if path.parent() == Some(of.join("worlds").as_path()) {
            compared.world(&json, &name);
            continue;
        }
        let world = json["world"].as_str().map(|world| read(&of.join("worlds").join(format!("{world}.json"))));
        compared.vector(&json, &world.unwrap_or_default(), &name);
    }
}
