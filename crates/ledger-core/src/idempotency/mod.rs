//! At most one effect per key, byte-identical replay, and a key bound to its request.

mod event_claim;
mod fingerprint;
mod flight;
mod key;
mod marker;
mod planned_call;
mod sealed;
mod window;

pub use event_claim::EventClaim;
pub use fingerprint::{CURRENT_FINGERPRINT, CanonicalRequest, Fields, Fingerprint};
pub use flight::{CLAIM_LEASE, Flight, MAX_ATTEMPTS, PSP_ABSENCE_CONFIRMED_AFTER, Parked, Phase, RESEND_WITHIN};
pub(crate) use key::OF_APPROVAL;
pub use key::{Admission, IdempotencyKey, KeyError, TerminalKey};
pub use marker::{Answer, Claim, KeyVerdict, Marker, MarkerState, StoredState};
pub use planned_call::PlannedCall;
pub use window::Window;
