//! A bank file: its state, its count, sum and hash, and who recorded what about it.

use crate::bank::Sender;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{BankFileId, JobId, StaffId, Tenant, TransactionId};
use crate::keys::{self, DueKeys, Work, attr};
use crate::money::{Amount, Asset, Balance, MoneyError};
use crate::personal::FreeText;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};
use crate::words::words;
use std::time::Duration;

/// After how long a file is reported again that waits for a person.
const REPORTED_AGAIN: Duration = Duration::from_secs(60 * 60);
/// The most characters of the bank's reference.
const REFERENCE_CHARACTERS_MAX: usize = 140;

pub(super) const STATE: &str = "state";
pub(super) const PARTS: &str = "parts";
pub(super) const TRANSFERS: &str = "transfers";
pub(super) const SUM: &str = "sum";
pub(super) const SHA256: &str = "sha256";
pub(super) const WRITTEN_AT: &str = "written_at";
pub(super) const SUPERSEDED_BY: &str = "superseded_by";
pub(super) const ACCEPTED_AT: &str = "accepted_at";
pub(super) const ACCEPTED_BY: &str = "accepted_by";
pub(super) const REFERENCE: &str = "bank_reference";
pub(super) const DEBITED_AT: &str = "debited_at";
pub(super) const DEBITED_BY: &str = "debited_by";
pub(super) const DEBITED_SUM: &str = "debited_sum";
pub(super) const DEBIT_ID: &str = "debit_transaction_id";
pub(super) const ENDED_AT: &str = "ended_at";
pub(super) const ENDED_BY: &str = "ended_by";
const RETURNED: &str = "returned_transfers";
const RETURNED_SUM: &str = "returned_sum";
const VERSION: &str = "version";

words! {
    /// The state of a bank file.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum BankFileState {
        /// A job takes transfers into it.
        Assigning = "assigning",
        /// Its content is fixed, and a person is to give it to the bank.
        Written = "written",
        /// The bank has accepted it.
        Accepted = "accepted",
        /// The bank has debited its sum. Final.
        Debited = "debited",
        /// The bank has rejected it. Final.
        Rejected = "rejected",
        /// It was taken back from the bank. Final.
        Withdrawn = "withdrawn",
        /// It has no transfers. Final.
        Empty = "empty",
    }
}

/// A bank file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankFile {
    /// Its payment day and number.
    pub id: BankFileId,
    /// Its state.
    pub state: BankFileState,
    /// The account that is paid from.
    pub from: Sender,
    /// The file whose transfers it takes, if it supersedes one.
    pub supersedes: Option<BankFileId>,
    /// The file that takes its transfers.
    pub superseded_by: Option<BankFileId>,
    /// The job that takes transfers into it.
    pub job: JobId,
    /// The number of its parts.
    pub parts: u32,
    /// The number of its transfers.
    pub transfers: u32,
    /// Their sum, in yen.
    pub sum: Balance,
    /// The SHA-256 of its content, in hexadecimal, once that is fixed.
    pub sha256: Option<String>,
    /// The bank takes it before this instant.
    pub accept_by: Timestamp,
    /// The member of staff who began it; `None`: a worker did.
    pub begun_by: Option<StaffId>,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When its content was fixed.
    pub written_at: Option<Timestamp>,
    /// When it was recorded as accepted.
    pub accepted_at: Option<Timestamp>,
    /// Who recorded that.
    pub accepted_by: Option<StaffId>,
    /// What the bank calls it.
    pub reference: Option<FreeText>,
    /// When it was recorded as debited.
    pub debited_at: Option<Timestamp>,
    /// Who recorded that.
    pub debited_by: Option<StaffId>,
    /// What was debited, in yen; `None` if nothing was.
    pub debited_sum: Option<Amount>,
    /// The entry of the debit, in the partition of `bank`; `None` if nothing was debited.
    pub debit_id: Option<TransactionId>,
    /// When it was recorded as rejected or withdrawn.
    pub ended_at: Option<Timestamp>,
    /// Who asked for that: another person decided on it.
    pub ended_by: Option<StaffId>,
    /// The number of its transfers that were returned.
    pub returned: u32,
    /// Their sum, in yen.
    pub returned_sum: Balance,
    /// How often it was written.
    pub version: u32,
}

/// What a person has not recorded in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// The bank takes no file for the day any more, and none was recorded as accepted.
    NotAccepted,
    /// The day is over, and the file was not recorded as debited.
    NotDebited,
}

impl BankFile {
    /// Reads a stored file.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let staff = |name: &str| item.opt_parsed(name, StaffId::parse);
        let file = |name: &str| item.opt_parsed(name, BankFileId::parse);
        Ok(Self {
            id: item.parsed("bank_file_id", BankFileId::parse)?,
            state: item.named(STATE, BankFileState::parse)?,
            from: Sender::read(item.map("sender")?)?,
            supersedes: file("supersedes")?,
            superseded_by: file(SUPERSEDED_BY)?,
            job: item.parsed("job_id", JobId::parse)?,
            parts: item.int(PARTS)?,
            transfers: item.int(TRANSFERS)?,
            sum: item.balance(SUM, Asset::Ecopay)?,
            sha256: item.opt_string(SHA256)?,
            accept_by: item.timestamp("accept_by")?,
            begun_by: staff("begun_by")?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            written_at: item.opt_timestamp(WRITTEN_AT)?,
            accepted_at: item.opt_timestamp(ACCEPTED_AT)?,
            accepted_by: staff(ACCEPTED_BY)?,
            reference: item.opt_parsed(REFERENCE, |text| FreeText::parse(text, REFERENCE_CHARACTERS_MAX))?,
            debited_at: item.opt_timestamp(DEBITED_AT)?,
            debited_by: staff(DEBITED_BY)?,
            debited_sum: item.opt_amount(DEBITED_SUM, Asset::Ecopay)?,
            debit_id: item.opt_parsed(DEBIT_ID, TransactionId::parse)?,
            ended_at: item.opt_timestamp(ENDED_AT)?,
            ended_by: staff(ENDED_BY)?,
            returned: item.opt_int(RETURNED)?.unwrap_or(0),
            returned_sum: item.balance_or_zero(RETURNED_SUM, Asset::Ecopay)?,
            version: item.int(VERSION)?,
        })
    }

    /// Stores a file that is begun.
    pub(super) fn put(&self, tenant: &Tenant) -> TransactItem {
        let mut item = Item::from([
            ("bank_file_id".to_owned(), Value::s(self.id)),
            (STATE.to_owned(), Value::s(self.state.name())),
            ("sender".to_owned(), Value::M(self.from.item())),
            ("job_id".to_owned(), Value::s(self.job)),
            (PARTS.to_owned(), Value::int(self.parts.into())),
            (TRANSFERS.to_owned(), Value::int(self.transfers.into())),
            (SUM.to_owned(), Value::N(self.sum.text())),
            ("accept_by".to_owned(), Value::s(self.accept_by)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.created_at)),
            (VERSION.to_owned(), Value::int(self.version.into())),
            (attr::OWNER_PK.to_owned(), Value::S(keys::bank_files_partition(tenant))),
            (attr::OWNER_SK.to_owned(), Value::s(self.id)),
        ]);
        item.extend(self.supersedes.map(|id| ("supersedes".to_owned(), Value::s(id))));
        item.extend(self.begun_by.map(|id| ("begun_by".to_owned(), Value::s(id))));
        TransactItem::put_new(Role::BankFile, keys::bank_file(tenant, self.id), item, Failure::StalePlan)
    }

    /// A change, guarded on the version as read.
    pub(super) fn changed(&self, tenant: &Tenant, update: Update, now: Timestamp) -> TransactItem {
        let update = update.set(VERSION, VERSION, Value::int(self.version.saturating_add(1).into()));
        self.as_seen(tenant, update.set(attr::UPDATED_AT, "ua", Value::s(now)))
    }

    fn as_seen(&self, tenant: &Tenant, update: Update) -> TransactItem {
        let version = Condition::compare(VERSION, Cmp::Eq, "seen_version", Value::int(self.version.into()));
        let as_read = Clause { condition: version, failure: Failure::StalePlan };
        TransactItem::update(Role::BankFile, keys::bank_file(tenant, self.id), update, vec![as_read])
    }

    /// Takes back that a file is superseded by another one, which does not take the rest of its transfers. It is due at once.
    pub(super) fn given_back(
        tenant: &Tenant,
        (file, superseded_by): (BankFileId, BankFileId),
        now: Timestamp,
    ) -> TransactItem {
        let update = Update::new().add(VERSION, "one", Value::int(1)).remove(SUPERSEDED_BY);
        let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
        let update = Work::BankFile.due(tenant, 0, now, file).set(update);
        let by = Condition::compare(SUPERSEDED_BY, Cmp::Eq, "seen_by", Value::s(superseded_by));
        let as_read = Clause { condition: by, failure: Failure::StalePlan };
        TransactItem::update(Role::BankFile, keys::bank_file(tenant, file), update, vec![as_read])
    }

    /// The keys under which it is due to be reported at an instant, unless a person records something before.
    pub(super) fn due(&self, tenant: &Tenant, at: Timestamp) -> DueKeys {
        Work::BankFile.due(tenant, 0, at, self.id)
    }

    /// It is not due any more.
    pub(super) fn not_due(update: Update) -> Update {
        update.remove(attr::DUE_PK).remove(attr::DUE_SK)
    }

    /// Whether the bank will not pay it: it was rejected or withdrawn.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self.state {
            BankFileState::Rejected | BankFileState::Withdrawn => true,
            BankFileState::Assigning
            | BankFileState::Written
            | BankFileState::Accepted
            | BankFileState::Debited
            | BankFileState::Empty => false,
        }
    }

    /// The transfers that were not returned.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.transfers.saturating_sub(self.returned)
    }

    /// The sum of the transfers that were not returned.
    ///
    /// # Errors
    /// [`MoneyError`] if it does not fit.
    pub fn left_sum(&self) -> Result<Balance, MoneyError> {
        self.sum.checked_sub(&self.returned_sum)
    }

    /// Whether its transfers wait for a superseding file.
    #[must_use]
    pub fn is_to_supersede(&self) -> bool {
        self.is_over() && self.superseded_by.is_none() && self.left() > 0
    }

    /// What a person has not recorded in time.
    #[must_use]
    pub fn overdue(&self, now: Timestamp) -> Option<Overdue> {
        match self.state {
            BankFileState::Written if self.accept_by <= now => Some(Overdue::NotAccepted),
            BankFileState::Rejected | BankFileState::Withdrawn if self.is_to_supersede() && self.accept_by <= now => {
                Some(Overdue::NotAccepted)
            }
            BankFileState::Accepted if self.id.pay_on.bounds().1 <= now => Some(Overdue::NotDebited),
            BankFileState::Assigning
            | BankFileState::Written
            | BankFileState::Accepted
            | BankFileState::Debited
            | BankFileState::Rejected
            | BankFileState::Withdrawn
            | BankFileState::Empty => None,
        }
    }

    /// Makes it due again to be reported, in an hour. The version stays: what people decide on is as they saw it.
    #[must_use]
    pub fn reported(&self, tenant: &Tenant, now: Timestamp) -> TransactItem {
        self.as_seen(tenant, self.due(tenant, now.plus(REPORTED_AGAIN)).set(Update::new()))
    }

    /// Counts a transfer of it that was returned.
    ///
    /// # Errors
    /// [`MoneyError`] if the sum does not fit.
    pub(crate) fn counting_return(
        &self,
        tenant: &Tenant,
        amount: &Amount,
        now: Timestamp,
    ) -> Result<TransactItem, MoneyError> {
        let returned = self.returned.saturating_add(1);
        let sum = self.returned_sum.checked_plus(&amount.as_balance())?;
        let update = Update::new().set(RETURNED, "returned", Value::int(returned.into())).set(
            RETURNED_SUM,
            "returned_sum",
            Value::N(sum.text()),
        );
        let update = if self.is_over() && returned >= self.transfers { Self::not_due(update) } else { update };
        Ok(self.changed(tenant, update, now))
    }
}
