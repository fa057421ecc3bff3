//! Checks the IAM requests that each call of DynamoDB makes.

use ledger_tests::cloud::iam::Request;
use ledger_tests::cloud::requests::of;
use serde_json::{Value, json};

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
