//! The layout of golden files: a JSON document as text, in lines of at most 120 characters unless a text is longer.
//!
//! A value that fits is on one line. Otherwise scalars and attributes of one scalar share lines, and every other member
//! begins a line. An object of one member opens and closes on its member's lines. A document has exactly one such text.

use serde_json::Value as Json;

const WIDTH: usize = 120;

/// Members that come before all others of their object, in this order; the others are in alphabetical order.
const FIRST: [&str; 7] =
    ["uuid", "type", "Key", "Item", "UpdateExpression", "KeyConditionExpression", "ConditionExpression"];

/// DynamoDB's kinds of values.
const KINDS: [&str; 10] = ["S", "N", "BOOL", "B", "L", "M", "NULL", "SS", "NS", "BS"];

/// The text of a document: its members in the given order, each on separate lines.
#[must_use]
pub fn document<'a>(members: impl IntoIterator<Item = (&'a str, &'a Json)>) -> String {
    let lines: Vec<String> = members.into_iter().map(|(name, value)| format!("  {}", member(name, value, 2))).collect();
    if lines.is_empty() {
        return "{}\n".to_owned();
    }
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// The text of any value.
#[must_use]
pub fn text(json: &Json) -> String {
    let mut out = String::new();
    write(json, 0, 0, &mut out);
    out.push('\n');
    out
}

/// The text of a value on one line.
#[must_use]
pub fn flat(json: &Json) -> String {
    let mut out = String::new();
    flat_within(json, usize::MAX, &mut out);
    out
}

/// Appends the text of a value on one line; false as soon as it is longer than `room` characters.
fn flat_within(json: &Json, room: usize, out: &mut String) -> bool {
    let is_within = |out: &str| out.len() <= room || out.chars().count() <= room;
    match json {
        Json::Object(map) if map.is_empty() => out.push_str("{}"),
        Json::Object(_) => {
            for (at, (name, value)) in members(json).into_iter().enumerate() {
                out.push_str(if at == 0 { "{ " } else { ", " });
                out.push_str(&label(name));
                if !flat_within(value, room, out) {
                    return false;
                }
            }
            out.push_str(" }");
        }
        Json::Array(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                if !flat_within(value, room, out) {
                    return false;
                }
            }
            out.push(']');
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {
            out.push_str(&json.to_string());
        }
    }
    is_within(out)
}

/// Panics at the first line where a file's text differs from its content in this layout.
pub fn assert_laid_out(file: &str, text: &str, laid_out: &str) {
    assert_same(&format!("{file} is in another layout"), text, laid_out);
    assert!(text == laid_out, "{file} is in another layout: its ends of lines");
}

/// Panics at the first line where two texts differ, with the lines around it.
pub fn assert_same(what: &str, got: &str, want: &str) {
    let differs = |(_, (got, want)): &(usize, (&str, &str))| got != want;
    let Some((at, _)) = got.lines().zip(want.lines()).enumerate().find(differs) else {
        assert_eq!(got.lines().count(), want.lines().count(), "{what}: the numbers of lines");
        return;
    };
    let around = |text: &str| text.lines().skip(at.saturating_sub(3)).take(7).collect::<Vec<_>>().join("\n");
    panic!("{what}, from line {}:\n-- got\n{}\n-- want\n{}", at + 1, around(got), around(want));
}

/// Writes `json` after `indent` columns; `taken` counts the characters that share its first line.
fn write(json: &Json, indent: usize, taken: usize, out: &mut String) {
    let mut line = String::new();
    if (indent + taken < WIDTH) && flat_within(json, WIDTH - indent - taken - 1, &mut line) {
        out.push_str(&line);
        return;
    }
    match json {
        Json::Object(map) if map.len() == 1 => {
            let (name, value) = members(json)[0];
            out.push_str("{ ");
            out.push_str(&label(name));
            write(value, indent, taken + 4 + label(name).chars().count(), out);
            out.push_str(" }");
        }
        Json::Object(_) => {
            let parts = members(json).into_iter().map(|(name, value)| (member(name, value, indent + 2), value));
            block(('{', '}'), parts, indent, out);
        }
        Json::Array(list) => {
            let parts = list.iter().map(|value| {
                let mut part = String::new();
                write(value, indent + 2, 0, &mut part);
                (part, value)
            });
            block(('[', ']'), parts, indent, out);
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => out.push_str(&json.to_string()),
    }
}

/// Writes parts between brackets; parts of one scalar share lines.
fn block<'a>(
    (open, close): (char, char),
    parts: impl Iterator<Item = (String, &'a Json)>,
    indent: usize,
    out: &mut String,
) {
    let mut lines: Vec<(String, bool)> = Vec::new();
    for (part, value) in parts {
        let is_short = is_short(value);
        match lines.last_mut() {
            Some((line, true)) if is_short && indent + 5 + line.chars().count() + part.chars().count() <= WIDTH => {
                line.push_str(", ");
                line.push_str(&part);
            }
            _ => lines.push((part, is_short)),
        }
    }
    let pad = " ".repeat(indent + 2);
    let lines: Vec<String> = lines.into_iter().map(|(line, _)| format!("{pad}{line}")).collect();
    out.push(open);
    out.push('\n');
    out.push_str(&lines.join(",\n"));
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    out.push(close);
}

/// Whether a value may share its line: a scalar, or an attribute value with one scalar.
fn is_short(json: &Json) -> bool {
    match json {
        Json::Object(map) => map.keys().all(|kind| KINDS.contains(&kind.as_str())) && has_one_scalar(json),
        Json::Array(_) | Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => has_one_scalar(json),
    }
}

fn has_one_scalar(json: &Json) -> bool {
    match json {
        Json::Object(map) => map.len() < 2 && map.values().all(has_one_scalar),
        Json::Array(list) => list.len() < 2 && list.iter().all(has_one_scalar),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
    }
}

fn member(name: &str, value: &Json, indent: usize) -> String {
    let mut out = label(name);
    let taken = out.chars().count();
    write(value, indent, taken, &mut out);
    out
}

fn label(name: &str) -> String {
    format!("{}: ", Json::from(name))
}

/// An object's members in the order of the layout.
fn members(json: &Json) -> Vec<(&str, &Json)> {
    let mut members: Vec<(&str, &Json)> =
        json.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value)).collect();
    let rank = |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
    members.sort_by_key(|(name, _)| (rank(name), *name));
    members
}
