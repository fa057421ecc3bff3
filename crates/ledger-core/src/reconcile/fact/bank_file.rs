//! Facts of a bank file: its record, the lists of its parts, the transfers that name it, and the entries of its debit.

use super::super::num::Num;
use super::text;
use crate::account::Account;
use crate::bank_files::BankFileState;
use crate::ids::{BankFileId, SettlementId, TransactionId};
use crate::operation::Operation;
use crate::time::BusinessDate;
use serde::{Deserialize, Serialize};

/// One fact of a bank file. Instants are milliseconds since 1970, amounts are in yen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum BankFileFact {
    /// Its record.
    Record(RecordedFile),
    /// A part of it lists a transfer: the bank gets what the parts list.
    Listed {
        /// The number of the part.
        part: u32,
        /// The day for which the transfer was booked.
        #[serde(with = "text::one")]
        day: BusinessDate,
        /// The transfer's settlement.
        #[serde(with = "text::one")]
        settlement: SettlementId,
    },
    /// A transfer names it.
    Transfer(FileTransfer),
    /// An entry names it.
    Entry(FileEntry),
}

/// A bank file's record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedFile {
    /// Its state.
    #[serde(with = "text::one")]
    pub state: BankFileState,
    /// The file that takes its transfers.
    #[serde(with = "text::optional")]
    pub superseded_by: Option<BankFileId>,
    /// The number of its parts.
    pub parts: u32,
    /// The number of its transfers.
    pub transfers: u32,
    /// Their sum.
    pub sum: Num,
    /// The number of its transfers that were returned.
    pub returned: u32,
    /// Their sum.
    pub returned_sum: Num,
    /// What was debited.
    #[serde(deserialize_with = "text::present")]
    pub debited_sum: Option<Num>,
    /// The entry of the debit.
    #[serde(with = "text::optional")]
    pub debit: Option<TransactionId>,
    /// When the record last changed.
    pub changed_at: i64,
}

/// A transfer that names a bank file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTransfer {
    /// The day for which it was booked.
    #[serde(with = "text::one")]
    pub day: BusinessDate,
    /// The settlement that it pays.
    #[serde(with = "text::one")]
    pub settlement: SettlementId,
    /// The amount.
    pub amount: Num,
    /// Whether it was returned.
    pub is_returned: bool,
    /// When the transfer last changed: a file took it, or it was returned.
    pub changed_at: i64,
}

/// An entry that names a bank file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// The entry.
    #[serde(with = "text::one")]
    pub entry: TransactionId,
    /// The account in whose partition it is.
    #[serde(with = "text::one")]
    pub home: Account,
    /// Its operation.
    #[serde(with = "text::one")]
    pub operation: Operation,
    /// What leaves `bank_clearing`.
    pub out: Num,
    /// What `bank` is credited with.
    pub paid: Num,
    /// When it was written.
    pub at: i64,
}
