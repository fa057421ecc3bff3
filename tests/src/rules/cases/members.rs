//! Cases of a request's members.

use super::{Case, case, get, put, query, request, scan};
use crate::rules::Rule;
use serde_json::json;

pub(super) fn cases() -> Vec<Case> {
    vec![
        case(Rule::TableName, get(json!({"TableName": "ab"})), get(json!({}))),
        case(Rule::TableName, get(json!({"TableName": "eco/pay"})), get(json!({}))),
        case(Rule::LimitBelowOne, query(json!({"Limit": 0})), query(json!({"Limit": 1}))),
        case(Rule::LimitBelowOne, scan(json!({"Limit": 0})), scan(json!({"Limit": 1}))),
        case(Rule::SelectUnknown, query(json!({"Select": "ALL"})), query(json!({"Select": "ALL_ATTRIBUTES"}))),
        case(
            Rule::SelectWithProjection,
            query(json!({"Select": "ALL_ATTRIBUTES", "ProjectionExpression": "balance"})),
            query(json!({"Select": "SPECIFIC_ATTRIBUTES", "ProjectionExpression": "balance"})),
        ),
        case(
            Rule::SelectWithProjection,
            scan(json!({"Select": "COUNT", "ProjectionExpression": "balance"})),
            scan(json!({"Select": "COUNT"})),
        ),
        case(
            Rule::SelectWithoutProjection,
            query(json!({"Select": "SPECIFIC_ATTRIBUTES"})),
            query(json!({"Select": "SPECIFIC_ATTRIBUTES", "ProjectionExpression": "balance"})),
        ),
        case(
            Rule::SelectProjectedWithoutIndex,
            scan(json!({"Select": "ALL_PROJECTED_ATTRIBUTES"})),
            scan(json!({"Select": "ALL_PROJECTED_ATTRIBUTES", "IndexName": "due"})),
        ),
        case(Rule::SegmentWithoutTotal, scan(json!({"Segment": 0})), scan(json!({"Segment": 0, "TotalSegments": 1}))),
        case(
            Rule::SegmentWithoutTotal,
            scan(json!({"TotalSegments": 2})),
            scan(json!({"Segment": 1, "TotalSegments": 2})),
        ),
        case(
            Rule::SegmentBeyondTotal,
            scan(json!({"Segment": 2, "TotalSegments": 2})),
            scan(json!({"Segment": 1, "TotalSegments": 2})),
        ),
        case(
            Rule::LegacyParameter,
            get(json!({"AttributesToGet": ["balance"], "ProjectionExpression": "balance"})),
            get(json!({"ProjectionExpression": "balance"})),
        ),
        case(
            Rule::LegacyParameter,
            put(
                json!({"ConditionExpression": "attribute_exists(balance)", "Expected": {"balance": {"Exists": false}}}),
            ),
            put(json!({"ConditionExpression": "attribute_exists(balance)"})),
        ),
        case(Rule::ReturnValuesOfPut, put(json!({"ReturnValues": "ALL_NEW"})), put(json!({"ReturnValues": "ALL_OLD"}))),
        case(
            Rule::ReturnValuesOfPut,
            request("DeleteItem", json!({"Key": super::key()}), json!({"ReturnValues": "UPDATED_OLD"})),
            request("DeleteItem", json!({"Key": super::key()}), json!({"ReturnValues": "NONE"})),
        ),
        case(
            Rule::ReturnValuesOnFailure,
            put(json!({"ReturnValuesOnConditionCheckFailure": "ALL_NEW"})),
            put(json!({"ReturnValuesOnConditionCheckFailure": "ALL_OLD"})),
        ),
    ]
}
