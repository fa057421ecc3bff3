//! The sealing of the audit trail: every record's hash is put into a chain, so that an edit or a gap is detected.
//!
//! A *segment* lists records with their hashes. Its own hash covers that list and the hash of the segment that was
//! written before it, of any day. So all segments of a tenant are one chain in the order of writing. Segments are
//! numbered by the day of their records, from 1 on without a gap. Late records get one more segment of their own day.
//!
//! A record belongs to the segment that its stamp names. The segment's transaction writes the stamp. One worker seals
//! a tenant's trail at a time, by a lease with a fencing token.

mod canonical;
mod holder;
mod segment;
mod verify;

pub use canonical::digest;
pub use holder::{Batch, BatchRejection, RECORDS_MAX, SEALING_LEASE, Sealing, Trail};
pub use segment::{Link, Sealable, SealedDay, Segment, is_sealed, segment_of, unmark};
pub use verify::{Chain, Fault, Finding, Kind, Read};

#[cfg(test)]
mod tests;
