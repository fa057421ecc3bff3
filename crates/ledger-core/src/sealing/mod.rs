//! The sealing of the audit trail: every record's hash is put into a chain, so that an edit or a gap is detected.
//!
//! A *segment* lists records with their hashes. Its own hash covers the root of a Merkle tree over these hashes, and the hash
//! of the segment before it. A record belongs to the segment that its stamp names. The segment's transaction writes the stamp, if the record has none: so a
//! record is sealed once, whichever worker seals it.
//!
//! Segments are in [`lanes`]: up to 16 chains side by side, tied together by bindings, without a lease.

mod canonical;
mod findings;
pub mod lanes;
mod merkle;
mod newest;
mod proof;
mod sealable;

pub use canonical::{SealHash, digest};
pub use findings::{Fault, Finding, Kind};
pub use merkle::Sibling;
pub use newest::{SealedKind, SealedPlace, SealedRange, SealedStep, SealedWalk};
pub use proof::{BindingCover, Proof, ProofFault};
pub use sealable::{Sealable, is_sealed, is_to_publish, lane_segment_of, segment_of, unmark};

#[cfg(test)]
mod tests;
