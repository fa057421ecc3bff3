//! Cases of keys and values.

use super::{Case, Request, case, get, put, put_if};
use crate::rules::Rule;
use serde_json::{Value as Json, json};

const ITEM_BYTES_MAX: usize = 400 * 1024;

pub(super) fn cases() -> Vec<Case> {
    [keys(), index_keys(), numbers(), values()].concat()
}

fn with(attributes: Json) -> Request {
    put(json!({"Item": attributes}))
}

fn keys() -> Vec<Case> {
    let of_key =
        |partition: usize, sort: usize| json!({"uuid": {"S": "x".repeat(partition)}, "type": {"S": "x".repeat(sort)}});
    let read = |partition, sort| get(json!({"Key": of_key(partition, sort)}));
    let write = |partition, sort| with(of_key(partition, sort));
    vec![
        case(Rule::KeyMismatch, get(json!({"Key": {"type": null}})), get(json!({}))),
        case(Rule::KeyMismatch, get(json!({"Key": {"owner_pk": {"S": "a"}}})), get(json!({}))),
        case(Rule::KeyMismatch, get(json!({"Key": {"type": {"N": "1"}}})), get(json!({"Key": {"type": {"S": "1"}}}))),
        case(Rule::KeyEmpty, read(0, 1), read(1, 1)),
        case(Rule::KeyEmpty, write(1, 0), write(1, 1)),
        case(Rule::KeyEmpty, with(json!({"type": {"B": ""}})), with(json!({"type": {"S": "a"}}))),
        case(Rule::PartitionKeyTooLong, read(2049, 1), read(2048, 1)),
        case(Rule::PartitionKeyTooLong, write(2049, 1), write(2048, 1)),
        // The limit is in bytes, not in characters.
        case(
            Rule::PartitionKeyTooLong,
            with(json!({"uuid": {"S": "ñ".repeat(1025)}})),
            with(json!({"uuid": {"S": "ñ".repeat(1024)}})),
        ),
        case(Rule::SortKeyTooLong, read(1, 1025), read(1, 1024)),
        case(Rule::SortKeyTooLong, write(1, 1025), write(1, 1024)),
        case(Rule::KeyMissing, with(json!({"type": null})), with(json!({}))),
        case(Rule::KeyType, with(json!({"uuid": {"N": "1"}})), with(json!({"uuid": {"S": "1"}}))),
    ]
}

fn index_keys() -> Vec<Case> {
    let due = |value: Json| with(json!({"_due_pk": {"S": "demo#due#0"}, "_due_sk": value}));
    let owner = |bytes: usize| with(json!({"owner_pk": {"S": "x".repeat(bytes)}, "owner_sk": {"S": "a"}}));
    vec![
        case(Rule::IndexKeyType, due(json!({"N": "1"})), due(json!({"S": "1"}))),
        case(Rule::IndexKeyEmpty, due(json!({"S": ""})), due(json!({"S": "a"}))),
        case(Rule::IndexKeyTooLong, due(json!({"S": "x".repeat(1025)})), due(json!({"S": "x".repeat(1024)}))),
        case(Rule::IndexKeyTooLong, owner(2049), owner(2048)),
    ]
}

fn numbers() -> Vec<Case> {
    let number = |text: &str| with(json!({"balance": {"N": text}}));
    let nested = |text: &str| with(json!({"regional": {"M": {"aoba": {"N": text}}}}));
    let compared = |text: &str| put_if("balance = :v", json!({":v": {"N": text}}));
    let digits = |count: usize| format!("{}1", "9".repeat(count - 1));
    vec![
        case(Rule::NumberMalformed, number(""), number("0")),
        case(Rule::NumberMalformed, number("1,000"), number("1000")),
        case(Rule::NumberMalformed, compared("NaN"), compared("-0")),
        case(Rule::NumberTooLong, number(&digits(39)), number(&digits(38))),
        case(Rule::NumberTooLong, nested(&format!("0.{}", digits(39))), nested(&format!("0.{}", digits(38)))),
        case(Rule::NumberTooLong, compared(&digits(39)), compared(&format!("{}000", digits(38)))),
        case(Rule::NumberOverflow, number("1e126"), number("9.9e125")),
        case(Rule::NumberOverflow, number("-1e126"), number("-9.9e125")),
        case(Rule::NumberUnderflow, number("9.9e-131"), number("1e-130")),
    ]
}

fn values() -> Vec<Case> {
    let value = |value: Json| {
        let mut request = with(json!({}));
        request.body["Item"]["kept"] = value;
        request
    };
    let nested = |levels: usize| (1..levels).fold(json!({"S": "a"}), |inner, _| json!({"L": [inner]}));
    // The key's names and values have 28 bytes, and the attribute's name four.
    let of_size = |bytes: usize| with(json!({"type": {"S": "LARGE"}, "kept": {"S": "x".repeat(bytes - 28 - 4)}}));
    vec![
        case(Rule::ValueTypeCount, value(json!({})), value(json!({"S": ""}))),
        case(Rule::ValueTypeCount, value(json!({"S": "1", "N": "1"})), value(json!({"N": "1"}))),
        case(Rule::NullFalse, value(json!({"NULL": false})), value(json!({"NULL": true}))),
        case(Rule::SetEmpty, value(json!({"SS": []})), value(json!({"SS": [""]}))),
        case(Rule::SetEmpty, value(json!({"L": [{"NS": []}]})), value(json!({"L": []}))),
        case(Rule::SetEmpty, value(json!({"BS": []})), value(json!({"BS": ["AAE="]}))),
        case(Rule::SetTwice, value(json!({"SS": ["a", "a"]})), value(json!({"SS": ["a", "A"]}))),
        case(Rule::SetTwice, value(json!({"NS": ["1", "1.0"]})), value(json!({"NS": ["1", "1.1"]}))),
        case(Rule::ValueTooDeep, value(nested(33)), value(nested(32))),
        case(Rule::ItemTooLarge, of_size(ITEM_BYTES_MAX + 1), of_size(ITEM_BYTES_MAX)),
    ]
}
