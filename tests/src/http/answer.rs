//! A response of an API: status, headers and body, with accessors that panic with the whole response.

use serde_json::Value;
use std::fmt;

/// A response of an API.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Every header, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// Headers that are stored with a response and returned with its replay.
const STORED: [&str; 2] = ["content-type", "location"];

impl Answer {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// A member of the body that must be a string.
    #[must_use]
    pub fn text(&self, pointer: &str) -> String {
        let json = self.json();
        let found = json.pointer(pointer).and_then(Value::as_str);
        found.unwrap_or_else(|| panic!("no text at {pointer}: {self:?}")).to_owned()
    }

    /// The stable code of a problem; `None` if the body is not a problem.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        let json: Value = serde_json::from_str(&self.body).ok()?;
        Some(json.get("code")?.as_str()?.to_owned())
    }

    /// Whether it is a replay of a stored response.
    #[must_use]
    pub fn replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// What must be equal in every response under one key: status, stored headers, body.
    #[must_use]
    pub fn stored(&self) -> (u16, [Option<&str>; 2], &str) {
        (self.status, STORED.map(|name| self.header(name)), &self.body)
    }

    /// Returns the response if it is a 2xx, and panics otherwise.
    #[must_use]
    pub fn good(self) -> Self {
        assert!((200..300).contains(&self.status), "a 2xx was expected: {self:?}");
        self
    }

    /// Returns the response if it is a problem of this status and code in problem+json, and panics otherwise.
    #[must_use]
    pub fn problem(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code().as_deref()), (status, Some(code)), "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let json = self.json();
        for member in ["type", "title", "detail"] {
            assert!(json.get(member).is_some_and(Value::is_string), "{member} in {self:?}");
        }
        assert_eq!(json.get("status").and_then(Value::as_u64), Some(u64::from(status)), "{self:?}");
        self
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {}", self.status, self.headers, self.body)
    }
}
