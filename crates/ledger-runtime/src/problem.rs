//! Errors on the wire: RFC 9457 problem documents, the same bytes for the same problem.
//!
//! Each code that a client can receive has its constructor in `catalogue`.

mod catalogue;
mod code;

use crate::dynamo::ReadError;
use crate::entropy::EntropyError;
use crate::metrics::{Metric, Metrics};
use crate::notes::ResponseNotes;
use axum::response::{IntoResponse, Response};
pub use code::Code;
use http::{HeaderName, HeaderValue, StatusCode, header};
use ledger_core::dynamo::ItemError;
use ledger_core::idempotency::{Answer, MarkerError};
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::Value;
use std::time::Duration;

/// The media type of problem documents.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// A problem document. Boxed, so that results stay small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    code: Code,
    detail: String,
    extra: Vec<(&'static str, Value)>,
    retry_after: Option<Duration>,
    /// The metric to count in addition to that of the status.
    metric: Option<Metric>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    fn of(code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            detail: detail.into(),
            extra: Vec::new(),
            retry_after: None,
            metric: None,
            headers: Vec::new(),
        }))
    }

    /// Adds a member to the document. Members keep the order in which they are added.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.0.extra.push((name, value.into()));
        self
    }

    /// Sets when to retry: the header `Retry-After`, and `retry_after_ms` in the document.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// Sets the metric to count in addition to that of the status.
    fn counted_as(mut self, metric: Metric) -> Self {
        self.0.metric = Some(metric);
        self
    }

    /// Counts the problem. A worker or a task that ends with it calls this once.
    ///
    /// These callers have no token, so `CrossTenantDenied` is not counted.
    pub(crate) fn count(&self, metrics: &Metrics, tenant: &Tenant, operation: Option<Operation>) {
        let own = self.0.metric.filter(|metric| *metric != Metric::CrossTenantDenied);
        for metric in Metric::of_fault(self.0.code.status()).into_iter().chain(own) {
            metrics.count_of(metric, Some(tenant), operation);
        }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.code.status()
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.code.name()
    }

    /// The text for people.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The document as JSON.
    #[must_use]
    pub fn body(&self) -> String {
        serde_json::to_string(&*self.0).unwrap_or_default()
    }

    /// The document as a response that is stored under a key.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer {
            status: self.0.code.status().as_u16(),
            content_type: PROBLEM_JSON.to_owned(),
            location: None,
            body: self.body(),
        }
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
                Self::store_refused(&code)
            }
            ReadError::Unreadable(error) => error.into(),
            ReadError::Unadoptable(error) => {
                tracing::warn!(%error, "a customer's legacy record cannot be read");
                Self::legacy_record_unreadable()
            }
        }
    }
}

impl From<ItemError> for Problem {
    fn from(error: ItemError) -> Self {
        if error.is_later_form() {
            return Self::later_form(&error);
        }
        tracing::error!(%error, "a stored item cannot be read");
        Self::internal()
    }
}

impl From<MarkerError> for Problem {
    fn from(error: MarkerError) -> Self {
        match error {
            MarkerError::Item(error) => error.into(),
            MarkerError::KeyAbsent(_) => Self::keys_unavailable(),
            MarkerError::Encrypted(error) => {
                tracing::error!(%error, "a stored response cannot be decrypted");
                Self::internal()
            }
        }
    }
}

impl From<EntropyError> for Problem {
    fn from(error: EntropyError) -> Self {
        tracing::error!(%error, "the operating system gave no randomness");
        Self::internal()
    }
}

impl Serialize for Inner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.code.type_uri())?;
        map.serialize_entry("title", self.code.title())?;
        map.serialize_entry("status", &self.code.status().as_u16())?;
        map.serialize_entry("detail", &self.detail)?;
        map.serialize_entry("code", self.code.name())?;
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
        *response.status_mut() = self.0.code.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if let Some(after) = self.0.retry_after {
            // Whole seconds, rounded up, so that a client that waits this long does not retry too early.
            let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        headers.extend(self.0.headers);
        let notes = ResponseNotes { code: Some(self.0.code.name()), metric: self.0.metric, ..ResponseNotes::default() };
        response.extensions_mut().insert(notes);
        response
    }
}

#[cfg(test)]
mod tests;
