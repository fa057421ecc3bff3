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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn permissions(operation: &str, body: &Value) -> Vec<String> {
        let requests = of(operation, body).expect("a known call");
        let short = |request: Request| {
            let resource = request.resource.rsplit_once("table/").expect("a table").1.to_owned();
            let enclosing = request.context.into_values().flatten().collect::<String>();
            format!("{} {resource} {enclosing}", request.action).trim_end().to_owned()
        };
        requests.into_iter().map(short).collect()
    }

    #[test]
    fn each_table_index_and_action_of_a_call_needs_permission() {
        let of_table = json!({"TableName": "t"});
        assert_eq!(permissions("GetItem", &of_table), ["dynamodb:GetItem t"]);
        assert_eq!(permissions("UpdateItem", &of_table), ["dynamodb:UpdateItem t"]);
        assert_eq!(permissions("Query", &of_table), ["dynamodb:Query t"]);
        let of_index = json!({"TableName": "t", "IndexName": "due"});
        assert_eq!(permissions("Query", &of_index), ["dynamodb:Query t/index/due"]);
        let many = json!({"RequestItems": {"t": {}, "u": {}}});
        assert_eq!(permissions("BatchGetItem", &many), ["dynamodb:BatchGetItem t", "dynamodb:BatchGetItem u"]);
        let gets = json!({"TransactItems": [{"Get": of_table}]});
        assert_eq!(permissions("TransactGetItems", &gets), ["dynamodb:GetItem t TransactGetItems"]);
        let writes = json!({"TransactItems": [
            {"Put": of_table}, {"Update": of_table}, {"Delete": of_table}, {"ConditionCheck": of_table},
        ]});
        let expected = ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"];
        assert_eq!(
            permissions("TransactWriteItems", &writes),
            expected.map(|name| format!("dynamodb:{name} t TransactWriteItems"))
        );
    }

    #[test]
    fn unsupported_call_is_an_error() {
        for (operation, body) in [
            ("ExecuteStatement", json!({"Statement": "SELECT * FROM t"})),
            ("GetItem", json!({})),
            ("BatchGetItem", json!({"RequestItems": {}})),
            ("TransactWriteItems", json!({"TransactItems": []})),
            ("TransactWriteItems", json!({"TransactItems": [{"Get": {"TableName": "t"}}]})),
            ("TransactGetItems", json!({"TransactItems": [{"Put": {"TableName": "t"}}]})),
        ] {
            assert!(of(operation, &body).is_err(), "{operation}");
        }
    }
}
