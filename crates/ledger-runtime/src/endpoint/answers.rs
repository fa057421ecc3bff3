//! The refusals of an operation in the OpenAPI document: each status with its closed list of codes.

use crate::problem::{Code, PROBLEM_JSON};
use http::StatusCode;
use serde_json::{Value, json};
use utoipa::openapi::content::{Content, ContentBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{AllOfBuilder, AnyOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Ref, RefOr};

/// The name of the schema of responses that API Gateway makes without calling a function.
pub const GATEWAY_MESSAGE: &str = "GatewayMessage";

/// The refusals of one status: each code, with the condition where the operation states one.
pub(super) type Refusals = [(Code, Option<&'static str>)];

/// The properties of an operation that decide the headers of its refusals.
#[derive(Clone, Copy, Default)]
pub(super) struct HeaderTerms {
    /// Whether its requests carry an idempotency key.
    pub(super) is_keyed: bool,
    /// A code whose answers may carry `Retry-After`.
    pub(super) waits: Option<Code>,
}

/// Refusals that many operations share: a response among the document's components.
#[derive(Debug)]
pub struct Group {
    name: &'static str,
    codes: &'static [Code],
    /// Whether API Gateway may answer the same status without calling a function.
    by_gateway: bool,
}

impl Group {
    /// Every group.
    pub const ALL: &'static [Self] = &[
        Self::of("Unauthenticated", &[Code::Unauthenticated], true),
        Self::of("SignatureRefused", &[Code::SignatureExpired, Code::SignatureInvalid], false),
        Self::of("NotPermitted", &[Code::TenantUnknown, Code::WrongFace], false),
        Self::of("StaffNotPermitted", &[Code::PermissionMissing, Code::TenantUnknown, Code::WrongFace], false),
        Self::of("TenantUnknown", &[Code::TenantUnknown], false),
        Self::of("NotFound", &[Code::NotFound], false),
        Self::of("KeyInUse", &[Code::IdempotencyKeyInUse], false),
        Self::of("KeyInUseOrReversed", &[Code::IdempotencyKeyInUse, Code::OperationReversed], false),
        Self::of("ExistsOrKeyInUse", &[Code::AlreadyExists, Code::IdempotencyKeyInUse], false),
        Self::of("KeyExpired", &[Code::IdempotencyKeyExpired], false),
        Self::of("BodyTooLarge", &[Code::BodyTooLarge], true),
        Self::of("UnsupportedMediaType", &[Code::UnsupportedMediaType], false),
        Self::of("KeyOfAnotherRequest", &[Code::IdempotencyKeyFingerprintMismatch], false),
        Self::of("RateLimited", &[Code::RateLimited], true),
        Self::of("Internal", &[Code::Internal], true),
        Self::of("Unavailable", &[Code::Busy, Code::Unavailable], true),
        Self::of("OutcomeUnknown", &[Code::Busy, Code::OutcomeUnknown, Code::Unavailable], true),
    ];

    const fn of(name: &'static str, codes: &'static [Code], by_gateway: bool) -> Self {
        Self { name, codes, by_gateway }
    }

    /// The name of the response component.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name of the schema component.
    #[must_use]
    pub fn schema_name(&self) -> String {
        format!("{}Problem", self.name)
    }

    /// The codes, in ascending order.
    #[must_use]
    pub fn codes(&self) -> &'static [Code] {
        self.codes
    }

    /// Returns the response for the document's components.
    #[must_use]
    pub fn response(&self) -> Response {
        let refusals: Vec<_> = self.codes.iter().map(|code| (*code, None)).collect();
        self.described(&refusals, HeaderTerms::default())
    }

    fn described(&self, refusals: &Refusals, terms: HeaderTerms) -> Response {
        let response = with_headers(ResponseBuilder::new().description(sentences(refusals)), refusals, terms);
        let schema = RefOr::Ref(Ref::from_schema_name(self.schema_name()));
        let response = response.content(PROBLEM_JSON, content(schema, refusals));
        if !self.by_gateway {
            return response.build();
        }
        // Some generators use only the first media type of a status, so its schema must accept both bodies.
        let either = AnyOfBuilder::new()
            .item(Ref::from_schema_name(self.schema_name()))
            .item(Ref::from_schema_name(GATEWAY_MESSAGE));
        let message = ContentBuilder::new()
            .schema(Some(Schema::from(either.build())))
            .example(Some(json!({"message": gateway_text(self.codes)})));
        response.content("application/json", message.build()).build()
    }
}

/// Returns the schema of problem documents with one of these codes.
#[must_use]
pub fn problem_schema(codes: &[Code]) -> Schema {
    let code = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes.iter().map(|code| code.name())));
    let narrowed = ObjectBuilder::new().schema_type(Type::Object).property("code", code.build()).required("code");
    AllOfBuilder::new().item(Ref::from_schema_name("Problem")).item(narrowed.build()).build().into()
}

/// Returns the response of one status: a shared one if one has these codes and no condition is stated.
pub(super) fn response(refusals: &Refusals, terms: HeaderTerms) -> RefOr<Response> {
    let codes: Vec<Code> = refusals.iter().map(|(code, _)| *code).collect();
    match Group::ALL.iter().find(|group| group.codes == codes) {
        Some(group) if refusals.iter().all(|(_, condition)| condition.is_none()) => {
            RefOr::Ref(Ref::from_response_name(group.name))
        }
        Some(group) => RefOr::T(group.described(refusals, terms)),
        None => {
            let response = with_headers(ResponseBuilder::new().description(sentences(refusals)), refusals, terms);
            RefOr::T(response.content(PROBLEM_JSON, content(problem_schema(&codes), refusals)).build())
        }
    }
}

fn content(schema: impl Into<RefOr<Schema>>, refusals: &Refusals) -> Content {
    let example = refusals.iter().max_by_key(|(code, condition)| (condition.is_some(), !is_of_every_request(*code)));
    ContentBuilder::new().schema(Some(schema)).example(example.map(|(code, _)| problem(*code))).build()
}

/// Whether a code can come from any operation and so makes a poor example.
fn is_of_every_request(code: Code) -> bool {
    matches!(code, Code::InvalidRequest | Code::IdempotencyKeyInvalid | Code::IdempotencyKeyMissing)
}

/// A problem document as an example.
fn problem(code: Code) -> Value {
    let mut problem = json!({
        "type": code.type_uri(),
        "title": code.title(),
        "status": code.status().as_u16(),
        "detail": format!("{}.", code.title()),
        "code": code.name(),
    });
    if let (true, Some(members)) = (has_retry_after(code), problem.as_object_mut()) {
        members.insert("retry_after_ms".to_owned(), 1000.into());
    }
    problem
}

/// One sentence for each code.
fn sentences(refusals: &Refusals) -> String {
    let sentence = |(code, condition): &(Code, Option<&'static str>)| {
        format!("`{}`: {}.", code.name(), condition.unwrap_or(code.title()))
    };
    refusals.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn with_headers(response: ResponseBuilder, refusals: &Refusals, terms: HeaderTerms) -> ResponseBuilder {
    let mut response = response.header_ref("Request-Id", header("RequestId"));
    let waiting = refusals.iter().filter(|(code, _)| has_retry_after(*code)).count();
    let may_wait = refusals.iter().any(|(code, _)| terms.waits == Some(*code));
    if waiting > 0 || may_wait {
        let name = if waiting == refusals.len() { "RetryAfter" } else { "RetryAfterIfSoon" };
        response = response.header_ref("Retry-After", header(name));
    }
    if refusals.iter().any(|(code, _)| *code == Code::Unauthenticated) {
        response = response.header_ref("WWW-Authenticate", header("WwwAuthenticate"));
    }
    // Refusals by the rules of the ledger are stored and replayed.
    if terms.is_keyed && refusals.iter().any(|(code, _)| code.status() == StatusCode::BAD_REQUEST) {
        response = response.header_ref("Idempotent-Replayed", header("IdempotentReplayed"));
    }
    response
}

/// Returns a reference to a header among the document's components.
pub(super) fn header(name: &str) -> Ref {
    Ref::new(format!("#/components/headers/{name}"))
}

fn has_retry_after(code: Code) -> bool {
    matches!(
        code,
        Code::IdempotencyKeyInUse
            | Code::RateLimited
            | Code::Busy
            | Code::EventKept
            | Code::OutcomeUnknown
            | Code::Unavailable
    )
}

/// Returns API Gateway's message for the status of these codes.
fn gateway_text(codes: &[Code]) -> &'static str {
    match codes.first().map(|code| code.status()) {
        Some(StatusCode::UNAUTHORIZED) => "Unauthorized",
        Some(StatusCode::PAYLOAD_TOO_LARGE) => "Request Entity Too Large",
        Some(StatusCode::TOO_MANY_REQUESTS) => "Too Many Requests",
        Some(StatusCode::INTERNAL_SERVER_ERROR) => "Internal Server Error",
        Some(_) | None => "Service Unavailable",
    }
}
