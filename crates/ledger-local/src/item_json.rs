//! Attributes as the AWS CLI prints them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ledger_core::dynamo::Value;
use serde_json::{Map, Value as Json, json};

/// The value of an attribute; `None` for a type that the ledger does not store.
pub(crate) fn value(json: &Json) -> Option<Value> {
    let object = json.as_object().filter(|object| object.len() == 1)?;
    let (kind, inner) = object.iter().next()?;
    Some(match kind.as_str() {
        "S" => Value::s(inner.as_str()?),
        "N" => Value::N(inner.as_str()?.to_owned()),
        "BOOL" => Value::Bool(inner.as_bool()?),
        "B" => Value::B(STANDARD.decode(inner.as_str()?).ok()?),
        "L" => Value::L(inner.as_array()?.iter().map(value).collect::<Option<_>>()?),
        "M" => {
            let members = inner.as_object()?.iter().map(|(name, member)| Some((name.clone(), value(member)?)));
            Value::M(members.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

/// The attribute as the AWS CLI prints it.
pub(crate) fn json_of(value: &Value) -> Json {
    match value {
        Value::S(text) => json!({ "S": text }),
        Value::N(number) => json!({ "N": number }),
        Value::Bool(flag) => json!({ "BOOL": flag }),
        Value::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
        Value::L(list) => json!({ "L": list.iter().map(json_of).collect::<Vec<Json>>() }),
        Value::M(map) => {
            let members: Map<String, Json> = map.iter().map(|(name, member)| (name.clone(), json_of(member))).collect();
            json!({ "M": members })
        }
    }
}
