//! A transfer request (総合振込) in the format of the Japanese Bankers Association: records of 120 bytes, each ended by
//! CR LF. A bank does not detect a file that it receives twice. So the bytes depend on what is paid alone: a file that is made
//! again is identical.
//!
//! The fields of each record, with their widths in bytes:
//!
//! - header: `1`, kind `21`, code `0`, sender's code (10) and name (40), day `MMDD`, bank (4, 15), branch (3, 15),
//!   kind of account (1), number (7), blank (17)
//! - data, one for each transfer: `2`, bank (4, 15), branch (3, 15), clearing house (4, blank), kind of account (1), number (7),
//!   holder (30), amount (10), new `0`, reference (20), by wire `7`, reference is ours `Y`, blank (7)
//! - trailer: `8`, count (6), sum (12), blank (101)
//! - end: `9`, blank (119)

use super::account::{BankAccount, Sender};
use crate::ids::SettlementId;
use crate::money::{Amount, Asset, Balance};
use crate::time::BusinessDate;

/// The most digits of a transfer's amount.
const AMOUNT_DIGITS: usize = 10;
/// The most digits of a file's sum.
const SUM_DIGITS: usize = 12;

/// One transfer of a file.
#[derive(Clone, Copy, Debug)]
pub struct TransferLine<'a> {
    /// The settlement that is paid out.
    pub settlement: SettlementId,
    /// The receiving account.
    pub to: &'a BankAccount,
    /// The amount, in yen.
    pub amount: &'a Amount,
}

/// Why transfers cannot be written as a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// An amount is not in yen, or has more than ten digits.
    #[error("a transfer is at most 9,999,999,999 yen")]
    Amount,
    /// The sum has more than twelve digits, or there are too many transfers.
    #[error("a file is at most 999,999,999,999 yen in 999,999 transfers")]
    Sum,
    /// A part is longer than its field.
    #[error("a part of a transfer is longer than its field")]
    Field,
}

const RECORD: usize = 120;

/// Writes the file that pays transfers from the sender's account on a day.
///
/// # Errors
/// [`FileError`] if an amount, the sum or a part does not fit its field.
pub fn transfer_file(from: &Sender, on: BusinessDate, lines: &[TransferLine<'_>]) -> Result<Vec<u8>, FileError> {
    let day: String = on.to_string().chars().skip(5).filter(char::is_ascii_digit).collect();
    let own = &from.account;
    let mut records = vec![
        Record::new(b"1")
            .exactly(b"21")?
            .exactly(b"0")?
            .exactly(from.code.as_bytes())?
            .text_field(own.holder.bytes(), 40)?
            .exactly(day.as_bytes())?
            .bank(own)?
            .exactly(&[own.kind.digit()])?
            .exactly(own.number.expose().as_bytes())?,
    ];
    let mut sum = Balance::zero(Asset::Ecopay);
    for line in lines {
        records.push(line.record()?);
        sum = sum.checked_plus(&line.amount.as_balance()).map_err(|_| FileError::Sum)?;
    }
    let trailer = Record::new(b"8").number_field(&lines.len().to_string(), 6);
    let trailer = trailer.and_then(|trailer| trailer.number_field(&sum.text(), SUM_DIGITS));
    records.extend([trailer.map_err(|_| FileError::Sum)?, Record::new(b"9")]);
    let mut bytes = Vec::new();
    for record in records {
        bytes.extend(record.ended()?);
    }
    Ok(bytes)
}

impl TransferLine<'_> {
    /// Checks that a file can have it.
    ///
    /// # Errors
    /// [`FileError`] if the amount or a part does not fit its field.
    pub fn check(&self) -> Result<(), FileError> {
        self.record()?.ended().map(drop)
    }

    fn record(&self) -> Result<Record, FileError> {
        let Self { settlement, to, amount } = self;
        let yen = amount.text();
        let fits = yen.len() <= AMOUNT_DIGITS && yen.bytes().all(|byte| byte.is_ascii_digit());
        if *amount.asset() != Asset::Ecopay || !fits {
            return Err(FileError::Amount);
        }
        let id = settlement.uuid().simple().to_string().to_uppercase();
        let reference: String = id.chars().skip(12).collect();
        Record::new(b"2")
            .bank(to)?
            .text_field(b"", 4)?
            .exactly(&[to.kind.digit()])?
            .exactly(to.number.expose().as_bytes())?
            .text_field(to.holder.bytes(), 30)?
            .number_field(&yen, AMOUNT_DIGITS)?
            .exactly(b"0")?
            .text_field(reference.as_bytes(), 20)?
            .exactly(b"7")?
            .exactly(b"Y")
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

    fn file(amounts: &[&str]) -> Result<Vec<u8>, FileError> {
        let from = Sender::new(&SenderParts { code: "1234567890", account: parts("7654321", "アオバシ") }).unwrap();
        let to = BankAccount::new(&parts("1234567", "カ）ミドリショウテン")).unwrap();
        let amounts: Vec<Amount> =
            amounts.iter().map(|amount| Amount::parse(&AssetSpec::ECOPAY, amount).unwrap()).collect();
        let settlement = SettlementId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap();
        let lines: Vec<TransferLine<'_>> =
            amounts.iter().map(|amount| TransferLine { settlement, to: &to, amount }).collect();
        transfer_file(&from, BusinessDate::parse("2026-11-30").unwrap(), &lines)
    }

    #[test]
    fn each_record_has_120_bytes_and_the_trailer_has_count_and_sum() {
        let file = file(&["393400", "1"]).unwrap();
        assert_eq!(file.len(), 5 * 122);
        let records: Vec<&[u8]> = file.chunks(122).collect();
        assert!(records.iter().all(|record| record.ends_with(b"\r\n")));
        assert!(records[0].windows(4).any(|w| w == b"1130"));
        assert!(records[1].windows(10).any(|w| w == b"0000393400"));
        assert_eq!(&records[1][90..114], b"07A529C3F2B1F6A0C4D5E7Y ".as_slice());
        assert!(records[2].windows(10).any(|w| w == b"0000000001"));
        assert_eq!(&records[3][..19], b"8000002000000393401");
        assert_eq!(records[4].trim_ascii_end(), b"9");
        assert_eq!(file, self::file(&["393400", "1"]).unwrap());
    }

    #[test]
    fn amount_above_ten_digits_and_sum_above_twelve_are_refused() {
        assert!(file(&["9999999999"]).is_ok());
        assert_eq!(file(&["10000000000"]), Err(FileError::Amount));
        assert!(file(&["9999999999"; 100]).is_ok());
        assert_eq!(file(&["9999999999"; 101]), Err(FileError::Sum));
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
