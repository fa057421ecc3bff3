//! Cases of functions and operands of conditions.

use super::{Case, case, put_if, scan, update};
use crate::rules::Rule;
use serde_json::{Value as Json, json};

pub(super) fn cases() -> Vec<Case> {
    [functions(), comparisons()].concat()
}

fn text() -> Json {
    json!({":v": {"S": "a"}})
}

fn number() -> Json {
    json!({":v": {"N": "1"}})
}

fn functions() -> Vec<Case> {
    vec![
        case(
            Rule::FunctionUnknown,
            put_if("starts_with(state_of, :v)", text()),
            put_if("begins_with(state_of, :v)", text()),
        ),
        case(
            Rule::FunctionUnknown,
            put_if("ATTRIBUTE_EXISTS(held)", json!({})),
            put_if("attribute_exists(held)", json!({})),
        ),
        case(
            Rule::FunctionUnknown,
            update("SET held = coalesce(held, :v)", number()),
            update("SET held = if_not_exists(held, :v)", number()),
        ),
        case(
            Rule::FunctionMisplaced,
            put_if("held = if_not_exists(held, :v)", number()),
            put_if("held = :v", number()),
        ),
        case(
            Rule::Syntax,
            put_if("attribute_exists(held) = :v", json!({":v": {"BOOL": true}})),
            put_if("attribute_exists(held)", json!({})),
        ),
        case(
            Rule::OperandCount,
            put_if("begins_with(state_of)", json!({})),
            put_if("begins_with(state_of, :v)", text()),
        ),
        case(
            Rule::OperandCount,
            put_if("attribute_exists(held, balance)", json!({})),
            put_if("attribute_exists(held)", json!({})),
        ),
        case(Rule::OperandCount, put_if("size(held, balance) > :v", number()), put_if("size(held) > :v", number())),
        case(
            Rule::OperandCount,
            update("SET held = list_append(held)", json!({})),
            update("SET held = list_append(:v, :v)", json!({":v": {"L": []}})),
        ),
        case(Rule::OperandNotPath, put_if("attribute_exists(:v)", text()), put_if("attribute_exists(held)", json!({}))),
        case(
            Rule::OperandNotPath,
            update("SET held = if_not_exists(:v, :v)", number()),
            update("SET held = if_not_exists(held, :v)", number()),
        ),
        case(
            Rule::OperandType,
            put_if("begins_with(state_of, :v)", number()),
            put_if("begins_with(state_of, :v)", text()),
        ),
        case(Rule::OperandType, put_if("size(:v) > :v", number()), put_if("size(held) > :v", number())),
        case(
            Rule::OperandType,
            put_if("attribute_type(held, :v)", number()),
            put_if("attribute_type(held, :v)", json!({":v": {"S": "N"}})),
        ),
        case(
            Rule::AttributeTypeUnknown,
            put_if("attribute_type(held, :v)", json!({":v": {"S": "NUMBER"}})),
            put_if("attribute_type(held, :v)", json!({":v": {"S": "N"}})),
        ),
        case(
            Rule::OperandsSame,
            put_if("contains(held, held)", json!({})),
            put_if("contains(held, balance)", json!({})),
        ),
    ]
}

fn comparisons() -> Vec<Case> {
    let listed = |count: usize| put_if(&format!("held IN ({})", vec![":v"; count].join(",")), number());
    let bounds = |low: Json, high: Json| put_if("held BETWEEN :low AND :high", json!({":low": low, ":high": high}));
    let number_bounds = |low: &str, high: &str| bounds(json!({"N": low}), json!({"N": high}));
    let filter = |low: &str, high: &str| {
        let values = json!({":low": {"S": low}, ":high": {"S": high}});
        scan(json!({"FilterExpression": "the_date BETWEEN :low AND :high", "ExpressionAttributeValues": values}))
    };
    vec![
        case(Rule::OperandsSame, put_if("held = held", json!({})), put_if("held = balance", json!({}))),
        case(
            Rule::OperandType,
            put_if("held < :v", json!({":v": {"BOOL": true}})),
            put_if("held = :v", json!({":v": {"BOOL": true}})),
        ),
        case(
            Rule::OperandType,
            bounds(json!({"L": []}), json!({"L": []})),
            bounds(json!({"B": "AAE="}), json!({"B": "AAI="})),
        ),
        case(Rule::InTooManyOperands, listed(101), listed(100)),
        case(Rule::BetweenTypes, bounds(json!({"N": "1"}), json!({"S": "2"})), number_bounds("1", "2")),
        case(Rule::BetweenInverted, number_bounds("10", "9"), number_bounds("9", "10")),
        case(Rule::BetweenInverted, number_bounds("-1", "-1.5"), number_bounds("-1.5", "-1")),
        case(Rule::BetweenInverted, filter("b", "a"), filter("a", "a")),
        case(
            Rule::BetweenInverted,
            bounds(json!({"B": "AAI="}), json!({"B": "AAE="})),
            bounds(json!({"B": "AAE="}), json!({"B": "AAI="})),
        ),
    ]
}
