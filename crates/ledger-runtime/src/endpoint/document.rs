//! Builds the OpenAPI operation of an endpoint.

use super::answers::{self, header};
use super::{Access, Endpoint, Face, Method, Success};
use crate::parameter::{KEY_PATTERN, TERMINAL_KEY_PATTERN};
use crate::problem::Code;
use ledger_core::operation::Operation;
use std::collections::{BTreeMap, BTreeSet};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation as Documented, OperationBuilder, Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::openapi::security::SecurityRequirement;
use utoipa::openapi::{RefOr, Required};

const OK: u16 = 200;

/// What the document says of an endpoint that members of one shop may call.
const OF_SHOPS: &str = "A member of one shop may call it for that shop; the payments of others are treated as missing.";

impl Face {
    /// The tag in the document.
    const fn tag(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Merchant => "merchant",
            Self::Admin => "admin",
            Self::Terminal => "terminal",
            Self::Stripe => "stripe",
        }
    }
}

impl Endpoint {
    /// Builds the operation. `operation` is `None` if requests carry no idempotency key.
    pub(super) fn document(&self, operation: Option<Operation>) -> Documented {
        let mut documented = OperationBuilder::new()
            .tag(self.face().tag())
            .operation_id(Some(self.operation_id()))
            .summary(Some(self.summary))
            .description(Some(self.about_text()))
            .request_body(self.request_body())
            .extensions(self.extensions(operation));
        for parameter in self.parameters.iter().flatten() {
            documented = documented.parameter(parameter.document());
        }
        if operation.is_some() {
            documented = documented.parameter(self.key_parameter());
        }
        if let Some(security) = self.security() {
            documented = documented.security(security);
        }
        for success in self.successes.iter().flatten() {
            let mut response = success.document(operation.is_some());
            if self.has_csv && success.status == OK {
                let text = ObjectBuilder::new().schema_type(Type::String).build();
                let content = ContentBuilder::new().schema(Some(Schema::Object(text))).build();
                response.content.insert("text/csv".to_owned(), RefOr::T(content));
            }
            documented = documented.response(success.status.to_string(), response);
        }
        for (status, refusals) in self.refusals(operation.is_some()) {
            let terms = answers::HeaderTerms { is_keyed: operation.is_some(), waits: self.waits };
            documented = documented.response(status.to_string(), answers::response(&refusals, terms));
        }
        documented.build()
    }

    /// Returns the schemas of the bodies.
    pub(super) fn schemas(&self) -> Vec<(String, RefOr<Schema>)> {
        let mut schemas = Vec::new();
        let successes = self.successes.iter().flatten().map(|success| success.shape);
        for shape in self.body.into_iter().chain(successes) {
            shape.collect(&mut schemas);
        }
        schemas
    }

    /// Returns the method and path as words, without the version. Handlers' names are not unique.
    fn operation_id(&self) -> String {
        let words = self.path.split(['/', '{', '}', '-']).filter(|word| !word.is_empty() && *word != "v1");
        let method = self.method.name().to_ascii_lowercase();
        std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("_")
    }

    fn about_text(&self) -> String {
        let of_shops = if self.is_of_shops { OF_SHOPS } else { "" };
        let parts = [self.summary, self.description, of_shops];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    fn request_body(&self) -> Option<RequestBody> {
        let shape = self.body?;
        let content = ContentBuilder::new().schema(Some(shape.schema())).build();
        let body = RequestBodyBuilder::new().content("application/json", content).required(Some(Required::True));
        Some(body.description(shape.description()).build())
    }

    fn extensions(&self, operation: Option<Operation>) -> Option<Extensions> {
        let permission = match self.access {
            Access::Permission(permission) => Some(("x-permission", permission.name())),
            Access::Own | Access::Anonymous => None,
        };
        let operation = operation.map(|operation| ("x-operation", operation.name()));
        let all: Extensions = permission.into_iter().chain(operation).collect();
        (!all.is_empty()).then_some(all)
    }

    fn key_parameter(&self) -> Parameter {
        let (description, pattern, example) = if self.face() == Face::Terminal {
            (
                "`<terminal id>-<epoch>-<sequence>`: the terminal counts its requests since its enrolment.",
                TERMINAL_KEY_PATTERN,
                "019aa7fe-3c00-7000-8000-000000000001-1-1",
            )
        } else {
            (
                "A key made for this one request, preferably a UUIDv7: 1 to 255 visible ASCII characters. A retry \
                 sends it again and gets the stored response. The body's field `idempotencyKey` is an alternative.",
                KEY_PATTERN,
                "019aa7fe-3c00-7000-8000-000000000002",
            )
        };
        let schema = ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).examples([example]);
        ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::True)
            .description(Some(description))
            .schema(Some(schema.build()))
            .build()
    }

    /// Returns how callers identify themselves; `None` if by a token, which is the document's default.
    fn security(&self) -> Option<SecurityRequirement> {
        match self.face() {
            Face::Customer | Face::Merchant | Face::Admin => None,
            Face::Terminal if self.access == Access::Anonymous => Some(SecurityRequirement::default()),
            Face::Terminal => Some(SecurityRequirement::new::<_, [&str; 0], &str>("terminal", [])),
            Face::Stripe => Some(SecurityRequirement::new::<_, [&str; 0], &str>("stripe", [])),
        }
    }

    /// Returns every refusal code by its status, with its condition if one is stated.
    fn refusals(&self, is_keyed: bool) -> BTreeMap<u16, Vec<(Code, Option<&'static str>)>> {
        let mut codes: BTreeSet<Code> = self.problems.iter().copied().collect();
        let conditions: BTreeMap<Code, &'static str> = self.conditions.iter().flatten().copied().collect();
        codes.extend(conditions.keys());
        codes.extend([Code::Internal, Code::Busy, Code::Unavailable]);
        codes.extend(self.of_identity());
        codes.extend(self.of_reading(is_keyed));
        if is_keyed {
            codes.extend([
                Code::IdempotencyKeyInvalid,
                Code::IdempotencyKeyMissing,
                Code::IdempotencyKeyInUse,
                Code::IdempotencyKeyExpired,
                Code::IdempotencyKeyFingerprintMismatch,
            ]);
        }
        let mut by_status = BTreeMap::<u16, Vec<_>>::new();
        for code in codes {
            by_status.entry(code.status().as_u16()).or_default().push((code, conditions.get(&code).copied()));
        }
        by_status
    }

    /// The refusals of the caller's identity, which is checked before the request is parsed.
    fn of_identity(&self) -> &'static [Code] {
        match self.face() {
            Face::Customer | Face::Merchant | Face::Admin => match self.access {
                Access::Permission(_) => &[
                    Code::Unauthenticated,
                    Code::PermissionMissing,
                    Code::WrongFace,
                    Code::TenantUnknown,
                    Code::RateLimited,
                ],
                Access::Own | Access::Anonymous => {
                    &[Code::Unauthenticated, Code::WrongFace, Code::TenantUnknown, Code::RateLimited]
                }
            },
            Face::Terminal if self.access == Access::Anonymous => &[Code::RateLimited],
            // The signature covers the body, which is read first.
            Face::Terminal => &[
                Code::SignatureInvalid,
                Code::SignatureExpired,
                Code::BodyTooLarge,
                Code::TenantUnknown,
                Code::RateLimited,
            ],
            Face::Stripe => &[Code::WebhookSignatureInvalid, Code::RateLimited],
        }
    }

    /// The refusals of a request that cannot be parsed.
    fn of_reading(&self, is_keyed: bool) -> Vec<Code> {
        let mut codes = Vec::new();
        let has_body = is_keyed || self.body.is_some();
        let mut parameters = self.parameters.iter().flatten();
        if has_body || parameters.clone().any(|parameter| parameter.is_in_query()) {
            codes.push(Code::InvalidRequest);
        }
        if parameters.any(|parameter| !parameter.is_in_query()) {
            codes.push(Code::NotFound);
        }
        if has_body {
            codes.push(Code::BodyTooLarge);
            if self.face() != Face::Stripe {
                codes.push(Code::UnsupportedMediaType);
            }
        }
        if self.method != Method::Get {
            codes.push(Code::OutcomeUnknown);
        }
        codes
    }
}

impl Success {
    fn document(&self, is_keyed: bool) -> Response {
        let content = ContentBuilder::new().schema(Some(self.shape.schema())).build();
        let mut response = ResponseBuilder::new()
            .description(self.description)
            .content("application/json", content)
            .header_ref("Request-Id", header("RequestId"));
        if self.has_location {
            response = response.header_ref("Location", header("Location"));
        }
        if is_keyed {
            response = response.header_ref("Idempotent-Replayed", header("IdempotentReplayed"));
        }
        response.build()
    }
}
