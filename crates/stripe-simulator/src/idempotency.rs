//! Stripe's idempotency keys: the response of an executed request is stored for 24 hours, errors included.
//!
//! A key is bound to an endpoint, its parameters and the account.

use crate::error::{ErrorType, StripeError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const KEPT_FOR_S: i64 = 24 * 3600;
/// Stripe's maximum length of a key.
const KEY_CHARS_MAX: usize = 255;

/// A stored response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Method and path.
    pub(crate) endpoint: String,
    pub(crate) fingerprint: String,
    pub(crate) status: u16,
    pub(crate) body: String,
    /// The id of the request that was executed.
    pub(crate) request_id: String,
    pub(crate) created_s: i64,
}

impl Kept {
    pub(crate) fn is_fresh(&self, now_s: i64) -> bool {
        now_s.saturating_sub(self.created_s) < KEPT_FOR_S
    }
}

/// The stored responses, by account and key.
pub(crate) type KeptAnswers = BTreeMap<String, Kept>;

/// One use of a key.
#[derive(Debug, Clone)]
pub(crate) struct KeyUse {
    pub(crate) key: String,
    /// The key of the stored response: account and idempotency key.
    pub(crate) slot: String,
    endpoint: String,
    fingerprint: String,
}

impl KeyUse {
    /// Checks the length of the header's value.
    pub(crate) fn new(
        key: &str,
        account: Option<&str>,
        endpoint: String,
        fingerprint: String,
    ) -> Result<Self, StripeError> {
        if key.is_empty() || key.chars().count() > KEY_CHARS_MAX {
            let message = format!("Idempotency keys must have between 1 and {KEY_CHARS_MAX} characters.");
            return Err(StripeError::new(400, ErrorType::Idempotency, None, message).not_executed());
        }
        let slot = format!("{} {key}", account.unwrap_or("-"));
        Ok(Self { key: key.to_owned(), slot, endpoint, fingerprint })
    }

    /// The stored response of the same request; an error if the key was used for another request.
    pub(crate) fn answer<'a>(&self, kept: &'a KeptAnswers, now_s: i64) -> Result<Option<&'a Kept>, StripeError> {
        let Some(kept) = kept.get(&self.slot).filter(|kept| kept.is_fresh(now_s)) else { return Ok(None) };
        let misuse = |message| Err(StripeError::new(400, ErrorType::Idempotency, None, message).not_executed());
        if kept.endpoint != self.endpoint {
            return misuse(format!(
                "Keys for idempotent requests can only be used for the same endpoint they were first used for ('{}' \
                 vs '{}'). Try using a key other than '{}' if you meant to execute a different request.",
                self.endpoint, kept.endpoint, self.key
            ));
        }
        if kept.fingerprint != self.fingerprint {
            return misuse(format!(
                "Keys for idempotent requests can only be used with the same parameters they were first used with. \
                 Try using a key other than '{}' if you meant to execute a different request.",
                self.key
            ));
        }
        Ok(Some(kept))
    }

    /// Stores a response.
    pub(crate) fn keep(&self, answers: &mut KeptAnswers, status: u16, body: &str, request_id: &str, now_s: i64) {
        let kept = Kept {
            endpoint: self.endpoint.clone(),
            fingerprint: self.fingerprint.clone(),
            status,
            body: body.to_owned(),
            request_id: request_id.to_owned(),
            created_s: now_s,
        };
        answers.insert(self.slot.clone(), kept);
    }
}
