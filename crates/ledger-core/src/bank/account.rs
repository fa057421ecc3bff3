//! A bank account and the sender of a transfer. Each part is validated; `Debug` prints neither number nor holder.

use super::{Kana, KanaError};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::personal::Masked;
use crate::words::words;

words! {
    /// The kind of a bank account.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AccountKind {
        /// 普通
        Ordinary = "ordinary",
        /// 当座
        Checking = "checking",
        /// 貯蓄
        Savings = "savings",
    }
}

/// A bank account. `Debug` masks its number and its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankAccount {
    pub(super) bank: String,
    pub(super) bank_name: Option<Kana>,
    pub(super) branch: String,
    pub(super) branch_name: Option<Kana>,
    pub(super) kind: AccountKind,
    pub(super) number: Masked<String>,
    pub(super) holder: Kana,
}

/// The parts of a bank account, not validated yet.
#[derive(Clone, Copy, Debug)]
pub struct BankParts<'a> {
    /// Four digits.
    pub bank_code: &'a str,
    /// The bank's name in kana.
    pub bank_name: Option<&'a str>,
    /// Three digits.
    pub branch_code: &'a str,
    /// The branch's name in kana.
    pub branch_name: Option<&'a str>,
    /// The kind of account.
    pub kind: AccountKind,
    /// Seven digits.
    pub number: &'a str,
    /// The holder's name in kana.
    pub holder: &'a str,
}

/// The client of a bank that pays, with the code that the bank assigned to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    pub(super) code: String,
    pub(super) account: BankAccount,
}

/// The parts of a sender, not validated yet. The holder is the sender's name, of at most 40 characters.
#[derive(Clone, Copy, Debug)]
pub struct SenderParts<'a> {
    /// Ten digits.
    pub code: &'a str,
    /// The account that is paid from.
    pub account: BankParts<'a>,
}

/// Why the parts of an account or sender are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BankError {
    /// Not the required number of digits.
    #[error("{field} must be {digits} digits")]
    Digits {
        /// The name of the part.
        field: &'static str,
        /// The required number of digits.
        digits: usize,
    },
    /// Text that a bank's systems do not accept.
    #[error("{field} {why}")]
    Kana {
        /// The name of the part.
        field: &'static str,
        /// What is wrong.
        why: KanaError,
    },
}

impl BankError {
    /// The name of the part that is wrong.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Digits { field, .. } | Self::Kana { field, .. } => field,
        }
    }
}

const HOLDER: usize = 30;
const SENDER: usize = 40;
const NAME: usize = 15;

impl AccountKind {
    /// The account kind's digit in the bank file.
    pub(super) fn digit(self) -> u8 {
        match self {
            Self::Ordinary => b'1',
            Self::Checking => b'2',
            Self::Savings => b'4',
        }
    }
}

impl BankAccount {
    /// Validates the parts of an account.
    ///
    /// # Errors
    /// [`BankError`] names the first invalid part.
    pub fn new(parts: &BankParts<'_>) -> Result<Self, BankError> {
        Self::held_by(parts, HOLDER)
    }

    fn held_by(parts: &BankParts<'_>, longest: usize) -> Result<Self, BankError> {
        let kana = |field, text, max| Kana::parse(text, max).map_err(|why| BankError::Kana { field, why });
        Ok(Self {
            bank: digits("bank_code", parts.bank_code, 4)?,
            bank_name: parts.bank_name.map(|name| kana("bank_name", name, NAME)).transpose()?,
            branch: digits("branch_code", parts.branch_code, 3)?,
            branch_name: parts.branch_name.map(|name| kana("branch_name", name, NAME)).transpose()?,
            kind: parts.kind,
            number: Masked::new(digits("account_number", parts.number, 7)?),
            holder: kana("account_holder", parts.holder, longest)?,
        })
    }

    /// Reads a stored account.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by [`BankAccount::item`].
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Self::read_held_by(item, HOLDER)
    }

    fn read_held_by(item: &Item, longest: usize) -> Result<Self, ItemError> {
        let parts = BankParts {
            bank_code: item.text("bank_code")?,
            bank_name: item.opt_text("bank_name")?,
            branch_code: item.text("branch_code")?,
            branch_name: item.opt_text("branch_name")?,
            kind: item.named("account_type", AccountKind::parse)?,
            number: item.text("account_number")?,
            holder: item.text("account_holder")?,
        };
        Self::held_by(&parts, longest).map_err(|error| ItemError::invalid(error.field()))
    }

    /// The attributes that are stored.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = Item::from([
            ("bank_code".to_owned(), Value::s(&self.bank)),
            ("branch_code".to_owned(), Value::s(&self.branch)),
            ("account_type".to_owned(), Value::s(self.kind.name())),
            ("account_number".to_owned(), Value::s(self.number.expose())),
            ("account_holder".to_owned(), Value::S(self.holder.expose())),
        ]);
        for (name, text) in [("bank_name", &self.bank_name), ("branch_name", &self.branch_name)] {
            if let Some(text) = text {
                item.insert(name.to_owned(), Value::S(text.expose()));
            }
        }
        item
    }

    /// The account in a masked form: bank, branch, and the last three digits of the number.
    #[must_use]
    pub fn shown(&self) -> String {
        let last: String = self.number.expose().chars().skip(4).collect();
        format!("{}-{}-****{last}", self.bank, self.branch)
    }

    /// The masked form, with the name of the holder.
    pub(crate) fn recognised_by(&self) -> String {
        format!("{} {}", self.shown(), self.holder.expose())
    }
}

impl Sender {
    /// The account in a masked form: bank, branch, and the last three digits of the number.
    #[must_use]
    pub fn shown(&self) -> String {
        self.account.shown()
    }

    /// Validates the parts of a sender.
    ///
    /// # Errors
    /// [`BankError`] names the first invalid part.
    pub fn new(parts: &SenderParts<'_>) -> Result<Self, BankError> {
        Ok(Self {
            code: digits("sender_code", parts.code, 10)?,
            account: BankAccount::held_by(&parts.account, SENDER)?,
        })
    }

    /// Reads a stored sender.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or was not written by [`Sender::item`].
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            code: item.parsed("sender_code", |code| digits("sender_code", code, 10))?,
            account: BankAccount::read_held_by(item, SENDER)?,
        })
    }

    /// The attributes that are stored.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = self.account.item();
        item.insert("sender_code".to_owned(), Value::s(&self.code));
        item
    }
}

fn digits(field: &'static str, text: &str, count: usize) -> Result<String, BankError> {
    let fits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { Ok(text.to_owned()) } else { Err(BankError::Digits { field, digits: count }) }
}
