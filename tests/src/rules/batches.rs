//! Checks requests with several items: transactions and batches.

use super::actions::{self, check_table};
use super::schema::TABLE;
use super::values;
use super::{Refusal, Rule, keys, reads};
use serde_json::Value as Json;
use std::collections::BTreeSet;

const ACTIONS_MAX: usize = 100;
const BATCH_KEYS_MAX: usize = 100;
const BATCH_WRITES_MAX: usize = 25;
const TOKEN_LENGTH_MAX: usize = 36;
const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Checks a transaction of writes.
///
/// # Errors
/// The first refusal.
pub(super) fn check_writes(body: &Json) -> Result<(), Refusal> {
    let items = transaction(body)?;
    check_token(body)?;
    let mut targets = Targets::default();
    for (at, item) in items.iter().enumerate() {
        let (kind, action) = only_action(item)?;
        if kind == "ConditionCheck" && action["ConditionExpression"].is_null() {
            return Err(Rule::TransactionConditionMissing.refusal(&[&(at + 1).to_string()]));
        }
        match kind {
            "Put" => actions::check_put(action)?,
            "Update" => actions::check_update(action)?,
            _ => actions::check_keyed(action)?,
        }
        targets.add(Rule::TransactionItemTwice, action, &action[if kind == "Put" { "Item" } else { "Key" }])?;
    }
    let bytes: usize =
        items.iter().filter_map(|item| only_action(item).ok()).map(|(_, action)| actions::size(action)).sum();
    if bytes > TRANSACTION_BYTES_MAX { Err(Rule::TransactionTooLarge.refusal(&[])) } else { Ok(()) }
}

/// Checks a transaction of reads.
///
/// # Errors
/// The first refusal.
pub(super) fn check_gets(body: &Json) -> Result<(), Refusal> {
    let mut targets = Targets::default();
    for item in transaction(body)? {
        let get = &item["Get"];
        reads::check_get(get)?;
        targets.add(Rule::TransactGetTwice, get, &get["Key"])?;
    }
    Ok(())
}

/// Checks a batch of reads.
///
/// # Errors
/// The first refusal.
pub(super) fn check_batch_get(body: &Json) -> Result<(), Refusal> {
    let tables = batch(body)?;
    for (table, entries) in tables {
        check_table(table)?;
        let wanted = entries["Keys"].as_array().map(Vec::as_slice).unwrap_or_default();
        if wanted.len() > BATCH_KEYS_MAX {
            return Err(Rule::BatchGetTooMany.refusal(&[table]));
        }
        let mut targets = Targets::default();
        for key in wanted {
            keys::check_key(key)?;
            targets.add(Rule::BatchGetTwice, &Json::Null, key)?;
        }
        reads::check_projection_alone(entries)?;
    }
    Ok(())
}

/// Checks a batch of writes.
///
/// # Errors
/// The first refusal.
pub(super) fn check_batch_write(body: &Json) -> Result<(), Refusal> {
    let tables = batch(body)?;
    let writes = |entries: &Json| entries.as_array().cloned().unwrap_or_default();
    if tables.iter().map(|(_, entries)| writes(entries).len()).sum::<usize>() > BATCH_WRITES_MAX {
        return Err(Rule::BatchWriteTooMany.refusal(&[]));
    }
    for (table, entries) in tables {
        check_table(table)?;
        let mut targets = Targets::default();
        for write in writes(entries) {
            let (item, key) = (&write["PutRequest"]["Item"], &write["DeleteRequest"]["Key"]);
            if item.is_null() {
                keys::check_key(key)?;
            } else {
                keys::check_item(item)?;
            }
            targets.add(Rule::BatchWriteTwice, &Json::Null, if item.is_null() { key } else { item })?;
        }
    }
    Ok(())
}

/// The items that a request names.
#[derive(Debug, Default)]
struct Targets(BTreeSet<[String; 3]>);

impl Targets {
    fn add(&mut self, rule: Rule, action: &Json, key: &Json) -> Result<(), Refusal> {
        let [partition, sort] = TABLE.both().map(|name| values::shown(&key[name]));
        let table = action["TableName"].as_str().unwrap_or_default().to_owned();
        if self.0.insert([table, partition, sort]) { Ok(()) } else { Err(rule.refusal(&[])) }
    }
}

fn transaction(body: &Json) -> Result<&[Json], Refusal> {
    let items = body["TransactItems"].as_array().map(Vec::as_slice).unwrap_or_default();
    match items.len() {
        0 => Err(Rule::TransactionLength.refusal(&["greater", "1"])),
        1..=ACTIONS_MAX => Ok(items),
        _ => Err(Rule::TransactionLength.refusal(&["less", "100"])),
    }
}

fn check_token(body: &Json) -> Result<(), Refusal> {
    let Some(token) = body["ClientRequestToken"].as_str() else { return Ok(()) };
    match token.chars().count() {
        0 => Err(Rule::RequestToken.refusal(&[token, "greater", "1"])),
        1..=TOKEN_LENGTH_MAX => Ok(()),
        _ => Err(Rule::RequestToken.refusal(&[token, "less", "36"])),
    }
}

fn only_action(item: &Json) -> Result<(&str, &Json), Refusal> {
    let mut actions = item.as_object().into_iter().flatten().filter(|(_, action)| !action.is_null());
    match (actions.next(), actions.next()) {
        (Some((kind, action)), None) => Ok((kind, action)),
        _ => Err(Rule::TransactionActions.refusal(&[])),
    }
}

fn batch(body: &Json) -> Result<Vec<(&String, &Json)>, Refusal> {
    let tables: Vec<_> = body["RequestItems"].as_object().into_iter().flatten().collect();
    if tables.is_empty() { Err(Rule::BatchEmpty.refusal(&[])) } else { Ok(tables) }
}
