//! What came back from a face: status, headers and body, with the questions that tests ask.
//! Every question panics with the whole answer, so that a failure explains itself.

use serde_json::Value;
use std::fmt;

/// An answer.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Every header, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// The headers that are stored with an answer and come back with its replay.
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

    /// The stable code of a problem, or nothing for another body.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        let json: Value = serde_json::from_str(&self.body).ok()?;
        Some(json.get("code")?.as_str()?.to_owned())
    }

    /// Whether it is a stored answer to an earlier request.
    #[must_use]
    pub fn replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// What must be the same in every answer under one key: status, stored headers, body.
    #[must_use]
    pub fn stored(&self) -> (u16, [Option<&str>; 2], &str) {
        (self.status, STORED.map(|name| self.header(name)), &self.body)
    }

    /// This answer, which must be a 2xx.
    #[must_use]
    pub fn good(self) -> Self {
        assert!((200..300).contains(&self.status), "a 2xx was expected: {self:?}");
        self
    }

    /// This answer, which must be a problem of this status and code, in problem+json.
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
