//! Classifies Stripe's responses. A response that is not listed is unknown.
//!
//! A refusal counts only if Stripe wrote it: a 404 from a proxy proves nothing about the money.

use super::transport::Answer;
use crate::psp::port::{LookupResult, Outlook, PspLookup, PspObject, PspRefusal, Sent, Unknown};
use crate::psp::wire::{self, ErrorBody};
use ledger_core::psp::{IntentStatus, Step};

/// Codes of temporary refusals, whatever the status.
const TEMPORARY_CODES: [&str; 3] = ["idempotency_key_in_use", "lock_timeout", "rate_limit"];
/// Codes of a refund that exceeds the Stripe balance.
const BALANCE_SHORT: [&str; 3] = ["balance_insufficient", "insufficient_balance_for_refund", "insufficient_funds"];
/// The text of such a refusal, which may have no code.
const BALANCE_SHORT_TEXT: &str = "insufficient funds in your stripe balance";
/// The text of a 404 for an object that exists in the other mode, live or test, than the API key.
const OTHER_MODE_TEXT: &str = "a similar object exists in";
/// The longest code that is kept, in characters.
const CODE_LEN_MAX: usize = 64;

/// Classifies the response to a request.
pub(super) fn sent(step: Step, answer: &Answer, ledger: &str) -> Sent {
    let fresh = !answer.replayed;
    match answer.status {
        200..=299 => match object(step, &answer.body, ledger) {
            Ok(object) => Sent::Done(object),
            Err(why) => unknown(fresh, why),
        },
        409 => unknown(fresh, "conflict"),
        // Stripe limits rates before it reads the key, so the refusal is never stored under it.
        429 => unknown(fresh, "rate_limited"),
        400..=499 => match wire::error(&answer.body, ledger) {
            Ok(error) => refusal(answer, error),
            Err(_) => unknown(fresh, "unreadable_refusal"),
        },
        500..=599 => unknown(fresh && answer.should_retry != Some(false), "server_error"),
        _ => unknown(fresh, "unlisted_status"),
    }
}

/// Classifies the response to a lookup by id.
pub(super) fn seen(at: PspLookup<'_>, answer: &Answer, ledger: &str) -> LookupResult {
    let (id, read) = match at {
        PspLookup::Intent(id) => (id, wire::intent(&answer.body, ledger).map(PspObject::Intent)),
        PspLookup::Refund(id) => (id, wire::refund(&answer.body, ledger).map(PspObject::Refund)),
        PspLookup::Payout(id) => (id, wire::payout(&answer.body, ledger).map(PspObject::Payout)),
    };
    match (answer.status, read) {
        (200, Ok(object)) if object.id() == id => LookupResult::Found(object),
        (404, _) => match wire::error(&answer.body, ledger) {
            Ok(error) if is_absence(&error) => LookupResult::Absent,
            Ok(_) | Err(_) => LookupResult::Unknown,
        },
        (_, Ok(_) | Err(_)) => LookupResult::Unknown,
    }
}

fn unknown(resend: bool, why: &'static str) -> Sent {
    Sent::Unknown(Unknown { resend, why })
}

/// Returns the object that a step made or changed, if it took effect.
fn object(step: Step, body: &[u8], ledger: &str) -> Result<PspObject, &'static str> {
    let unreadable = "unreadable_object";
    match step {
        Step::CreateIntent => wire::intent(body, ledger).map(PspObject::Intent).map_err(|_| unreadable),
        Step::CancelIntent => match wire::intent(body, ledger) {
            Ok(intent) if intent.status == IntentStatus::Canceled => Ok(PspObject::Intent(intent)),
            Ok(_) => Err("not_canceled"),
            Err(_) => Err(unreadable),
        },
        Step::CreateRefund => wire::refund(body, ledger).map(PspObject::Refund).map_err(|_| unreadable),
        Step::CreatePayout => wire::payout(body, ledger).map(PspObject::Payout).map_err(|_| unreadable),
    }
}

fn refusal(answer: &Answer, error: ErrorBody) -> Sent {
    if answer.should_retry == Some(true) {
        return unknown(true, "should_retry");
    }
    if has_code(&error, &TEMPORARY_CODES) {
        return unknown(!answer.replayed, "not_now");
    }
    if error.kind == "idempotency_error" {
        // The ledger stores each request with its key, so it never sends a key with other bytes.
        tracing::error!(code = code(&error), "stripe has the idempotency key with other parameters");
        return unknown(false, "key_with_other_parameters");
    }
    let outlook = match (answer.status, error.kind.as_str()) {
        // The API key or its permissions are at fault; the request may be valid.
        (401 | 403, _) => Outlook::MayPass { burnt: answer.replayed },
        (402, _) => Outlook::MayPass { burnt: true },
        (400 | 404, "invalid_request_error") if is_other_mode(&error) => {
            tracing::error!("the API key and the object have different modes");
            Outlook::MayPass { burnt: answer.replayed }
        }
        (400 | 404, "invalid_request_error") if is_balance_short(&error) => Outlook::MayPass { burnt: true },
        // The ids come from Stripe, so a missing object means a wrong API key or account and refunds nothing. Stripe
        // has stored the refusal under the key only if it says so; otherwise an earlier attempt may still take effect.
        (404, "invalid_request_error") => Outlook::MayPass { burnt: answer.replayed },
        (400, "invalid_request_error") => Outlook::Final,
        _ => return unknown(false, "unlisted_refusal"),
    };
    let code = code(&error);
    Sent::Refused(PspRefusal { code, outlook, object: error.intent.map(PspObject::Intent) })
}

fn is_balance_short(error: &ErrorBody) -> bool {
    has_code(error, &BALANCE_SHORT) || message_contains(error, BALANCE_SHORT_TEXT)
}

/// Whether the object does not exist. With a key of the other mode it may exist.
fn is_absence(error: &ErrorBody) -> bool {
    error.code.as_deref() == Some("resource_missing") && !is_other_mode(error)
}

fn is_other_mode(error: &ErrorBody) -> bool {
    message_contains(error, OTHER_MODE_TEXT)
}

fn message_contains(error: &ErrorBody, text: &str) -> bool {
    error.message.as_ref().is_some_and(|message| message.expose().to_ascii_lowercase().contains(text))
}

fn has_code(error: &ErrorBody, codes: &[&str]) -> bool {
    codes_of(error).any(|code| codes.contains(&code))
}

fn codes_of(error: &ErrorBody) -> impl Iterator<Item = &str> {
    [error.code.as_deref(), error.message_code.as_deref()].into_iter().flatten()
}

/// Returns the most specific code, or `unnamed`. Other texts are not kept or logged, as they may be personal data.
fn code(error: &ErrorBody) -> String {
    let is_code = |text: &&str| {
        (1..=CODE_LEN_MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
    };
    codes_of(error).chain([error.kind.as_str()]).find(is_code).unwrap_or("unnamed").to_owned()
}

#[cfg(test)]
mod tests;
