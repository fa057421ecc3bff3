//! Refusals of RFC 6749, RFC 7009 and OpenID Connect.

use crate::problem::json_body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// The error codes of the endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorCode {
    InvalidRequest,
    InvalidClient,
    InvalidGrant,
    InvalidScope,
    UnauthorizedClient,
    UnsupportedGrantType,
    UnsupportedResponseType,
    UnsupportedTokenType,
    AccessDenied,
    LoginRequired,
    ServerError,
}

impl ErrorCode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::InvalidScope => "invalid_scope",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::UnsupportedTokenType => "unsupported_token_type",
            Self::AccessDenied => "access_denied",
            Self::LoginRequired => "login_required",
            Self::ServerError => "server_error",
        }
    }
}

/// A refusal: a code, and what is wrong in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) ErrorCode, pub(super) &'static str);

impl Refusal {
    /// The answer of an endpoint that clients call directly.
    pub(super) fn answer(self) -> Response {
        let Self(code, description) = self;
        let status =
            if code == ErrorCode::ServerError { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::BAD_REQUEST };
        uncached(json_body(status, &json!({"error": code.name(), "error_description": description})))
    }
}

/// Forbids that a response is stored.
pub(super) fn uncached(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
