//! A function's reply to an event, and the HTTP response that API Gateway makes of it. The accessors panic with the
//! whole reply.

use crate::http::Answer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A function's reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A response.
    Response(Value),
    /// An error: `errorType` and `errorMessage`.
    Error(Value),
}

impl Reply {
    /// The response.
    ///
    /// # Panics
    /// When it is an error.
    #[must_use]
    pub fn response(self) -> Value {
        match self {
            Self::Response(value) => value,
            Self::Error(error) => panic!("an answer was expected: {error}"),
        }
    }

    /// The error's type and message.
    ///
    /// # Panics
    /// When it is a response.
    #[must_use]
    pub fn error(self) -> (String, String) {
        let Self::Error(error) = &self else { panic!("an error was expected: {self:?}") };
        let text = |name: &str| error[name].as_str().unwrap_or_else(|| panic!("no {name}: {error}")).to_owned();
        (text("errorType"), text("errorMessage"))
    }

    /// What API Gateway sends to the client.
    ///
    /// # Panics
    /// When it is not a response in API Gateway's form.
    #[must_use]
    pub fn http(self) -> Answer {
        let reply = self.response();
        let status = reply["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok());
        let headers = reply["headers"].as_object().into_iter().flatten();
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("no text: {reply}")).to_owned();
        let body = reply["body"].as_str().unwrap_or_default();
        Answer {
            status: status.unwrap_or_else(|| panic!("no status: {reply}")),
            headers: headers.map(|(name, value)| (name.to_lowercase(), text(value))).collect(),
            body: if reply["isBase64Encoded"] == true { decoded(body) } else { body.to_owned() },
        }
    }
}

/// The text in a base64 text.
pub(super) fn decoded(text: &str) -> String {
    String::from_utf8(STANDARD.decode(text).expect("base64")).expect("text")
}
