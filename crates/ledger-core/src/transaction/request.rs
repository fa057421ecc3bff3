//! The text of a `TransactWriteItems` request, in DynamoDB's JSON.
//!
//! Each put and update names its transaction: `_tx` is the request's token, `_of` the number of puts and updates. From a
//! stream of changed items, a copy of the table elsewhere can be put together in whole transactions only by them.

use super::{Action, BuildError, MAX_ITEMS, TransactItem};
use crate::dynamo::{Item, Placeholders, Value};
use crate::keys::attr;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The bytes of a typical action's text.
const ACTION_BYTES: usize = 1024;

/// The attributes that name a written item's transaction.
type TransactionName = [(&'static str, Value)];

/// Returns the request that sends these actions to a table. A request that is sent again has the same token.
///
/// # Errors
/// [`BuildError`] if there are more than [`MAX_ITEMS`] actions, or one uses a placeholder for two values or attributes.
pub fn request_text(actions: &[TransactItem], table: &str, token: [u8; 16]) -> Result<String, BuildError> {
    if actions.len() > MAX_ITEMS {
        return Err(BuildError::TooManyItems(actions.len()));
    }
    let written = actions.iter().filter(|action| action.is_written()).count();
    let name = [(attr::TX, Value::B(token.to_vec())), (attr::OF, Value::N(written.to_string()))];
    let mut text = String::with_capacity(actions.len().saturating_mul(ACTION_BYTES));
    text.push_str("{\"ClientRequestToken\":");
    string(&mut text, &hex::encode(token));
    text.push_str(",\"TransactItems\":[");
    for (place, action) in actions.iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        action.write_request(&mut text, table, &name).ok_or(BuildError::Placeholder(action.role()))?;
    }
    text.push_str("]}");
    Ok(text)
}

/// Returns the request that sends one action to a table by itself, as `PutItem` or `UpdateItem`. It names no transaction.
///
/// # Errors
/// [`BuildError`] if the action uses a placeholder for two values or attributes.
pub(crate) fn single_write_text(action: &TransactItem, table: &str) -> Result<String, BuildError> {
    let mut text = String::with_capacity(ACTION_BYTES);
    action.write_input(&mut text, table, &[]).ok_or(BuildError::Placeholder(action.role()))?;
    Ok(text)
}

impl TransactItem {
    /// Whether its item is there afterwards, and names the transaction.
    fn is_written(&self) -> bool {
        match self.action {
            Action::Put(_) | Action::Update(_) => true,
            Action::Check => false,
        }
    }

    fn write_request(&self, text: &mut String, table: &str, transaction: &TransactionName) -> Option<()> {
        text.push_str(match &self.action {
            Action::Put(_) => "{\"Put\":",
            Action::Update(_) => "{\"Update\":",
            Action::Check => "{\"ConditionCheck\":",
        });
        self.write_input(text, table, transaction)?;
        text.push('}');
        Some(())
    }

    /// Writes what the action has in common with a request of its own.
    fn write_input(&self, text: &mut String, table: &str, transaction: &TransactionName) -> Option<()> {
        let mut placeholders = Placeholders::default();
        let mut expression = String::new();
        text.push_str(match &self.action {
            Action::Put(_) => "{\"Item\":{",
            Action::Update(_) | Action::Check => "{\"Key\":{",
        });
        key_attribute(text, attr::PK, self.key().pk());
        text.push(',');
        key_attribute(text, attr::SK, self.key().sk());
        if let Action::Put(item) = &self.action {
            // An item that was read has the name of the transaction that wrote it.
            let others = [attr::PK, attr::SK, attr::TX, attr::OF];
            let own = item.iter().filter(|(name, _)| !others.contains(&name.as_str()));
            let own = own.map(|(name, attribute)| (name.as_str(), attribute));
            for (name, attribute) in own.chain(transaction.iter().map(|(name, of)| (*name, of))) {
                text.push(',');
                string(text, name);
                text.push(':');
                value(text, attribute);
            }
        }
        text.push('}');
        if let Action::Update(update) = &self.action {
            update.parts_setting(transaction, &mut |part| placeholders.write(&mut expression, part));
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
        text.push_str(",\"ReturnValuesOnConditionCheckFailure\":\"ALL_OLD\"}");
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

    const TOKEN: [u8; 16] = [0xA5; 16];

    fn update_text(item: &TransactItem) -> Option<String> {
        match &item.action {
            Action::Update(update) => {
                let name = [(attr::TX, Value::B(TOKEN.to_vec())), (attr::OF, Value::int(2))];
                let (mut text, mut placeholders) = (String::new(), Placeholders::default());
                update.parts_setting(&name, &mut |part| placeholders.write(&mut text, part));
                Some(text)
            }
            Action::Put(_) | Action::Check => None,
        }
    }

    /// The same request, made of the action's values by a library.
    fn expected(item: &TransactItem) -> Option<Json> {
        let Rendered { action, condition, mut names, mut values } = item.render()?;
        let transaction = [(attr::TX, Value::B(TOKEN.to_vec())), (attr::OF, Value::int(2))];
        let (verb, mut members) = match action {
            RenderedAction::Put(mut item) => {
                item.extend(transaction.map(|(name, value)| (name.to_owned(), value)));
                ("Put", json!({ "Item": item_json(&item) }))
            }
            RenderedAction::Update(key, _) => {
                names.extend(transaction.iter().map(|(name, _)| (format!("#{name}"), (*name).to_owned())));
                values.extend(transaction.map(|(name, value)| (format!(":{name}"), value)));
                ("Update", json!({ "Key": item_json(&key), "UpdateExpression": update_text(item) }))
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
        Some(json!({ "ClientRequestToken": "a5".repeat(16), "TransactItems": [{ verb: members }, { verb: members }] }))
    }

    fn check(item: &TransactItem) {
        let text = request_text(&[item.clone(), item.clone()], "a \"table\"", TOKEN);
        let read =
            text.map(|text| serde_json::from_str::<Json>(&text).unwrap_or_else(|error| panic!("{error}: {text}")));
        assert_eq!(read, expected(item).ok_or(BuildError::Placeholder(Role::Profile)));
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
            // As an attribute of the ledger, each step begins with a letter: `-of` would have the placeholder of `_of`.
            (name, other) in (r#"[a-z][a-z"\\-]{0,5}"#, r"[a-z][a-z\-]{0,2}([.][a-z][a-z\-]{0,2}){0,2}"),
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
        assert_eq!(request_text(&[item], "table", TOKEN), Err(BuildError::Placeholder(Role::Profile)));
    }

    #[test]
    fn key_and_transaction_of_a_put_are_its_own() {
        let other = [(attr::PK, Value::s("another")), (attr::SK, Value::int(1)), (attr::TX, Value::int(1))];
        let item = Item::from(other.map(|(name, value)| (name.to_owned(), value)));
        let put = TransactItem::put(Role::Profile, key(), item, Vec::new());
        let text = request_text(&[put], "table", TOKEN).unwrap();
        let read: Json = serde_json::from_str(&text).unwrap();
        let token = json!({ "B": "paWlpaWlpaWlpaWlpaWlpQ==" });
        let item = json!({
            "uuid": {"S": "demo#tenant#root"}, "type": {"S": "PROFILE"}, "_tx": token, "_of": {"N": "1"},
        });
        assert_eq!(read["TransactItems"][0]["Put"]["Item"], item);
    }

    #[test]
    fn puts_and_updates_name_their_transaction_and_its_writes() {
        let clauses = vec![Clause { condition: Condition::exists(attr::PK), failure: Failure::AccountMissing }];
        let update = |update: Update| TransactItem::update(Role::Profile, key(), update, Vec::new());
        let actions = [
            TransactItem::put(Role::Profile, key(), Item::new(), Vec::new()),
            update(Update::new().add("sum", "more", Value::int(5)).remove("gone")),
            TransactItem::check(Role::Profile, key(), clauses),
            update(Update::new().set("name", "name", Value::s("n")).set_if_absent("first", "first", Value::int(1))),
            update(Update::new().remove("gone")),
        ];
        let key = r##""uuid":{"S":"demo#tenant#root"},"type":{"S":"PROFILE"}"##;
        let name = r##"{"B":"paWlpaWlpaWlpaWlpaWlpQ=="}"##;
        let end = r##""TableName":"t","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}}"##;
        let written = [
            format!(r##"{{"Put":{{"Item":{{{key},"_tx":{name},"_of":{{"N":"4"}}}},{end}"##),
            format!(
                r##"{{"Update":{{"Key":{{{key}}},"UpdateExpression":"ADD #sum :more SET #_tx = :_tx, #_of = :_of REMOVE #gone","ExpressionAttributeNames":{{"#sum":"sum","#_tx":"_tx","#_of":"_of","#gone":"gone"}},"ExpressionAttributeValues":{{":more":{{"N":"5"}},":_tx":{name},":_of":{{"N":"4"}}}},{end}"##
            ),
            format!(
                r##"{{"ConditionCheck":{{"Key":{{{key}}},"ConditionExpression":"attribute_exists(#uuid)","ExpressionAttributeNames":{{"#uuid":"uuid"}},{end}"##
            ),
            format!(
                r##"{{"Update":{{"Key":{{{key}}},"UpdateExpression":"SET #_tx = :_tx, #_of = :_of, #name = :name, #first = if_not_exists(#first, :first)","ExpressionAttributeNames":{{"#_tx":"_tx","#_of":"_of","#name":"name","#first":"first"}},"ExpressionAttributeValues":{{":_tx":{name},":_of":{{"N":"4"}},":name":{{"S":"n"}},":first":{{"N":"1"}}}},{end}"##
            ),
            format!(
                r##"{{"Update":{{"Key":{{{key}}},"UpdateExpression":"SET #_tx = :_tx, #_of = :_of REMOVE #gone","ExpressionAttributeNames":{{"#_tx":"_tx","#_of":"_of","#gone":"gone"}},"ExpressionAttributeValues":{{":_tx":{name},":_of":{{"N":"4"}}}},{end}"##
            ),
        ];
        let token = "a5".repeat(16);
        let whole = format!(r##"{{"ClientRequestToken":"{token}","TransactItems":[{}]}}"##, written.join(","));
        assert_eq!(request_text(&actions, "t", TOKEN), Ok(whole));
    }

    #[test]
    fn attribute_or_placeholder_of_a_transactions_name_makes_no_request() {
        for update in
            [Update::new().set("memo", "_tx", Value::int(1)), Update::new().set("-tx", "value", Value::int(1))]
        {
            let item = TransactItem::update(Role::Profile, key(), update, Vec::new());
            assert_eq!(request_text(&[item], "t", TOKEN), Err(BuildError::Placeholder(Role::Profile)));
        }
    }

    #[test]
    fn more_than_98_actions_make_no_request() {
        let check = TransactItem::check(Role::Profile, key(), Vec::new());
        assert!(request_text(&vec![check.clone(); 98], "t", TOKEN).is_ok());
        assert_eq!(request_text(&vec![check; 99], "t", TOKEN), Err(BuildError::TooManyItems(99)));
    }
}
