//! The job's record: who started it, how far it is, and how many accounts it closed.

use super::line::{self, LineState, OpenAccount};
use crate::account::Account;
use crate::audit::Act;
use crate::card_state::CardState;
use crate::cards::record::CardRecord;
use crate::closing::ClosingReceipt;
use crate::customer_state::is_closed_wallet;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::idempotency::{IdempotencyKey, KeyError};
use crate::ids::{Actor, CardId, CustomerId, JobId, StaffId, Tenant};
use crate::jobs;
use crate::keys::{self, JobKind, Key, Partition, Shards, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::reads::{self, Query, Times};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction, exists};
use crate::words::words;

const ID: &str = "wind_down_id";
const SHARD: &str = "shard";
const AFTER: &str = "after";
const CLOSED: &str = "closed";
const OPEN: &str = "open";
const STOPPED_AT: &str = "stopped_at";
const FINISHED_AT: &str = "finished_at";

/// The start of a job.
#[derive(Clone, Debug)]
pub struct WindDownStart<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who starts it.
    pub staff: StaffId,
    /// Why.
    pub reason: &'a FreeText,
}

/// The stop of a job.
#[derive(Clone, Debug)]
pub struct WindDownStop<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who stops it.
    pub actor: Actor,
    /// Why.
    pub reason: &'a FreeText,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindDown {
    /// Its id.
    pub id: JobId,
    /// The staff member who started it.
    pub staff: StaffId,
    /// Why.
    pub reason: FreeText,
    /// How many accounts it closed.
    pub closed: i64,
    /// How many accounts it found that could not be closed.
    pub open: i64,
    /// When it was started.
    pub created_at: Timestamp,
    /// When a person stopped it.
    pub stopped_at: Option<Timestamp>,
    /// When it had seen every account.
    pub finished_at: Option<Timestamp>,
    /// How far it is: the shard of the lists, counted over those of cards and then those of customers.
    shard: u32,
    /// The last place of the shard that it has seen.
    after: Option<String>,
}

words! {
    /// The progress of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WindDownStatus {
        /// It has not seen every account.
        Running = "running",
        /// A person stopped it.
        Stopped = "stopped",
        /// It has closed every account that it found.
        Finished = "finished",
        /// It has seen every account, and some could not be closed.
        FinishedWithOpen = "finished_with_open",
    }
}

/// A part of a list that is dealt with before the progress is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The accounts.
    pub accounts: Vec<Account>,
    /// The last place of the shard, if it may have more.
    after: Option<String>,
}

/// How an account stands in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The job closed it.
    Closed,
    /// It was closed otherwise, or there is none.
    ClosedBefore,
    /// It is not closed.
    Open,
}

/// What became of the accounts of a slice, all of them certain. Accounts that had been closed before are not in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceOutcome {
    /// How many the job closed.
    pub closed: usize,
    /// Those that could not be closed.
    pub open: Vec<OpenAccount>,
}

/// Stores the job, due at once.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan(command: &WindDownStart<'_>, cx: &Context) -> Result<Planned<WindDown>, PlanRefusal> {
    let WindDownStart { tenant, staff, reason } = command;
    let id = JobId::new(cx.resource_id);
    let job = WindDown {
        id,
        staff: *staff,
        reason: (*reason).clone(),
        closed: 0,
        open: 0,
        created_at: cx.now,
        stopped_at: None,
        finished_at: None,
        shard: 0,
        after: None,
    };
    let mut item = Item::from([
        (ID.to_owned(), Value::s(id)),
        ("staff_id".to_owned(), Value::s(staff)),
        ("reason".to_owned(), Value::s(reason.expose())),
        (SHARD.to_owned(), Value::int(job.shard.into())),
        (CLOSED.to_owned(), Value::int(job.closed)),
        (OPEN.to_owned(), Value::int(job.open)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(jobs::begun(tenant, JobKind::WindDown, id, cx.now));
    let act = Act::new(Actor::Staff(*staff), Operation::WindDown, subject(id)).because(Some(reason));
    let items = vec![
        TransactItem::put_new(Role::Job, keys::job(tenant, id), item, Failure::AlreadyExists),
        act.record(tenant, cx),
    ];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: job })
}

/// Stops a job: a worker starts no other slice of it. What it has closed stays closed.
///
/// # Errors
/// `WrongState` if it is not running.
pub fn plan_stop(command: &WindDownStop<'_>, job: &WindDown, cx: &Context) -> Result<Planned<WindDown>, PlanRefusal> {
    let WindDownStop { tenant, actor, reason } = command;
    match job.status() {
        WindDownStatus::Running => {}
        WindDownStatus::Stopped | WindDownStatus::Finished | WindDownStatus::FinishedWithOpen => {
            return Err(PlanRefusal::Refused(Failure::WrongState));
        }
    }
    let update = Update::new().set(STOPPED_AT, "ua", Value::s(cx.now)).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let guards = vec![exists(), stale(Condition::absent(STOPPED_AT)), stale(Condition::absent(FINISHED_AT))];
    let act = Act::new(*actor, Operation::WindDownStop, subject(job.id)).because(Some(reason));
    let items = vec![
        TransactItem::update(
            Role::Job,
            keys::job(tenant, job.id),
            update.remove(attr::DUE_PK).remove(attr::DUE_SK),
            guards,
        ),
        act.record(tenant, cx),
    ];
    let receipt = WindDown { stopped_at: Some(cx.now), ..job.clone() };
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}

impl WindDown {
    /// Reads a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed(ID, JobId::parse)?,
            staff: item.parsed("staff_id", StaffId::parse)?,
            reason: item.parsed("reason", |text| FreeText::parse(text, 140))?,
            closed: item.int(CLOSED)?,
            open: item.int(OPEN)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            stopped_at: item.opt_timestamp(STOPPED_AT)?,
            finished_at: item.opt_timestamp(FINISHED_AT)?,
            shard: item.int(SHARD)?,
            after: item.opt_string(AFTER)?,
        })
    }

    /// The job's progress.
    #[must_use]
    pub fn status(&self) -> WindDownStatus {
        match (self.finished_at, self.stopped_at, self.open) {
            (Some(_), _, 0) => WindDownStatus::Finished,
            (Some(_), _, _) => WindDownStatus::FinishedWithOpen,
            (None, Some(_), _) => WindDownStatus::Stopped,
            (None, None, _) => WindDownStatus::Running,
        }
    }

    /// The query of the next slice, of at most `limit` accounts; `None` if every list was read.
    #[must_use]
    pub fn next(&self, tenant: &Tenant, limit: usize) -> Option<Query> {
        let query = match self.list()? {
            List::Cards(shard) => reads::cards(tenant, shard).newest_first().after(self.after.clone()),
            List::Customers(shard) => {
                let after = self.after.as_deref().and_then(keys::place_of);
                reads::customers(tenant, shard, Times { after, ..Times::default() })
            }
        };
        Some(query.limit(limit))
    }

    /// The slice that the query of [`WindDown::next`] found. Fewer than `limit` are the last of their shard.
    ///
    /// # Errors
    /// [`ItemError`] if an entry is malformed.
    pub fn slice(&self, found: &[Item], limit: usize) -> Result<Slice, ItemError> {
        let account = |entry: &Item| match self.list() {
            Some(List::Customers(_)) => {
                let id = |place: &str| keys::place_of(place).map(|(_, id)| CustomerId::new(id));
                entry.named(attr::OWNER_SK, id).map(Account::Customer)
            }
            Some(List::Cards(_)) | None => entry.parsed(attr::OWNER_SK, CardId::parse).map(Account::Card),
        };
        let accounts = found.iter().map(account).collect::<Result<_, _>>()?;
        let last = found.last().filter(|_| found.len() >= limit);
        Ok(Slice { accounts, after: last.map(|entry| entry.string(attr::OWNER_SK)).transpose()? })
    }

    /// The items that show how an account stands in the job: its record, and the line of its close.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant, account: Account) -> Vec<Key> {
        let record = match account {
            Account::Card(id) => Some(keys::card(tenant, id)),
            Account::Customer(id) => Some(Partition::customer(tenant, id).profile()),
            Account::Merchant(_) | Account::Tenant(_) => None,
        };
        let line = line::key(tenant, self.id, LineState::Closed, account);
        record.into_iter().chain([line]).collect()
    }

    /// How an account stands in the job. `items` are those of [`WindDown::keys`], as read, in their order. A record that cannot
    /// be read is open.
    #[must_use]
    pub fn standing(&self, account: Account, items: &[Option<Item>]) -> Standing {
        let [record, line] = items else { return Standing::ClosedBefore };
        let is_over = match (account, record) {
            (_, None) | (Account::Merchant(_) | Account::Tenant(_), _) => true,
            (Account::Customer(_), Some(profile)) => is_closed_wallet(profile),
            (Account::Card(_), Some(card)) => CardRecord::read(card).is_ok_and(|card| match card.state {
                CardState::Replaced | CardState::Closed => true,
                CardState::Active | CardState::Blocked => false,
            }),
        };
        match (line, is_over) {
            (Some(_), _) => Standing::Closed,
            (None, true) => Standing::ClosedBefore,
            (None, false) => Standing::Open,
        }
    }

    /// The key under which the job closes an account. It depends on the two alone.
    ///
    /// # Errors
    /// [`KeyError`], which an account and a job never cause.
    pub fn child_key(&self, account: Account) -> Result<IdempotencyKey, KeyError> {
        IdempotencyKey::parse(&format!("wind_down:{}:{account}", self.id))
    }

    /// Adds the job's line to an account's close. `owner` is a card's. Fails with `StalePlan` if the job has a line of the
    /// account.
    #[must_use]
    pub fn with_line(
        &self,
        tenant: &Tenant,
        planned: Planned<ClosingReceipt>,
        owner: Option<CustomerId>,
    ) -> Planned<ClosingReceipt> {
        let items = line::closed(tenant, self.id, &planned.receipt, owner);
        items.into_iter().fold(planned, |planned, item| planned.and(Some(item)))
    }

    /// Records that a slice is dealt with: its numbers, a line of each account that could not be closed, and how far the job is.
    /// The last write removes the due index entry. The guard is on how far the job was: of two workers' writes from one read,
    /// the later is refused as stale.
    ///
    /// # Errors
    /// [`BuildError`], which a slice of at most 40 accounts never causes.
    pub fn advance(
        &self,
        tenant: &Tenant,
        slice: &Slice,
        outcome: &SliceOutcome,
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let number = |count: usize| Value::int(i64::try_from(count).unwrap_or(i64::MAX));
        let shard = if slice.after.is_some() { self.shard } else { self.shard.saturating_add(1) };
        let mut update = Update::new()
            .set(SHARD, "shard", Value::int(shard.into()))
            .add(CLOSED, "closed", number(outcome.closed))
            .add(OPEN, "open", number(outcome.open.len()))
            .set(attr::UPDATED_AT, "ua", Value::s(now));
        update = match &slice.after {
            Some(place) => update.set(AFTER, "after", Value::s(place)),
            None => update.remove(AFTER),
        };
        if List::at(shard).is_none() {
            update = update.set(FINISHED_AT, "ua", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
        }
        let after = match &self.after {
            Some(seen) => Condition::compare(AFTER, Cmp::Eq, "seen_after", Value::s(seen)),
            None => Condition::absent(AFTER),
        };
        let shard = Condition::compare(SHARD, Cmp::Eq, "seen", Value::int(self.shard.into()));
        let as_read = vec![stale(shard), stale(after)];
        let mut items = vec![TransactItem::update(Role::Job, keys::job(tenant, self.id), update, as_read)];
        for open in &outcome.open {
            items.extend(line::open(tenant, self.id, open, now));
        }
        Transaction::unkeyed(items)
    }

    fn list(&self) -> Option<List> {
        List::at(self.shard)
    }
}

/// A shard of the tenant's lists.
enum List {
    Cards(u32),
    Customers(u32),
}

impl List {
    /// The cards are before the customers: a customer with an open card is not closed.
    fn at(shard: u32) -> Option<Self> {
        match shard.checked_sub(Shards::CARDS.count()) {
            None => Some(Self::Cards(shard)),
            Some(shard) if shard < keys::LISTED_SHARDS.count() => Some(Self::Customers(shard)),
            Some(_) => None,
        }
    }
}

fn stale(condition: Condition) -> Clause {
    Clause { condition, failure: Failure::StalePlan }
}

fn subject(id: JobId) -> String {
    format!("wind_down:{id}")
}
