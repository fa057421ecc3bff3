//! Reads the sections of the pages. Every line of a section has one of the forms below, so a malformed row is found.

use super::{AttributeType, Change, DeclaredAttribute, Section};

const TABLE_HEAD: [&str; 2] = ["| attribute | type | meaning | changes |", "|---|---|---|---|"];
const SEALED: &str = "Sealed. ";
const NOT_SEALED: &str = "Not sealed. ";
const NO_TTL: &str = "No `ttl`.";
const TTL: &str = "`ttl`: ";
const TTL_ATTRIBUTE: &str = "ttl";

/// What is wrong with a line of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("docs/architecture/{page}:{line}: {why}")]
pub struct PageFault {
    /// The page.
    pub page: &'static str,
    /// The line, from 1; of a whole section, that of its heading.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// A place in a page.
#[derive(Clone, Copy)]
struct At {
    page: &'static str,
    line: usize,
}

impl At {
    fn fault(self, why: impl Into<String>) -> PageFault {
        PageFault { page: self.page, line: self.line, why: why.into() }
    }
}

/// The sections of pages, by page and place.
pub(super) fn sections(pages: &[(&'static str, &'static str)]) -> Result<Vec<Section>, PageFault> {
    let mut sections = Vec::<(At, Section)>::new();
    for &(page, text) in pages {
        // Sections whose heading is a question explain the page.
        let mut is_read = false;
        for (number, line) in text.lines().enumerate() {
            let at = At { page, line: number.saturating_add(1) };
            if let Some(name) = line.strip_prefix("## ") {
                is_read = !name.ends_with('?');
                if is_read {
                    sections.push((at, named(name)));
                }
            } else if is_read && let Some((_, section)) = sections.last_mut() {
                read_line(line, section).map_err(|why| at.fault(why))?;
            }
        }
    }
    for (place, (at, section)) in sections.iter().enumerate() {
        if sections.iter().take(place).any(|(_, other)| other.name == section.name) {
            return Err(at.fault("a section of this name is there"));
        }
    }
    let all: Vec<Section> = sections.iter().map(|(_, section)| section.clone()).collect();
    sections.into_iter().map(|(at, section)| checked(section, &all).map_err(|why| at.fault(why))).collect()
}

fn named(name: &'static str) -> Section {
    Section {
        name,
        keys: Vec::new(),
        prose: String::new(),
        is_sealed: false,
        has_ttl: false,
        with: Vec::new(),
        attributes: Vec::new(),
    }
}

fn read_line(line: &'static str, section: &mut Section) -> Result<(), String> {
    // Definitions of links end a page.
    if line.is_empty() || line.starts_with('[') || TABLE_HEAD.contains(&line) {
        return Ok(());
    }
    if line.starts_with('|') {
        let row = row(line).ok_or("no row: write | `name` | type | meaning | never, once or often |")?;
        if section.attributes.iter().any(|other| other.name == row.name) {
            return Err(format!("`{}` is declared twice", row.name));
        }
        section.attributes.push(row);
        return Ok(());
    }
    if let Some(key) = key(line) {
        section.keys.push(key);
        return Ok(());
    }
    if !section.attributes.is_empty() {
        return Err("a section ends with its table".to_owned());
    }
    if !section.prose.is_empty() {
        section.prose.push(' ');
    }
    section.prose.push_str(line);
    Ok(())
}

/// `` `<partition key>` / `<sort key>` ``.
fn key(line: &'static str) -> Option<[&'static str; 2]> {
    let (partition, sort) = line.strip_prefix('`')?.strip_suffix('`')?.split_once("` / `")?;
    (!partition.contains('`') && !sort.contains('`')).then_some([partition, sort])
}

fn row(line: &'static str) -> Option<DeclaredAttribute> {
    let cells: Vec<&'static str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    let &[name, value, meaning, change] = cells.as_slice() else { return None };
    let (value, is_personal) = match value.strip_suffix(", personal") {
        Some(value) => (value, true),
        None => (value, false),
    };
    let value = match value {
        "text" => AttributeType::Text,
        "number" => AttributeType::Number,
        "flag" => AttributeType::Flag,
        "bytes" => AttributeType::Bytes,
        "list" => AttributeType::List,
        "map" => AttributeType::Map,
        "any" => AttributeType::Any,
        _ => return None,
    };
    let change = match change {
        "never" => Change::Never,
        "once" => Change::Once,
        "often" => Change::Often,
        _ => return None,
    };
    let name = name.strip_prefix('`')?.strip_suffix('`').filter(|name| !name.contains('`'))?;
    (!meaning.is_empty()).then_some(DeclaredAttribute { name, value, is_personal, meaning, change })
}

/// Reads what the prose of a kind says, and compares it with its attributes.
fn checked(mut section: Section, all: &[Section]) -> Result<Section, String> {
    section.with = shared(&section.prose);
    let with: Vec<&Section> = all.iter().filter(|other| section.with.iter().any(|name| name == other.name)).collect();
    if with.len() != section.with.len() || with.iter().any(|other| !other.keys.is_empty()) {
        return Err(format!("no such shared attributes: {}", section.with.join(", ")));
    }
    if section.keys.is_empty() {
        return if section.name.starts_with("Every ") { Ok(section) } else { Err("a kind has a key".to_owned()) };
    }
    let (is_sealed, rest) = match (section.prose.strip_prefix(SEALED), section.prose.strip_prefix(NOT_SEALED)) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Err("say first whether it is sealed: Sealed. or Not sealed.".to_owned()),
    };
    let has_ttl = match (rest.starts_with(NO_TTL), rest.starts_with(TTL)) {
        (true, _) => false,
        (false, true) => true,
        (false, false) => return Err("then say when it expires: No `ttl`. or `ttl`: ...".to_owned()),
    };
    if has_ttl != section.attributes.iter().any(|row| row.name == TTL_ATTRIBUTE) {
        return Err("the attribute `ttl` is declared exactly where the kind expires".to_owned());
    }
    let rows = || with.iter().flat_map(|other| &other.attributes).chain(&section.attributes);
    let is_outside = |row: &&DeclaredAttribute| !row.name.starts_with('_') && row.change != Change::Never;
    if is_sealed && let Some(row) = rows().find(is_outside) {
        return Err(format!("`{}` changes, and a seal covers it", row.name));
    }
    (section.is_sealed, section.has_ttl) = (is_sealed, has_ttl);
    Ok(section)
}

/// The names of the sections after each *With*: `With [every entry](items-entries.md#every-entry)`.
fn shared(prose: &str) -> Vec<String> {
    let links = prose.split("With [").skip(1).filter_map(|rest| rest.split_once(']'));
    let named = links.filter_map(|(name, _)| Some(format!("E{}", name.strip_prefix('e')?)));
    named.collect()
}
