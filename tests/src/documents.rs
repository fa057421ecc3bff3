//! The repository's Markdown documents, for tests that follow their links.

use crate::tree;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Folders whose files are named in documents by their path from the root.
const NAMED_FOLDERS: [&str; 7] = [".ci/", "crates/", "docs/", "events/", "functions/", "golden/", "tests/"];

/// Lists the Markdown files at the repository's root, below `docs`, and the golden vectors' README, in order.
#[must_use]
pub fn documents() -> Vec<PathBuf> {
    let root = tree::root();
    let entries = std::fs::read_dir(&root).unwrap_or_else(|error| panic!("{}: {error}", root.display()));
    let at_root = entries.map(|entry| entry.unwrap().path()).filter(|path| has_extension(path, "md"));
    let mut found: Vec<PathBuf> = at_root.chain(tree::files(&["docs"], "md")).collect();
    found.push(root.join("golden/README.md"));
    found.sort();
    found
}

/// Names each relative link of a document whose file or heading does not exist.
///
/// `read` gives the text of a document, or `None` if there is no such file.
#[must_use]
pub fn broken_links(document: &Path, read: impl Fn(&Path) -> Option<String>) -> Vec<String> {
    let text = read(document).unwrap_or_default();
    let prose = without_code(&text);
    let definitions = definitions(&prose);
    let mut broken: Vec<String> = undefined(&text, &definitions);
    let targets = inline_targets(&prose).into_iter().chain(definitions.into_values());
    for target in targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")) {
        let (path, anchor) = target.split_once('#').map_or((target.as_str(), None), |(path, of)| (path, Some(of)));
        let file = match path {
            "" => document.to_path_buf(),
            path => normalized(&document.parent().unwrap_or(Path::new("")).join(path)),
        };
        let is_there = match (anchor, has_extension(&file, "md")) {
            (Some(anchor), true) => read(&file).is_some_and(|text| anchors(&text).contains(anchor)),
            (Some(_) | None, _) => read(&file).is_some() || file.is_dir(),
        };
        if !is_there {
            broken.push(target);
        }
    }
    broken
}

/// Lists the paths in backticks that begin with a folder of the repository and are complete.
#[must_use]
pub fn named_paths(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let spans = code_spans(text).into_iter();
    spans
        .filter(|span| NAMED_FOLDERS.iter().any(|folder| span.starts_with(folder)) && span.chars().all(is_part))
        .collect()
}

/// The anchor of a heading as GitHub derives it, before a suffix for repeated headings.
#[must_use]
pub fn anchor(heading: &str) -> String {
    let mut heading = heading.to_lowercase();
    while let Some((before, rest)) = heading.split_once("](") {
        let after = rest.split_once(')').map_or("", |(_, after)| after);
        heading = format!("{before}{after}");
    }
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The anchors of a document's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeMap::<String, u32>::new();
    let mut anchors = BTreeSet::new();
    for line in unfenced(text).lines().filter(|line| line.starts_with('#')) {
        let anchor = anchor(line.trim_start_matches('#').trim());
        let before = seen.entry(anchor.clone()).or_default();
        anchors.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    anchors
}

/// The targets of `[label](target)`.
fn inline_targets(prose: &str) -> Vec<String> {
    let after = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    after.filter_map(|(target, _)| target.split_whitespace().next()).map(str::to_owned).collect()
}

/// The targets of `[label]: target`, by label.
fn definitions(prose: &str) -> BTreeMap<String, String> {
    let lines = prose.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    lines.map(|(label, target)| (label.to_owned(), target.trim().to_owned())).collect()
}

/// Links without a target to a path or to a decision (`[0001]`) that have no definition.
fn undefined(text: &str, definitions: &BTreeMap<String, String>) -> Vec<String> {
    let prose = unfenced(text);
    let labels = prose.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    let shortcuts = labels.filter(|(label, after)| {
        let is_path = label.len() > 2 && label.starts_with('`') && label.ends_with('`');
        let is_decision = label.len() == 4 && label.bytes().all(|b| b.is_ascii_digit());
        (is_path || is_decision) && !after.starts_with(['(', ':', '['])
    });
    let without = shortcuts.filter(|(label, _)| !definitions.contains_key(*label));
    without.map(|(label, _)| format!("[{label}]")).collect()
}

/// The text without fenced blocks.
fn unfenced(text: &str) -> String {
    let mut is_fenced = false;
    let mut kept = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// The text without fenced blocks and code spans, except code spans that are the whole label of a link.
fn without_code(text: &str) -> String {
    let prose = unfenced(text);
    let mut kept = String::new();
    for (position, part) in prose.split('`').enumerate() {
        let is_label = kept.ends_with('[');
        if position % 2 == 0 {
            kept.push_str(part);
        } else if is_label {
            kept.push_str(&format!("`{part}`"));
        }
    }
    kept
}

/// The code spans of a text, outside fenced blocks.
fn code_spans(text: &str) -> Vec<String> {
    let paragraphs = unfenced(text);
    let spans = paragraphs.split("\n\n").flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    spans.map(str::to_owned).collect()
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension == wanted)
}

/// A path without `.` and `..`.
fn normalized(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut so_far, part| {
        match part {
            Component::ParentDir => drop(so_far.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => so_far.push(part),
        }
        so_far
    })
}
