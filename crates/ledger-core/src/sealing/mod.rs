//! The sealing of the audit trail: every record's hash is put into a chain, so that an edit or a gap is detected.
//!
//! A *segment* lists records with their hashes. Its own hash covers that list and the hash of the segment that was
//! written before it. A record belongs to the segment that its stamp names. The segment's transaction writes the stamp,
//! if the record has none: so a record is sealed once, whichever worker and whichever chain seals it.
//!
//! There are two forms of chains. A tenant begins with the first and goes on with the second for good:
//!
//! - The chain of days: all segments of a tenant are one chain in the order of writing, numbered by the day of their
//!   records. Late records get one more segment of their own day. One worker at a time seals, by a lease.
//! - [`lanes`]: up to 16 chains side by side, tied together by bindings, without a lease.

mod canonical;
mod holder;
pub mod lanes;
mod newest;
mod segment;
mod verify;

pub use canonical::{SealHash, digest};
pub use holder::{Batch, BatchRejection, RECORDS_MAX, SEALING_LEASE, Sealing, Trail};
pub use newest::{SealedKind, SealedPlace, SealedRange, SealedStep, SealedWalk};
pub use segment::{Link, Sealable, SealedDay, Segment, is_sealed, lane_segment_of, segment_of, unmark};
pub use verify::{Chain, Fault, Finding, Kind, Read};

#[cfg(test)]
mod tests;
