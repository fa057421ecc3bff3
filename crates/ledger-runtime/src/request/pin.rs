//! A PIN in a request's body.

use crate::problem::Problem;
use ledger_core::cards::pin::{Pin, PinFormError};
use ledger_core::personal::Masked;
use serde::de::{Deserialize, Deserializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use zeroize::Zeroizing;

/// A PIN's text, not yet checked. It does not print, and its memory is cleared.
#[derive(Clone, Debug)]
pub struct PinText(Masked<Zeroizing<String>>);

impl PinText {
    /// The PIN as it was typed.
    ///
    /// # Errors
    /// 400 that names the field and does not repeat the text.
    pub fn typed(&self, field: &str) -> Result<Pin, Problem> {
        self.read(field, Pin::parse)
    }

    /// The PIN that is to be set.
    ///
    /// # Errors
    /// As [`PinText::typed`], and for a PIN that is easy to guess.
    pub fn chosen(&self, field: &str) -> Result<Pin, Problem> {
        self.read(field, Pin::parse_chosen)
    }

    fn read(&self, field: &str, parse: impl FnOnce(&str) -> Result<Pin, PinFormError>) -> Result<Pin, Problem> {
        parse(self.0.expose()).map_err(|error| Problem::invalid_field(field, error))
    }
}

impl<'de> Deserialize<'de> for PinText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Masked::new(Zeroizing::new(text))))
    }
}

impl utoipa::PartialSchema for PinText {
    fn schema() -> RefOr<Schema> {
        let schema = ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(r"^\d{4,6}$"))
            .write_only(true)
            .description(Some("Four to six digits."))
            .examples([serde_json::json!("4071")])
            .build();
        RefOr::T(Schema::Object(schema))
    }
}

impl utoipa::ToSchema for PinText {}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(json: &str) -> Option<String> {
        match serde_json::from_str::<PinText>(json) {
            Ok(text) => {
                assert!(!format!("{text:?}").contains("907"), "{json}");
                text.chosen("pin").err().map(|problem| problem.body())
            }
            Err(_) => Some("not a text".to_owned()),
        }
    }

    #[test]
    fn only_digits_are_accepted_and_none_is_repeated() {
        for good in ["\"9071\"", "\"90712\"", "\"907121\"", "\"0907\""] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in
            ["\"907\"", "\"9071213\"", "\"907a\"", "\" 9071\"", "\"\u{ff19}\u{ff10}\u{ff17}\u{ff11}\"", "9071", "null"]
        {
            let body = problem(bad).unwrap();
            assert!(!body.contains("907"), "{bad}: {body}");
        }
        for guessable in ["\"0000\"", "\"1234\"", "\"654321\"", "\"999999\""] {
            assert!(problem(guessable).unwrap().contains("choose other digits"), "{guessable}");
            let typed: PinText = serde_json::from_str(guessable).unwrap();
            assert!(typed.typed("pin").is_ok(), "a payment does not say that such a PIN cannot be right");
        }
    }
}
