//! Cases of updates.

use super::{Case, case, key_of, update};
use crate::rules::Rule;
use serde_json::{Value as Json, json};

pub(super) fn cases() -> Vec<Case> {
    let one = || json!({":v": {"N": "1"}});
    let text = |text: &str| json!({":v": {"S": text}});
    let set = |members: Json| json!({":v": members});
    let named = |expression: &str, name: &str, values: Json| {
        let mut request = update(expression, values);
        request.body["ExpressionAttributeNames"] = json!({"#n": name});
        request
    };
    let due = |value: &str| named("SET #n = :v", "_due_sk", text(value));
    // The item of this key is not used by other cases, because it is close to the size limit.
    let large = |bytes: usize| {
        let mut request = update("SET kept = :v", text(&"x".repeat(bytes)));
        request.body["Key"] = key_of("LARGE");
        request
    };
    vec![
        case(Rule::UpdateOfKey, named("SET #n = :v", "type", text("a")), named("SET #n = :v", "state", text("a"))),
        case(Rule::UpdateOfKey, named("REMOVE #n", "uuid", json!({})), named("REMOVE #n", "state", json!({}))),
        case(Rule::UpdateOfIndexKeyEmpty, due(""), due("a")),
        case(Rule::UpdateOfIndexKeyType, update("SET owner_pk = :v", one()), update("SET owner_pk = :v", text("a"))),
        case(Rule::IndexKeyTooLong, due(&"x".repeat(1025)), due(&"x".repeat(1024))),
        case(Rule::UpdateTooLarge, large(400 * 1024), large(399 * 1024)),
        case(
            Rule::SectionTwice,
            update("SET held = :v SET balance = :v", one()),
            update("SET held = :v, balance = :v", one()),
        ),
        case(
            Rule::SectionTwice,
            update("ADD held :v REMOVE kept ADD balance :v", one()),
            update("ADD held :v REMOVE kept SET balance = :v", one()),
        ),
        case(
            Rule::PathsOverlap,
            update("SET held = :v, held = :v", one()),
            update("SET held = :v, balance = :v", one()),
        ),
        case(
            Rule::PathsOverlap,
            update("SET held = :v ADD held :v", one()),
            update("SET held = :v ADD balance :v", one()),
        ),
        case(
            Rule::PathsOverlap,
            named("SET held = :v REMOVE #n", "held", one()),
            named("SET held = :v REMOVE #n", "state", one()),
        ),
        case(
            Rule::PathsOverlap,
            update("REMOVE kept, kept.inside[0]", json!({})),
            update("REMOVE kept, kept_too", json!({})),
        ),
        case(
            Rule::PathsConflict,
            update("REMOVE kept.inside, kept[0]", json!({})),
            update("REMOVE kept, kept_too", json!({})),
        ),
        case(
            Rule::UpdateFunction,
            update("SET held = size(kept)", json!({})),
            update("SET held = if_not_exists(held, :v)", one()),
        ),
        case(
            Rule::OperandType,
            update("SET held = if_not_exists(held, :v) + :v", text("1")),
            update("SET held = if_not_exists(held, :v) + :v", one()),
        ),
        case(
            Rule::OperandType,
            update("SET kept = list_append(if_not_exists(kept, :v), :v)", one()),
            update("SET kept = list_append(if_not_exists(kept, :v), :v)", set(json!({"L": []}))),
        ),
        case(Rule::AddOperand, update("ADD held :v", text("1")), update("ADD held :v", one())),
        case(
            Rule::DeleteOperand,
            update("DELETE marks :v", one()),
            update("DELETE marks :v", set(json!({"SS": ["a"]}))),
        ),
    ]
}
