//! `show`: prints items of a table, each attribute with its value and its meaning. It only reads.

use crate::items::{Change, FoundKind, ItemPages, PageFault};
use crate::opened::{OpenedTable, Place, PlaceError};
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::AttributeValue;
use ledger_core::dynamo::{Item, Value};
use ledger_core::journal::expanded;
use ledger_core::keys::{attr, sk};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use uuid::Uuid;

const UUID_BYTES: usize = 16;
/// What the meaning of bytes that are ids begins with.
const IDS: &str = "ids ";
const PERSONAL: &str = "(personal)";

/// The arguments of `show`.
#[derive(Debug, Clone)]
pub struct ShowCommand {
    /// The partition key.
    pub partition_key: String,
    /// The sort key; `None` prints every item of the partition.
    pub sort_key: Option<String>,
    /// Whether text of and about persons is printed, and what no page declares.
    pub is_personal: bool,
    /// The table.
    pub place: Place,
}

/// Why items could not be printed.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// A page cannot be read.
    #[error(transparent)]
    Page(#[from] PageFault),
    /// The table cannot be opened.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// There is no such item.
    #[error("no item has this key: {0}")]
    NoItem(String),
    /// The table could not be read.
    #[error("the table cannot be read: {0}")]
    Store(String),
}

/// An item as it is stored.
type Stored = HashMap<String, AttributeValue>;

/// Prints the items of a key or of a partition, one text for each.
///
/// # Errors
/// [`ShowError`] if there is none, or the table could not be read; its text says what to do.
pub async fn run(command: &ShowCommand, print: impl FnMut(&str)) -> Result<(), ShowError> {
    let pages = ItemPages::read()?;
    let opened = OpenedTable::open(&command.place).await?;
    let done = show(&opened, &pages, command, print).await;
    opened.close().await;
    done
}

async fn show(
    opened: &OpenedTable,
    pages: &ItemPages,
    command: &ShowCommand,
    mut print: impl FnMut(&str),
) -> Result<(), ShowError> {
    let partition = AttributeValue::S(command.partition_key.clone());
    if let Some(sort_key) = &command.sort_key {
        let get = opened.client.get_item().table_name(&opened.name).consistent_read(true);
        let get = get.key(attr::PK, partition).key(attr::SK, AttributeValue::S(sort_key.clone()));
        let answer = get.send().await.map_err(|error| ShowError::Store(DisplayErrorContext(error).to_string()))?;
        let none = || ShowError::NoItem(format!("{} {sort_key}", command.partition_key));
        print(&item_text(pages, answer.item.ok_or_else(none)?, command.is_personal));
        return Ok(());
    }
    let query = opened.client.query().table_name(&opened.name).consistent_read(true);
    let query = query.key_condition_expression("#pk = :pk").expression_attribute_names("#pk", attr::PK);
    let mut found = query.expression_attribute_values(":pk", partition).into_paginator().send();
    let mut is_empty = true;
    while let Some(page) = found.next().await {
        let page = page.map_err(|error| ShowError::Store(DisplayErrorContext(error).to_string()))?;
        for item in page.items.into_iter().flatten() {
            is_empty = false;
            print(&item_text(pages, item, command.is_personal));
        }
    }
    if is_empty { Err(ShowError::NoItem(command.partition_key.clone())) } else { Ok(()) }
}

/// An item as text: its kind, the parts of its key, and each attribute.
fn item_text(pages: &ItemPages, stored: Stored, is_personal: bool) -> String {
    let mut item = Item::new();
    // Types that the ledger never writes.
    let mut other = Vec::new();
    for (name, value) in stored {
        match read(value) {
            Some(value) => drop(item.insert(name, value)),
            None => other.push(name),
        }
    }
    let key = |name: &str| match item.get(name) {
        Some(Value::S(text)) => text.clone(),
        Some(Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_)) | None => String::new(),
    };
    let (partition_key, sort_key) = (key(attr::PK), key(attr::SK));
    let kind = pages.kind_of(&partition_key, &sort_key);
    let mut text = heading(kind.as_ref());
    let is_entry = [sk::TXN, sk::TXNREF].iter().any(|prefix| sort_key.starts_with(prefix));
    if is_entry {
        match expanded(item.clone()) {
            Ok(full) => item = full,
            Err(error) => drop(writeln!(text, "    It cannot be expanded: {error}.")),
        }
    }
    for (name, value) in &item {
        let row = kind.as_ref().and_then(|kind| pages.attribute(kind.section, name)).map(|(_, row)| row);
        let is_key = [attr::PK, attr::SK].contains(&name.as_str());
        let is_hidden = !is_key && row.is_none_or(|row| row.is_personal) && !is_personal;
        let are_ids = row.is_some_and(|row| row.meaning.starts_with(IDS));
        let shown = if is_hidden { PERSONAL.to_owned() } else { value_text(value, are_ids) };
        let _ = writeln!(text, "{name}: {shown}");
        let _ = match row {
            Some(row) if row.value.is_of(value) => {
                writeln!(text, "    {} ({})", without_links(row.meaning), change_text(row.change))
            }
            Some(_) => writeln!(text, "    The page declares another type."),
            None => writeln!(text, "    No page declares it."),
        };
    }
    for name in other {
        let _ = writeln!(text, "{name}: (a type that the ledger does not write)");
    }
    text
}

fn heading(kind: Option<&FoundKind<'_>>) -> String {
    let Some(kind) = kind else { return "An item of a kind that no page declares\n".to_owned() };
    let parts: Vec<String> = kind.parts.iter().map(|(name, part)| format!("{name} {part}")).collect();
    format!("{}: {}\n    {}\n", kind.section.name, parts.join(", "), without_links(&kind.section.prose))
}

fn change_text(change: Change) -> &'static str {
    match change {
        Change::Never => "never changes",
        Change::Once => "changes once",
        Change::Often => "changes often",
    }
}

/// A text of a page without the addresses of its links.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, label, after)) = link(rest) {
        plain.push_str(before);
        plain.push_str(label);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// The text before the first link, its label, and the text after it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("](")?;
    let (before, label) = before.rsplit_once('[')?;
    let (_, after) = rest.split_once(')')?;
    Some((before, label, after))
}

fn value_text(value: &Value, are_ids: bool) -> String {
    match value {
        Value::S(text) => text.clone(),
        Value::N(number) => number.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::B(bytes) if are_ids => {
            let ids = bytes.chunks(UUID_BYTES).map(|id| Uuid::from_slice(id).map_or_else(|_| hex::encode(id), text_of));
            ids.collect::<Vec<_>>().join(", ")
        }
        Value::B(bytes) => hex::encode(bytes),
        Value::L(list) => {
            format!("[{}]", list.iter().map(|value| value_text(value, are_ids)).collect::<Vec<_>>().join(", "))
        }
        Value::M(map) => {
            let members = map.iter().map(|(name, value)| format!("{name}: {}", value_text(value, are_ids)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

fn text_of(id: Uuid) -> String {
    id.to_string()
}

/// The value; `None` for a type that the ledger does not write.
fn read(value: AttributeValue) -> Option<Value> {
    Some(match value {
        AttributeValue::S(text) => Value::S(text),
        AttributeValue::N(number) => Value::N(number),
        AttributeValue::Bool(flag) => Value::Bool(flag),
        AttributeValue::B(bytes) => Value::B(bytes.into_inner()),
        AttributeValue::L(list) => Value::L(list.into_iter().map(read).collect::<Option<_>>()?),
        AttributeValue::M(map) => {
            let members = map.into_iter().map(|(name, value)| Some((name, read(value)?)));
            Value::M(members.collect::<Option<BTreeMap<_, _>>>()?)
        }
        AttributeValue::Bs(_) | AttributeValue::Ns(_) | AttributeValue::Ss(_) | AttributeValue::Null(_) => return None,
        // Types that a later SDK may add.
        AttributeValue::Unknown { .. } | _ => return None,
    })
}

#[cfg(test)]
mod tests;
