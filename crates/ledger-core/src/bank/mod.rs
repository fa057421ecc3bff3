//! Bank accounts in the form that Japanese banks use, and the file that instructs a bank to pay into one.

mod account;
mod file;
mod kana;

pub use account::{AccountKind, BankAccount, BankError, BankParts, Sender, SenderParts};
pub use file::{FileError, TransferLine, transfer_file};
pub use kana::{Kana, KanaError};
