//! Ties between members of the operator's staff and accounts: a member does not ask for, decide on or do alone what is for an
//! account of the member's own, under any of its names.
//!
//! [`Resolver`] says which items to read, and makes [`Holders`] of them. Nothing else makes one, so what takes [`Holders`] was
//! resolved.

mod holders;
mod resolver;
mod scope;
mod tie;

pub use holders::Holders;
pub use resolver::{GUARDS_MAX, Resolver};
pub use scope::{ActScope, Among};
pub use tie::{Tie, TieKind};

#[cfg(test)]
mod tests;
