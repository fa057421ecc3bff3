//! The text of a `TransactWriteItems` request, in DynamoDB's JSON.

use super::{Action, TransactItem};
use crate::dynamo::{Item, Placeholders, Value};
use crate::keys::attr;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a typical action's text.
const ACTION_BYTES: usize = 1024;

/// Returns the request that sends these actions to a table. `None` if an action uses one placeholder for two values or
/// attributes.
#[must_use]
pub fn request_text(actions: &[TransactItem], table: &str, token: &str) -> Option<String> {
    let mut text = String::with_capacity(actions.len().saturating_mul(ACTION_BYTES));
    text.push_str("{\"ClientRequestToken\":");
    string(&mut text, token);
    text.push_str(",\"TransactItems\":[");
    for (place, action) in actions.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        action.write_request(&mut text, table)?;
    }
    text.push_str("]}");
    Some(text)
}

impl TransactItem {
    fn write_request(&self, text: &mut String, table: &str) -> Option<()> {
        let mut placeholders = Placeholders::default();
        let mut expression = String::new();
        text.push_str(match &self.action {
            Action::Put(_) => "{\"Put\":{\"Item\":{",
            Action::Update(_) => "{\"Update\":{\"Key\":{",
            Action::Check => "{\"ConditionCheck\":{\"Key\":{",
        });
        key_attribute(text, attr::PK, self.key().pk());
        text.push(',');
        key_attribute(text, attr::SK, self.key().sk());
        if let Action::Put(item) = &self.action {
            for (name, attribute) in item.iter().filter(|(name, _)| *name != attr::PK && *name != attr::SK) {
                text.push(',');
                string(text, name);
                text.push(':');
                value(text, attribute);
            }
        }
        text.push('}');
        if let Action::Update(update) = &self.action {
            update.parts(&mut |part| placeholders.write(&mut expression, part));
            text.push_str(",\"UpdateExpression\":");
            string(text, &expression);
        }
        expression.clear();
        self.write_condition(&mut expression, &mut placeholders);
        if !expression.is_empty() {
            text.push_str(",\"ConditionExpression\":");
            string(text, &expression);
        }
        if placeholders.has_clash() {
            return None;
        }
        // DynamoDB refuses empty maps.
        if !placeholders.names().is_empty() {
            text.push_str(",\"ExpressionAttributeNames\":{");
            for (place, name) in placeholders.names().iter().enumerate() {
                placeholder_member(text, &mut expression, place, ('#', name));
                string(text, name);
            }
            text.push('}');
        }
        if !placeholders.values().is_empty() {
            text.push_str(",\"ExpressionAttributeValues\":{");
            for (place, (name, of)) in placeholders.values().iter().enumerate() {
                placeholder_member(text, &mut expression, place, (':', name));
                value(text, of);
            }
            text.push('}');
        }
        text.push_str(",\"TableName\":");
        string(text, table);
        text.push_str(",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"}}");
        Some(())
    }
}

fn key_attribute(text: &mut String, name: &str, key: &str) {
    string(text, name);
    text.push_str(":{\"S\":");
    string(text, key);
    text.push('}');
}

/// Writes a placeholder as the name of an object's member.
fn placeholder_member(text: &mut String, scratch: &mut String, place: usize, (sign, name): (char, &str)) {
    if place > 0 {
        text.push(',');
    }
    scratch.clear();
    Placeholders::push(scratch, sign, name);
    string(text, scratch);
    text.push(':');
}

/// Writes a value under the name of its type: `{"S":"text"}`.
fn value(text: &mut String, value_of: &Value) {
    match value_of {
        Value::S(of) => {
            text.push_str("{\"S\":");
            string(text, of);
        }
        Value::N(of) => {
            text.push_str("{\"N\":");
            string(text, of);
        }
        Value::Bool(of) => text.push_str(if *of { "{\"BOOL\":true" } else { "{\"BOOL\":false" }),
        Value::B(of) => {
            text.push_str("{\"B\":\"");
            STANDARD.encode_string(of, text);
            text.push('"');
        }
        Value::L(of) => {
            text.push_str("{\"L\":[");
            for (place, one) in of.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                value(text, one);
            }
            text.push(']');
        }
        Value::M(of) => {
            text.push_str("{\"M\":");
            attributes(text, of);
        }
    }
    text.push('}');
}

fn attributes(text: &mut String, item: &Item) {
    text.push('{');
    for (place, (name, of)) in item.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        string(text, name);
        text.push(':');
        value(text, of);
    }
    text.push('}');
}

/// Writes a JSON string. Most need no escape.
fn string(text: &mut String, content: &str) {
    text.push('"');
    let mut rest = content;
    while let Some((plain, escaped, after)) = next_escape(rest) {
        text.push_str(plain);
        match escaped {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            other => text.push_str(&format!("\\u{:04x}", u32::from(other))),
        }
        rest = after;
    }
    text.push_str(rest);
    text.push('"');
}

/// Splits a text at its first character that JSON escapes.
fn next_escape(text: &str) -> Option<(&str, char, &str)> {
    let at = text.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\')?;
    let (plain, rest) = text.split_at_checked(at)?;
    let mut rest = rest.chars();
    Some((plain, rest.next()?, rest.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamo::{Cmp, Condition, Update};
    use crate::failure::Failure;
    use crate::keys::{Key, Partition};
    use crate::transaction::{Clause, Rendered, RenderedAction, Role};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    fn key() -> Key {
        Partition::tenant(&crate::ids::Tenant::parse("demo").unwrap()).profile()
    }

    fn item_json(item: &Item) -> Json {
        item.iter().map(|(name, value)| (name.clone(), value_json(value))).collect()
    }

    fn value_json(value: &Value) -> Json {
        match value {
            Value::S(text) => json!({ "S": text }),
            Value::N(number) => json!({ "N": number }),
            Value::Bool(flag) => json!({ "BOOL": flag }),
            Value::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
            Value::L(list) => json!({ "L": list.iter().map(value_json).collect::<Vec<_>>() }),
            Value::M(map) => json!({ "M": item_json(map) }),
        }
    }

    /// The same request, made of the action's values by a library.
    fn expected(item: &TransactItem) -> Option<Json> {
        let Rendered { action, condition, names, values } = item.render()?;
        let (verb, mut members) = match action {
            RenderedAction::Put(item) => ("Put", json!({ "Item": item_json(&item) })),
            RenderedAction::Update(key, update) => {
                ("Update", json!({ "Key": item_json(&key), "UpdateExpression": update }))
            }
            RenderedAction::ConditionCheck(key) => ("ConditionCheck", json!({ "Key": item_json(&key) })),
        };
        let others = [
            ("ConditionExpression", condition.map(Json::from)),
            ("ExpressionAttributeNames", (!names.is_empty()).then(|| json!(names))),
            ("ExpressionAttributeValues", (!values.is_empty()).then(|| item_json(&values))),
            ("TableName", Some(json!("a \"table\""))),
            ("ReturnValuesOnConditionCheckFailure", Some(json!("ALL_OLD"))),
        ];
        for (name, member) in others {
            if let Some(member) = member {
                members[name] = member;
            }
        }
        Some(json!({ "ClientRequestToken": "t\\1", "TransactItems": [{ verb: members }, { verb: members }] }))
    }

    fn check(item: &TransactItem) {
        let text = request_text(&[item.clone(), item.clone()], "a \"table\"", "t\\1");
        let read =
            text.map(|text| serde_json::from_str::<Json>(&text).unwrap_or_else(|error| panic!("{error}: {text}")));
        assert_eq!(read, expected(item));
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<String>().prop_map(Value::S),
            any::<i64>().prop_map(Value::int),
            any::<bool>().prop_map(Value::Bool),
            vec(any::<u8>(), 0..40).prop_map(Value::B),
        ];
        leaf.prop_recursive(3, 20, 5, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..5).prop_map(Value::L),
                btree_map(any::<String>(), inner, 0..5).prop_map(Value::M),
            ]
        })
    }

    proptest! {
        #[test]
        fn put_is_written_as_a_library_writes_it(item in btree_map(any::<String>(), any_value(), 0..6)) {
            check(&TransactItem::put(Role::Profile, key(), item.clone(), Vec::new()));
            check(&TransactItem::put_new(Role::Profile, key(), item, Failure::AlreadyExists));
        }

        #[test]
        fn update_and_check_are_written_as_a_library_writes_them(
            (name, other) in ("[a-z\"\\\\-]{1,6}", "[a-z.\\-]{1,6}"),
            (value, seen) in (any_value(), any_value()),
        ) {
            let condition = Condition::compare(name.clone(), Cmp::Eq, "seen", seen.clone()).or(Condition::exists(other.clone()));
            let clauses = vec![
                Clause { condition, failure: Failure::StalePlan },
                Clause { condition: Condition::is_not(other.clone(), "value", value.clone()), failure: Failure::WrongState },
            ];
            let update = Update::new().set(name, "value", value).add(other, "amount-1", Value::int(1)).remove("gone");
            check(&TransactItem::update(Role::Profile, key(), update.clone(), clauses.clone()));
            check(&TransactItem::update(Role::Profile, key(), update.set("twice", "seen", Value::int(1)), clauses.clone()));
            check(&TransactItem::check(Role::Profile, key(), clauses));
        }
    }

    #[test]
    fn placeholder_with_two_values_makes_no_request() {
        let update = Update::new().set("one", "same", Value::int(1)).set("other", "same", Value::int(2));
        let item = TransactItem::update(Role::Profile, key(), update, Vec::new());
        assert_eq!(request_text(&[item], "table", "token"), None);
    }

    #[test]
    fn key_of_a_put_is_its_own() {
        let item = Item::from([(attr::PK.to_owned(), Value::s("another")), (attr::SK.to_owned(), Value::int(1))]);
        let put = TransactItem::put(Role::Profile, key(), item, Vec::new());
        let text = request_text(&[put], "table", "token").unwrap();
        let read: Json = serde_json::from_str(&text).unwrap();
        let item = json!({"uuid": {"S": "demo#tenant#root"}, "type": {"S": "PROFILE"}});
        assert_eq!(read["TransactItems"][0]["Put"]["Item"], item);
    }
}
