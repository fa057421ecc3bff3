//! Cases of transactions and batches of writes.

use super::{Case, Request, case, key, key_of, put_action, transaction};
use crate::rules::Rule;
use crate::wire::TABLE;
use serde_json::{Value as Json, json};

pub(super) fn cases() -> Vec<Case> {
    [transactions(), batches()].concat()
}

fn transactions() -> Vec<Case> {
    let puts = |count: usize| transaction((0..count).map(|at| put_action(&format!("TXN#{at}"), json!({}))).collect());
    let large = |count: usize| {
        let text = "x".repeat(390 * 1024);
        transaction((0..count).map(|at| put_action(&format!("TXN#{at}"), json!({"kept": {"S": text}}))).collect())
    };
    let token = |length: usize| {
        let mut request = puts(1);
        request.body["ClientRequestToken"] = json!("t".repeat(length));
        request
    };
    let check = |condition: Json| {
        let mut check = json!({"TableName": TABLE, "Key": key()});
        super::merge(&mut check, condition);
        json!({"ConditionCheck": check})
    };
    let exists = || json!({"ConditionExpression": "attribute_exists(balance)"});
    let delete = |sort: &str| json!({"Delete": {"TableName": TABLE, "Key": key_of(sort)}});
    let both = json!({"Put": put_action("a", json!({}))["Put"], "Delete": delete("b")["Delete"]});
    vec![
        case(Rule::TransactionLength, transaction(Vec::new()), puts(1)),
        case(Rule::TransactionLength, puts(101), puts(100)),
        case(
            Rule::TransactionActions,
            transaction(vec![both]),
            transaction(vec![put_action("a", json!({})), delete("b")]),
        ),
        case(
            Rule::TransactionConditionMissing,
            transaction(vec![check(json!({}))]),
            transaction(vec![check(exists())]),
        ),
        case(
            Rule::TransactionItemTwice,
            transaction(vec![check(exists()), put_action("PROFILE", json!({}))]),
            transaction(vec![check(exists()), put_action("METRICS", json!({}))]),
        ),
        case(
            Rule::TransactionItemTwice,
            transaction(vec![delete("a"), delete("a")]),
            transaction(vec![delete("a"), delete("b")]),
        ),
        case(Rule::TransactionTooLarge, large(11), large(10)),
        case(Rule::RequestToken, token(0), token(1)),
        case(Rule::RequestToken, token(37), token(36)),
        case(
            Rule::ItemTooLarge,
            transaction(vec![put_action("a", json!({"kept": {"S": "x".repeat(400 * 1024)}}))]),
            transaction(vec![put_action("a", json!({"kept": {"S": "x".repeat(399 * 1024)}}))]),
        ),
    ]
}

fn batches() -> Vec<Case> {
    let batch =
        |writes: Vec<Json>| Request { operation: "BatchWriteItem", body: json!({"RequestItems": {TABLE: writes}}) };
    let put = |sort: &str| json!({"PutRequest": {"Item": key_of(sort)}});
    let delete = |sort: &str| json!({"DeleteRequest": {"Key": key_of(sort)}});
    let puts = |count: usize| batch((0..count).map(|at| put(&format!("TXN#{at}"))).collect());
    vec![
        case(Rule::BatchEmpty, Request { operation: "BatchWriteItem", body: json!({"RequestItems": {}}) }, puts(1)),
        case(Rule::BatchWriteTooMany, puts(26), puts(25)),
        case(Rule::BatchWriteTwice, batch(vec![put("a"), delete("a")]), batch(vec![put("a"), delete("b")])),
    ]
}
