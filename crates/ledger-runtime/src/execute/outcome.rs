//! The response to a keyed request: stored bytes, identical for every retry.

use crate::notes::ResponseNotes;
use crate::problem::Problem;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use ledger_core::idempotency::{Answer, SecretAnswer};
use ledger_core::operation::Operation;
use serde::Serialize;
use std::fmt;

const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const JSON: &str = "application/json";

/// The response to a keyed request.
#[derive(Clone, Debug)]
pub struct Outcome {
    operation: Operation,
    reply: Result<Reply, Problem>,
}

/// A stored response. It does not print its body, which may have a one-time secret.
#[derive(Clone)]
pub(crate) struct Reply {
    answer: Answer,
    replayed: bool,
    code: Option<&'static str>,
}

/// Builds a 200 response with a JSON body.
#[must_use]
pub fn ok(body: &impl Serialize) -> Answer {
    json(StatusCode::OK, None, body)
}

/// Builds a 201 response with a JSON body and the path of the new resource.
#[must_use]
pub fn created(location: String, body: &impl Serialize) -> Answer {
    json(StatusCode::CREATED, Some(location), body)
}

/// Builds a 201 response with a JSON body, for a resource that the caller has no path of.
#[must_use]
pub fn created_without_path(body: &impl Serialize) -> Answer {
    json(StatusCode::CREATED, None, body)
}

/// Builds a 202 response with a JSON body and the path of the accepted work.
#[must_use]
pub fn accepted(location: String, body: &impl Serialize) -> Answer {
    json(StatusCode::ACCEPTED, Some(location), body)
}

/// Declares that a response's body has a one-time secret.
#[must_use]
pub fn with_secret(answer: Answer) -> SecretAnswer {
    SecretAnswer::new(answer)
}

fn json(status: StatusCode, location: Option<String>, body: &impl Serialize) -> Answer {
    // Bodies are structs of strings and numbers, which always serialize.
    let body = serde_json::to_string(body).unwrap_or_else(|_| "{}".to_owned());
    Answer { status: status.as_u16(), content_type: JSON.to_owned(), location, body }
}

impl Reply {
    pub(crate) fn fresh(answer: Answer) -> Self {
        Self { answer, replayed: false, code: None }
    }

    pub(crate) fn refused(answer: Answer, code: &'static str) -> Self {
        Self { answer, replayed: false, code: Some(code) }
    }

    pub(crate) fn replayed(answer: Answer) -> Self {
        Self { answer, replayed: true, code: None }
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answer, replayed, code } = self;
        let mut shown = f.debug_struct("Reply");
        shown.field("status", &answer.status).field("replayed", replayed).field("code", code).finish_non_exhaustive()
    }
}

impl Outcome {
    pub(super) fn new(operation: Operation, reply: Result<Reply, Problem>) -> Self {
        Self { operation, reply }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        match &self.reply {
            Ok(reply) => reply.answer.status,
            Err(problem) => problem.status().as_u16(),
        }
    }

    /// The body.
    #[must_use]
    pub fn body(&self) -> String {
        match &self.reply {
            Ok(reply) => reply.answer.body.clone(),
            Err(problem) => problem.body(),
        }
    }

    /// The stable code of the problem, stored or not; `None` if the response is no problem.
    #[must_use]
    pub fn problem_code(&self) -> Option<String> {
        let body: serde_json::Value = serde_json::from_str(&self.body()).ok()?;
        Some(body.get("code")?.as_str()?.to_owned())
    }

    /// Whether it replays the stored response to an earlier request.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.reply.as_ref().is_ok_and(|reply| reply.replayed)
    }

    /// Returns the stored response, or the problem that is not stored.
    ///
    /// # Errors
    /// The problem.
    pub fn into_answer(self) -> Result<Answer, Problem> {
        self.reply.map(|reply| reply.answer)
    }
}

impl IntoResponse for Outcome {
    fn into_response(self) -> Response {
        let (mut response, replayed, code) = match self.reply {
            Ok(reply) => (stored(reply.answer, reply.replayed), reply.replayed, reply.code),
            Err(problem) => {
                let code = problem.code();
                (problem.into_response(), false, Some(code))
            }
        };
        let notes = ResponseNotes { code, operation: Some(self.operation), replayed, metric: None, counted: true };
        response.extensions_mut().insert(notes);
        response
    }
}

fn stored(answer: Answer, replayed: bool) -> Response {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    let location = answer.location.map(|location| (header::LOCATION, location));
    for (name, value) in [(header::CONTENT_TYPE, answer.content_type)].into_iter().chain(location) {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    if replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    response
}
