//! Permissions: what a token permits without a record, refusals before replays, the owners that must remain, and the
//! trail of denials.
#![cfg(feature = "stack")]

mod amounts;
mod attacks;
mod matrix;
mod recovery;
mod staff;
