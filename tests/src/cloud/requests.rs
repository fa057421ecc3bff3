//! The IAM requests for a call of DynamoDB: one for each table, index or action in it. Those of a transaction have its
//! operation in `dynamodb:EnclosingOperation`.

use super::iam::{Request, Unknown};
use super::refs::table_arn;
use crate::engine::other::TEST_TABLE_PREFIX;
use ledger_local::stack::TABLE_DEFAULT;
use serde_json::Value;
use std::collections::BTreeMap;

const ENCLOSING: &str = "dynamodb:enclosingoperation";

/// The IAM requests for a call.
///
/// # Errors
/// When the operation or its form is not supported.
pub fn of(operation: &str, body: &Value) -> Result<Vec<Request>, Unknown> {
    match operation {
        "GetItem" | "PutItem" | "UpdateItem" | "DeleteItem" => Ok(vec![plain(operation, table(body)?)]),
        "Query" | "Scan" => {
            let index = body["IndexName"].as_str().map_or_else(String::new, |index| format!("/index/{index}"));
            Ok(vec![plain(operation, table(body)? + &index)])
        }
        "BatchGetItem" | "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().filter(|tables| !tables.is_empty());
            let tables = tables.ok_or_else(|| Unknown(format!("{operation} of nothing")))?;
            Ok(tables.keys().map(|table| plain(operation, ledger_arn(table))).collect())
        }
        "TransactGetItems" | "TransactWriteItems" => {
            let actions = body["TransactItems"].as_array().filter(|actions| !actions.is_empty());
            let actions = actions.ok_or_else(|| Unknown(format!("{operation} of nothing")))?;
            actions.iter().map(|action| enclosed(operation, action)).collect()
        }
        other => Err(Unknown(format!("the call {other}"))),
    }
}

fn enclosed(operation: &str, action: &Value) -> Result<Request, Unknown> {
    let only = action.as_object().filter(|action| action.len() == 1).and_then(|action| action.iter().next());
    let (kind, of) = only.ok_or_else(|| Unknown(format!("{operation}: {action}")))?;
    let name = match (operation, kind.as_str()) {
        ("TransactGetItems", "Get") => "GetItem",
        ("TransactWriteItems", "Put") => "PutItem",
        ("TransactWriteItems", "Update") => "UpdateItem",
        ("TransactWriteItems", "Delete") => "DeleteItem",
        ("TransactWriteItems", "ConditionCheck") => "ConditionCheckItem",
        _ => return Err(Unknown(format!("{operation}: {kind}"))),
    };
    let context = BTreeMap::from([(ENCLOSING.to_owned(), vec![operation.to_owned()])]);
    Ok(Request { context, ..plain(name, table(of)?) })
}

fn plain(name: &str, resource: String) -> Request {
    Request { action: format!("dynamodb:{name}"), resource, context: BTreeMap::new() }
}

fn table(body: &Value) -> Result<String, Unknown> {
    body["TableName"].as_str().map(ledger_arn).ok_or_else(|| Unknown("a call without a table".to_owned()))
}

/// A test's table on another engine counts as the deployed one.
fn ledger_arn(table: &str) -> String {
    table_arn(if table.starts_with(TEST_TABLE_PREFIX) { TABLE_DEFAULT } else { table })
}
