//! Requests that DynamoDB refuses without reading an item, and an emulator may accept: every request of the tests is
//! checked. [`RULES`] is the table of rules; `cases` has a refused and a similar allowed request for each.

mod actions;
mod batches;
pub mod cases;
mod conditions;
mod key_condition;
mod keys;
pub mod number;
mod placeholders;
mod reads;
pub mod reserved;
pub mod schema;
pub mod syntax;
mod table;
mod updates;
mod values;

pub use table::{CODE, PAGES, RULES, Refusal, Row, Rule};

use serde_json::{Value as Json, json};

/// Checks a request on the table or its indexes.
///
/// # Errors
/// DynamoDB's refusal.
///
/// # Panics
/// On an operation that the rules do not cover.
pub fn check(operation: &str, body: &Json) -> Result<(), Refusal> {
    match operation {
        "GetItem" => reads::check_get(body),
        "Query" => reads::check_query(body),
        "Scan" => reads::check_scan(body),
        "PutItem" => {
            actions::check_returned(body)?;
            actions::check_put(body)
        }
        "UpdateItem" => actions::check_update(body),
        "DeleteItem" => {
            actions::check_returned(body)?;
            actions::check_keyed(body)
        }
        "TransactWriteItems" => batches::check_writes(body),
        "TransactGetItems" => batches::check_gets(body),
        "BatchGetItem" => batches::check_batch_get(body),
        "BatchWriteItem" => batches::check_batch_write(body),
        other => panic!("no rules for the operation {other}"),
    }
}

/// The bytes of an item: of the names and values of its attributes.
#[must_use]
pub fn item_bytes(item: &Json) -> usize {
    item.as_object().map_or(0, values::item_size)
}

impl Refusal {
    /// The body of DynamoDB's error response, whose status is 400.
    #[must_use]
    pub fn body(&self) -> Json {
        json!({"__type": format!("com.amazon.coral.validate#{CODE}"), "message": self.message})
    }
}
