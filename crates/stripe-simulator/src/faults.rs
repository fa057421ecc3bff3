//! Injected faults: the next matching API calls are slow, fail, or lose their response.
//!
//! Every matching call counts, including replays of idempotency keys.

use crate::error::{ErrorType, StripeError};
use std::time::Duration;

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The call waits this long before execution. Its idempotency key is in use meanwhile.
    Latency(Duration),
    /// The call waits, its idempotency key in use, until [`crate::Simulator::release_held`].
    Held,
    /// 500 without effect. The response is stored under the idempotency key, as at Stripe.
    ErrorBefore,
    /// 500 with effect. The response is stored under the idempotency key.
    ErrorAfter,
    /// The connection closes without a response and without effect.
    ConnectionLostBefore,
    /// The connection closes without a response, with effect. The response is stored.
    ConnectionLostAfter,
    /// 409, as if another request with the same key were in progress; `Stripe-Should-Retry: true`.
    Conflict,
    /// 429, too many requests; `Stripe-Should-Retry: false`.
    RateLimited,
    /// 429, as if another request had locked the object; `Stripe-Should-Retry: true`.
    LockTimeout,
}

impl FaultKind {
    /// The name in the dev controls.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Latency(_) => "latency",
            Self::Held => "held",
            Self::ErrorBefore => "error_before",
            Self::ErrorAfter => "error_after",
            Self::ConnectionLostBefore => "connection_lost_before",
            Self::ConnectionLostAfter => "connection_lost_after",
            Self::Conflict => "conflict",
            Self::RateLimited => "rate_limited",
            Self::LockTimeout => "lock_timeout",
        }
    }
}

/// A fault for the next matching calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// The method; any if absent.
    pub method: Option<String>,
    /// The prefix of the path, such as `/v1/refunds`.
    pub path_prefix: String,
    /// The number of calls.
    pub times: u32,
}

impl Fault {
    /// A fault for the next call of any method and path.
    #[must_use]
    pub fn once(kind: FaultKind) -> Self {
        Self { kind, method: None, path_prefix: String::new(), times: 1 }
    }

    /// Restricts the fault to calls of this method with this path prefix.
    #[must_use]
    pub fn on(self, method: &str, path_prefix: &str) -> Self {
        Self { method: Some(method.to_ascii_uppercase()), path_prefix: path_prefix.to_owned(), ..self }
    }

    /// Sets the number of calls.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && path.starts_with(&self.path_prefix)
    }
}

/// Uses up the fault of this call: the oldest one that matches.
pub(crate) fn take(faults: &mut Vec<Fault>, method: &str, path: &str) -> Option<FaultKind> {
    let fault = faults.iter_mut().find(|fault| fault.times > 0 && fault.matches(method, path))?;
    fault.times = fault.times.saturating_sub(1);
    let kind = fault.kind;
    faults.retain(|fault| fault.times > 0);
    Some(kind)
}

/// The response of a fault that refuses the call before it is processed.
pub(crate) fn refusal(kind: FaultKind, key: Option<&str>) -> Option<StripeError> {
    let too_many = |code, message| StripeError::new(429, ErrorType::InvalidRequest, Some(code), message).not_executed();
    match kind {
        FaultKind::Conflict => Some(StripeError::key_in_use(key.unwrap_or("none"))),
        FaultKind::RateLimited => {
            let message =
                "Request rate limit exceeded. Learn more about rate limits: https://stripe.com/docs/rate-limits.";
            Some(too_many("rate_limit", message).retry(false))
        }
        FaultKind::LockTimeout => {
            let message = "This object cannot be accessed right now because another API request or Stripe process is \
                           currently accessing it. If you see this error intermittently, retry the request.";
            Some(too_many("lock_timeout", message).retry(true))
        }
        FaultKind::Latency(_)
        | FaultKind::Held
        | FaultKind::ErrorBefore
        | FaultKind::ErrorAfter
        | FaultKind::ConnectionLostBefore
        | FaultKind::ConnectionLostAfter => None,
    }
}

/// Stripe's response 500.
pub(crate) fn internal_error() -> StripeError {
    let message = "An unknown error occurred, and the simulator was asked to let it occur.";
    StripeError::new(500, ErrorType::Api, None, message)
}
