//! The problems that a client can receive, with one constructor each: code, detail and additional members.

use super::{Code, Problem};
use crate::metrics::Metric;
use http::{HeaderValue, header};
use ledger_core::dynamo::ItemError;
use ledger_core::failure::Failure;
use ledger_core::idempotency::KeyError;
use ledger_core::migration::Unadoptable;
use ledger_core::permission::Permission;
use ledger_core::time::Timestamp;
use serde_json::json;
use std::time::Duration;

/// DynamoDB's code for a call that the function's role does not permit.
const ACCESS_DENIED: &str = "AccessDeniedException";
const INTERNAL_DETAIL: &str =
    "An internal error occurred and was logged. Repeat the request with the same idempotency key.";

/// 4xx: the request is at fault.
impl Problem {
    /// 400: the request is malformed or inconsistent.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::of(Code::InvalidRequest, detail)
    }

    /// 400: a field of the request is invalid. INVARIANT: `why` does not repeat the field's value.
    pub fn invalid_field(field: &str, why: impl std::fmt::Display) -> Self {
        Self::invalid(format!("{field}: {why}")).with("field", field)
    }

    /// 400: fields of the request are invalid. `field` is the first of them, and `errors` names each.
    ///
    /// INVARIANT: a reason does not repeat the field's value.
    #[must_use]
    pub fn invalid_fields(errors: Vec<(String, String)>) -> Self {
        let detail = errors.iter().map(|(field, why)| format!("{field}: {why}")).collect::<Vec<_>>().join("; ");
        let first = errors.first().map(|(field, _)| field.clone()).unwrap_or_default();
        let each: Vec<_> = errors.into_iter().map(|(field, why)| json!({"field": field, "detail": why})).collect();
        Self::invalid(detail).with("field", first).with("errors", each)
    }

    /// 400: a rule of the ledger refuses the request. Some failures have other statuses.
    #[must_use]
    pub fn refused(failure: Failure) -> Self {
        let detail = match failure {
            Failure::Insufficient => "The account's balance is too low.",
            Failure::CapExceeded => "The balance would exceed the cap.",
            Failure::RecipientUnavailable => {
                return Self::of(failure.into(), "The recipient cannot receive it. No money was moved.")
                    .counted_as(Metric::RecipientUnavailable);
            }
            Failure::LimitExceeded => "The request exceeds a limit.",
            Failure::OverRefund => "The refund exceeds the amount that can still be refunded.",
            Failure::CashRoomExceeded => "The cash room does not allow the amount: the operator allots room.",
            Failure::CashNotOutstanding => "The counter has less cash that was not collected: count it again.",
            Failure::RefundRoomExceeded => "The refund room does not allow the amount: the operator sets the ceiling.",
            Failure::BudgetExceeded => "The budget of the asset does not allow the amount: the operator raises it.",
            Failure::ReversalTooLate => "The time for reversing it at the terminal has passed.",
            Failure::PinRequired => "The payment needs the card's PIN, or the card has none: its owner sets one.",
            Failure::PinLocked => "The card's PIN is locked: the operator resets it.",
            Failure::PinWrong => "The card's PIN is another one.",
            Failure::Decided | Failure::WrongState => "The state of the resource does not allow the request.",
            Failure::ApprovalExpired => "The time to decide on it has passed: request it again.",
            Failure::AccountFrozen => "The account is frozen: debits are refused.",
            Failure::AccountMissing => return Self::not_found(),
            Failure::FourEyes => {
                "The person who requested it, or whose account it is for, cannot do it: ask a colleague."
            }
            Failure::AlreadyExists => "The resource already exists.",
            Failure::StalePlan => return Self::busy(),
        };
        Self::of(failure.into(), detail)
    }

    /// 403: the terminal is a counter, which takes no payments and refunds none.
    #[must_use]
    pub fn not_at_counter() -> Self {
        Self::of(Code::NotAtCounter, "A counter of the operator takes no payments and refunds none: use a till.")
    }

    /// 400: what a command was requested against has changed. It was not executed, and never will be.
    #[must_use]
    pub fn approval_stale() -> Self {
        Self::of(
            Code::ApprovalStale,
            "It was not executed: what it was requested against has changed since. Request it again.",
        )
    }

    /// 400: the state does not allow the request yet; `why` says what has to be done first.
    pub fn not_yet(why: impl std::fmt::Display) -> Self {
        Self::of(Code::WrongState, why.to_string())
    }

    /// 400: a customer's God Record holds data that the ledger cannot keep. Needs review.
    ///
    /// The detail names neither the customer nor the data, because the caller may be another customer.
    #[must_use]
    pub fn legacy_record_unreadable() -> Self {
        Self::of(
            Code::LegacyRecordUnreadable,
            "Nothing was done: a customer's record of the legacy system holds a value that the ledger cannot keep. The \
             operator has to correct it first.",
        )
    }

    /// As [`Problem::legacy_record_unreadable`], with the attribute, for the operator's staff.
    #[must_use]
    pub fn legacy_record_attribute(error: &Unadoptable) -> Self {
        let detail = format!("Correct the customer's legacy record first: `{}` {}.", error.attribute, error.why);
        Self::of(Code::LegacyRecordUnreadable, detail).with("attribute", error.attribute.as_str())
    }

    /// 400 `idempotency_key_missing` or `idempotency_key_invalid`, for a key error.
    #[must_use]
    pub fn key(error: KeyError) -> Self {
        let invalid = || Self::of(Code::IdempotencyKeyInvalid, error.to_string());
        match error {
            KeyError::Missing => Self::of(Code::IdempotencyKeyMissing, error.to_string()),
            KeyError::FromTheFuture { now } => invalid().with("server_time", now.rfc3339()),
            KeyError::Malformed
            | KeyError::CardNumber
            | KeyError::Several
            | KeyError::Differ
            | KeyError::NotThisTerminals => invalid(),
        }
    }

    /// 400: the payment provider's final refusal. `psp_code` is the provider's code.
    #[must_use]
    pub fn psp_refused(psp_code: &str) -> Self {
        Self::of(Code::PspRefused, "The payment provider refused the request. No money was moved.")
            .with("psp_code", psp_code)
    }

    /// 400: the signature of an event is invalid. The detail does not say which part.
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

    /// 401: the signature is missing, malformed or wrong, or its terminal is unknown or not active.
    pub fn signature_invalid(detail: impl Into<String>) -> Self {
        Self::of(Code::SignatureInvalid, detail)
    }

    /// 401: the signature's time is too far in the past or the future.
    #[must_use]
    pub fn signature_expired(now: Timestamp) -> Self {
        Self::of(
            Code::SignatureExpired,
            "The signature was not made within 300 s of the server's time: set the terminal's clock and sign again.",
        )
        .with("server_time", now.rfc3339())
    }

    /// 403: the token is for another API.
    #[must_use]
    pub fn wrong_face() -> Self {
        Self::of(Code::WrongFace, "This token is for another API.")
    }

    /// 403: the token has no verified e-mail address, or another one than the invitation.
    #[must_use]
    pub fn email_unverified() -> Self {
        Self::of(Code::EmailUnverified, "Sign in with the e-mail address that was invited, once it is verified.")
    }

    /// 403: the staff member has no role with the permission, or no active record.
    #[must_use]
    pub fn permission_missing(permission: Permission) -> Self {
        let name = permission.name();
        Self::of(
            Code::PermissionMissing,
            format!("The request needs the permission `{name}`: ask an owner for a role."),
        )
        .with("permission", name)
        .counted_as(Metric::PermissionDenied)
    }

    /// 403: the token's tenant does not exist.
    #[must_use]
    pub fn tenant_unknown() -> Self {
        Self::of(Code::TenantUnknown, "The token's tenant is not open.").counted_as(Metric::CrossTenantDenied)
    }

    /// 404: the resource does not exist, or belongs to another party.
    #[must_use]
    pub fn not_found() -> Self {
        Self::of(Code::NotFound, "There is no such resource.")
    }

    /// 405: the path has no such method.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::of(Code::MethodNotAllowed, "The path does not have this method: see the Allow header.")
    }

    /// 409: the resource to be created exists already.
    #[must_use]
    pub fn already_exists() -> Self {
        Self::refused(Failure::AlreadyExists)
    }

    /// 409: a request with the same key is still running.
    #[must_use]
    pub fn key_in_use(after: Duration) -> Self {
        Self::of(
            Code::IdempotencyKeyInUse,
            "An earlier request with this idempotency key is still running: retry later.",
        )
        .retry_after(after)
    }

    /// 409: the operation was reversed before its request arrived.
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
            "The response to this idempotency key is no longer stored, and the request is not executed again.",
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
    /// 429: the tenant has reached its request rate, and can retry after `after`. Nothing was done.
    #[must_use]
    pub fn rate_limited(after: Duration) -> Self {
        Self::of(
            Code::RateLimited,
            "The tenant has reached its request rate. Nothing was done. Repeat the request with the \
             same idempotency key when the time in Retry-After is over.",
        )
        .retry_after(after)
    }

    /// 429: the caller, or the source of a request without an identity, has reached its rate, and can retry after
    /// `after`. Nothing was done.
    #[must_use]
    pub fn caller_rate_limited(after: Duration) -> Self {
        Self::of(
            Code::RateLimited,
            "This caller has reached its request rate. Nothing was done. Repeat the request, with its idempotency key \
             if it has one, when the time in Retry-After is over.",
        )
        .retry_after(after)
    }
}

/// 500 and 503: the service is at fault.
impl Problem {
    /// 500. The body is always the same; details are only logged.
    #[must_use]
    pub fn internal() -> Self {
        Self::of(Code::Internal, INTERNAL_DETAIL)
    }

    /// 500: DynamoDB refused a call. A denied permission is counted, because the function's role does not match its
    /// code.
    #[must_use]
    pub fn store_refused(code: &str) -> Self {
        if code == ACCESS_DENIED { Self::internal().counted_as(Metric::StoreDenied) } else { Self::internal() }
    }

    /// 503: nothing was done, because of conflicts or throttling.
    #[must_use]
    pub fn busy() -> Self {
        Self::of(Code::Busy, "Nothing was done. Repeat the request with the same idempotency key.")
            .retry_after(Duration::from_secs(1))
    }

    /// 503: nothing was done, because the table does not answer.
    #[must_use]
    pub fn unavailable() -> Self {
        Self::of(
            Code::Unavailable,
            "The ledger's store does not answer. Nothing was done. Repeat the request with the same idempotency key.",
        )
        .retry_after(Duration::from_secs(2))
    }

    /// 503: nothing was done, because a record that is needed has a form of a later release.
    #[must_use]
    pub fn later_form(error: &ItemError) -> Self {
        tracing::error!(%error, "a later release has written a record: deploy that release");
        Self::of(Code::Unavailable, "A record was written by a later release of the ledger. Nothing was done.")
            .retry_after(Duration::from_secs(60))
    }

    /// 503: nothing was done, because a key that encrypts stored responses cannot be read.
    #[must_use]
    pub fn keys_unavailable() -> Self {
        Self::of(
            Code::Unavailable,
            "The ledger's keys cannot be read. Nothing was done. Repeat the request with the same idempotency key.",
        )
        .retry_after(Duration::from_secs(2))
    }

    /// 503: nothing was done, because the keys of cards' PINs cannot be read.
    #[must_use]
    pub fn pin_keys_unavailable() -> Self {
        Self::of(
            Code::Unavailable,
            "PINs cannot be checked at present. Nothing was done. Repeat the request with the same idempotency key.",
        )
        .retry_after(Duration::from_secs(2))
    }

    /// 503: an event contradicts the ledger's records, and has been kept for review.
    #[must_use]
    pub fn event_kept() -> Self {
        Self::of(
            Code::EventKept,
            "The event contradicts the ledger's records. It was kept for review; deliver it again later.",
        )
        .retry_after(Duration::from_secs(3600))
    }

    /// 503: the outcome is unknown.
    #[must_use]
    pub fn outcome_unknown() -> Self {
        Self::of(
            Code::OutcomeUnknown,
            "The operation may have been executed. Repeat the request with the same idempotency key to find out.",
        )
        .retry_after(Duration::from_secs(2))
    }
}
