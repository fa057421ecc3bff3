//! The closed list of problem codes: each has one name, one status and one title.

use http::StatusCode;
use ledger_core::failure::Failure;

const TYPE_BASE: &str = "https://ecopay.example/problems/";

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $status:ident $name:literal, $title:literal;)*) => {
        /// The stable code of a problem, for programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code { $($(#[$doc])* $variant,)* }

        impl Code {
            /// Every code, by status and then by name.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The stable name: the `code` of a problem document.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The HTTP status that it is answered with.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// The `title` of a problem document.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

codes! {
    /// The account is frozen: debits are refused.
    AccountFrozen = BAD_REQUEST "account_frozen", "The account is frozen";
    /// The time to decide on the request has passed.
    ApprovalExpired = BAD_REQUEST "approval_expired", "The request has expired";
    /// What the request was made against has changed.
    ApprovalStale = BAD_REQUEST "approval_stale", "The request is stale";
    /// The recipient's balance would exceed the cap.
    CapExceeded = BAD_REQUEST "cap_exceeded", "The cap would be exceeded";
    /// The counter has less cash that was not collected.
    CashNotOutstanding = BAD_REQUEST "cash_not_outstanding", "Less cash is outstanding";
    /// The cash room of the terminal, or the unallotted room of its merchant, is too small.
    CashRoomExceeded = BAD_REQUEST "cash_room_exceeded", "The cash room is exceeded";
    /// The merchant may not refund more before settlements have covered what it refunded.
    RefundRoomExceeded = BAD_REQUEST "refund_room_exceeded", "The refund room is exceeded";
    /// The budget of the asset does not allow the amount.
    BudgetExceeded = BAD_REQUEST "budget_exceeded", "The budget is exceeded";
    /// The idempotency key is malformed, not this caller's, or has a future time.
    IdempotencyKeyInvalid = BAD_REQUEST "idempotency_key_invalid", "The idempotency key is not valid";
    /// The tenant requires idempotency keys.
    IdempotencyKeyMissing = BAD_REQUEST "idempotency_key_missing", "An idempotency key is required";
    /// The account's balance is too low.
    InsufficientBalance = BAD_REQUEST "insufficient_balance", "Insufficient balance";
    /// The request is malformed or inconsistent.
    InvalidRequest = BAD_REQUEST "invalid_request", "The request is not valid";
    /// A record of the legacy system holds a value that the ledger cannot keep.
    LegacyRecordUnreadable = BAD_REQUEST "legacy_record_unreadable", "A legacy record cannot be read";
    /// A limit would be exceeded.
    LimitExceeded = BAD_REQUEST "limit_exceeded", "A limit is exceeded";
    /// The refund exceeds the amount that can still be refunded.
    OverRefund = BAD_REQUEST "over_refund", "The refund exceeds the refundable amount";
    /// No attempt at the card's PIN is left.
    PinLocked = BAD_REQUEST "pin_locked", "The PIN is locked";
    /// The payment needs the card's PIN, and none was sent or the card has none.
    PinRequired = BAD_REQUEST "pin_required", "A PIN is required";
    /// The card's PIN is another one.
    PinWrong = BAD_REQUEST "pin_wrong", "The PIN is wrong";
    /// The payment provider's final refusal.
    PspRefused = BAD_REQUEST "psp_refused", "The payment provider refused the request";
    /// The terminal may no longer reverse its cash top-up.
    ReversalTooLate = BAD_REQUEST "reversal_too_late", "The time for the reversal has passed";
    /// The signature of a webhook's event is invalid.
    WebhookSignatureInvalid = BAD_REQUEST "signature_invalid", "The signature is not valid";
    /// The recipient cannot receive it: missing, closed, or above the cap.
    RecipientUnavailable = BAD_REQUEST "recipient_unavailable", "The recipient cannot receive it";
    /// The state of the resource does not allow the request.
    WrongState = BAD_REQUEST "wrong_state", "The state does not allow the request";
    /// A terminal's signature has a time too far in the past or the future.
    SignatureExpired = UNAUTHORIZED "signature_expired", "The signature's time is not accepted";
    /// A terminal's signature is missing, malformed or wrong, or the terminal is not enrolled.
    SignatureInvalid = UNAUTHORIZED "signature_invalid", "The signature is not valid";
    /// The request has no verified identity.
    Unauthenticated = UNAUTHORIZED "unauthenticated", "Authentication required";
    /// The caller lacks a role.
    Forbidden = FORBIDDEN "forbidden", "A role is missing";
    /// The token has no verified e-mail address, or another one than the invitation.
    EmailUnverified = FORBIDDEN "email_unverified", "The address of the invitation is not verified";
    /// The requester cannot decide on their own request.
    FourEyesRequired = FORBIDDEN "four_eyes_required", "Approval by another person required";
    /// The terminal is a counter of the operator, which takes no payments and refunds none.
    NotAtCounter = FORBIDDEN "not_at_counter", "Not at a counter";
    /// The staff member lacks a permission.
    PermissionMissing = FORBIDDEN "permission_missing", "A permission is missing";
    /// The token's tenant does not exist.
    TenantUnknown = FORBIDDEN "tenant_unknown", "Unknown tenant";
    /// The token is for another API.
    WrongFace = FORBIDDEN "wrong_face", "The token is for another API";
    /// The resource does not exist, or belongs to another party.
    NotFound = NOT_FOUND "not_found", "Not found";
    /// The path does not have this method.
    MethodNotAllowed = METHOD_NOT_ALLOWED "method_not_allowed", "Method not allowed";
    /// The resource to be created exists already.
    AlreadyExists = CONFLICT "already_exists", "The resource already exists";
    /// An earlier request with this key has not ended.
    IdempotencyKeyInUse = CONFLICT "idempotency_key_in_use", "The request is still running";
    /// The operation under this key was reversed and will never be executed.
    OperationReversed = CONFLICT "operation_reversed", "The operation was reversed";
    /// The stored response is no longer kept, and the request is not executed again.
    IdempotencyKeyExpired = GONE "idempotency_key_expired", "The idempotency key has expired";
    /// The body is larger than 64 KiB.
    BodyTooLarge = PAYLOAD_TOO_LARGE "body_too_large", "The body is too large";
    /// The body is not sent as JSON.
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE "unsupported_media_type", "The body must be JSON";
    /// The key was used for a different request.
    IdempotencyKeyFingerprintMismatch = UNPROCESSABLE_ENTITY "idempotency_key_fingerprint_mismatch",
        "The idempotency key belongs to another request";
    /// The tenant has reached its request rate.
    RateLimited = TOO_MANY_REQUESTS "rate_limited", "Too many requests";
    /// A fault of the service.
    Internal = INTERNAL_SERVER_ERROR "internal", "Internal error";
    /// Nothing was done, because of conflicts or throttling.
    Busy = SERVICE_UNAVAILABLE "busy", "Busy";
    /// An event contradicts the ledger's records, and has been kept for review.
    EventKept = SERVICE_UNAVAILABLE "event_kept", "The event was kept for review";
    /// The outcome is unknown.
    OutcomeUnknown = SERVICE_UNAVAILABLE "outcome_unknown", "The outcome is unknown";
    /// Nothing was done, because the table does not answer.
    Unavailable = SERVICE_UNAVAILABLE "unavailable", "Temporarily unavailable";
}

impl Code {
    /// The `type` of a problem document.
    #[must_use]
    pub fn type_uri(self) -> String {
        format!("{TYPE_BASE}{}", self.name())
    }
}

impl From<Failure> for Code {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::StalePlan => Self::Busy,
            Failure::AccountMissing => Self::NotFound,
            Failure::AlreadyExists => Self::AlreadyExists,
            Failure::FourEyes => Self::FourEyesRequired,
            Failure::AccountFrozen => Self::AccountFrozen,
            Failure::Decided | Failure::WrongState => Self::WrongState,
            Failure::ApprovalExpired => Self::ApprovalExpired,
            Failure::CashRoomExceeded => Self::CashRoomExceeded,
            Failure::CashNotOutstanding => Self::CashNotOutstanding,
            Failure::RefundRoomExceeded => Self::RefundRoomExceeded,
            Failure::BudgetExceeded => Self::BudgetExceeded,
            Failure::ReversalTooLate => Self::ReversalTooLate,
            Failure::PinRequired => Self::PinRequired,
            Failure::PinLocked => Self::PinLocked,
            Failure::PinWrong => Self::PinWrong,
            Failure::OverRefund => Self::OverRefund,
            Failure::CapExceeded => Self::CapExceeded,
            Failure::LimitExceeded => Self::LimitExceeded,
            Failure::Insufficient => Self::InsufficientBalance,
            Failure::RecipientUnavailable => Self::RecipientUnavailable,
        }
    }
}
