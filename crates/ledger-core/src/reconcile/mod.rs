//! Reconciliation: do the books say one thing? Each stored item is read by itself and says typed facts, each
//! under a group: an account and asset, a transaction, a key, a payment, a top-up, a settlement. Every check
//! needs the facts of one group only. So a table of any size is checked by sorting facts by their group, and
//! one suspicion is confirmed by reading the items of one group again.
//!
//! Nothing here repairs. A break says what was expected and what was found, and never anything personal: no
//! name, no key of a client, no text that somebody wrote.

mod breaks;
mod check;
mod explain;
mod export;
mod fact;
mod facts;
mod num;
pub mod run;

pub use breaks::{BreakKind, Finding, Proposal};
pub use check::{Folded, Scope, fold};
pub use explain::explain;
pub use export::exported_item;
pub use fact::{Fact, Group, Place, Subject};
pub use facts::{Limits, Said, of_intent, of_item, of_payout, of_refund};
pub use num::{Num, Nums};

#[cfg(test)]
mod tests;
