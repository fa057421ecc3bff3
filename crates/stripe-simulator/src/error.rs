//! Stripe's errors: a status and `{"error": {"type", "code", "message", "param", ...}}`.
//!
//! Each says whether it is stored under the request's idempotency key and whether a client should retry.

use serde_json::{Map, Value, json};

/// Stripe's `type` of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorType {
    /// Something failed on Stripe's side.
    Api,
    /// The payment method was refused.
    Card,
    /// The idempotency key does not fit the request, or is in use.
    Idempotency,
    /// The request cannot be done.
    InvalidRequest,
}

impl ErrorType {
    const fn name(self) -> &'static str {
        match self {
            Self::Api => "api_error",
            Self::Card => "card_error",
            Self::Idempotency => "idempotency_error",
            Self::InvalidRequest => "invalid_request_error",
        }
    }
}

/// One error response.
#[derive(Debug, Clone)]
pub(crate) struct StripeError {
    pub(crate) status: u16,
    kind: ErrorType,
    code: Option<&'static str>,
    message: String,
    param: Option<String>,
    extra: Map<String, Value>,
    /// Whether the endpoint began to execute, so that the response is stored under the idempotency key.
    pub(crate) executed: bool,
    /// The value of `Stripe-Should-Retry`, if Stripe sends it.
    pub(crate) should_retry: Option<bool>,
}

impl StripeError {
    /// An error of a request whose execution had begun.
    pub(crate) fn new(status: u16, kind: ErrorType, code: Option<&'static str>, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, kind, code, message, param: None, extra: Map::new(), executed: true, should_retry: None }
    }

    /// 400 before execution: a parameter is invalid.
    pub(crate) fn parameter(code: &'static str, param: &str, message: impl Into<String>) -> Self {
        Self::new(400, ErrorType::InvalidRequest, Some(code), message).not_executed().about(param)
    }

    /// 400: the object's state forbids it.
    pub(crate) fn refused(code: Option<&'static str>, message: impl Into<String>) -> Self {
        Self::new(400, ErrorType::InvalidRequest, code, message)
    }

    /// 404: there is no such object. `noun` is Stripe's word for its kind in this message.
    pub(crate) fn missing(noun: &str, id: &str, param: &str) -> Self {
        let message = format!("No such {noun}: '{id}'");
        Self::new(404, ErrorType::InvalidRequest, Some("resource_missing"), message).about(param)
    }

    /// 409: another request with the key is in progress.
    pub(crate) fn key_in_use(key: &str) -> Self {
        let message = format!(
            "There is currently another in-progress request using this Idempotent Key: {key}. Try again later, or \
             use another key for another request."
        );
        Self::new(409, ErrorType::Idempotency, Some("idempotency_key_in_use"), message).not_executed().retry(true)
    }

    /// Adds the parameter that caused the error.
    #[must_use]
    pub(crate) fn about(mut self, param: &str) -> Self {
        self.param = Some(param.to_owned());
        self
    }

    /// Adds another member of the error object.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.extra.insert(name.to_owned(), value);
        self
    }

    /// Marks the error as not executed, so that it is not stored under the idempotency key.
    #[must_use]
    pub(crate) fn not_executed(mut self) -> Self {
        self.executed = false;
        self
    }

    /// Adds `Stripe-Should-Retry`.
    #[must_use]
    pub(crate) fn retry(mut self, should_retry: bool) -> Self {
        self.should_retry = Some(should_retry);
        self
    }

    /// The message, one sentence.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The body of the response.
    pub(crate) fn body(&self) -> Value {
        let mut error = self.extra.clone();
        error.insert("type".to_owned(), json!(self.kind.name()));
        error.insert("message".to_owned(), json!(self.message));
        if let Some(code) = self.code {
            error.insert("code".to_owned(), json!(code));
            let page = code.replace('_', "-");
            error.insert("doc_url".to_owned(), json!(format!("https://stripe.com/docs/error-codes/{page}")));
        }
        if let Some(param) = &self.param {
            error.insert("param".to_owned(), json!(param));
        }
        json!({"error": error})
    }
}
