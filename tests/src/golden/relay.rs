//! The layout that golden files had until the manifest was begun, read from a revision of the repository: to write those
//! files in [`crate::layout`], and to prove that nothing but the layout differs.

use super::command::Command;
use super::reads::vector::ReadVector;
use super::vector::{Effects, Given, ReasonJson, Row, VERSIONS, Vector, directory};
use super::world::{self, World};
use crate::layout;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command as Process;

const WIDTH: usize = 120;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OldVector {
    effects: Effects,
    given: OldGiven,
    id: String,
    items: Vec<Json>,
    verdicts: Vec<OldRow>,
    why: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OldGiven {
    command: Command,
    now: String,
    state: Vec<Json>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OldRow {
    outcome: String,
    reasons: BTreeMap<String, OldReason>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OldReason {
    code: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<Json>,
}

/// The golden files of a revision by their path below `golden`.
pub struct Old {
    files: BTreeMap<String, String>,
}

/// What has been compared.
#[derive(Debug, Default)]
pub struct Compared {
    /// Vectors of writes.
    pub writes: usize,
    /// Their actions.
    pub actions: usize,
    /// Their items of states.
    pub items: usize,
    /// Their rows of verdicts.
    pub rows: usize,
    /// Their reasons in these rows.
    pub reasons: usize,
    /// Their effects.
    pub effects: usize,
    /// Vectors of reads, and worlds of reads.
    pub reads: usize,
    /// Bytes in the old layout.
    pub bytes_before: usize,
    /// Bytes of the same files in the new one.
    pub bytes_after: usize,
}

impl Old {
    /// Reads a revision's files with git.
    #[must_use]
    pub fn of(revision: &str) -> Self {
        let list = git(&["ls-tree", "-r", "--name-only", revision, "--", "golden/"]);
        let paths = list.lines().filter_map(|path| path.strip_prefix("golden/")).filter(|path| path.ends_with(".json"));
        let text = |path: &str| git(&["show", &format!("{revision}:golden/{path}")]);
        Self { files: paths.map(|path| (path.to_owned(), text(path))).collect() }
    }

    /// The same files in the new layout.
    #[must_use]
    pub fn laid_out(&self) -> BTreeMap<String, String> {
        self.files.iter().map(|(path, text)| (path.clone(), laid_out(path, text))).collect()
    }

    /// Compares every old file with the one that is in `golden`; panics on the first difference.
    #[must_use]
    pub fn compare(&self) -> Compared {
        let old: BTreeSet<&String> = self.files.keys().collect();
        let present = super::manifest::digests();
        let is_new =
            |path: &str| path.starts_with("worlds/") || path == "defaults.json" || path == super::manifest::NAME;
        let present: BTreeSet<&String> = present.keys().filter(|path| !is_new(path)).collect();
        assert_eq!(old.difference(&present).collect::<Vec<_>>(), Vec::<&&String>::new(), "missing files");
        assert_eq!(present.difference(&old).collect::<Vec<_>>(), Vec::<&&String>::new(), "extra files");
        let mut compared = Compared::default();
        for (path, before) in &self.files {
            let after = std::fs::read_to_string(directory(path)).unwrap();
            compared.bytes_before += before.len();
            compared.bytes_after += after.len();
            match id(path) {
                (Kind::Write, id) => compare(path, &read(path, id, before), &Vector::read(id, &after), &mut compared),
                (Kind::Read, id) => {
                    let old: ReadVector = serde_json::from_str(before).unwrap();
                    assert_eq!(old.id, id, "{path}");
                    assert_eq!(old, ReadVector::read(id, &after), "{path}");
                    compared.reads += 1;
                }
                (Kind::World, _) => {
                    assert_eq!(World::parse(before).unwrap(), World::read(&directory(path)), "{path}");
                    compared.reads += 1;
                }
            }
        }
        compared
    }
}

enum Kind {
    Write,
    Read,
    World,
}

/// What a path holds, and its id.
fn id(path: &str) -> (Kind, &str) {
    let (folder, name) = path.split_once('/').expect("a file in a folder");
    let name = name.strip_suffix(".json").expect("a JSON file");
    match folder {
        "reads" if name.starts_with("worlds/") => (Kind::World, name),
        "reads" => (Kind::Read, name.strip_prefix("v1/").expect("a read's version")),
        version => {
            assert!(VERSIONS.contains(&version), "not a version: {path}");
            (Kind::Write, name)
        }
    }
}

fn laid_out(path: &str, text: &str) -> String {
    match id(path) {
        (Kind::Write, id) => {
            let old = read(path, id, text);
            let state = world::sorted(old.given.state).unwrap();
            let mut command = old.given.command;
            command.seen = world::sorted(command.seen).unwrap();
            let row = |row: OldRow| {
                let reason = |(at, old): (String, OldReason)| (at, ReasonJson { code: old.code, item: old.item });
                Row { outcome: row.outcome, reasons: row.reasons.into_iter().map(reason).collect() }
            };
            let vector = Vector {
                id: old.id,
                why: old.why,
                world: World::nearest(&state),
                given: Given { now: old.given.now, command, state },
                items: old.items,
                verdicts: old.verdicts.into_iter().map(row).collect(),
                effects: old.effects,
            };
            vector.text()
        }
        (Kind::Read, _) => serde_json::from_str::<ReadVector>(text).unwrap().text(),
        (Kind::World, _) => World::parse(text).unwrap().text(),
    }
}

/// Reads an old file as strictly as it was read then.
fn read(path: &str, id: &str, text: &str) -> OldVector {
    let old: OldVector = serde_json::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(canonical(&json!(old)), text, "{path} is not canonical");
    assert_eq!(old.id, id, "{path} holds another id");
    old
}

/// An old and a new vector are the same in everything; states are compared as tables, which have no order.
fn compare(path: &str, old: &OldVector, new: &Vector, compared: &mut Compared) {
    assert_eq!((&old.id, &old.why), (&new.id, &new.why), "{path}");
    assert_eq!(old.given.now, new.given.now, "{path}: the time");
    // Whatever the order was, no item is named twice, and none is left out.
    let table = |items: &[Json]| {
        let table: BTreeMap<_, _> = items.iter().map(|item| (world::key(item).unwrap(), item.clone())).collect();
        assert_eq!(table.len(), items.len(), "{path}: an item twice");
        table
    };
    assert_eq!(table(&old.given.state), table(&new.given.state), "{path}: the state");
    let (was, is) = (&old.given.command, &new.given.command);
    assert_eq!(table(&was.seen), table(&is.seen), "{path}: what had been read");
    let ordered = Command { seen: is.seen.clone(), ..was.clone() };
    assert_eq!(&ordered, is, "{path}: the command");
    assert_eq!(canonical(&json!(old.items)), canonical(&json!(new.items)), "{path}: the request, byte for byte");
    let rows = new.verdicts.iter().map(|row| {
        let reason = |(at, new): (&String, &ReasonJson)| {
            (at.clone(), OldReason { code: new.code.clone(), item: new.item.clone() })
        };
        OldRow { outcome: row.outcome.clone(), reasons: row.reasons.iter().map(reason).collect() }
    });
    let rows: Vec<OldRow> = rows.collect();
    assert_eq!(canonical(&json!(old.verdicts)), canonical(&json!(rows)), "{path}: the verdicts, byte for byte");
    assert_eq!(old.effects, new.effects, "{path}: the effects");
    compared.writes += 1;
    compared.actions += new.items.len();
    compared.items += new.given.state.len();
    compared.rows += rows.len();
    compared.reasons += rows.iter().map(|row| row.reasons.len()).sum::<usize>();
    compared.effects += new.effects.values().map(BTreeMap::len).sum::<usize>();
    // And once more as one text: the new vector written in the old layout, with the old order of the items.
    let again = OldVector {
        effects: new.effects.clone(),
        given: OldGiven {
            command: Command { seen: in_order_of(&was.seen, &is.seen), ..is.clone() },
            now: new.given.now.clone(),
            state: in_order_of(&old.given.state, &new.given.state),
        },
        id: new.id.clone(),
        items: new.items.clone(),
        verdicts: rows,
        why: new.why.clone(),
    };
    layout::assert_same(path, &canonical(&json!(again)), &canonical(&json!(old)));
}

/// The new items in the order of the old.
fn in_order_of(old: &[Json], new: &[Json]) -> Vec<Json> {
    let same = |item: &Json| new.iter().find(|other| world::is_same(item, other)).unwrap().clone();
    old.iter().map(same).collect()
}

fn git(arguments: &[&str]) -> String {
    let root = directory("..");
    let output = Process::new("git").arg("-C").arg(root).args(arguments).output().expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The canonical text of the old layout: sorted keys, one member a line where a line is too short.
fn canonical(json: &Json) -> String {
    let mut out = String::new();
    write(json, 0, 0, &mut out);
    out.push('\n');
    out
}

fn write(json: &Json, indent: usize, prefix: usize, out: &mut String) {
    let flat = flat(json);
    if indent + prefix + flat.chars().count() < WIDTH {
        out.push_str(&flat);
        return;
    }
    let pad = " ".repeat(indent + 2);
    match json {
        Json::Object(map) => {
            out.push_str("{\n");
            let sorted: BTreeMap<_, _> = map.iter().collect();
            for (at, (name, value)) in sorted.iter().enumerate() {
                let name = format!("{}: ", Json::from(name.as_str()));
                out.push_str(&pad);
                out.push_str(&name);
                write(value, indent + 2, name.chars().count(), out);
                out.push_str(if at + 1 < sorted.len() { ",\n" } else { "\n" });
            }
            out.push_str(&" ".repeat(indent));
            out.push('}');
        }
        Json::Array(list) => {
            out.push_str("[\n");
            for (at, value) in list.iter().enumerate() {
                out.push_str(&pad);
                write(value, indent + 2, 0, out);
                out.push_str(if at + 1 < list.len() { ",\n" } else { "\n" });
            }
            out.push_str(&" ".repeat(indent));
            out.push(']');
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => out.push_str(&flat),
    }
}

fn flat(json: &Json) -> String {
    match json {
        Json::Object(map) if map.is_empty() => "{}".to_owned(),
        Json::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            let members = sorted.iter().map(|(name, value)| format!("{}: {}", Json::from(name.as_str()), flat(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Json::Array(list) => format!("[{}]", list.iter().map(flat).collect::<Vec<_>>().join(", ")),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.to_string(),
    }
}
