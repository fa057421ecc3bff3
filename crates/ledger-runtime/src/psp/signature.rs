//! Verifies the `Stripe-Signature` header of an event over the body as received.
//!
//! INVARIANT: no part of a body is parsed before this verification.

use hmac::digest::CtOutput;
use hmac::{Hmac, KeyInit, Mac};
use ledger_core::personal::Masked;
use ledger_core::time::Timestamp;
use sha2::Sha256;

/// The greatest difference between a signature's time and ours, in seconds, in either direction.
pub const AGE_MAX_S: u64 = 300;

/// The accepted signature scheme. Signatures of other schemes in the header are ignored.
const SCHEME: &str = "v1";
const AGE_MAX_MS: u64 = AGE_MAX_S.saturating_mul(1000);
/// The most digits of a time in seconds, which prevents overflow.
const TIME_DIGITS_MAX: usize = 12;

/// An event was refused. The message does not say why; the reason is for logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not match")]
pub struct SignatureError {
    reason: Reason,
}

/// Why an event was refused: for logs and metrics, never for the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The header does not have exactly one time and at least one signature, all well-formed.
    Header,
    /// The signature's time is too far in the past or the future.
    Age,
    /// No signature matches one of our secrets over this body and time.
    Mismatch,
    /// No secret is configured, or all are blank.
    NoSecret,
}

impl SignatureError {
    /// Why the event was refused.
    #[must_use]
    pub fn reason(self) -> Reason {
        self.reason
    }
}

impl Reason {
    /// The name in logs.
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
    // INVARIANT: a blank secret is never used, because any sender could sign with it.
    let mut keys = secrets.iter().map(|secret| secret.expose()).filter(|secret| !secret.trim().is_empty()).peekable();
    if keys.peek().is_none() {
        return Err(refused(Reason::NoSecret));
    }
    if signed.at_ms.abs_diff(now.millis()) > AGE_MAX_MS {
        return Err(refused(Reason::Age));
    }
    if keys.any(|key| signed.is_by(key, body)) { Ok(()) } else { Err(refused(Reason::Mismatch)) }
}

/// The parsed header.
struct Signed<'a> {
    /// The time as written in the header, which is part of the signed text.
    at: &'a str,
    at_ms: i64,
    signatures: Vec<[u8; 32]>,
}

impl<'a> Signed<'a> {
    fn parse(header: &'a str) -> Option<Self> {
        let (mut at, mut signatures) = (None, Vec::new());
        for item in header.split(',') {
            match item.split_once('=') {
                // Two times are refused even if they agree: it would be unclear which one was signed.
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

    /// Compares all signatures in constant time, even after one matches.
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

/// Parses seconds since the epoch: digits only, without sign, space or leading zero.
fn millis(time: &str) -> Option<i64> {
    let plain = time.bytes().all(|b| b.is_ascii_digit()) && !time.starts_with('0') && time.len() <= TIME_DIGITS_MAX;
    if plain { time.parse::<i64>().ok()?.checked_mul(1000) } else { None }
}

/// Parses a signature. Only lower case is accepted, so that each signature has one form.
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
