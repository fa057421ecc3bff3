//! Files that staff ask for and a worker makes: a customer's data or history, payees, payouts, and merchants' months.
//!
//! A worker that stops leaves the job, and the next one makes the file again: nothing but the object of the file is written.

use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{Actor, CustomerId, JobId, StaffId, Tenant};
use crate::jobs::{Attempt, Details, JobState, Request};
use crate::keys::JobKind;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::{BusinessDate, BusinessMonth, Timestamp};
use crate::transaction::{Draft, Planned};
use crate::words::words;
use std::time::Duration;

/// How long a file can be fetched.
pub const FILE_KEPT_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

const CONTENT: &str = "content";
const CUSTOMER: &str = "customer_id";
const FROM: &str = "from_day";
const TO: &str = "to_day";
const MONTH: &str = "month";

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

/// A stored job. What it counts as done are the rows that are written.
pub type FileJob = Attempt<FileContent>;

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
        /// A person stopped it.
        Stopped = "stopped",
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

    fn named(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![(CONTENT, self.kind().to_owned())];
        all.extend(self.customer().map(|customer| (CUSTOMER, customer.to_string())));
        all.extend(self.days().into_iter().flat_map(|(from, to)| [(FROM, from.to_string()), (TO, to.to_string())]));
        all.extend(self.month().map(|month| (MONTH, month.to_string())));
        all
    }
}

impl Details for FileContent {
    const KIND: JobKind = JobKind::File;

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

    fn attributes(&self) -> Item {
        self.named().into_iter().map(|(name, value)| (name.to_owned(), Value::S(value))).collect()
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
    let id = JobId::new(cx.resource_id);
    let request = Request { id, staff: Some(*staff), reason: Some(reason), total: None, now: cx.now };
    let job = FileJob::requested(request, *content);
    let subject = content.customer().map_or_else(|| format!("job:{id}"), |id| Account::Customer(id).to_string());
    let act = Act::new(Actor::Staff(*staff), Operation::FileRequest, subject).because(Some(reason)).with("job_id", id);
    let details = content.named().into_iter().filter(|(name, _)| *name != CUSTOMER);
    let act = details.fold(act, |act, (name, value)| act.with(name, value));
    let items = vec![job.put(tenant), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: job })
}

impl FileJob {
    /// How far the file is.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> FileState {
        match self.head.state {
            JobState::Waiting | JobState::Running | JobState::Stopping => FileState::InProgress,
            JobState::Done if self.expires_at().is_none_or(|at| at <= now) => FileState::Expired,
            JobState::Done => FileState::Ready,
            JobState::Stopped => FileState::Stopped,
            JobState::Failed => FileState::Failed,
        }
    }

    /// Until when the file can be fetched.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        let ready_at = self.head.ended_at.filter(|_| self.head.state == JobState::Done);
        ready_at.map(|at| at.plus(FILE_KEPT_FOR))
    }
}
