//! The content of a bank file, which follows from its transfers.

use super::file::BankFile;
use super::transfer::BankTransfer;
use crate::bank::{FileError, transfer_file};
use crate::money::{Asset, Balance, MoneyError};
use sha2::{Digest, Sha256};
use std::fmt;

/// The content of a file. `Debug` prints no account.
#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    /// The bytes that the bank gets.
    pub bytes: Vec<u8>,
}

/// Why a file has no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The transfers that were read are not those of the file.
    #[error("the transfers of the file differ from its count, sum or hash")]
    Differs,
    /// A transfer does not fit the format.
    #[error(transparent)]
    Form(#[from] FileError),
    /// The sum does not fit.
    #[error(transparent)]
    Sum(#[from] MoneyError),
}

impl Content {
    /// The content of a file with these transfers, in the order of its parts.
    ///
    /// # Errors
    /// [`ContentError`] if they are not those of the file.
    pub fn of(file: &BankFile, transfers: &[BankTransfer]) -> Result<Self, ContentError> {
        let mut sum = Balance::zero(Asset::Ecopay);
        for transfer in transfers {
            sum = sum.checked_plus(&transfer.amount.as_balance())?;
        }
        let is_same_count = u32::try_from(transfers.len()) == Ok(file.transfers);
        if !is_same_count || sum != file.sum || transfers.iter().any(|transfer| transfer.from != file.from) {
            return Err(ContentError::Differs);
        }
        let lines: Vec<_> = transfers.iter().map(BankTransfer::line).collect();
        let content = Self { bytes: transfer_file(&file.from, file.id.pay_on, &lines)? };
        match &file.sha256 {
            Some(hash) if *hash != content.sha256() => Err(ContentError::Differs),
            Some(_) | None => Ok(content),
        }
    }

    /// The SHA-256, in hexadecimal.
    #[must_use]
    pub fn sha256(&self) -> String {
        hex::encode(Sha256::digest(&self.bytes))
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content").field("bytes", &self.bytes.len()).finish()
    }
}
