//! How vectors differ from their forms at an earlier commit. Each difference is a line without ids and amounts, so that
//! those of many vectors are counted together, and a rule names all that it allows. What a vector does to the books, and
//! its outcome, no rule can name.

mod rules;

pub use rules::{RULES, Rule};

use super::vector::directory;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const EFFECTS: &str = "effects";
const OUTCOME: &str = "outcome: ";
const ITEMS: &str = "items of ";
/// What no rule names: what a vector does to the books, how it ends, and what a read finds.
const NEVER: [&str; 3] = [EFFECTS, OUTCOME, ITEMS];

/// Vectors by their names, without versions: the newest of each, as JSON. Those of reads begin with `reads/`.
pub type Vectors = BTreeMap<String, Json>;

/// What was found, by line: the names of the vectors.
pub type Differences = BTreeMap<String, BTreeSet<String>>;

/// The vectors of this repository at a commit, or of the work tree without one.
///
/// # Errors
/// If git does not have them.
pub fn vectors(commit: Option<&str>) -> Result<Vectors, String> {
    vectors_of(&directory(".."), commit)
}

/// As [`vectors`], of a repository.
///
/// # Errors
/// As [`vectors`].
pub fn vectors_of(repository: &Path, commit: Option<&str>) -> Result<Vectors, String> {
    let tree = match commit {
        Some(commit) => at_commit(repository, commit)?,
        None => work_tree(repository)?,
    };
    let mut newest = BTreeMap::new();
    for (path, text) in tree {
        let Some((name, version)) = name_of(&path) else { continue };
        if newest.get(&name).is_none_or(|(other, _)| *other < version) {
            newest.insert(name, (version, text));
        }
    }
    let parsed = newest.into_iter().map(|(name, (_, text))| {
        let json = serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"))?;
        Ok((name, json))
    });
    parsed.collect()
}

/// A vector's name and version by its path below `golden`, whether its folder has versions or not; `None` for another
/// file.
fn name_of(path: &str) -> Option<(String, u32)> {
    let path = path.strip_suffix(".json")?;
    let (reads, path) = path.strip_prefix("reads/").map_or(("", path), |path| ("reads/", path));
    let (folder, rest) = path.split_once('/')?;
    let version = folder.strip_prefix('v').and_then(|number| number.parse().ok());
    match version {
        Some(version) => Some((format!("{reads}{rest}"), version)),
        None if folder == "worlds" => None,
        None => Some((format!("{reads}{path}"), 0)),
    }
}

fn work_tree(repository: &Path) -> Result<Vec<(String, String)>, String> {
    let root = repository.join("golden");
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                let below = path.strip_prefix(&root).map_err(|error| error.to_string())?;
                found.push((below.to_string_lossy().into_owned(), text));
            }
        }
    }
    Ok(found)
}

/// The files below `golden` at a commit.
fn at_commit(repository: &Path, commit: &str) -> Result<Vec<(String, String)>, String> {
    let list =
        git(repository, &["ls-tree", "-r", "-z", "--format=%(objectname) %(path)", &format!("{commit}:golden")], "")?;
    let list = String::from_utf8(list).map_err(|error| error.to_string())?;
    let entries: Vec<(&str, &str)> = list.split('\0').filter_map(|line| line.split_once(' ')).collect();
    let asked: String = entries.iter().map(|(object, _)| format!("{object}\n")).collect();
    let all = git(repository, &["cat-file", "--batch"], &asked)?;
    // Of each: a line of the object's name, kind and size, its content, and the end of a line.
    let mut rest = &all[..];
    let read = entries.into_iter().map(|(_, path)| {
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or("git ended too early")?;
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        let size = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        let content = size.and_then(|size| rest.get(end + 1..end + 1 + size)).ok_or(format!("{path}: {head}"))?;
        rest = rest.get(end + content.len() + 2..).unwrap_or_default();
        Ok((path.to_owned(), String::from_utf8_lossy(content).into_owned()))
    });
    read.collect()
}

fn git(repository: &Path, arguments: &[&str], input: &str) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("git: {error}");
    let mut command = Command::new("git");
    command.current_dir(repository).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("git has no input")?;
    let done = std::thread::scope(|scope| {
        let writing = scope.spawn(move || stdin.write_all(input.as_bytes()));
        let done = child.wait_with_output();
        writing.join().map_err(|_| "the input was not written".to_owned())?.map_err(failed)?;
        done.map_err(failed)
    })?;
    if done.status.success() { Ok(done.stdout) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// The differences of vectors from their forms at the base.
#[must_use]
pub fn differences(base: &Vectors, present: &Vectors) -> Differences {
    let mut found = Differences::new();
    let names: BTreeSet<&String> = base.keys().chain(present.keys()).collect();
    for name in names {
        let group = name.rsplit_once('/').map_or(name.as_str(), |(group, _)| group);
        let lines = match (base.get(name), present.get(name)) {
            (None, Some(_)) => vec![format!("vector added: {group}")],
            (Some(_), None) => vec![format!("vector removed: {group}")],
            (Some(before), Some(after)) if name.starts_with("reads/") => of_read(group, before, after),
            (Some(before), Some(after)) => of_write(before, after),
            (None, None) => Vec::new(),
        };
        for line in lines {
            found.entry(line).or_default().insert(name.clone());
        }
    }
    found
}

/// The rule that names a line; `None` for the books and the outcome, whatever the rules say.
#[must_use]
pub fn rule_of<'a>(rules: &'a [Rule], line: &str) -> Option<&'a Rule> {
    let is_free = !NEVER.iter().any(|start| line.starts_with(start));
    rules.iter().find(|rule| is_free && rule.lines.iter().any(|pattern| is_match(pattern, line)))
}

fn is_match(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == line };
    let Some(line) = line.strip_prefix(start) else { return false };
    (0..=line.len()).any(|at| line.is_char_boundary(at) && is_match(rest, &line[at..]))
}

fn of_read(group: &str, before: &Json, after: &Json) -> Vec<String> {
    let differs = |name: &str| before[name] != after[name];
    let requests = (differs("requests")).then(|| format!("request of {group}"));
    let items = (differs("items")).then(|| format!("{ITEMS}{group}"));
    items.into_iter().chain(requests).collect()
}

fn of_write(before: &Json, after: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    if before["effects"] != after["effects"] {
        lines.push(EFFECTS.to_owned());
    }
    let then = |vector: &Json| vector["verdicts"][0]["then"].as_str().unwrap_or_default().to_owned();
    if then(before) != then(after) {
        lines.push(format!("{OUTCOME}{} is {}", then(before), then(after)));
    }
    let (was, is) = (actions(before), actions(after));
    lines.extend(removed(&was, &is).map(|key| format!("action removed: {} {}", was[key].0, kind_of(key))));
    lines.extend(removed(&is, &was).map(|key| format!("action added: {} {}", is[key].0, kind_of(key))));
    for (key, (verb, body)) in &is {
        let Some((verb_before, body_before)) = was.get(key) else { continue };
        let place = format!("{verb} {}", kind_of(key));
        if verb != verb_before {
            lines.push(format!("action changed: {place} was {verb_before}"));
        }
        let (was, is) = (parts(body_before), parts(body));
        lines.extend(was.iter().filter(|part| !is.contains(*part)).map(|part| format!("{place} without {part}")));
        lines.extend(is.iter().filter(|part| !was.contains(*part)).map(|part| format!("{place} with {part}")));
    }
    let (was, is) = (rows(before), rows(after));
    lines.extend(removed(&was, &is).map(|row| format!("row removed: {}", was[row])));
    lines.extend(removed(&is, &was).map(|row| format!("row added: {}", is[row])));
    lines
}

/// The keys of the first that the second lacks.
fn removed<'a, K: Ord, V>(of: &'a BTreeMap<K, V>, other: &'a BTreeMap<K, V>) -> impl Iterator<Item = &'a K> {
    of.keys().filter(|key| !other.contains_key(*key))
}

/// An item's keys.
type ItemKey = (String, String);

/// The actions of a request by the keys of their items: what each does, and its body.
fn actions(vector: &Json) -> BTreeMap<ItemKey, (String, Json)> {
    list(vector, "request").filter_map(action).collect()
}

fn action(action: &Json) -> Option<(ItemKey, (String, Json))> {
    let (verb, body) = action.as_object()?.iter().next()?;
    let key = body.get("Key").or_else(|| body.get("Item"))?;
    let text = |name: &str| key[name]["S"].as_str().unwrap_or_default().to_owned();
    Some(((text("uuid"), text("type")), (verb.clone(), body.clone())))
}

fn list<'a>(vector: &'a Json, name: &str) -> impl Iterator<Item = &'a Json> {
    vector[name].as_array().into_iter().flatten()
}

/// The kinds of an item's keys, without ids.
fn kind_of((pk, sk): &ItemKey) -> String {
    format!("{} {}", pk.split('#').nth(1).unwrap_or(pk), sk.split('#').next().unwrap_or(sk))
}

/// What an action's body is made of: attributes with their kinds, clauses of the condition, parts of the update, and
/// values with their kinds.
fn parts(body: &Json) -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    let named = |parts: &mut BTreeSet<String>, what: &str, values: &Json| {
        for (name, value) in values.as_object().into_iter().flatten() {
            let kinds: Vec<&str> = value.as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect();
            parts.insert(format!("{what} {name} {}", kinds.join("")));
        }
    };
    named(&mut parts, "attribute", &body["Item"]);
    named(&mut parts, "value", &body["ExpressionAttributeValues"]);
    let condition = body["ConditionExpression"].as_str().unwrap_or_default();
    parts.extend(condition.split(" AND ").filter(|part| !part.is_empty()).map(|part| format!("clause {part}")));
    let mut section = "";
    let update = body["UpdateExpression"].as_str().unwrap_or_default();
    let update = update.replace(" SET ", ", SET ").replace(" REMOVE ", ", REMOVE ");
    for word in update.split(", ") {
        let verb = ["SET ", "REMOVE ", "ADD ", "DELETE "].into_iter().find(|verb| word.starts_with(verb));
        section = verb.unwrap_or(section);
        parts.insert(format!("update {section}{}", word.strip_prefix(section).unwrap_or(word)));
    }
    parts.remove("update ");
    parts
}

/// The rows of verdicts, but the first, in whatever order their actions are: each in full, and as a line.
fn rows(vector: &Json) -> BTreeMap<String, String> {
    let keys: Vec<Option<ItemKey>> = list(vector, "request").map(|one| Some(action(one)?.0)).collect();
    let row = |row: &Json| {
        let then = row["then"].as_str().unwrap_or_default();
        let (mut whole, mut short) = (BTreeSet::new(), BTreeSet::new());
        for (position, reason) in row["if"].as_object().into_iter().flatten() {
            let key = position.parse::<usize>().ok().and_then(|at| keys.get(at)?.clone()).unwrap_or_default();
            let reason_short = match reason.as_object().and_then(|reason| reason.iter().next()) {
                Some((base, change)) => {
                    let names = change.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
                    format!("{base} but {}", names.collect::<Vec<_>>().join(" and "))
                }
                None => reason.as_str().unwrap_or_default().to_owned(),
            };
            short.insert(format!("{} {reason_short}", kind_of(&key)));
            whole.insert(format!("{key:?} {reason}"));
        }
        let joined = |parts: BTreeSet<String>| parts.into_iter().collect::<Vec<_>>().join(", ");
        (format!("{} {then}", joined(whole)), format!("{}: {then}", joined(short)))
    };
    list(vector, "verdicts").skip(1).map(row).collect()
}
