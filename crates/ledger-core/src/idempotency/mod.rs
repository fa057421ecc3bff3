//! At most one effect per key, byte-identical replay, and a key bound to its request.

mod answer;
mod assembled;
mod claim_key;
mod event_claim;
mod fingerprint;
mod flight;
mod key;
mod marker;
mod marker_keys;
mod planned_call;
mod window;

pub use answer::{Answer, AnyAnswer, NewAnswer, SecretAnswer, StoredAnswer};
pub use claim_key::{ClaimKey, LedgerKey};
pub use event_claim::EventClaim;
pub use fingerprint::{CanonicalRequest, Fields, Fingerprint};
pub use flight::{CLAIM_LEASE, Flight, MAX_ATTEMPTS, PSP_ABSENCE_CONFIRMED_AFTER, Parked, Phase, RESEND_WITHIN};
pub use key::{Admission, IdempotencyKey, KeyError, TerminalKey};
pub use marker::{Claim, KeyVerdict, Marker, MarkerError, MarkerState, StoredState};
pub use marker_keys::{EncryptionError, KeyId, MarkerKeys, MarkerKeysError};
pub use planned_call::PlannedCall;
pub use window::Window;
