//! Cases of queries, scans and reads of several items.

use super::{Case, Request, case, key, key_of, query, scan};
use crate::rules::Rule;
use crate::wire::TABLE;
use serde_json::{Value as Json, json};

pub(super) fn cases() -> Vec<Case> {
    [queries(), starts(), many()].concat()
}

fn of_index(changes: Json) -> Request {
    let mut request = query(json!({
        "IndexName": "by_owner",
        "KeyConditionExpression": "owner_pk = :pk",
        "ExpressionAttributeNames": null,
    }));
    super::merge(&mut request.body, changes);
    request
}

fn queries() -> Vec<Case> {
    let filter = |names: Json, filter: &str| {
        json!({
            "FilterExpression": filter,
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": {":v": {"S": "a"}},
        })
    };
    let by = |name: &str, expression: &str| filter(json!({"#n": name}), expression);
    vec![
        case(Rule::FilterOnKey, query(by("type", "#n > :v")), query(by("state", "#n > :v"))),
        case(Rule::FilterOnKey, query(by("uuid", "contains(#n, :v)")), scan(by("uuid", "contains(#n, :v)"))),
        case(
            Rule::FilterOnKey,
            query(by("type", "held = :v OR NOT (size(#n) = :v)")),
            scan(by("type", "held = :v OR NOT (size(#n) = :v)")),
        ),
        // An index's keys are those of the index, not of the table.
        case(Rule::FilterOnKey, of_index(by("owner_sk", "#n > :v")), of_index(by("type", "#n > :v"))),
        case(Rule::IndexUnknown, query(json!({"IndexName": "by_merchant"})), query(json!({}))),
        case(
            Rule::IndexConsistent,
            of_index(json!({"ConsistentRead": true})),
            of_index(json!({"ConsistentRead": false})),
        ),
        case(
            Rule::IndexConsistent,
            scan(json!({"IndexName": "due", "ConsistentRead": true})),
            scan(json!({"ConsistentRead": true})),
        ),
        case(
            Rule::ProjectionOverlap,
            query(json!({"ProjectionExpression": "fence, fence.phase"})),
            query(json!({"ProjectionExpression": "fence.phase, fence.truth"})),
        ),
    ]
}

fn starts() -> Vec<Case> {
    let after = |key: Json| query(json!({"ExclusiveStartKey": key}));
    let in_index = |partition: &str| json!({"owner_pk": {"S": partition}, "owner_sk": {"S": "a"}});
    let of_item = |key: Json| {
        let mut start = super::key();
        super::merge(&mut start, key);
        of_index(json!({"ExclusiveStartKey": start}))
    };
    let below = |start: &str| {
        let mut request = super::query_sort_keys("#sk <= :v", json!({":v": {"S": "b"}}));
        super::merge(&mut request.body, json!({"ExclusiveStartKey": key_of(start)}));
        request
    };
    vec![
        case(Rule::StartKeyInvalid, after(json!({"uuid": {"S": "demo#customer#1"}})), after(key())),
        case(
            Rule::StartKeyInvalid,
            of_index(json!({"ExclusiveStartKey": key()})),
            of_item(in_index("demo#customer#1")),
        ),
        case(Rule::StartKeyInvalid, after(key_of("")), after(key_of("a"))),
        case(
            Rule::StartKeyInvalid,
            scan(json!({"ExclusiveStartKey": {"uuid": {"S": "a"}, "type": {"N": "1"}}})),
            scan(json!({"ExclusiveStartKey": {"uuid": {"S": "a"}, "type": {"S": "1"}}})),
        ),
        case(
            Rule::StartKeyOutside,
            after(json!({"uuid": {"S": "demo#customer#2"}, "type": {"S": "a"}})),
            after(key_of("a")),
        ),
        case(Rule::StartKeyOutside, of_item(in_index("demo#merchant#2")), of_item(in_index("demo#customer#1"))),
        case(Rule::StartKeyUnmatched, below("c"), below("a")),
    ]
}

fn many() -> Vec<Case> {
    let keys = |count: usize| (0..count).map(|at| key_of(&format!("TXN#{at}"))).collect::<Vec<_>>();
    let batch = |keys: Vec<Json>| Request {
        operation: "BatchGetItem",
        body: json!({"RequestItems": {TABLE: {"ConsistentRead": true, "Keys": keys}}}),
    };
    let gets = |keys: Vec<Json>| Request {
        operation: "TransactGetItems",
        body: json!({
            "TransactItems": keys.into_iter().map(|key| json!({"Get": {"TableName": TABLE, "Key": key}})).collect::<Vec<_>>(),
        }),
    };
    vec![
        case(
            Rule::BatchEmpty,
            Request { operation: "BatchGetItem", body: json!({"RequestItems": {}}) },
            batch(keys(1)),
        ),
        case(Rule::BatchGetTooMany, batch(keys(101)), batch(keys(100))),
        case(Rule::BatchGetTwice, batch(vec![key_of("a"), key_of("a")]), batch(vec![key_of("a"), key_of("A")])),
        case(Rule::TransactGetTwice, gets(vec![key_of("a"), key_of("a")]), gets(vec![key_of("a"), key_of("A")])),
        case(Rule::TransactionLength, gets(keys(101)), gets(keys(100))),
        case(Rule::KeyEmpty, gets(vec![key_of("")]), gets(vec![key_of("a")])),
    ]
}
