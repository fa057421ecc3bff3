//! Stripe's form encoding of bodies and queries: `metadata[a]`, `created[gte]`, `expand[]`, `expand[0]`.
//!
//! Each parameter is removed when it is read, so the parameters left at the end are unknown.

use crate::error::StripeError;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const METADATA_KEYS_MAX: usize = 50;
const METADATA_KEY_CHARS_MAX: usize = 40;
const METADATA_VALUE_CHARS_MAX: usize = 500;

/// Metadata that a request sets: an empty value removes its key.
pub(crate) type MetadataPatch = BTreeMap<String, String>;

/// The parameters of one request that are not read yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    pairs: Vec<(String, String)>,
}

impl Params {
    /// Parses an encoded body or query.
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        Self { pairs: form_urlencoded::parse(encoded).into_owned().collect() }
    }

    /// The fingerprint of the parameters for an idempotency key, independent of their order.
    pub(crate) fn fingerprint(&self) -> String {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort();
        let mut hash = Sha256::new();
        for text in pairs.iter().flat_map(|(name, value)| [name, value]) {
            hash.update(text.len().to_be_bytes());
            hash.update(text);
        }
        hex::encode(hash.finalize())
    }

    /// A text; `None` if it was not sent.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, StripeError> {
        match self.take(name) {
            Some(value) if value.is_empty() => {
                let message = format!(
                    "You passed an empty string for '{name}'. We assume empty values are an attempt to unset a \
                     parameter; however '{name}' cannot be unset. You should remove '{name}' from your request or \
                     supply a non-empty value."
                );
                Err(StripeError::parameter("parameter_invalid_empty", name, message))
            }
            value => Ok(value),
        }
    }

    /// A required text.
    pub(crate) fn required(&mut self, name: &str) -> Result<String, StripeError> {
        self.text(name)?.ok_or_else(|| missing(name))
    }

    /// A whole number; `None` if it was not sent.
    pub(crate) fn integer(&mut self, name: &str) -> Result<Option<i64>, StripeError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => {
                Err(StripeError::parameter("parameter_invalid_integer", name, format!("Invalid integer: {text}")))
            }
        }
    }

    /// `true` or `false`; `None` if it was not sent.
    pub(crate) fn boolean(&mut self, name: &str) -> Result<Option<bool>, StripeError> {
        match self.text(name)?.as_deref() {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => {
                let message = format!("Invalid boolean: {other}");
                Err(StripeError::parameter("parameter_unknown", name, message))
            }
        }
    }

    /// One of the words in `allowed`; `None` if it was not sent.
    pub(crate) fn one_of(&mut self, name: &str, allowed: &[&str]) -> Result<Option<String>, StripeError> {
        let Some(word) = self.text(name)? else { return Ok(None) };
        if allowed.contains(&word.as_str()) {
            return Ok(Some(word));
        }
        let message = format!("Invalid {name}: must be one of {}", allowed.join(", "));
        Err(StripeError::refused(None, message).not_executed().about(name))
    }

    /// The elements of an array, `name[]` or `name[0]`, in the order in which they were sent.
    pub(crate) fn list(&mut self, name: &str) -> Vec<String> {
        let (taken, left) = std::mem::take(&mut self.pairs).into_iter().partition(|(key, _)| {
            inside(key, name).is_some_and(|index| index.chars().all(|digit| digit.is_ascii_digit()))
        });
        self.pairs = left;
        let taken: Vec<(String, String)> = taken;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    /// `metadata[...]`; `None` if it was not sent. `metadata=` gives an empty patch, which removes all keys.
    pub(crate) fn metadata(&mut self) -> Result<Option<MetadataPatch>, StripeError> {
        let (taken, left) = std::mem::take(&mut self.pairs)
            .into_iter()
            .partition(|(key, _)| key == "metadata" || inside(key, "metadata").is_some_and(|key| !key.contains('[')));
        self.pairs = left;
        let taken: Vec<(String, String)> = taken;
        if taken.is_empty() {
            return Ok(None);
        }
        let mut patch = MetadataPatch::new();
        for (name, value) in taken {
            let Some(key) = inside(&name, "metadata") else { continue };
            let too_long = |what: &str, max: usize| {
                let message = format!("Metadata {what} can have up to {max} characters: see '{name}'.");
                StripeError::refused(None, message).not_executed().about(&name)
            };
            if key.chars().count() > METADATA_KEY_CHARS_MAX {
                return Err(too_long("keys", METADATA_KEY_CHARS_MAX));
            }
            if value.chars().count() > METADATA_VALUE_CHARS_MAX {
                return Err(too_long("values", METADATA_VALUE_CHARS_MAX));
            }
            patch.insert(key.to_owned(), value);
        }
        if patch.len() > METADATA_KEYS_MAX {
            let message = format!("Metadata can have up to {METADATA_KEYS_MAX} keys.");
            return Err(StripeError::refused(None, message).not_executed().about("metadata"));
        }
        Ok(Some(patch))
    }

    /// Refuses the request if a parameter was not read.
    pub(crate) fn finish(self) -> Result<(), StripeError> {
        let mut names: Vec<String> = self.pairs.into_iter().map(|(name, _)| name).collect();
        names.dedup();
        let Some(first) = names.first() else { return Ok(()) };
        let plural = if names.len() == 1 { "" } else { "s" };
        let message = format!("Received unknown parameter{plural}: {}", names.join(", "));
        Err(StripeError::parameter("parameter_unknown", first, message))
    }

    fn take(&mut self, name: &str) -> Option<String> {
        // The last value is used, as in a form.
        let value = self.pairs.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.clone())?;
        self.pairs.retain(|(key, _)| key != name);
        Some(value)
    }
}

/// 400: a required parameter is missing.
pub(crate) fn missing(name: &str) -> StripeError {
    StripeError::parameter("parameter_missing", name, format!("Missing required param: {name}."))
}

/// The part in brackets: `a` of `name[a]`.
fn inside<'key>(key: &'key str, name: &str) -> Option<&'key str> {
    key.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bracketed_parameters_are_read_and_unread_ones_are_refused() {
        let mut params = Params::parse(
            b"amount=500&metadata[order%20id]=7&metadata[b]=&expand[]=x&expand[1]=y&created[gte]=3&other[a]=1",
        );
        assert_eq!(params.integer("amount").unwrap(), Some(500));
        let metadata = params.metadata().unwrap().unwrap();
        assert_eq!(metadata["order id"], "7");
        assert_eq!(metadata["b"], "");
        assert_eq!(params.list("expand"), ["x", "y"]);
        assert_eq!(params.integer("created[gte]").unwrap(), Some(3));
        let error = params.finish().unwrap_err();
        assert_eq!(error.body()["error"]["code"], "parameter_unknown");
        assert_eq!(error.body()["error"]["param"], "other[a]");
        assert!(!error.executed);
    }

    #[test]
    fn invalid_values_have_their_error_codes() {
        let mut params = Params::parse(b"amount=5x&currency=&confirm=yes");
        assert_eq!(params.integer("amount").unwrap_err().body()["error"]["code"], "parameter_invalid_integer");
        assert_eq!(params.text("currency").unwrap_err().body()["error"]["code"], "parameter_invalid_empty");
        assert!(params.boolean("confirm").is_err());
        assert_eq!(params.required("none").unwrap_err().body()["error"]["code"], "parameter_missing");
    }

    #[test]
    fn fingerprint_ignores_the_order_of_parameters() {
        let fingerprint = |encoded: &[u8]| Params::parse(encoded).fingerprint();
        assert_eq!(fingerprint(b"a=1&b=2"), fingerprint(b"b=2&a=1"));
        assert_ne!(fingerprint(b"a=1&b=2"), fingerprint(b"a=1&b=3"));
        assert_ne!(fingerprint(b"a=12"), fingerprint(b"a1=2"));
    }
}
