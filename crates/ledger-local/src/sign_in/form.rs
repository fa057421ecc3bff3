//! Parameters of a query string or of a form.

use super::error::{ErrorCode, Refusal};
use http::{HeaderMap, header};
use std::collections::BTreeMap;

const FORM: &str = "application/x-www-form-urlencoded";

/// Parameters by name. An empty one is absent (RFC 6749, 3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Parses a query string or a form's body.
    ///
    /// # Errors
    /// If a parameter is repeated.
    pub(super) fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let mut all = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(text) {
            if all.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(Refusal(ErrorCode::InvalidRequest, "a parameter is repeated"));
            }
        }
        Ok(Self(all))
    }

    /// Parses the body of a request to an endpoint that clients call directly.
    ///
    /// # Errors
    /// If the body is not a form, or a parameter is repeated.
    pub(super) fn of_body(headers: &HeaderMap, body: &[u8]) -> Result<Self, Refusal> {
        let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = given.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case(FORM) {
            return Err(Refusal(ErrorCode::InvalidRequest, "send application/x-www-form-urlencoded"));
        }
        Self::parse(body)
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}
