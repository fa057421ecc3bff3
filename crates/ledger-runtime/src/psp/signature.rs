//! Verifies that an event came from the payment provider: its `Stripe-Signature` header over the body
//! as it came. Parse nothing of a body before this has passed.

use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit, Mac};
use ledger_core::personal::Masked;
use ledger_core::time::Timestamp;
use sha2::Sha256;

/// How far a signature's time may lie from ours, either way.
pub const AGE_MAX_S: u64 = 300;

/// The scheme that is taken. Others stand beside it and are passed over.
const SCHEME: &str = "v1";
const AGE_MAX_MS: u64 = AGE_MAX_S.saturating_mul(1000);
/// Seconds of more digits than these lie tens of thousands of years away.
const TIME_DIGITS_MAX: usize = 12;

/// The event is refused. It says nothing more to the caller than that; the reason is for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not match")]
pub struct SignatureError {
    reason: Reason,
}

/// Why an event was refused: for a log or a metric of ours, never for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The header does not have one time and at least one signature, each written as it should be.
    Header,
    /// It was signed too long ago, or too far ahead of us.
    Age,
    /// No signature is one of our secrets' over this body and time.
    Mismatch,
    /// There is no secret that could verify anything.
    NoSecret,
}

impl SignatureError {
    /// Why it was refused.
    #[must_use]
    pub fn reason(self) -> Reason {
        self.reason
    }
}

impl Reason {
    /// Its name in logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Age => "age",
            Self::Mismatch => "mismatch",
            Self::NoSecret => "no_secret",
        }
    }
}

/// Verifies that one of `secrets` signed `body`, byte for byte, within [`AGE_MAX_S`] of `now`.
///
/// # Errors
/// [`SignatureError`]; no input panics.
pub fn verify(secrets: &[Masked<String>], header: &str, body: &[u8], now: Timestamp) -> Result<(), SignatureError> {
    let refused = |reason| SignatureError { reason };
    let signed = Signed::parse(header).ok_or(refused(Reason::Header))?;
    // Anybody can sign with a secret that is blank.
    let mut keys = secrets.iter().map(|secret| secret.expose()).filter(|secret| !secret.trim().is_empty()).peekable();
    if keys.peek().is_none() {
        return Err(refused(Reason::NoSecret));
    }
    if signed.at_ms.abs_diff(now.millis()) > AGE_MAX_MS {
        return Err(refused(Reason::Age));
    }
    if keys.any(|key| signed.is_by(key, body)) { Ok(()) } else { Err(refused(Reason::Mismatch)) }
}

/// What the header says.
struct Signed<'a> {
    /// The time as it is written, which is what was signed.
    at: &'a str,
    at_ms: i64,
    signatures: Vec<[u8; 32]>,
}

impl<'a> Signed<'a> {
    fn parse(header: &'a str) -> Option<Self> {
        let (mut at, mut signatures) = (None, Vec::new());
        for item in header.split(',') {
            match item.split_once('=') {
                // Two times are two opinions on what was signed, even if they agree.
                Some(("t", _)) if at.is_some() => return None,
                Some(("t", time)) => at = Some((time, millis(time)?)),
                Some((SCHEME, signature)) => signatures.extend(lower_hex(signature)),
                None if matches!(item, "t" | SCHEME) => return None,
                Some((_, _)) | None => {}
            }
        }
        let (at, at_ms) = at?;
        (!signatures.is_empty()).then_some(Self { at, at_ms, signatures })
    }

    /// Compares in constant time, and every signature even after one that matches.
    fn is_by(&self, secret: &str, body: &[u8]) -> bool {
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else {
            return false;
        };
        let expected = mac.chain_update(self.at).chain_update(b".").chain_update(body).finalize();
        self.signatures.iter().fold(false, |matched, signature| {
            let same = expected == CtOutput::new((*signature).into());
            matched | same
        })
    }
}

/// Seconds since the epoch in plain digits: no sign, space, leading zero or tail.
fn millis(time: &str) -> Option<i64> {
    let plain = time.bytes().all(|b| b.is_ascii_digit()) && !time.starts_with('0') && time.len() <= TIME_DIGITS_MAX;
    if plain { time.parse::<i64>().ok()?.checked_mul(1000) } else { None }
}

/// A signature is written in one way only.
fn lower_hex(text: &str) -> Option<[u8; 32]> {
    if text.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests;
