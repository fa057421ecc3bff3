//! Stripe's idempotency keys: an executed request's answer is kept for 24 hours, errors included.
//! A key is bound to its endpoint and its parameters, and to the account that it was sent for.

use crate::error::{ErrorType, StripeError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const KEPT_FOR_S: i64 = 24 * 3600;
/// Stripe's longest key.
const KEY_CHARS_MAX: usize = 255;

/// An answer under a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Method and path.
    pub(crate) endpoint: String,
    pub(crate) fingerprint: String,
    pub(crate) status: u16,
    pub(crate) body: String,
    /// The request that made it.
    pub(crate) request_id: String,
    pub(crate) created_s: i64,
}

impl Kept {
    pub(crate) fn is_fresh(&self, now_s: i64) -> bool {
        now_s.saturating_sub(self.created_s) < KEPT_FOR_S
    }
}

/// The kept answers, by account and key.
pub(crate) type KeptAnswers = BTreeMap<String, Kept>;

/// One use of a key.
#[derive(Debug, Clone)]
pub(crate) struct KeyUse {
    pub(crate) key: String,
    /// Where the answer is kept: account and key.
    pub(crate) slot: String,
    endpoint: String,
    fingerprint: String,
}

impl KeyUse {
    /// Reads the header's value.
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

    /// The answer that is kept for this very request.
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

    /// Keeps an answer.
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
