//! At most one effect per key, byte-identical replay, and a key bound to its request.

mod fingerprint;
mod key;
mod marker;
mod window;

pub use fingerprint::{CURRENT_FINGERPRINT, CanonicalRequest, Fields, Fingerprint};
pub use key::{Admission, IdempotencyKey, KeyError, TerminalKey};
pub use marker::{Answer, Claim, JournalLink, KeyVerdict, Marker, MarkerState};
pub use window::{SKEW, Window};
