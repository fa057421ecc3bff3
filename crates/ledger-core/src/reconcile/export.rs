//! A line of a data file of DynamoDB's export to S3: `{"Item":{"uuid":{"S":"..."},...}}`.

use crate::dynamo::{Item, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value as Json};

/// Reads a line; `None` if it is malformed. An attribute of a type that we never write is kept as unknown, and
/// reading it is an error.
#[must_use]
pub fn exported_item(line: &str) -> Option<Item> {
    let line: Map<String, Json> = serde_json::from_str(line).ok()?;
    Some(item(line.get("Item")?.as_object()?))
}

fn item(attributes: &Map<String, Json>) -> Item {
    let read = |(name, typed): (&String, &Json)| (name.clone(), value(typed).unwrap_or_else(Value::of_unknown_type));
    attributes.iter().map(read).collect()
}

fn value(typed: &Json) -> Option<Value> {
    let typed = typed.as_object().filter(|typed| typed.len() == 1)?;
    let (kind, value) = typed.iter().next()?;
    Some(match kind.as_str() {
        "S" => Value::S(value.as_str()?.to_owned()),
        "N" => Value::N(value.as_str()?.to_owned()),
        "BOOL" => Value::Bool(value.as_bool()?),
        "B" => Value::B(STANDARD.decode(value.as_str()?).ok()?),
        "L" => Value::L(value.as_array()?.iter().map(self::value).collect::<Option<_>>()?),
        "M" => Value::M(item(value.as_object()?)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_we_write_is_read() {
        let line = r#"{"Item":{"uuid":{"S":"demo#tenant#root"},"n":{"N":"-1.5"},"flag":{"BOOL":true},"bytes":{"B":"AQI="},
            "list":{"L":[{"S":"a"},{"M":{"x":{"N":"1"}}}]},"odd":{"SS":["a"]},"nothing":{"NULL":true}}}"#;
        let read = exported_item(line).unwrap();
        let inner = Item::from([("x".to_owned(), Value::int(1))]);
        let expected = Item::from([
            ("uuid".to_owned(), Value::s("demo#tenant#root")),
            ("n".to_owned(), Value::N("-1.5".to_owned())),
            ("flag".to_owned(), Value::Bool(true)),
            ("bytes".to_owned(), Value::B(vec![1, 2])),
            ("list".to_owned(), Value::L(vec![Value::s("a"), Value::M(inner)])),
            ("odd".to_owned(), Value::of_unknown_type()),
            ("nothing".to_owned(), Value::of_unknown_type()),
        ]);
        assert_eq!(read, expected);
        for invalid in ["", "{}", r#"{"Item":1}"#, r#"{"item":{}}"#, "[]"] {
            assert_eq!(exported_item(invalid), None, "{invalid}");
        }
    }
}
