//! Reads CloudFormation's YAML into JSON, with short tags in their long forms. Unknown tags and values are errors.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value};

/// Functions whose short tag is their long name without `Fn::`.
const FUNCTIONS: [&str; 9] = ["And", "Contains", "Equals", "GetAtt", "If", "Join", "Not", "Select", "Sub"];

/// Reads one document.
///
/// # Errors
/// When the text is not YAML, repeats a key, or has an unknown tag or value.
pub fn read(text: &str) -> Result<Value, String> {
    let documents = Yaml::load_from_str(text).map_err(|error| error.to_string())?;
    let [document] = &documents[..] else { return Err(format!("{} documents instead of one", documents.len())) };
    value(document)
}

fn value(node: &Yaml<'_>) -> Result<Value, String> {
    match node {
        Yaml::Value(scalar) => of_scalar(scalar),
        Yaml::Sequence(items) => items.iter().map(value).collect::<Result<_, _>>().map(Value::Array),
        Yaml::Mapping(entries) => {
            let entry = |(key, node): (&Yaml<'_>, _)| Ok((text(key)?, value(node)?));
            entries.iter().map(entry).collect::<Result<Map<_, _>, String>>().map(Value::Object)
        }
        Yaml::Tagged(tag, inner) => {
            let name = match tag.suffix.as_ref() {
                name @ ("Ref" | "Condition") if tag.handle == "!" => name.to_owned(),
                name if tag.handle == "!" && FUNCTIONS.contains(&name) => format!("Fn::{name}"),
                other => return Err(format!("unknown tag {}{other}", tag.handle)),
            };
            Ok(Value::Object(Map::from_iter([(name, value(inner)?)])))
        }
        Yaml::Representation(..) | Yaml::Alias(_) | Yaml::BadValue => Err(format!("{node:?}")),
    }
}

fn text(key: &Yaml<'_>) -> Result<String, String> {
    key.as_str().map(str::to_owned).ok_or_else(|| format!("{key:?} is not a key"))
}

fn of_scalar(scalar: &Scalar<'_>) -> Result<Value, String> {
    Ok(match scalar {
        Scalar::Null => Value::Null,
        Scalar::Boolean(yes) => Value::Bool(*yes),
        Scalar::Integer(number) => Value::Number((*number).into()),
        Scalar::FloatingPoint(number) => {
            Value::Number(Number::from_f64(number.0).ok_or_else(|| format!("the number {number}"))?)
        }
        Scalar::String(text) => Value::String(text.as_ref().to_owned()),
    })
}
