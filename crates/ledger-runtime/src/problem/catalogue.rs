//! The problems that a client can meet, one constructor each: status, code, title and what to do.

use super::{Code, Problem};
use crate::metrics::Metric;
use http::{HeaderValue, header};
use ledger_core::failure::Failure;
use ledger_core::idempotency::KeyError;
use ledger_core::migration::Unadoptable;
use ledger_core::time::Timestamp;
use std::time::Duration;

/// The store's code for a call that the role does not allow.
const ACCESS_DENIED: &str = "AccessDeniedException";
const INTERNAL_DETAIL: &str =
    "Something went wrong on our side. It has been recorded. Repeat the request with the same idempotency key.";

/// 400 and their kind: the request is at fault.
impl Problem {
    /// 400: the request cannot be understood or makes no sense.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::of(Code::InvalidRequest, detail)
    }

    /// 400: a field of the request is at fault. `why` must not repeat what was sent.
    pub fn invalid_field(field: &str, why: impl std::fmt::Display) -> Self {
        Self::invalid(format!("{field}: {why}")).with("field", field)
    }

    /// 400: a refusal by the rules of the ledger.
    #[must_use]
    pub fn refused(failure: Failure) -> Self {
        let detail = match failure {
            Failure::Insufficient => "The account does not hold enough for this.",
            Failure::CapExceeded => "The recipient would hold more than is allowed.",
            Failure::LimitExceeded => "This is more than a limit allows.",
            Failure::OverRefund => "The refund is above what is left of the payment.",
            Failure::WrongState => "The state of the resource does not allow this.",
            Failure::AccountFrozen => "Nothing can be taken from a frozen account.",
            Failure::AccountMissing => return Self::not_found(),
            Failure::FourEyes => "Whoever requested it cannot approve it: ask a colleague.",
            Failure::AlreadyExists => "What was to be created exists already.",
            Failure::StalePlan => return Self::busy(),
        };
        Self::of(failure.into(), detail)
    }

    /// 400: the state does not allow it yet; `why` says what has to be done before.
    pub fn not_yet(why: impl std::fmt::Display) -> Self {
        Self::of(Code::WrongState, why.to_string())
    }

    /// 400: a customer's God Record holds what the ledger cannot keep. It is left as it is until a person corrects it.
    /// Whose record it is and what it holds is not said: the caller may be another customer.
    #[must_use]
    pub fn legacy_record_unreadable() -> Self {
        Self::of(
            Code::LegacyRecordUnreadable,
            "Nothing was done: a customer's record of the legacy system holds a value that the ledger cannot keep. The \
             operator has to correct it first.",
        )
    }

    /// The same for the operator's staff, with the attribute.
    #[must_use]
    pub fn legacy_record_attribute(error: &Unadoptable) -> Self {
        let detail = format!("Correct the customer's legacy record first: `{}` {}.", error.attribute, error.why);
        Self::of(Code::LegacyRecordUnreadable, detail).with("attribute", error.attribute.as_str())
    }

    /// What a key error means: 400 `idempotency_key_missing` or `idempotency_key_invalid`.
    #[must_use]
    pub fn key(error: KeyError) -> Self {
        let invalid = || Self::of(Code::IdempotencyKeyInvalid, error.to_string());
        match error {
            KeyError::Missing => Self::of(Code::IdempotencyKeyMissing, error.to_string()),
            KeyError::FromTheFuture { now } => invalid().with("server_time", now.rfc3339()),
            KeyError::Malformed | KeyError::Several | KeyError::Differ | KeyError::NotThisTerminals => invalid(),
        }
    }

    /// 400: the payment provider refused, for good. `psp_code` is the provider's own.
    #[must_use]
    pub fn psp_refused(psp_code: &str) -> Self {
        Self::of(Code::PspRefused, "The payment provider refused this. Nothing was taken or paid out.")
            .with("psp_code", psp_code)
    }

    /// 400: an event's signature is not right. It does not say which part.
    #[must_use]
    pub fn webhook_refused() -> Self {
        Self::of(Code::WebhookSignatureInvalid, "The event is refused.")
    }

    /// 401: no verified identity.
    #[must_use]
    pub fn unauthenticated() -> Self {
        let mut problem =
            Self::of(Code::Unauthenticated, "Send a valid token of this service in the Authorization header.");
        problem.0.headers.push((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        problem
    }

    /// 401: the signature is missing, malformed or wrong, or its terminal is not known or not active.
    pub fn signature_invalid(detail: impl Into<String>) -> Self {
        Self::of(Code::SignatureInvalid, detail)
    }

    /// 401: the signature was made too long ago, or in the future.
    #[must_use]
    pub fn signature_expired(now: Timestamp) -> Self {
        Self::of(
            Code::SignatureExpired,
            "The signature was not made within 300 s of the server's time: set the terminal's clock and sign again.",
        )
        .with("server_time", now.rfc3339())
    }

    /// 403: the token is for another face.
    #[must_use]
    pub fn wrong_face() -> Self {
        Self::of(Code::WrongFace, "This token is for another part of the service.")
    }

    /// 403: the caller lacks a role.
    #[must_use]
    pub fn forbidden(role: &str) -> Self {
        Self::of(Code::Forbidden, format!("This needs the role `{role}`."))
    }

    /// 403: the token's tenant is not set up here.
    #[must_use]
    pub fn tenant_unknown() -> Self {
        Self::of(Code::TenantUnknown, "The tenant of this token is not set up here.")
            .counted_as(Metric::CrossTenantDenied)
    }

    /// 404: there is none, or it is another's.
    #[must_use]
    pub fn not_found() -> Self {
        Self::of(Code::NotFound, "There is no such resource.")
    }

    /// 405: the path has no such method.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::of(Code::MethodNotAllowed, "The path does not have this method: see the Allow header.")
    }

    /// 409: what was to be created exists.
    #[must_use]
    pub fn already_exists() -> Self {
        Self::refused(Failure::AlreadyExists)
    }

    /// 409: a request with the same key is still running.
    #[must_use]
    pub fn key_in_use(after: Duration) -> Self {
        Self::of(Code::IdempotencyKeyInUse, "An earlier request with this idempotency key has not ended: ask again.")
            .retry_after(after)
    }

    /// 409: the operation was taken back before it came.
    #[must_use]
    pub fn operation_reversed() -> Self {
        Self::of(
            Code::OperationReversed,
            "The operation under this idempotency key was reversed and will never be executed.",
        )
    }

    /// 410: the key is too old.
    #[must_use]
    pub fn key_expired(original_request_at: Option<Timestamp>) -> Self {
        let problem = Self::of(
            Code::IdempotencyKeyExpired,
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
        Self::of(Code::BodyTooLarge, format!("A request's body has at most {bytes_max} bytes."))
    }

    /// 415: the body is not JSON.
    #[must_use]
    pub fn unsupported_media_type() -> Self {
        Self::of(
            Code::UnsupportedMediaType,
            "Send the body as `Content-Type: application/json`, in UTF-8 and without a content encoding.",
        )
    }

    /// 422: the key is bound to another request.
    #[must_use]
    pub fn key_reused() -> Self {
        Self::of(
            Code::IdempotencyKeyFingerprintMismatch,
            "This idempotency key was used for a different request. Send the original request, or use another key.",
        )
    }
}

/// 429: too many requests.
impl Problem {
    /// 429: the tenant has made as many requests as it may, until `after` from now. Nothing was done.
    #[must_use]
    pub fn rate_limited(after: Duration) -> Self {
        Self::of(
            Code::RateLimited,
            "Your organisation has made as many requests as it may for the moment. Nothing was done. Repeat the \
             request with the same idempotency key when the time in Retry-After is over.",
        )
        .retry_after(after)
    }
}

/// 500 and 503: we are at fault.
impl Problem {
    /// 500, always the same body: detail goes to the log.
    #[must_use]
    pub fn internal() -> Self {
        Self::of(Code::Internal, INTERNAL_DETAIL)
    }

    /// 500: the store refused a call as such. Where its access rules did, that is counted: the function
    /// has a call that its role does not allow.
    #[must_use]
    pub fn store_refused(code: &str) -> Self {
        if code == ACCESS_DENIED { Self::internal().counted_as(Metric::StoreDenied) } else { Self::internal() }
    }

    /// 503: nothing was done, for there was too much to do at once.
    #[must_use]
    pub fn busy() -> Self {
        Self::of(Code::Busy, "Nothing was done. Repeat the request with the same idempotency key.")
            .retry_after(Duration::from_secs(1))
    }

    /// 503: the store does not answer. Nothing was done.
    #[must_use]
    pub fn unavailable() -> Self {
        Self::of(
            Code::Unavailable,
            "The ledger's store does not answer. Nothing was done. Repeat the request with the same idempotency key.",
        )
        .retry_after(Duration::from_secs(2))
    }

    /// 503: an event cannot be reconciled with our records; it has been kept for a person.
    #[must_use]
    pub fn event_kept() -> Self {
        Self::of(
            Code::EventKept,
            "The event does not agree with our records. It has been kept; deliver it again later.",
        )
        .retry_after(Duration::from_secs(3600))
    }

    /// 503: it may or may not have happened.
    #[must_use]
    pub fn outcome_unknown() -> Self {
        Self::of(
            Code::OutcomeUnknown,
            "It may or may not have happened. Repeat the request with the same idempotency key to find out.",
        )
        .retry_after(Duration::from_secs(2))
    }
}
