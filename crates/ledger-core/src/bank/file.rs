//! A transfer request (総合振込) in the format of the Japanese Bankers Association: records of 120 bytes, each ended by
//! CR LF. A bank does not detect a file that it receives twice. So the name and the bytes depend on the settlement
//! alone: a file that is made again is identical.
//!
//! The fields of each record, with their widths in bytes:
//!
//! - header: `1`, kind `21`, code `0`, sender's code (10) and name (40), day `MMDD`, bank (4, 15), branch (3, 15),
//!   kind of account (1), number (7), blank (17)
//! - data: `2`, bank (4, 15), branch (3, 15), clearing house (4, blank), kind of account (1), number (7), holder
//!   (30), amount (10), new `0`, reference (20), by wire `7`, reference is ours `Y`, blank (7)
//! - trailer: `8`, count (6), sum (12), blank (101)
//! - end: `9`, blank (119)

use super::account::{BankAccount, Sender};
use crate::ids::SettlementId;
use crate::money::{Amount, Asset};
use crate::time::BusinessDate;

/// The content of a transfer request.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    /// The settlement that is paid out.
    pub settlement: SettlementId,
    /// The sender.
    pub from: &'a Sender,
    /// The receiving account.
    pub to: &'a BankAccount,
    /// The amount, in yen.
    pub amount: &'a Amount,
    /// The day of the transfer.
    pub on: BusinessDate,
}

/// A transfer request as a file.
#[derive(Clone, PartialEq, Eq)]
pub struct BankFile {
    /// The file name.
    pub name: String,
    /// The content.
    pub bytes: Vec<u8>,
}

/// Why a transfer cannot be written as a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The amount is not in yen, or has more than ten digits.
    #[error("a transfer is at most 9,999,999,999 yen")]
    Amount,
    /// A part is longer than its field.
    #[error("a part of the transfer is longer than its field")]
    Field,
}

const RECORD: usize = 120;

impl BankFile {
    /// Writes the file for one transfer.
    ///
    /// # Errors
    /// [`FileError`] if the amount or a part does not fit its field.
    pub fn new(transfer: &Transfer<'_>) -> Result<Self, FileError> {
        let Transfer { settlement, from, to, amount, on } = transfer;
        let yen = amount.text();
        if *amount.asset() != Asset::Ecopay || yen.len() > 10 || !yen.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(FileError::Amount);
        }
        let id = settlement.uuid().simple().to_string().to_uppercase();
        let reference: String = id.chars().skip(12).collect();
        let day: String = on.to_string().chars().skip(5).filter(char::is_ascii_digit).collect();
        let own = &from.account;
        let header = Record::new(b"1")
            .exactly(b"21")?
            .exactly(b"0")?
            .exactly(from.code.as_bytes())?
            .text_field(own.holder.bytes(), 40)?
            .exactly(day.as_bytes())?
            .bank(own)?
            .exactly(&[own.kind.digit()])?
            .exactly(own.number.expose().as_bytes())?;
        let data = Record::new(b"2")
            .bank(to)?
            .text_field(b"", 4)?
            .exactly(&[to.kind.digit()])?
            .exactly(to.number.expose().as_bytes())?
            .text_field(to.holder.bytes(), 30)?
            .number_field(&yen, 10)?
            .exactly(b"0")?
            .text_field(reference.as_bytes(), 20)?
            .exactly(b"7")?
            .exactly(b"Y")?;
        let trailer = Record::new(b"8").number_field("1", 6)?.number_field(&yen, 12)?;
        let end = Record::new(b"9");
        let mut bytes = Vec::new();
        for record in [header, data, trailer, end] {
            bytes.extend(record.ended()?);
        }
        Ok(Self { name: format!("settlement-{settlement}.txt"), bytes })
    }
}

impl std::fmt::Debug for BankFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BankFile").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The bytes of one record so far.
struct Record(Vec<u8>);

impl Record {
    fn new(kind: &[u8]) -> Self {
        Self(kind.to_vec())
    }

    fn exactly(mut self, bytes: &[u8]) -> Result<Self, FileError> {
        self.0.extend_from_slice(bytes);
        Ok(self)
    }

    /// Appends text, left-aligned and padded with blanks.
    fn text_field(mut self, text: &[u8], width: usize) -> Result<Self, FileError> {
        let blank = width.checked_sub(text.len()).ok_or(FileError::Field)?;
        self.0.extend_from_slice(text);
        self.0.extend(std::iter::repeat_n(b' ', blank));
        Ok(self)
    }

    /// Appends a number, right-aligned and padded with zeros.
    fn number_field(mut self, digits: &str, width: usize) -> Result<Self, FileError> {
        let zeros = width.checked_sub(digits.len()).ok_or(FileError::Field)?;
        self.0.extend(std::iter::repeat_n(b'0', zeros));
        self.0.extend_from_slice(digits.as_bytes());
        Ok(self)
    }

    /// Appends bank and branch, with their names where they are known.
    fn bank(self, account: &BankAccount) -> Result<Self, FileError> {
        let name = |kana: &Option<super::Kana>| kana.as_ref().map(|kana| kana.bytes().to_vec()).unwrap_or_default();
        self.exactly(account.bank.as_bytes())?
            .text_field(&name(&account.bank_name), 15)?
            .exactly(account.branch.as_bytes())?
            .text_field(&name(&account.branch_name), 15)
    }

    fn ended(self) -> Result<Vec<u8>, FileError> {
        let mut whole = self.0;
        let blank = RECORD.checked_sub(whole.len()).ok_or(FileError::Field)?;
        whole.extend(std::iter::repeat_n(b' ', blank));
        whole.extend_from_slice(b"\r\n");
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AccountKind, BankError, BankParts, SenderParts};
    use super::*;
    use crate::money::AssetSpec;

    fn parts<'a>(number: &'a str, holder: &'a str) -> BankParts<'a> {
        BankParts {
            bank_code: "0005",
            bank_name: Some("ミツビシユーエフジエイ"),
            branch_code: "001",
            branch_name: None,
            kind: AccountKind::Ordinary,
            number,
            holder,
        }
    }

    fn file(amount: &str) -> Result<BankFile, FileError> {
        let from = Sender::new(&SenderParts { code: "1234567890", account: parts("7654321", "アオバシ") }).unwrap();
        let to = BankAccount::new(&parts("1234567", "カ）ミドリショウテン")).unwrap();
        BankFile::new(&Transfer {
            settlement: SettlementId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap(),
            from: &from,
            to: &to,
            amount: &Amount::parse(&AssetSpec::ECOPAY, amount).unwrap(),
            on: BusinessDate::parse("2026-11-30").unwrap(),
        })
    }

    #[test]
    fn each_record_has_120_bytes_and_the_trailer_has_the_sum() {
        let file = file("393400").unwrap();
        assert_eq!(file.name, "settlement-019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e.txt");
        assert_eq!(file.bytes.len(), 4 * 122);
        let records: Vec<&[u8]> = file.bytes.chunks(122).collect();
        assert!(records.iter().all(|record| record.ends_with(b"\r\n")));
        assert!(records[1].windows(10).any(|w| w == b"0000393400"));
        assert_eq!(&records[1][90..114], b"07A529C3F2B1F6A0C4D5E7Y ".as_slice());
        assert_eq!(&records[2][..19], b"8000001000000393400");
        assert_eq!(records[3].trim_ascii_end(), b"9");
        assert_eq!(file, self::file("393400").unwrap());
    }

    #[test]
    fn amount_above_ten_digits_is_refused() {
        assert!(file("9999999999").is_ok());
        assert_eq!(file("10000000000"), Err(FileError::Amount));
    }

    #[test]
    fn each_invalid_account_part_is_named() {
        let wrong = |change: fn(&mut BankParts<'_>)| {
            let mut parts = parts("1234567", "ｶ");
            change(&mut parts);
            BankAccount::new(&parts)
        };
        assert_eq!(wrong(|p| p.bank_code = "005"), Err(BankError::Digits { field: "bank_code", digits: 4 }));
        assert_eq!(wrong(|p| p.branch_code = "00x"), Err(BankError::Digits { field: "branch_code", digits: 3 }));
        assert_eq!(
            wrong(|p| p.number = "１２３４５６７"),
            Err(BankError::Digits { field: "account_number", digits: 7 })
        );
        assert!(wrong(|p| p.holder = "緑").is_err());
        assert!(wrong(|p| p.holder = "ｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱｱ").is_err());
        let account = BankAccount::new(&parts("1234567", "ｶ")).unwrap();
        assert_eq!(BankAccount::read(&account.item()), Ok(account.clone()));
        assert_eq!(account.shown(), "0005-001-****567");
        assert!(!format!("{account:?}").contains("1234567"));
    }
}
