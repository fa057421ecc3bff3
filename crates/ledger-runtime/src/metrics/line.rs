//! The log line of a request, which the request's values may be written into.

use crate::pseudonym::Pseudonym;
use serde::Serialize;

/// The log line of a request.
#[derive(Debug, Serialize)]
pub struct RequestLine<'a> {
    /// The method.
    pub method: &'a str,
    /// The path's template; `-` if no route has the path.
    pub path: &'a str,
    /// The response's status.
    pub status: u16,
    /// The problem's code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// Whether a stored response was replayed.
    pub replayed: bool,
    /// The time in the function.
    pub latency_ms: u64,
    /// The tenant of the verified identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<&'a str>,
    /// The caller of the verified identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<Pseudonym>,
    /// The address that the request came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Pseudonym>,
    /// The name of the operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'static str>,
    /// The request's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<&'a str>,
}

/// The message of a request's line.
pub(crate) const REQUEST_MESSAGE: &str = "request";

impl RequestLine<'_> {
    /// Logs the line by itself.
    pub(crate) fn log(&self) {
        tracing::info!(
            method = self.method,
            path = self.path,
            status = self.status,
            code = self.code,
            replayed = self.replayed,
            latency_ms = self.latency_ms,
            tenant = self.tenant,
            actor = self.actor.map(tracing::field::display),
            source = self.source.map(tracing::field::display),
            operation = self.operation,
            request_id = self.request_id,
            "{REQUEST_MESSAGE}"
        );
    }
}
