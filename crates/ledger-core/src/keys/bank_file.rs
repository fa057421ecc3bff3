//! Keys of transfers to merchants' bank accounts and of the files that have them.

use super::{Key, Partition};
use crate::ids::{BankFileId, SettlementId, Tenant};
use crate::time::BusinessDate;

/// The prefix of the sort keys of transfers.
pub(crate) const TRANSFER: &str = "TRANSFER#";
/// The sort key of a file.
pub(crate) const FILE: &str = "FILE";
/// The prefix of the sort keys of a file's parts.
pub(crate) const FILE_PART: &str = "PART#";

impl Partition {
    /// The transfers of a day.
    pub(crate) fn bank_transfers(tenant: &Tenant, day: BusinessDate) -> Self {
        Self::of(tenant, "bank_transfers", day)
    }

    /// A bank file and its parts.
    pub(crate) fn bank_file(tenant: &Tenant, id: BankFileId) -> Self {
        Self::of(tenant, "bank_file", id)
    }
}

/// The transfer of a settlement, which was booked for a day.
#[must_use]
pub fn bank_transfer(tenant: &Tenant, day: BusinessDate, settlement: SettlementId) -> Key {
    Partition::bank_transfers(tenant, day).item(format!("{TRANSFER}{settlement}"))
}

/// A bank file.
#[must_use]
pub fn bank_file(tenant: &Tenant, id: BankFileId) -> Key {
    Partition::bank_file(tenant, id).item(FILE)
}

/// A part of a bank file: transfers that one transaction took into it. Parts count from 1.
#[must_use]
pub fn bank_file_part(tenant: &Tenant, id: BankFileId, part: u32) -> Key {
    Partition::bank_file(tenant, id).item(format!("{FILE_PART}{part:04}"))
}

/// The partition of the index by owner that lists a tenant's bank files by id: one shard, because they are rarely written.
#[must_use]
pub fn bank_files_partition(tenant: &Tenant) -> String {
    format!("{tenant}#bank_files#0")
}
