//! Parses JSON into typed bodies.
//!
//! An error names the field and never its value: a body may hold names, codes and keys, and errors are logged.

use crate::problem::Problem;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;

const KEY_FIELD: &str = "idempotencyKey";
/// The number of characters of a field's name that an error repeats.
const NAME_CHARS_MAX: usize = 64;
/// The deepest nesting of a body. Each level is parsed once more than the one around it.
const DEPTH_MAX: u32 = 16;

/// Parses a body of type `T`; an empty one counts as `{}`.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(if_empty(bytes));
    let body = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| explain(&error.path().to_string(), error.inner()))?;
    deserializer.end().map_err(|error| explain(".", &error))?;
    refuse_repeated_names(parse_borrowed(if_empty(bytes))?, ".", 0)?;
    Ok(body)
}

/// Refuses a name that occurs twice in one object, at any depth.
///
/// A struct refuses that by itself; a map would keep the last value, while another parser may take the first.
fn refuse_repeated_names(json: &RawValue, path: &str, depth: u32) -> Result<(), Problem> {
    if depth > DEPTH_MAX {
        return Err(Problem::invalid(format!("The body is nested more than {DEPTH_MAX} levels deep.")));
    }
    let below = depth.saturating_add(1);
    match json.get().bytes().next() {
        Some(b'{') => {
            let Members(members) = parse_borrowed(json.get().as_bytes())?;
            let mut seen = BTreeSet::new();
            for (name, value) in &members {
                let path = if path == "." { printable(name) } else { format!("{path}.{}", printable(name)) };
                if !seen.insert(name) {
                    return Err(Problem::invalid_field(&path, "is given twice"));
                }
                refuse_repeated_names(value, &path, below)?;
            }
            Ok(())
        }
        Some(b'[') => {
            let elements: Vec<&RawValue> = parse_borrowed(json.get().as_bytes())?;
            elements
                .iter()
                .enumerate()
                .try_for_each(|(place, element)| refuse_repeated_names(element, &format!("{path}[{place}]"), below))
        }
        Some(_) | None => Ok(()),
    }
}

/// Parses a body of type `T` without its field `idempotencyKey`, and returns that field's text: `Some(None)` if it is
/// not a string.
pub(super) fn parse_keyed<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Option<Option<String>>), Problem> {
    let members: Members<'_> = parse_borrowed(if_empty(bytes))?;
    if members.0.iter().all(|(name, _)| name != KEY_FIELD) {
        return Ok((parse(bytes)?, None));
    }
    let mut key = None;
    // Built from the literal texts, so that no amount is converted to a number.
    let mut rest = Vec::with_capacity(bytes.len());
    rest.push(b'{');
    for (name, value) in members.0 {
        if name == KEY_FIELD {
            if key.is_some() {
                return Err(Problem::invalid_field(KEY_FIELD, "is given twice"));
            }
            key = Some(serde_json::from_str::<String>(value.get()).ok());
            continue;
        }
        if rest.len() > 1 {
            rest.push(b',');
        }
        let name = serde_json::to_vec(&name).map_err(|_| Problem::invalid("The body is not valid JSON."))?;
        rest.extend_from_slice(&name);
        rest.push(b':');
        rest.extend_from_slice(value.get().as_bytes());
    }
    rest.push(b'}');
    Ok((parse(&rest)?, key))
}

fn parse_borrowed<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| explain(".", &error))
}

fn if_empty(bytes: &[u8]) -> &[u8] {
    if bytes.iter().all(u8::is_ascii_whitespace) { b"{}" } else { bytes }
}

/// The members of an object in their order, with the literal text of each value.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// The problem for a serde error, without the values that serde's message quotes.
fn explain(path: &str, error: &serde_json::Error) -> Problem {
    use serde_json::error::Category;
    match error.classify() {
        Category::Syntax | Category::Eof | Category::Io => {
            let (line, column) = (error.line(), error.column());
            return Problem::invalid(format!("The body is not valid JSON (line {line}, column {column})."));
        }
        Category::Data => {}
    }
    let message = error.to_string();
    let quoted = |start: &str| message.strip_prefix(start).and_then(|rest| rest.split_once('`')).map(|(name, _)| name);
    if let Some(name) = quoted("unknown field `") {
        return Problem::invalid_field(&within(path, name), "is not a field of this request");
    }
    if let Some(name) = quoted("missing field `") {
        return Problem::invalid_field(&within(path, name), "is missing");
    }
    if let Some(name) = quoted("duplicate field `") {
        return Problem::invalid_field(&within(path, name), "is given twice");
    }
    // Only the last ", expected " is certainly serde's: what follows it is never text from the request.
    let expected = message.rsplit_once(", expected ").map(|(_, expected)| expected);
    let expected = expected.map(|text| text.rsplit_once(" at line ").map_or(text, |(text, _)| text));
    let field = if path == "." { "body".to_owned() } else { printable(path) };
    match expected {
        Some(expected) => Problem::invalid_field(&field, format!("must be {}", in_words(expected))),
        None => Problem::invalid_field(&field, "is not valid"),
    }
}

/// Replaces the names of Rust's integer types, which API clients do not know.
fn in_words(expected: &str) -> &str {
    match expected {
        "u8" => "a whole number from 0 to 255",
        "u16" | "u32" | "u64" => "a whole number, 0 or more, that is not too large",
        "i64" => "a whole number that is not too large",
        other => other,
    }
}

/// The path of a field. For some errors serde's path ends with the field, for others with its parent.
fn within(path: &str, name: &str) -> String {
    let name = printable(name);
    let path = printable(path);
    if path == "." || path == name || path == "?" {
        return name;
    }
    if path.ends_with(&format!(".{name}")) { path } else { format!("{path}.{name}") }
}

/// The name with at most 64 characters, all of them safe in an error text; others become `?`.
pub(super) fn printable(name: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '[' | ']');
    name.chars().take(NAME_CHARS_MAX).map(|c| if fits(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::AmountText;
    use super::*;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        amount: AmountText,
        #[serde(default)]
        memo: Option<String>,
        #[serde(default)]
        parts: Vec<Part>,
        #[serde(default)]
        by_name: BTreeMap<String, AmountText>,
        #[serde(default)]
        deep: Option<BTreeMap<String, Vec<BTreeMap<String, String>>>>,
        #[serde(default)]
        count: Option<u32>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Part {
        amount: AmountText,
    }

    fn detail(json: &str) -> String {
        parse_keyed::<Body>(json.as_bytes()).unwrap_err().detail().to_owned()
    }

    #[test]
    fn key_is_removed_and_literal_texts_are_kept() {
        let json = r#"{"amount":100.10,"idempotencyKey":"k\u0031","memo":"a","parts":[{"amount":"2"}],"count":3}"#;
        let (body, key) = parse_keyed::<Body>(json.as_bytes()).unwrap();
        assert_eq!(body.amount.as_str(), "100.10");
        assert_eq!((body.memo.as_deref(), body.parts[0].amount.as_str(), body.count), (Some("a"), "2", Some(3)));
        assert_eq!(key, Some(Some("k1".to_owned())));
        let (_, key) = parse_keyed::<Body>(br#"{"amount":1,"idempotencyKey":7}"#).unwrap();
        assert_eq!(key, Some(None));
        let (_, key) = parse_keyed::<Body>(br#"{"amount":1}"#).unwrap();
        assert_eq!(key, None);
    }

    #[test]
    fn repeated_name_at_any_depth_is_refused() {
        let cases = [
            (r#"{"amount":1,"amount":1}"#, "amount: is given twice"),
            (r#"{"amount":1,"parts":[{"amount":1},{"amount":1,"amount":1}]}"#, "parts[1].amount: is given twice"),
            (r#"{"amount":1,"by_name":{"aoba":"1","aoba":"1"}}"#, "by_name.aoba: is given twice"),
            (r#"{"amount":1,"by_name":{"aoba":"1","b":"2","\u0061oba":"3"}}"#, "by_name.aoba: is given twice"),
            (r#"{"amount":1,"by_name":{"by_name":"1","by_name":"1"}}"#, "by_name.by_name: is given twice"),
            (r#"{"amount":1,"deep":{"a":[{"x":"1"},{"y":"1","y":"1"}]}}"#, "deep.a[1].y: is given twice"),
            (r#"{"amount":1,"deep":{"a":[],"a":[]}}"#, "deep.a: is given twice"),
        ];
        for (json, want) in cases {
            assert_eq!(detail(json), want, "{json}");
            assert_eq!(parse::<Body>(json.as_bytes()).unwrap_err().detail(), want, "{json}");
        }
        let one_name_in_two_objects = r#"{"amount":1,"by_name":{"a":"1"},"deep":{"a":[{"a":"1"},{"a":"1"}]}}"#;
        let (body, _) = parse_keyed::<Body>(one_name_in_two_objects.as_bytes()).unwrap();
        assert_eq!((body.by_name.len(), body.deep.map(|deep| deep["a"].len())), (1, Some(2)));
    }

    #[test]
    fn an_empty_body_is_an_empty_object() {
        assert_eq!(detail(" \n"), "amount: is missing");
        assert_eq!(detail(""), "amount: is missing");
    }

    #[test]
    fn errors_name_the_field_and_never_the_value() {
        let secret = "s3cret";
        let cases = [
            (format!(r#"{{"amount":1,"sneaky":"{secret}"}}"#), "sneaky: is not a field of this request"),
            (
                format!(r#"{{"amount":1,"parts":[{{"amount":1,"x":"{secret}"}}]}}"#),
                "parts[0].x: is not a field of this request",
            ),
            (
                format!(r#"{{"amount":1,"parts":[{{"amount":["{secret}"]}}]}}"#),
                "parts[0].amount: must be a decimal number as a string, like 1240",
            ),
            (
                format!(r#"{{"amount":1,"count":"{secret}"}}"#),
                "count: must be a whole number, 0 or more, that is not too large",
            ),
            (
                format!(r#"{{"amount":1,"count":"{secret}, expected x"}}"#),
                "count: must be a whole number, 0 or more, that is not too large",
            ),
            (
                r#"{"amount":1,"count":-4711}"#.to_owned(),
                "count: must be a whole number, 0 or more, that is not too large",
            ),
            (
                r#"{"amount":1,"count":1.5}"#.to_owned(),
                "count: must be a whole number, 0 or more, that is not too large",
            ),
            (format!(r#"{{"amount":1,"memo":{{"{secret}":1}}}}"#), "memo: must be a string"),
            (format!(r#"{{"amount":1,"amount":"{secret}"}}"#), "amount: is given twice"),
            (r#"{"amount":1,"idempotencyKey":"a","idempotencyKey":"b"}"#.to_owned(), "idempotencyKey: is given twice"),
            (format!(r#"["{secret}"]"#), "body: must be an object"),
            (format!("\"{secret}\""), "body: must be an object"),
            ("null".to_owned(), "body: must be an object"),
        ];
        for (json, want) in cases {
            let got = detail(&json);
            assert_eq!(got, want, "{json}");
            assert!(!got.contains(secret) && !got.contains("4711"));
        }
        assert_eq!(detail(r#"{"amount":1,"a\u0000 b":1}"#), "a??b: is not a field of this request");
    }

    #[test]
    fn invalid_json_error_names_line_and_column() {
        for json in [
            r#"{"amount":1"#,
            r#"{"amount":1}}"#,
            r#"{"amount":+1}"#,
            "{'a':1}",
            r#"{"amount":1} x"#,
            r#"{"amount":NaN}"#,
        ] {
            assert!(
                detail(json).starts_with("The body is not valid JSON (line 1, column "),
                "{json}: {}",
                detail(json)
            );
        }
        assert!(parse_keyed::<Body>(b"{\"amount\":\"\xff\"}").is_err());
        let deep = format!("{{\"amount\":1,\"memo\":{}{}}}", "[".repeat(20_000), "]".repeat(20_000));
        assert!(parse_keyed::<Body>(deep.as_bytes()).is_err());
    }
}
