//! A transfer to a merchant's bank account: what a settlement booked, and the file that has it.

use super::file::{BankFile, BankFileState};
use crate::bank::{BankAccount, FileError, Sender, TransferLine};
use crate::calendar::BankDeadline;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{BankFileId, MerchantId, SettlementId, Tenant};
use crate::keys::{self, Key, Shards, Work, attr};
use crate::money::{Amount, Asset};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Clause, Role, TransactItem};
use crate::words::words;

const FILE: &str = "bank_file_id";
const RETURNED_AT: &str = "returned_at";
const DAY: &str = "day";

words! {
    /// What a merchant sees of a payout by bank file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum PayoutState {
        /// The bank is to pay it on a day.
        Scheduled = "scheduled",
        /// The bank pays it on a later day than was scheduled, or has not accepted it by its day.
        Delayed = "delayed",
        /// The bank has accepted it, and its day has begun.
        Paid = "paid",
        /// The bank returned it, or it never left: the next settlement pays it.
        Returned = "returned",
    }
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankTransfer {
    /// The settlement that is paid out.
    pub settlement: SettlementId,
    /// Its merchant.
    pub merchant: MerchantId,
    /// The day for which it was booked: it is in the list of that day.
    pub day: BusinessDate,
    /// The amount, in yen.
    pub amount: Amount,
    /// The account that is paid from.
    pub from: Sender,
    /// The account that is paid.
    pub to: BankAccount,
    /// The file that has it, or had it last.
    pub file: Option<BankFileId>,
    /// When it was recorded as returned.
    pub returned_at: Option<Timestamp>,
    /// When it was booked.
    pub created_at: Timestamp,
}

/// What must hold when a transfer is recorded as returned: nothing has it, or what has it is with the bank or over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnGuard<'a> {
    /// No file has it.
    Unassigned,
    /// A file that the bank has accepted.
    WithBank(&'a BankFile),
    /// A file whose sum the bank has debited.
    Debited(&'a BankFile),
    /// A file that was rejected or withdrawn, and that no other supersedes.
    Over(&'a BankFile),
}

impl BankTransfer {
    /// The day of a transfer that is booked: that of the settlement, or the first one on which the bank can pay if that is later. The
    /// settlement's where banks' holidays are not known.
    #[must_use]
    pub fn day_of(pay_on: BusinessDate, deadline: &BankDeadline, now: Timestamp) -> BusinessDate {
        crate::calendar::PaymentWindow::of_bank(now, deadline).map_or(pay_on, |window| pay_on.max(window.first))
    }

    /// Checks that a file can have it.
    ///
    /// # Errors
    /// [`FileError`] if the amount or a part does not fit its field.
    pub fn check(&self) -> Result<(), FileError> {
        self.line().check()
    }

    /// As a line of a file.
    #[must_use]
    pub fn line(&self) -> TransferLine<'_> {
        TransferLine { settlement: self.settlement, to: &self.to, amount: &self.amount }
    }

    /// Where it is.
    #[must_use]
    pub fn key(&self, tenant: &Tenant) -> Key {
        keys::bank_transfer(tenant, self.day, self.settlement)
    }

    /// What it is called in lists of due work and in parts of files: its day and its settlement.
    #[must_use]
    pub fn place(&self) -> String {
        place(self.day, self.settlement)
    }

    /// Parses the name; `None` for any other text.
    #[must_use]
    pub fn parse_place(text: &str) -> Option<(BusinessDate, SettlementId)> {
        let (day, settlement) = text.split_once('#')?;
        Some((BusinessDate::parse(day).ok()?, SettlementId::parse(settlement).ok()?))
    }

    /// Reads a stored transfer.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            settlement: item.parsed("settlement_id", SettlementId::parse)?,
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            day: item.parsed(DAY, BusinessDate::parse)?,
            amount: item.amount("amount", Asset::Ecopay)?,
            from: Sender::read(item.map("sender")?)?,
            to: BankAccount::read(item.map("account")?)?,
            file: item.opt_parsed(FILE, BankFileId::parse)?,
            returned_at: item.opt_timestamp(RETURNED_AT)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }

    /// Stores it, due when its file is to be written.
    pub(crate) fn put(&self, tenant: &Tenant, due_at: Timestamp, shards: Shards) -> TransactItem {
        let mut item = Item::from([
            ("settlement_id".to_owned(), Value::s(self.settlement)),
            ("merchant_id".to_owned(), Value::s(self.merchant)),
            (DAY.to_owned(), Value::s(self.day)),
            ("amount".to_owned(), Value::N(self.amount.text())),
            ("sender".to_owned(), Value::M(self.from.item())),
            ("account".to_owned(), Value::M(self.to.item())),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        let shard = keys::shard_of(self.settlement.uuid(), shards);
        item.extend(Work::BankTransfer.due(tenant, shard, due_at, self.place()).attributes());
        TransactItem::put_new(Role::BankTransfer, self.key(tenant), item, Failure::StalePlan)
    }

    /// Whether a file may take it: it was not returned, and the file `before` has it, or none.
    pub(super) fn is_free(&self, before: Option<BankFileId>) -> bool {
        self.file == before && self.returned_at.is_none()
    }

    /// Puts it into a file.
    pub(super) fn assigned(&self, tenant: &Tenant, file: BankFileId, now: Timestamp) -> TransactItem {
        self.changed(tenant, Update::new().set(FILE, "to_file", Value::s(file)), now)
    }

    /// Records that it was returned.
    pub(crate) fn returned(&self, tenant: &Tenant, now: Timestamp) -> TransactItem {
        self.changed(tenant, Update::new().set(RETURNED_AT, "ua", Value::s(now)), now)
    }

    /// A change, guarded on the file as read and on its not being returned. It is not due any more.
    fn changed(&self, tenant: &Tenant, update: Update, now: Timestamp) -> TransactItem {
        let stale = |condition| Clause { condition, failure: Failure::StalePlan };
        let file = match self.file {
            None => Condition::absent(FILE),
            Some(file) => Condition::compare(FILE, Cmp::Eq, "seen_file", Value::s(file)),
        };
        let clauses = vec![stale(Condition::exists(attr::PK)), stale(file), stale(Condition::absent(RETURNED_AT))];
        let update = update.set(attr::UPDATED_AT, "ua", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
        TransactItem::update(Role::BankTransfer, self.key(tenant), update, clauses)
    }

    /// What must hold so that it can be recorded as returned, with the file that has it.
    ///
    /// # Errors
    /// `WrongState` while a file with it is being written, or waits for the bank: it is not known whether the bank pays it. Such a
    /// file is withdrawn first.
    pub fn return_guard<'a>(&self, file: Option<&'a BankFile>) -> Result<ReturnGuard<'a>, Failure> {
        if self.returned_at.is_some() {
            return Err(Failure::WrongState);
        }
        match (self.file, file) {
            (None, _) => Ok(ReturnGuard::Unassigned),
            (Some(id), Some(file)) if file.id == id => match file.state {
                BankFileState::Accepted => Ok(ReturnGuard::WithBank(file)),
                BankFileState::Debited => Ok(ReturnGuard::Debited(file)),
                BankFileState::Rejected | BankFileState::Withdrawn if file.superseded_by.is_none() => {
                    Ok(ReturnGuard::Over(file))
                }
                BankFileState::Assigning
                | BankFileState::Written
                | BankFileState::Rejected
                | BankFileState::Withdrawn
                | BankFileState::Empty => Err(Failure::WrongState),
            },
            (Some(_), _) => Err(Failure::StalePlan),
        }
    }

    /// The day on which it is paid, and what its merchant sees, with the file that has it.
    #[must_use]
    pub fn shown(
        &self,
        scheduled: BusinessDate,
        file: Option<&BankFile>,
        now: Timestamp,
    ) -> (BusinessDate, PayoutState) {
        let pay_on = file.map_or(self.day, |file| file.id.pay_on);
        let has_begun = pay_on.bounds().0 <= now;
        let is_accepted = file.is_some_and(|file| match file.state {
            BankFileState::Accepted | BankFileState::Debited => true,
            BankFileState::Assigning
            | BankFileState::Written
            | BankFileState::Rejected
            | BankFileState::Withdrawn
            | BankFileState::Empty => false,
        });
        let state = match (self.returned_at, is_accepted, has_begun) {
            (Some(_), ..) => PayoutState::Returned,
            (None, true, true) => PayoutState::Paid,
            (None, false, true) => PayoutState::Delayed,
            (None, _, false) if pay_on > scheduled || file.is_some_and(BankFile::is_over) => PayoutState::Delayed,
            (None, _, false) => PayoutState::Scheduled,
        };
        (pay_on, state)
    }
}

fn place(day: BusinessDate, settlement: SettlementId) -> String {
    format!("{day}#{settlement}")
}

/// Transfers that one transaction took into a file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePart(pub Vec<(BusinessDate, SettlementId)>);

impl FilePart {
    const TRANSFERS: &'static str = "transfers";

    /// Reads a stored part.
    ///
    /// # Errors
    /// [`ItemError`] if it is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        item.texts(Self::TRANSFERS, |text| BankTransfer::parse_place(text).ok_or(())).map(Self)
    }

    /// The keys of the transfers.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        self.0.iter().map(|(day, settlement)| keys::bank_transfer(tenant, *day, *settlement)).collect()
    }

    /// Stores it.
    pub(super) fn put(&self, tenant: &Tenant, (file, part): (BankFileId, u32)) -> TransactItem {
        let transfers = self.0.iter().map(|(day, settlement)| Value::S(place(*day, *settlement))).collect();
        let item = Item::from([(Self::TRANSFERS.to_owned(), Value::L(transfers))]);
        TransactItem::put_new(Role::BankFile, keys::bank_file_part(tenant, file, part), item, Failure::StalePlan)
    }
}
