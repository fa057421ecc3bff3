//! An amount as a decimal text, from a JSON string or the literal text of a JSON number. Floats are never used.

use crate::problem::Problem;
use ledger_core::money::{Amount, Asset, AssetSpec, RequestedAmount};
use serde::de::{Deserialize, Deserializer, Error, Unexpected};
use serde_json::value::RawValue;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

/// An amount's text, not yet checked against an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmountText(String);

impl AmountText {
    /// The amount in an asset.
    ///
    /// # Errors
    /// 400 `invalid_request` that names `field` and what is wrong with it.
    pub fn to_amount(&self, spec: &AssetSpec, field: &str) -> Result<Amount, Problem> {
        Amount::parse(spec, &self.0).map_err(|error| Problem::invalid_field(field, error))
    }

    /// The amount before the asset's terms are read.
    ///
    /// # Errors
    /// 400 `invalid_request` that names `field` and what is wrong with it.
    pub fn requested(&self, asset: Asset, field: &str) -> Result<RequestedAmount, Problem> {
        RequestedAmount::parse(asset, &self.0).map_err(|error| Problem::invalid_field(field, error))
    }

    /// The amount's canonical form before its asset is known, for a fingerprint.
    ///
    /// # Errors
    /// 400 `invalid_request` that names `amount` and what is wrong with it.
    pub fn canonical(&self) -> Result<String, Problem> {
        Amount::canonical_text(&self.0).map_err(|error| Problem::invalid_field("amount", error))
    }

    /// Reads a field that may be absent but not `null`. For `deserialize_with`, together with `default`.
    ///
    /// A client whose sum is NaN sends `null`, and an absent amount can mean the whole amount.
    ///
    /// # Errors
    /// The deserializer's error, for anything that is not a decimal number.
    pub fn if_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        Self::deserialize(deserializer).map(Some)
    }

    /// The text as the client sent it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for AmountText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let wrong = || D::Error::invalid_type(Unexpected::Other("value"), &"a decimal number as a string, like 1240");
        match text.bytes().next() {
            Some(b'"') => serde_json::from_str(text).map(Self).map_err(|_| wrong()),
            Some(b'-' | b'0'..=b'9') => Ok(Self(text.to_owned())),
            Some(_) | None => Err(wrong()),
        }
    }
}

impl utoipa::PartialSchema for AmountText {
    fn schema() -> RefOr<Schema> {
        let schema = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r"^(0|[1-9]\d{0,14})(\.\d+)?$"))
            .description(Some(
                "A decimal number greater than zero, as a string. A JSON number is read by its literal text.",
            ))
            .examples([serde_json::json!("1240")])
            .build();
        RefOr::T(Schema::Object(schema))
    }
}

impl utoipa::ToSchema for AmountText {}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<String, String> {
        let text: AmountText = serde_json::from_str(json).map_err(|_| "type".to_owned())?;
        let amount = text.to_amount(&AssetSpec::JCREDIT, "amount");
        amount.map(|amount| amount.text()).map_err(|problem| problem.detail().to_owned())
    }

    #[test]
    fn string_and_number_give_the_same_amount() {
        for json in ["100", "100.0", "\"100\"", "\"100.0\"", "100.000", "\"\\u0031\\u0030\\u0030\""] {
            assert_eq!(read(json).as_deref(), Ok("100"), "{json}");
        }
        // More digits than a float holds.
        assert_eq!(read("999999999999999.123").as_deref(), Ok("999999999999999.123"));
    }

    #[test]
    fn other_values_are_refused_without_repeating_them() {
        for json in ["null", "true", "[1]", "{}", "[\"1\"]"] {
            assert_eq!(read(json), Err("type".to_owned()), "{json}");
        }
        for json in
            ["77e3", "77E3", "-77", "0", "-0.0", "77.7777", "\"x77\"", "\"\"", "\" 77\"", "77e400", "7777777777777777"]
        {
            let why = read(json).unwrap_err();
            assert!(why.starts_with("amount: ") && !why.contains("77"), "{json}: {why}");
        }
    }
}
