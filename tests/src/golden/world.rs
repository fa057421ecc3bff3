//! Worlds: tables that vectors start from. A file of `golden/worlds` or `golden/reads/worlds` gives each item a label.

use super::patch;
use super::vector::directory;
use crate::engine::PrimaryKey;
use crate::layout;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// Items by their labels.
pub type Labelled = BTreeMap<String, Json>;

/// The worlds of write vectors by name.
static WORLDS: LazyLock<BTreeMap<String, World>> = LazyLock::new(|| {
    let files = std::fs::read_dir(directory("worlds")).unwrap();
    files.map(|file| file.unwrap().path()).map(|path| (stem(&path), World::read(&path))).collect()
});

/// A table: its items by label.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// The items.
    pub items: Labelled,
}

impl World {
    /// The world of write vectors that has this name.
    ///
    /// # Errors
    /// If no world has this name.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        WORLDS.get(name).ok_or_else(|| format!("no world has the name {name}"))
    }

    /// Reads a world's file; panics on an item without a key, a duplicate key, or another layout.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let world = Self::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        layout::assert_laid_out(&name, &text, &world.text());
        world
    }

    /// Parses a world in any layout.
    ///
    /// # Errors
    /// Why the text is not a world.
    pub fn parse(text: &str) -> Result<Self, String> {
        let items: Labelled = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut labels = BTreeMap::new();
        for (label, item) in &items {
            if let Some(other) = labels.insert(key(item)?, label) {
                return Err(format!("{other} and {label} have one key"));
            }
        }
        Ok(Self { items })
    }

    /// The text of its file.
    #[must_use]
    pub fn text(&self) -> String {
        layout::document(self.items.iter().map(|(label, item)| (label.as_str(), item)))
    }

    /// The items of a state by label: the world's label, or [`label`] for an item that is not in the world.
    #[must_use]
    pub fn labelled(&self, state: &[Json]) -> Labelled {
        let labelled: Labelled = state.iter().map(|item| (self.label(item), item.clone())).collect();
        assert_eq!(labelled.len(), state.len(), "two items have one label");
        labelled
    }

    /// The label of the item with the same key.
    #[must_use]
    pub fn label(&self, item: &Json) -> String {
        let own = self.items.iter().find(|(_, other)| has_same_key(item, other));
        own.map_or_else(|| label(item), |(label, _)| label.clone())
    }

    /// The difference of a state from the world, by label.
    #[must_use]
    pub fn difference(&self, state: &[Json]) -> Map<String, Json> {
        match patch::difference(&json(&self.items), &json(&self.labelled(state))) {
            Json::Object(given) => given,
            other => panic!("the difference of two objects is not an object: {other}"),
        }
    }

    /// The world's items by label after a difference is applied.
    #[must_use]
    pub fn changed(&self, given: &Map<String, Json>) -> Labelled {
        match patch::apply(&json(&self.items), &Json::Object(given.clone())) {
            Json::Object(items) => items.into_iter().collect(),
            other => panic!("a changed object is not an object: {other}"),
        }
    }
}

fn json(items: &Labelled) -> Json {
    Json::Object(items.clone().into_iter().collect())
}

/// Whether two items have the same key.
#[must_use]
pub fn has_same_key(item: &Json, other: &Json) -> bool {
    item["uuid"] == other["uuid"] && item["type"] == other["type"]
}

/// An item's primary key.
///
/// # Errors
/// If the item has no key.
pub fn key(item: &Json) -> Result<PrimaryKey, String> {
    let part = |name: &str| item[name]["S"].as_str().map(str::to_owned);
    part("uuid").zip(part("type")).ok_or_else(|| format!("an item without a key: {item}"))
}

/// Items in the order of their keys: a table has no order, so one is fixed.
///
/// # Errors
/// If an item has no key.
pub fn sorted(items: impl IntoIterator<Item = Json>) -> Result<Vec<Json>, String> {
    let keyed = items.into_iter().map(|item| Ok((key(&item)?, item)));
    let mut keyed = keyed.collect::<Result<Vec<_>, String>>()?;
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

/// The label of an item that is not in the world: kind, id and sort key, with each UUID cut to the end of its last
/// group. `demo#customer#019a0000-0000-7000-8000-00000000000a` and `BALANCE#POINT` are `customer a BALANCE#POINT`.
#[must_use]
pub fn label(item: &Json) -> String {
    let (pk, sk) = key(item).expect("an item has a key");
    let owner = pk.split('#').skip(1).map(short).collect::<Vec<_>>().join(" ");
    let sk = sk.split('#').map(short).collect::<Vec<_>>().join("#");
    format!("{owner} {sk}")
}

fn short(part: &str) -> &str {
    let groups: Vec<&str> = part.split('-').collect();
    let is_hex = groups.iter().all(|group| group.chars().all(|c| c.is_ascii_hexdigit()));
    match groups[..] {
        [_, _, _, _, last] if is_hex && last.len() == 12 => last.trim_start_matches('0'),
        _ => part,
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).expect("a file's name").to_owned()
}
