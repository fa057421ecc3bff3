//! Erasing a customer whose wallet is closed. Two people decide it. One transaction removes name, addresses and the sign-in,
//! and starts a job, which a worker executes in slices: it erases the texts that persons typed in what the customer's lists name.
//!
//! Nothing is deleted: attributes are removed. Entries, amounts and ids stay, and so does every hash of a text.

mod customer;
mod job;
mod texts;

pub use customer::{CustomerErase, plan};
pub use job::{Erasure, ErasureDetails};
pub use texts::{ErasureSlice, ErasureTexts, erase_texts};
