//! The audit trail is sealed: every record's hash is put into a chain, so that an edit or a gap shows.
//!
//! A *segment* lists records with their hashes. Its own hash covers that list and the hash of the segment that
//! was written before it, whatever the day, so that all segments of a tenant are one chain in the order of
//! their writing. Segments are numbered by the day of their records, from 1 on without a gap; what comes late
//! is one more segment of its own day.
//!
//! A record belongs to the segment that its stamp names, and gets the stamp in the segment's transaction. One
//! worker seals a tenant's trail at a time, by a lease with a fencing token.

mod canonical;
mod holder;
mod segment;
mod verify;

pub use canonical::digest;
pub use holder::{Batch, LEASE, RECORDS_MAX, Sealing, Setback, Trail};
pub use segment::{Link, Sealable, SealedDay, Segment, is_sealed, segment_of, unmark};
pub use verify::{Chain, Fault, Finding, Kind, Read};

#[cfg(test)]
mod tests;
