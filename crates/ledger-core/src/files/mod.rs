//! Files that staff ask for and a worker makes: a customer's data or history, payees, payouts, and merchants' months.
//!
//! A job has one worker at a time, by the time until which it is taken. A worker that stops leaves it, and the next one makes
//! the file again: nothing but the object of the file is written.

use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, CustomerId, JobId, StaffId, Tenant};
use crate::jobs;
use crate::keys::{self, JobKind, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::{BusinessDate, BusinessMonth, Timestamp};
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction};
use crate::words::words;
use std::time::Duration;

/// How long a file can be fetched.
pub const FILE_KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long a job's record is kept after its file.
const RECORD_KEPT_FOR: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// How long a worker has a job after each of its writes.
pub const FILE_LEASE: Duration = Duration::from_secs(120);
/// How often a worker begins with a file before it fails.
const ATTEMPTS_MAX: i64 = 5;

const ID: &str = "file_id";
const CONTENT: &str = "content";
const CUSTOMER: &str = "customer_id";
const FROM: &str = "from_day";
const TO: &str = "to_day";
const MONTH: &str = "month";
const ROWS: &str = "rows";
const ATTEMPTS: &str = "attempts";
const LEASE_UNTIL: &str = "lease_until";
const READY_AT: &str = "ready_at";
const FAILED_AT: &str = "failed_at";

/// What a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// What is stored about a customer: profile, cards that are not closed and those that they replaced, limits, balances, history
    /// and top-ups.
    CustomerData(CustomerId),
    /// The entries of a customer on these days, inclusive.
    CustomerHistory(CustomerId, (BusinessDate, BusinessDate)),
    /// Where each merchant is paid, or why it cannot be.
    Payees,
    /// What merchants were paid on these days, inclusive.
    Payouts((BusinessDate, BusinessDate)),
    /// The month of every merchant.
    Statements(BusinessMonth),
}

/// A request for a file.
#[derive(Clone, Debug)]
pub struct FileRequest<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who asks.
    pub staff: StaffId,
    /// What for.
    pub content: FileContent,
    /// Why.
    pub reason: &'a FreeText,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileJob {
    /// Its id.
    pub id: JobId,
    /// What the file has.
    pub content: FileContent,
    /// Who asked.
    pub staff: StaffId,
    /// When.
    pub created_at: Timestamp,
    /// The rows that are written so far.
    pub rows: u64,
    /// When the file was complete.
    pub ready_at: Option<Timestamp>,
    /// When the last try failed.
    pub failed_at: Option<Timestamp>,
    attempts: i64,
    lease_until: Option<Timestamp>,
}

words! {
    /// How far a job is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FileState {
        /// A worker makes it, or will.
        InProgress = "in_progress",
        /// It can be fetched.
        Ready = "ready",
        /// It cannot be fetched any more.
        Expired = "expired",
        /// It could not be made.
        Failed = "failed",
    }
}

impl FileContent {
    /// Its kind, in records and responses.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CustomerData(_) => "customer_data",
            Self::CustomerHistory(..) => "customer_history",
            Self::Payees => "payees",
            Self::Payouts(_) => "payouts",
            Self::Statements(_) => "statements",
        }
    }

    /// The customer whose data it has.
    #[must_use]
    pub fn customer(&self) -> Option<CustomerId> {
        match self {
            Self::CustomerData(customer) | Self::CustomerHistory(customer, _) => Some(*customer),
            Self::Payees | Self::Payouts(_) | Self::Statements(_) => None,
        }
    }

    /// The days of its entries, inclusive.
    #[must_use]
    pub fn days(&self) -> Option<(BusinessDate, BusinessDate)> {
        match self {
            Self::CustomerHistory(_, days) | Self::Payouts(days) => Some(*days),
            Self::CustomerData(_) | Self::Payees | Self::Statements(_) => None,
        }
    }

    /// The month.
    #[must_use]
    pub fn month(&self) -> Option<BusinessMonth> {
        match self {
            Self::Statements(month) => Some(*month),
            Self::CustomerData(_) | Self::CustomerHistory(..) | Self::Payees | Self::Payouts(_) => None,
        }
    }

    fn read(item: &Item) -> Result<Self, ItemError> {
        let customer = || item.parsed(CUSTOMER, CustomerId::parse);
        let days = || Ok((item.parsed(FROM, BusinessDate::parse)?, item.parsed(TO, BusinessDate::parse)?));
        match item.text(CONTENT)? {
            "customer_data" => Ok(Self::CustomerData(customer()?)),
            "customer_history" => Ok(Self::CustomerHistory(customer()?, days()?)),
            "payees" => Ok(Self::Payees),
            "payouts" => Ok(Self::Payouts(days()?)),
            "statements" => Ok(Self::Statements(item.parsed(MONTH, BusinessMonth::parse)?)),
            _ => Err(ItemError::invalid(CONTENT)),
        }
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![(CONTENT, self.kind().to_owned())];
        all.extend(self.customer().map(|customer| (CUSTOMER, customer.to_string())));
        all.extend(self.days().into_iter().flat_map(|(from, to)| [(FROM, from.to_string()), (TO, to.to_string())]));
        all.extend(self.month().map(|month| (MONTH, month.to_string())));
        all
    }
}

/// Stores the job, due at once.
///
/// # Errors
/// [`PlanRefusal::Invalid`] for days or a month that have not begun, or that are not in order.
pub fn plan(command: &FileRequest<'_>, cx: &Context) -> Result<Planned<FileJob>, PlanRefusal> {
    let FileRequest { tenant, staff, content, reason } = command;
    let today = cx.now.business_date();
    let refused = |field, why| Err(PlanRefusal::Invalid { field, why });
    if let Some((from, to)) = content.days() {
        if from > to {
            return refused("from", "must not be after `to`");
        }
        if to > today {
            return refused("to", "must not be after today");
        }
    }
    if content.month().is_some_and(|month| month.first() > today) {
        return refused(MONTH, "must not be after the present one");
    }
    let job = FileJob {
        id: JobId::new(cx.resource_id),
        content: *content,
        staff: *staff,
        created_at: cx.now,
        rows: 0,
        ready_at: None,
        failed_at: None,
        attempts: 0,
        lease_until: None,
    };
    let mut item = Item::from([
        (ID.to_owned(), Value::s(job.id)),
        ("staff_id".to_owned(), Value::s(staff)),
        ("reason".to_owned(), Value::s(reason.expose())),
        (ROWS.to_owned(), Value::int(0)),
        (ATTEMPTS.to_owned(), Value::int(0)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(jobs::begun(tenant, JobKind::File, job.id, cx.now));
    let details = content.attributes();
    item.extend(details.iter().map(|(name, value)| ((*name).to_owned(), Value::s(value))));
    let subject = content.customer().map_or_else(|| format!("file:{}", job.id), |id| Account::Customer(id).to_string());
    let act = Act::new(Actor::Staff(*staff), Operation::FileRequest, subject).because(Some(reason)).with(ID, job.id);
    let details = details.into_iter().filter(|(name, _)| *name != CUSTOMER);
    let act = details.fold(act, |act, (name, value)| act.with(name, value));
    let items = vec![
        TransactItem::put_new(Role::Job, keys::job(tenant, job.id), item, Failure::AlreadyExists),
        act.record(tenant, cx),
    ];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: job })
}

impl FileJob {
    /// Reads a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed(ID, JobId::parse)?,
            content: FileContent::read(item)?,
            staff: item.parsed("staff_id", StaffId::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            rows: item.int(ROWS)?,
            ready_at: item.opt_timestamp(READY_AT)?,
            failed_at: item.opt_timestamp(FAILED_AT)?,
            attempts: item.int(ATTEMPTS)?,
            lease_until: item.opt_timestamp(LEASE_UNTIL)?,
        })
    }

    /// How far it is.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> FileState {
        match (self.ready_at, self.failed_at) {
            (Some(at), _) if at.plus(FILE_KEPT_FOR) <= now => FileState::Expired,
            (Some(_), _) => FileState::Ready,
            (None, Some(_)) => FileState::Failed,
            (None, None) => FileState::InProgress,
        }
    }

    /// Until when the file can be fetched.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.ready_at.map(|at| at.plus(FILE_KEPT_FOR))
    }

    /// Takes the job for a worker; `None` if it is over, or another worker has it. A job that was begun too often fails.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn take(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<(Self, Transaction)>, BuildError> {
        let is_over = self.ready_at.is_some() || self.failed_at.is_some();
        if is_over || self.lease_until.is_some_and(|until| until > now) {
            return Ok(None);
        }
        if self.attempts >= ATTEMPTS_MAX {
            let failed = Self { failed_at: Some(now), ..self.clone() };
            let update = Update::new().set(FAILED_AT, "ua", Value::s(now));
            return Ok(Some((failed, self.ended(tenant, update, now)?)));
        }
        let until = now.plus(FILE_LEASE);
        let taken =
            Self { attempts: self.attempts.saturating_add(1), lease_until: Some(until), rows: 0, ..self.clone() };
        let update = Update::new()
            .set(ATTEMPTS, ATTEMPTS, Value::int(taken.attempts))
            .set(LEASE_UNTIL, "until", Value::s(until))
            .set(ROWS, ROWS, Value::int(0));
        Ok(Some((taken, self.changed(tenant, update, now)?)))
    }

    /// Records how many rows are written, and keeps the job.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn advance(&self, tenant: &Tenant, rows: u64, now: Timestamp) -> Result<(Self, Transaction), BuildError> {
        let until = now.plus(FILE_LEASE);
        let update =
            Update::new().set(ROWS, ROWS, Value::N(rows.to_string())).set(LEASE_UNTIL, "until", Value::s(until));
        let advanced = Self { rows, lease_until: Some(until), ..self.clone() };
        Ok((advanced, self.changed(tenant, update, now)?))
    }

    /// Records that the file is complete.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn finish(&self, tenant: &Tenant, rows: u64, now: Timestamp) -> Result<Transaction, BuildError> {
        let update = Update::new().set(ROWS, ROWS, Value::N(rows.to_string())).set(READY_AT, "ua", Value::s(now));
        self.ended(tenant, update, now)
    }

    fn ended(&self, tenant: &Tenant, update: Update, now: Timestamp) -> Result<Transaction, BuildError> {
        let kept = Value::int(now.plus(RECORD_KEPT_FOR).seconds());
        let update = update.set(attr::TTL, attr::TTL, kept).remove(attr::DUE_PK).remove(attr::DUE_SK);
        self.changed(tenant, update.remove(LEASE_UNTIL), now)
    }

    /// A change of the job, if it is as it was read.
    fn changed(&self, tenant: &Tenant, update: Update, now: Timestamp) -> Result<Transaction, BuildError> {
        let stale = |condition| Clause { condition, failure: Failure::StalePlan };
        let taken = match self.lease_until {
            Some(until) => Condition::compare(LEASE_UNTIL, Cmp::Eq, "seen_until", Value::s(until)),
            None => Condition::absent(LEASE_UNTIL),
        };
        let guards = vec![
            stale(Condition::compare(ATTEMPTS, Cmp::Eq, "seen", Value::int(self.attempts))),
            stale(taken),
            stale(Condition::absent(READY_AT)),
            stale(Condition::absent(FAILED_AT)),
        ];
        let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
        let item = TransactItem::update(Role::Job, keys::job(tenant, self.id), update, guards);
        Transaction::unkeyed(vec![item])
    }
}
