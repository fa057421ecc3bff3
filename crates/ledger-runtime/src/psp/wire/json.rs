//! A JSON tree that refuses texts on which parsers disagree: a repeated field, a byte order mark, trailing text.
//!
//! Only whole numbers that are not negative keep their value.

use super::WireError;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// A JSON value. It has no `Debug`, because it may hold personal data and secrets.
pub(super) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A whole number that is not negative, written without fraction or exponent.
    Count(u64),
    /// Any other number. No field that the ledger reads is one.
    Number,
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object.
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Parses a JSON text.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        serde_json::from_slice(bytes).map_err(|_| WireError::NotJson)
    }

    /// Checks the type of the provider's object.
    pub(super) fn is_a(&self, object: &str) -> Result<(), WireError> {
        if self.text("object")? == object { Ok(()) } else { Err(WireError::Field("object")) }
    }

    /// Returns a field.
    pub(super) fn field(&self, name: &'static str) -> Result<&Self, WireError> {
        self.fields().and_then(|fields| fields.get(name)).ok_or(WireError::Field(name))
    }

    /// Returns a field; `None` if it is absent or null.
    pub(super) fn present(&self, name: &'static str) -> Result<Option<&Self>, WireError> {
        let fields = self.fields().ok_or(WireError::Field(name))?;
        Ok(fields.get(name).filter(|value| !matches!(value, Self::Null)))
    }

    /// Returns a text field.
    pub(super) fn text(&self, name: &'static str) -> Result<&str, WireError> {
        self.field(name)?.as_text().ok_or(WireError::Field(name))
    }

    /// Returns a text field; `None` if it is absent or null.
    pub(super) fn text_or_null(&self, name: &'static str) -> Result<Option<&str>, WireError> {
        self.present(name)?.map(|value| value.as_text().ok_or(WireError::Field(name))).transpose()
    }

    /// Returns a field that is a whole number and not negative.
    pub(super) fn count(&self, name: &'static str) -> Result<u64, WireError> {
        match self.field(name)? {
            Self::Count(count) => Ok(*count),
            Self::Null | Self::Flag(_) | Self::Number | Self::Text(_) | Self::List(_) | Self::Object(_) => {
                Err(WireError::Field(name))
            }
        }
    }

    /// Returns a boolean field.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, WireError> {
        match self.field(name)? {
            Self::Flag(flag) => Ok(*flag),
            Self::Null | Self::Count(_) | Self::Number | Self::Text(_) | Self::List(_) | Self::Object(_) => {
                Err(WireError::Field(name))
            }
        }
    }

    /// Returns a list field.
    pub(super) fn items(&self, name: &'static str) -> Result<&[Self], WireError> {
        match self.field(name)? {
            Self::List(items) => Ok(items),
            Self::Null | Self::Flag(_) | Self::Count(_) | Self::Number | Self::Text(_) | Self::Object(_) => {
                Err(WireError::Field(name))
            }
        }
    }

    /// Returns the text; `None` for other values.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Flag(_) | Self::Count(_) | Self::Number | Self::List(_) | Self::Object(_) => None,
        }
    }

    /// Returns the fields; `None` if the value is not an object.
    pub(super) fn fields(&self) -> Option<&BTreeMap<String, Self>> {
        match self {
            Self::Object(fields) => Some(fields),
            Self::Null | Self::Flag(_) | Self::Count(_) | Self::Number | Self::Text(_) | Self::List(_) => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Flag(flag))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Json, E> {
        Ok(Json::Count(count))
    }

    /// Called for negative numbers only.
    fn visit_i64<E: Error>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    /// Called for a fraction, an exponent, or more digits than a count has.
    fn visit_f64<E: Error>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Json, E> {
        Ok(Json::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Json>()? {
            if fields.insert(name, value).is_some() {
                return Err(A::Error::custom("a field is named twice"));
            }
        }
        Ok(Json::Object(fields))
    }
}
