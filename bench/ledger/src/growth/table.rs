//! The table in the engine's file, which is filled by imports of many items while the next ones are made.

use dynoxide::{AttributeValue, Database, DynoxideError, ImportOptions};
use ledger_core::dynamo::{Item, Value};
use ledger_tests::engine::create_request;
use ledger_tests::wire::TABLE;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// How many items one import writes.
const IMPORT_ITEMS: usize = 5_000;
/// How many imports wait at most.
const IMPORTS_WAITING_MAX: usize = 4;

/// A table that is being filled.
#[derive(Debug)]
pub(super) struct Table {
    imports: SyncSender<Vec<Item>>,
    importer: JoinHandle<Result<u64, String>>,
    waiting: Vec<Item>,
}

impl Table {
    /// Creates the table in a new file.
    pub(super) fn create(file: &Path) -> Result<Self, String> {
        let path = file.to_str().ok_or("the directory's name is not UTF-8")?;
        let failed = |error: DynoxideError| format!("{path}: {error}");
        let database = Database::new(path).map_err(failed)?;
        let request = serde_json::from_value(create_request()).map_err(|error| error.to_string())?;
        let _ = database.create_table(request).map_err(failed)?;
        database.enable_bulk_loading().map_err(failed)?;
        let (imports, waiting) = sync_channel(IMPORTS_WAITING_MAX);
        let importer = thread::spawn(move || import(&database, &waiting));
        Ok(Self { imports, importer, waiting: Vec::new() })
    }

    /// Adds items; they are in the table after [`Table::finish`].
    pub(super) fn load(&mut self, items: Vec<Item>) -> Result<(), String> {
        self.waiting.extend(items);
        if self.waiting.len() >= IMPORT_ITEMS { self.send() } else { Ok(()) }
    }

    fn send(&mut self) -> Result<(), String> {
        let items = std::mem::take(&mut self.waiting);
        self.imports.send(items).map_err(|_| "the items cannot be loaded: an import before them failed".to_owned())
    }

    /// Waits until all items are in the table; returns their number.
    pub(super) fn finish(mut self) -> Result<u64, String> {
        let sent = self.send();
        drop(self.imports);
        let items = self.importer.join().map_err(|_| "the thread that imports panicked".to_owned())??;
        sent.map(|()| items)
    }
}

fn import(database: &Database, waiting: &Receiver<Vec<Item>>) -> Result<u64, String> {
    let failed = |error: DynoxideError| format!("the items cannot be loaded: {error}");
    let mut done = 0;
    for items in waiting {
        done += items.len() as u64;
        let items = items.into_iter().map(engine_item).collect();
        let _ = database.import_items(TABLE, items, ImportOptions::default()).map_err(failed)?;
    }
    database.disable_bulk_loading().map_err(failed)?;
    Ok(done)
}

fn engine_item(item: Item) -> dynoxide::Item {
    item.into_iter().map(|(name, value)| (name, engine_value(value))).collect()
}

fn engine_value(value: Value) -> AttributeValue {
    match value {
        Value::S(text) => AttributeValue::S(text),
        Value::N(number) => AttributeValue::N(number),
        Value::Bool(truth) => AttributeValue::BOOL(truth),
        Value::B(bytes) => AttributeValue::B(bytes),
        Value::L(list) => AttributeValue::L(list.into_iter().map(engine_value).collect()),
        Value::M(map) => AttributeValue::M(engine_item(map)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_types_in_the_engine() {
        let list = Value::L(vec![Value::Bool(true), Value::B(vec![1])]);
        let expected = AttributeValue::L(vec![AttributeValue::BOOL(true), AttributeValue::B(vec![1])]);
        assert_eq!(engine_value(list), expected);
    }
}
