//! Cases of placeholders, and of rules for all expressions.

use super::{Case, case, get, put, put_if, query, scan, update};
use crate::rules::Rule;
use serde_json::json;

const TWO_MEGABYTES: usize = 2 * 1024 * 1024;

pub(super) fn cases() -> Vec<Case> {
    [placeholders(), forms()].concat()
}

fn placeholders() -> Vec<Case> {
    let one = json!({":v": {"N": "1"}});
    let named = |name: &str| {
        let names = json!({name: "balance"});
        get(json!({"ProjectionExpression": name, "ExpressionAttributeNames": names}))
    };
    let (longest, too_long) = ("n".repeat(254), "n".repeat(255));
    // The size counts `:v` and its value.
    let of_size = |bytes: usize| put_if("balance = :v", json!({":v": {"S": "x".repeat(bytes - 2)}}));
    vec![
        case(
            Rule::NamesEmpty,
            get(json!({"ProjectionExpression": "balance", "ExpressionAttributeNames": {"#b": null}})),
            get(json!({"ProjectionExpression": "balance"})),
        ),
        case(
            Rule::ValuesEmpty,
            put(json!({"ConditionExpression": "attribute_exists(balance)", "ExpressionAttributeValues": {":v": null}})),
            put(json!({"ConditionExpression": "attribute_exists(balance)"})),
        ),
        case(Rule::NamesWithoutExpression, get(json!({"ExpressionAttributeNames": {"#b": "balance"}})), named("#b")),
        case(
            Rule::ValuesWithoutExpression,
            put(json!({"ExpressionAttributeValues": one})),
            put_if("balance = :v", one.clone()),
        ),
        case(
            Rule::ValuesWithoutExpression,
            scan(json!({"ProjectionExpression": "balance", "ExpressionAttributeValues": one})),
            scan(
                json!({"ProjectionExpression": "balance", "FilterExpression": "held = :v", "ExpressionAttributeValues": one}),
            ),
        ),
        case(Rule::NameSyntax, named("balance"), named("#balance")),
        case(Rule::NameSyntax, named("#the-balance"), named("#the_balance")),
        case(
            Rule::ValueSyntax,
            put_if("balance = :v", json!({":v": {"N": "1"}, "w": {"N": "1"}})),
            put_if("balance IN (:v, :w)", json!({":v": {"N": "1"}, ":w": {"N": "1"}})),
        ),
        case(Rule::PlaceholderTooLong, named(&format!("#{too_long}")), named(&format!("#{longest}"))),
        case(
            Rule::PlaceholderTooLong,
            put_if(&format!("balance = :{too_long}"), json!({format!(":{too_long}"): {"N": "1"}})),
            put_if(&format!("balance = :{longest}"), json!({format!(":{longest}"): {"N": "1"}})),
        ),
        case(Rule::SubstitutionsTooLarge, of_size(TWO_MEGABYTES + 1), of_size(TWO_MEGABYTES)),
        case(
            Rule::NameUndefined,
            get(json!({"ProjectionExpression": "#b, #h", "ExpressionAttributeNames": {"#b": "balance"}})),
            get(json!({"ProjectionExpression": "#b, #h", "ExpressionAttributeNames": {"#b": "balance", "#h": "held"}})),
        ),
        case(
            Rule::ValueUndefined,
            put_if("balance = :v OR held = :w", one.clone()),
            put_if("balance = :v OR held = :v", one.clone()),
        ),
        case(
            Rule::ValueUndefined,
            update("SET balance = :v + :w", one.clone()),
            update("SET balance = :v", one.clone()),
        ),
        case(
            Rule::NameUnused,
            query(json!({"ExpressionAttributeNames": {"#sk": "type"}})),
            query(json!({"ExpressionAttributeNames": {"#sk": "type"}, "ProjectionExpression": "#sk"})),
        ),
        case(
            Rule::ValueUnused,
            query(json!({"ExpressionAttributeValues": {":v": {"N": "1"}}})),
            query(json!({"ExpressionAttributeValues": {":v": {"N": "1"}}, "FilterExpression": "balance > :v"})),
        ),
        case(
            Rule::ValueUnused,
            update("SET balance = :v", json!({":v": {"N": "1"}, ":w": {"N": "1"}})),
            update("SET balance = :v, held = :w", json!({":v": {"N": "1"}, ":w": {"N": "1"}})),
        ),
    ]
}

fn forms() -> Vec<Case> {
    let one = json!({":v": {"N": "1"}});
    let padded = |length: usize| put_if(&format!("{:<length$}", "balance = :v"), json!({":v": {"N": "1"}}));
    // Comparisons joined by OR, one operator each, with a NOT before the first `nots`.
    let operators = |nots: usize| {
        let comparison = |at: usize| format!("{}balance=:v", if at < nots { "NOT " } else { "" });
        put_if(&(0..150).map(comparison).collect::<Vec<_>>().join(" OR "), json!({":v": {"N": "1"}}))
    };
    // Each has two operators.
    let sums = |others: &str| {
        let sums = (0..150).map(|at| format!("a{at}=:v+:v")).collect::<Vec<_>>().join(",");
        update(&format!("SET {sums}{others}"), json!({":v": {"N": "1"}}))
    };
    let deep = |steps: usize| get(json!({"ProjectionExpression": format!("a{}", ".b".repeat(steps - 1))}));
    vec![
        case(Rule::ExpressionEmpty, put_if("", json!({})), put_if("attribute_exists(balance)", json!({}))),
        case(Rule::ExpressionEmpty, get(json!({"ProjectionExpression": ""})), get(json!({}))),
        case(Rule::ExpressionTooLong, padded(4097), padded(4096)),
        case(Rule::Syntax, put_if("balance = = :v", one.clone()), put_if("balance = :v", one.clone())),
        case(Rule::Syntax, put_if("balance == :v", one.clone()), put_if("balance <= :v", one.clone())),
        case(Rule::Syntax, put_if("balance != :v", one.clone()), put_if("balance <> :v", one.clone())),
        case(Rule::Syntax, put_if("(balance = :v", one.clone()), put_if("(balance = :v)", one.clone())),
        case(Rule::Syntax, put_if("balance = 1", json!({})), put_if("balance = :v", one.clone())),
        case(Rule::Syntax, update("balance = :v", one.clone()), update("SET balance = :v", one.clone())),
        case(
            Rule::Syntax,
            update("SET balance = :v,", one.clone()),
            update("SET balance = :v, held = :v", one.clone()),
        ),
        case(
            Rule::Syntax,
            update("SET balance = :v + :v - :v", one.clone()),
            update("SET balance = :v + (:v - :v)", one.clone()),
        ),
        case(
            Rule::Syntax,
            get(json!({"ProjectionExpression": "balance,"})),
            get(json!({"ProjectionExpression": "balance"})),
        ),
        case(
            Rule::ReservedWord,
            put_if("attribute_exists(type)", json!({})),
            put(json!({"ConditionExpression": "attribute_exists(#sk)", "ExpressionAttributeNames": {"#sk": "type"}})),
        ),
        case(Rule::ReservedWord, update("SET State = :v", one.clone()), update("SET the_state = :v", one.clone())),
        case(
            Rule::ReservedWord,
            get(json!({"ProjectionExpression": "fence.role"})),
            get(json!({"ProjectionExpression": "fence.the_role"})),
        ),
        case(
            Rule::ReservedWord,
            query(json!({"KeyConditionExpression": "uuid = :pk", "ExpressionAttributeNames": null})),
            query(json!({})),
        ),
        case(
            Rule::RedundantParentheses,
            put_if("((balance = :v))", one.clone()),
            put_if("(balance = :v)", one.clone()),
        ),
        case(Rule::TooManyOperators, operators(2), operators(1)),
        case(Rule::TooManyOperators, sums(", held = :v"), sums("")),
        case(Rule::PathTooDeep, deep(33), deep(32)),
    ]
}
