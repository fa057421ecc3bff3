//! Files that ask the tenant's bank to pay merchants, and what people record that the bank did with them.
//!
//! A settlement books a transfer. At the cut of its day a job takes what is booked into a file, and fixes count, sum and hash. A
//! transfer is in one live file at most, because its file is the guard of each change of it.
//!
//! ```text
//! assigning -> written -> accepted -> debited       another person than who accepted; bank_clearing -> bank
//!     |           |  ^------'  |                    two people take a wrong acceptance back
//!     |-> empty   '-> rejected | withdrawn          two people; the rest goes into one superseding file, or is returned
//!     '-> withdrawn                                 one whose job cannot go on
//! ```

mod content;
mod cut;
mod end;
mod file;
mod mark;
#[cfg(test)]
mod tests;
mod transfer;

pub use content::{Content, ContentError};
pub use cut::{BankFileDetails, FILE_TRANSFERS_MAX, FileJob, FileStart, FileStep, SLICE_TRANSFERS, plan_start};
pub use end::{FileChange, FileEnd, plan_end};
pub use file::{BankFile, BankFileState, Overdue};
pub use mark::{FileAcceptance, FileDebit, plan_accept, plan_debit, reading};
pub use transfer::{BankTransfer, FilePart, PayoutState, ReturnGuard};
