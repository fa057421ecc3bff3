//! Faults on demand: the next API calls that match are slow, fail, or lose their answer.
//! A fault counts every call that matches, replays of idempotency keys among them.

use crate::error::{ErrorType, StripeError};
use std::time::Duration;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The call takes so long before it is executed. Its idempotency key is in use meanwhile.
    Latency(Duration),
    /// The call waits, its idempotency key in use, until [`crate::Simulator::release_held`].
    Held,
    /// 500 and no effect; the 500 is kept under the idempotency key, as Stripe does.
    ErrorBefore,
    /// 500 although there was an effect; the 500 is kept under the idempotency key.
    ErrorAfter,
    /// The connection ends without an answer, and there was no effect.
    ConnectionLostBefore,
    /// The connection ends without an answer, but there was an effect, and its answer is kept.
    ConnectionLostAfter,
    /// 409, as when another request with the same key is running; `Stripe-Should-Retry: true`.
    Conflict,
    /// 429, too many requests; `Stripe-Should-Retry: false`.
    RateLimited,
    /// 429, another request holds the object; `Stripe-Should-Retry: true`.
    LockTimeout,
}

impl FaultKind {
    /// Its name for the dev controls.
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

/// A fault, for the next calls that match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// Which method; any when absent.
    pub method: Option<String>,
    /// How the path begins, such as `/v1/refunds`.
    pub path_prefix: String,
    /// For how many calls.
    pub times: u32,
}

impl Fault {
    /// For the next call, whichever it is.
    #[must_use]
    pub fn once(kind: FaultKind) -> Self {
        Self { kind, method: None, path_prefix: String::new(), times: 1 }
    }

    /// The same for calls of this method whose path begins so.
    #[must_use]
    pub fn on(self, method: &str, path_prefix: &str) -> Self {
        Self { method: Some(method.to_ascii_uppercase()), path_prefix: path_prefix.to_owned(), ..self }
    }

    /// The same for so many calls.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times, ..self }
    }

    fn matches(&self, method: &str, path: &str) -> bool {
        self.method.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
            && path.starts_with(&self.path_prefix)
    }
}

/// Takes the fault of this call: the oldest that matches.
pub(crate) fn take(faults: &mut Vec<Fault>, method: &str, path: &str) -> Option<FaultKind> {
    let fault = faults.iter_mut().find(|fault| fault.times > 0 && fault.matches(method, path))?;
    fault.times = fault.times.saturating_sub(1);
    let kind = fault.kind;
    faults.retain(|fault| fault.times > 0);
    Some(kind)
}

/// The answer of a fault that refuses the call before anything looks at it.
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

/// Stripe's 500.
pub(crate) fn internal_error() -> StripeError {
    let message = "An unknown error occurred, and the simulator was asked to let it occur.";
    StripeError::new(500, ErrorType::Api, None, message)
}
