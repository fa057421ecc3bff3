//! Cases of key conditions.

use super::{Case, Request, case, due_from_an_empty_bound, query, query_sort_keys};
use crate::rules::Rule;
use serde_json::{Value as Json, json};

pub(super) fn cases() -> Vec<Case> {
    [forms(), bounds()].concat()
}

fn text() -> Json {
    json!({":v": {"S": "a"}})
}

/// A query with this key condition.
fn query_where(condition: &str, values: Json) -> Request {
    let names = if condition.contains("#sk") { json!({"#sk": "type"}) } else { json!({}) };
    let mut changes = json!({"KeyConditionExpression": condition, "ExpressionAttributeValues": values});
    if condition.contains("#sk") {
        changes["ExpressionAttributeNames"] = names;
    }
    query(changes)
}

fn forms() -> Vec<Case> {
    let below = || query_where("#pk = :pk AND #sk <= :v", text());
    vec![
        case(
            Rule::KeyConditionMissing,
            query(json!({
                "KeyConditionExpression": null, "ExpressionAttributeNames": null, "ExpressionAttributeValues": null,
            })),
            query(json!({})),
        ),
        case(
            Rule::KeyConditionOperator,
            query_where("#pk = :pk OR #sk = :v", text()),
            query_where("#pk = :pk AND #sk = :v", text()),
        ),
        case(Rule::KeyConditionOperator, query_where("#pk = :pk AND NOT #sk = :v", text()), below()),
        case(Rule::KeyConditionOperator, query_where("#pk = :pk AND #sk <> :v", text()), below()),
        case(Rule::KeyConditionOperator, query_where("#pk = :pk AND #sk IN (:v)", text()), below()),
        case(
            Rule::KeyConditionFunction,
            query_where("#pk = :pk AND contains(#sk, :v)", text()),
            query_where("#pk = :pk AND begins_with(#sk, :v)", text()),
        ),
        case(
            Rule::KeyConditionFunction,
            query_where("#pk = :pk AND attribute_exists(#sk)", json!({})),
            query_where("#pk = :pk", json!({})),
        ),
        case(
            Rule::KeyConditionFunction,
            query_where("#pk = :pk AND size(#sk) = :v", text()),
            query_where("#pk = :pk AND :v >= #sk", text()),
        ),
        case(
            Rule::KeyConditionNested,
            query_where("#pk = :pk AND #sk.a = :v", text()),
            query_where("#pk = :pk AND #sk = :v", text()),
        ),
        case(
            Rule::KeyConditionOperands,
            query_where("#pk = :pk AND #sk = #pk", json!({})),
            query_where("#pk = :pk AND #sk = :v", text()),
        ),
        case(
            Rule::KeyConditionTwice,
            query_where("#pk = :pk AND #sk >= :v AND #sk <= :v", text()),
            query_where("#pk = :pk AND #sk BETWEEN :v AND :v", text()),
        ),
        case(
            Rule::KeyConditionCount,
            query_where("#pk = :pk AND #sk = :v AND balance = :v", text()),
            query_where("#pk = :pk AND #sk = :v", text()),
        ),
        case(
            Rule::KeyConditionPartition,
            query(json!({
                "KeyConditionExpression": "#sk = :v",
                "ExpressionAttributeNames": {"#pk": null, "#sk": "type"},
                "ExpressionAttributeValues": {":pk": null, ":v": {"S": "a"}},
            })),
            query_where("#pk = :pk AND #sk = :v", text()),
        ),
        case(Rule::KeyConditionPartition, query(json!({"IndexName": "due"})), query(json!({}))),
        case(
            Rule::KeyConditionEquality,
            query_where("begins_with(#pk, :pk)", json!({})),
            query_where("#pk = :pk", json!({})),
        ),
        case(Rule::KeyConditionEquality, query_where("#pk >= :pk", json!({})), query_where(":pk = #pk", json!({}))),
        case(
            Rule::KeyConditionForeign,
            query_where("#pk = :pk AND balance = :v", text()),
            query_where("#pk = :pk AND #sk = :v", text()),
        ),
        case(
            Rule::KeyConditionType,
            query_where("#pk = :pk AND #sk = :v", json!({":v": {"N": "1"}})),
            query_where("#pk = :pk AND #sk = :v", text()),
        ),
        case(
            Rule::OperandType,
            query_where("#pk = :pk AND begins_with(#sk, :v)", json!({":v": {"N": "1"}})),
            query_where("#pk = :pk AND begins_with(#sk, :v)", text()),
        ),
    ]
}

fn bounds() -> Vec<Case> {
    let empty = || json!({":v": {"S": ""}});
    let between = |low: &str, high: &str| {
        query_sort_keys("#sk BETWEEN :low AND :high", json!({":low": {"S": low}, ":high": {"S": high}}))
    };
    let due_until = query(json!({
        "IndexName": "due",
        "KeyConditionExpression": "#pk = :pk AND #sk <= :high",
        "ExpressionAttributeNames": {"#pk": "_due_pk", "#sk": "_due_sk"},
        "ExpressionAttributeValues": {":high": {"S": "2026-11-22T00:00:00.000Z"}},
    }));
    let partition = |bytes: usize| query(json!({"ExpressionAttributeValues": {":pk": {"S": "x".repeat(bytes)}}}));
    let sort = |bytes: usize| query_sort_keys("#sk <= :v", json!({":v": {"S": "x".repeat(bytes)}}));
    vec![
        case(Rule::KeyConditionEmpty, due_from_an_empty_bound(), due_until),
        case(Rule::KeyConditionEmpty, query_sort_keys("#sk >= :v", empty()), query_sort_keys("#sk >= :v", text())),
        case(
            Rule::KeyConditionEmpty,
            query_sort_keys("begins_with(#sk, :v)", empty()),
            query_sort_keys("begins_with(#sk, :v)", text()),
        ),
        case(Rule::KeyConditionEmpty, partition(0), partition(1)),
        case(Rule::BetweenInverted, between("b", "a"), between("a", "b")),
        case(Rule::KeyConditionTooLong, partition(2049), partition(2048)),
        case(Rule::KeyConditionTooLong, sort(1025), sort(1024)),
    ]
}
