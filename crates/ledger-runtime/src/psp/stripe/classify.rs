//! What an answer of Stripe's comes to. What is not listed is not known, and a refusal is believed only
//! if Stripe itself wrote it: a proxy that answers 404 knows nothing about our money.

use super::transport::Answer;
use crate::psp::port::{Lookup, Outlook, PspObject, PspRefusal, Sent, Sighting, Unknown};
use crate::psp::wire::{self, ErrorBody};
use ledger_core::psp::{IntentStatus, Step};

/// Codes that stand for "not now", whatever the status.
const NOT_NOW: [&str; 3] = ["idempotency_key_in_use", "lock_timeout", "rate_limit"];
/// Codes of a Stripe balance that is too short to refund from.
const BALANCE_SHORT: [&str; 3] = ["balance_insufficient", "insufficient_balance_for_refund", "insufficient_funds"];
/// Such a refusal may come without any code.
const BALANCE_SHORT_TEXT: &str = "insufficient funds in your stripe balance";
/// How Stripe says that an object is there, but that the key is of the other mode: live or test.
const OTHER_MODE_TEXT: &str = "a similar object exists in";
/// A code is kept up to here.
const CODE_LEN_MAX: usize = 64;

/// What a request came to.
pub(super) fn sent(step: Step, answer: &Answer, ledger: &str) -> Sent {
    let fresh = !answer.replayed;
    match answer.status {
        200..=299 => match object(step, &answer.body, ledger) {
            Ok(object) => Sent::Done(object),
            Err(why) => unknown(fresh, why),
        },
        409 => unknown(fresh, "conflict"),
        // They run before Stripe looks at the key, so that they are never kept under it.
        429 => unknown(fresh, "rate_limited"),
        400..=499 => match wire::error(&answer.body, ledger) {
            Ok(error) => refusal(answer, error),
            Err(_) => unknown(fresh, "unreadable_refusal"),
        },
        500..=599 => unknown(fresh && answer.should_retry != Some(false), "server_error"),
        _ => unknown(fresh, "unlisted_status"),
    }
}

/// What a look by id shows.
pub(super) fn seen(at: Lookup<'_>, answer: &Answer, ledger: &str) -> Sighting {
    let (id, read) = match at {
        Lookup::Intent(id) => (id, wire::intent(&answer.body, ledger).map(PspObject::Intent)),
        Lookup::Refund(id) => (id, wire::refund(&answer.body, ledger).map(PspObject::Refund)),
        Lookup::Payout(id) => (id, wire::payout(&answer.body, ledger).map(PspObject::Payout)),
    };
    match (answer.status, read) {
        (200, Ok(object)) if object.id() == id => Sighting::Found(object),
        (404, _) => match wire::error(&answer.body, ledger) {
            Ok(error) if is_absence(&error) => Sighting::Absent,
            Ok(_) | Err(_) => Sighting::Unknown,
        },
        (_, Ok(_) | Err(_)) => Sighting::Unknown,
    }
}

fn unknown(resend: bool, why: &'static str) -> Sent {
    Sent::Unknown(Unknown { resend, why })
}

/// The object that a step makes or changes, if it did.
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
    if has_code(&error, &NOT_NOW) {
        return unknown(!answer.replayed, "not_now");
    }
    if error.kind == "idempotency_error" {
        // Our requests are minted once and kept: the same key never goes with other bytes.
        tracing::error!(code = code(&error), "stripe knows the key with other parameters");
        return unknown(false, "key_with_other_parameters");
    }
    let outlook = match (answer.status, error.kind.as_str()) {
        // The API key, or what it may do: the request may be as good as any.
        (401 | 403, _) => Outlook::MayPass { burnt: answer.replayed },
        (402, _) => Outlook::MayPass { burnt: true },
        (400 | 404, "invalid_request_error") if is_other_mode(&error) => {
            tracing::error!("the API key is of the other mode than the object");
            Outlook::MayPass { burnt: answer.replayed }
        }
        (400 | 404, "invalid_request_error") if is_balance_short(&error) => Outlook::MayPass { burnt: true },
        // We have the ids of what we ask about from Stripe itself: that they are not there is a wrong
        // key or account of ours, and gives nothing back. Stripe keeps it under the key only if it says so: a
        // sending before this one may still have its effect.
        (404, "invalid_request_error") => Outlook::MayPass { burnt: answer.replayed },
        (400, "invalid_request_error") => Outlook::Final,
        _ => return unknown(false, "unlisted_refusal"),
    };
    let code = code(&error);
    Sent::Refused(PspRefusal { code, outlook, object: error.intent.map(PspObject::Intent) })
}

fn is_balance_short(error: &ErrorBody) -> bool {
    has_code(error, &BALANCE_SHORT) || says(error, BALANCE_SHORT_TEXT)
}

/// The object is not there at all. With a key of the other mode it may well be.
fn is_absence(error: &ErrorBody) -> bool {
    error.code.as_deref() == Some("resource_missing") && !is_other_mode(error)
}

fn is_other_mode(error: &ErrorBody) -> bool {
    says(error, OTHER_MODE_TEXT)
}

fn says(error: &ErrorBody, text: &str) -> bool {
    error.message.as_ref().is_some_and(|message| message.expose().to_ascii_lowercase().contains(text))
}

fn has_code(error: &ErrorBody, codes: &[&str]) -> bool {
    codes_of(error).any(|code| codes.contains(&code))
}

fn codes_of(error: &ErrorBody) -> impl Iterator<Item = &str> {
    [error.code.as_deref(), error.message_code.as_deref()].into_iter().flatten()
}

/// The most telling code. It is kept and logged, so that anything else than a code is not taken for one.
fn code(error: &ErrorBody) -> String {
    let is_code = |text: &&str| {
        (1..=CODE_LEN_MAX).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
    };
    codes_of(error).chain([error.kind.as_str()]).find(is_code).unwrap_or("unnamed").to_owned()
}

#[cfg(test)]
mod tests;
