//! Errors on the wire: RFC 9457 problem documents, the same bytes for the same problem.
//! Every code that a client can meet has its constructor here.

use crate::dynamo::ReadError;
use crate::entropy::EntropyError;
use crate::notes::ResponseNotes;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use ledger_core::dynamo::ItemError;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Answer, KeyError};
use ledger_core::time::Timestamp;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use std::time::Duration;

/// The media type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";
const TYPE_BASE: &str = "https://ecopay.example/problems/";
const INTERNAL_DETAIL: &str =
    "Something went wrong on our side. It has been recorded. Repeat the request with the same idempotency key.";

/// A problem document. One word wide, so that results stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    status: StatusCode,
    code: &'static str,
    title: &'static str,
    detail: String,
    extra: Vec<(&'static str, Value)>,
    retry_after: Option<Duration>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    fn of(status: StatusCode, code: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            status,
            code,
            title,
            detail: detail.into(),
            extra: Vec::new(),
            retry_after: None,
            headers: Vec::new(),
        }))
    }

    /// Adds a member to the document. Members stand in the order in which they are added.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.extra.push((name, value.into()));
        self
    }

    /// Says when to try again: `Retry-After`, and `retry_after_ms` in the document.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The sentence for a person.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The document.
    #[must_use]
    pub fn body(&self) -> String {
        serde_json::to_string(&*self.0).unwrap_or_default()
    }

    /// The document as an answer that is stored under a key.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer {
            status: self.0.status.as_u16(),
            content_type: PROBLEM_JSON.to_owned(),
            location: None,
            body: self.body(),
        }
    }
}

/// 400 and their kind: the request is at fault.
impl Problem {
    /// 400: the request cannot be understood or makes no sense.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::of(StatusCode::BAD_REQUEST, "invalid_request", "The request is not valid", detail)
    }

    /// 400: a field of the request is at fault. `why` must not repeat what was sent.
    pub fn invalid_field(field: &str, why: impl std::fmt::Display) -> Self {
        Self::invalid(format!("{field}: {why}")).with("field", field)
    }

    /// 400: a refusal by the rules of the ledger.
    #[must_use]
    pub fn refused(failure: Failure) -> Self {
        let bad = StatusCode::BAD_REQUEST;
        let (status, title, detail) = match failure {
            Failure::Insufficient => (bad, "Not enough balance", "The account does not hold enough for this."),
            Failure::CapExceeded => {
                (bad, "The cap would be exceeded", "The recipient would hold more than is allowed.")
            }
            Failure::LimitExceeded => (bad, "A limit is exceeded", "This is more than a limit allows."),
            Failure::OverRefund => (bad, "More than is left", "The refund is above what is left of the payment."),
            Failure::WrongState => (bad, "Not in this state", "The state of the resource does not allow this."),
            Failure::AccountFrozen => (bad, "The account is frozen", "Nothing can be taken from a frozen account."),
            Failure::AccountMissing => return Self::not_found(),
            Failure::FourEyes => (
                StatusCode::FORBIDDEN,
                "Another person must decide",
                "Whoever requested it cannot approve it: ask a colleague.",
            ),
            Failure::AlreadyExists => (StatusCode::CONFLICT, "It exists", "What was to be created exists already."),
            Failure::StalePlan => return Self::busy(),
        };
        Self::of(status, failure.code(), title, detail)
    }

    /// What a key error means: 400 `idempotency_key_missing` or `idempotency_key_invalid`.
    #[must_use]
    pub fn key(error: KeyError) -> Self {
        let invalid = || {
            Self::of(
                StatusCode::BAD_REQUEST,
                "idempotency_key_invalid",
                "The idempotency key is not valid",
                error.to_string(),
            )
        };
        match error {
            KeyError::Missing => Self::of(
                StatusCode::BAD_REQUEST,
                "idempotency_key_missing",
                "An idempotency key is needed",
                error.to_string(),
            ),
            KeyError::FromTheFuture { now } => invalid().with("server_time", now.rfc3339()),
            KeyError::Malformed | KeyError::Several | KeyError::Differ | KeyError::NotThisTerminals => invalid(),
        }
    }

    /// 401: no verified identity.
    #[must_use]
    pub fn unauthenticated() -> Self {
        let mut problem = Self::of(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "Who are you?",
            "Send a valid token of this service in the Authorization header.",
        );
        problem.0.headers.push((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        problem
    }

    /// 401: the signature is missing, malformed or wrong, or its terminal is not known or not active.
    pub fn signature_invalid(detail: impl Into<String>) -> Self {
        Self::of(StatusCode::UNAUTHORIZED, "signature_invalid", "The signature is not valid", detail)
    }

    /// 401: the signature was made too long ago, or in the future.
    #[must_use]
    pub fn signature_expired(now: Timestamp) -> Self {
        Self::of(
            StatusCode::UNAUTHORIZED,
            "signature_expired",
            "The signature's time is off",
            "The signature was not made within 300 s of the server's time: set the terminal's clock and sign again.",
        )
        .with("server_time", now.rfc3339())
    }

    /// 403: the token is for another face.
    #[must_use]
    pub fn wrong_face() -> Self {
        Self::of(
            StatusCode::FORBIDDEN,
            "wrong_face",
            "Not with this token",
            "This token is for another part of the service.",
        )
    }

    /// 403: the caller lacks a role.
    #[must_use]
    pub fn forbidden(role: &str) -> Self {
        Self::of(StatusCode::FORBIDDEN, "forbidden", "Not allowed", format!("This needs the role `{role}`."))
    }

    /// 403: the token's tenant is not set up here.
    #[must_use]
    pub fn tenant_unknown() -> Self {
        Self::of(
            StatusCode::FORBIDDEN,
            "tenant_unknown",
            "Unknown tenant",
            "The tenant of this token is not set up here.",
        )
    }

    /// 404: there is none, or it is another's.
    #[must_use]
    pub fn not_found() -> Self {
        Self::of(StatusCode::NOT_FOUND, "not_found", "Not found", "There is no such resource.")
    }

    /// 405: the path has no such method.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::of(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "Wrong method",
            "The path does not have this method: see the Allow header.",
        )
    }

    /// 409: what was to be created exists.
    #[must_use]
    pub fn already_exists() -> Self {
        Self::refused(Failure::AlreadyExists)
    }

    /// 409: a request with the same key is still running.
    #[must_use]
    pub fn key_in_use(after: Duration) -> Self {
        Self::of(
            StatusCode::CONFLICT,
            "idempotency_key_in_use",
            "The request is still running",
            "An earlier request with this idempotency key has not ended: ask again.",
        )
        .retry_after(after)
    }

    /// 409: the operation was taken back before it came.
    #[must_use]
    pub fn operation_reversed() -> Self {
        Self::of(
            StatusCode::CONFLICT,
            "operation_reversed",
            "The operation was reversed",
            "The operation under this idempotency key was reversed and will never be executed.",
        )
    }

    /// 410: the key is too old.
    #[must_use]
    pub fn key_expired(original_request_at: Option<Timestamp>) -> Self {
        let problem = Self::of(
            StatusCode::GONE,
            "idempotency_key_expired",
            "The idempotency key has expired",
            "The answer under this idempotency key is no longer kept, and the request is not executed again.",
        );
        match original_request_at {
            Some(at) => problem.with("original_request_at", at.rfc3339()),
            None => problem,
        }
    }

    /// 413: the body is too large.
    #[must_use]
    pub fn body_too_large(bytes_max: usize) -> Self {
        Self::of(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body_too_large",
            "The body is too large",
            format!("A request's body has at most {bytes_max} bytes."),
        )
    }

    /// 415: the body is not JSON.
    #[must_use]
    pub fn unsupported_media_type() -> Self {
        Self::of(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "Send JSON",
            "Send the body as `Content-Type: application/json`, in UTF-8 and without a content encoding.",
        )
    }

    /// 422: the key is bound to another request.
    #[must_use]
    pub fn key_reused() -> Self {
        Self::of(
            StatusCode::UNPROCESSABLE_ENTITY,
            "idempotency_key_fingerprint_mismatch",
            "The idempotency key belongs to another request",
            "This idempotency key was used for a different request. Send the original request, or use another key.",
        )
    }

    /// 429: too many requests.
    #[must_use]
    pub fn too_many_requests(after: Duration) -> Self {
        Self::of(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "Too many requests", "Slow down and try again.")
            .retry_after(after)
    }
}

/// 500 and 503: we are at fault.
impl Problem {
    /// 500, always the same body: detail goes to the log.
    #[must_use]
    pub fn internal() -> Self {
        Self::of(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Internal error", INTERNAL_DETAIL)
    }

    /// 503: nothing was done, for there was too much to do at once.
    #[must_use]
    pub fn busy() -> Self {
        Self::of(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "Busy",
            "Nothing was done. Repeat the request with the same idempotency key.",
        )
        .retry_after(Duration::from_secs(1))
    }

    /// 503: the store does not answer. Nothing was done.
    #[must_use]
    pub fn unavailable() -> Self {
        Self::of(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "Not available",
            "The ledger's store does not answer. Nothing was done. Repeat the request with the same idempotency key.",
        )
        .retry_after(Duration::from_secs(2))
    }

    /// 503: it may or may not have happened.
    #[must_use]
    pub fn outcome_unknown() -> Self {
        Self::of(
            StatusCode::SERVICE_UNAVAILABLE,
            "outcome_unknown",
            "The outcome is not known yet",
            "It may or may not have happened. Repeat the request with the same idempotency key to find out.",
        )
        .retry_after(Duration::from_secs(2))
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Throttled => Self::busy(),
            ReadError::Unavailable(code) => {
                tracing::warn!(code, "the store did not answer a read");
                Self::unavailable()
            }
            ReadError::Refused(code) => {
                tracing::error!(code, "the store refused a read");
                Self::internal()
            }
            ReadError::Unreadable(error) => error.into(),
        }
    }
}

impl From<ItemError> for Problem {
    fn from(error: ItemError) -> Self {
        tracing::error!(%error, "a stored item cannot be read");
        Self::internal()
    }
}

impl From<EntropyError> for Problem {
    fn from(error: EntropyError) -> Self {
        tracing::error!(%error, "no randomness");
        Self::internal()
    }
}

impl Serialize for Inner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &format!("{TYPE_BASE}{}", self.code))?;
        map.serialize_entry("title", self.title)?;
        map.serialize_entry("status", &self.status.as_u16())?;
        map.serialize_entry("detail", &self.detail)?;
        map.serialize_entry("code", self.code)?;
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        if let Some(after) = self.retry_after {
            map.serialize_entry("retry_after_ms", &u64::try_from(after.as_millis()).unwrap_or(u64::MAX))?;
        }
        map.end()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = Response::new(axum::body::Body::from(self.body()));
        *response.status_mut() = self.0.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(after) = self.0.retry_after {
            // Whole seconds, rounded up: whoever waits that long does not come too early.
            let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        headers.extend(self.0.headers);
        response.extensions_mut().insert(ResponseNotes { code: Some(self.0.code), ..ResponseNotes::default() });
        response
    }
}

#[cfg(test)]
mod tests;
