//! The run's record: the day that it closes, how far it is, and how many merchants it closed.

use super::line::{self, LineKind, LineStatus};
use crate::audit::Act;
use crate::calendar::SettlementSchedule;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, JobId, MerchantId, StaffId, Tenant};
use crate::jobs;
use crate::keys::{self, JobKind, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::reads::{self, Query};
use crate::settlements::OfRun;
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction};
use crate::words::words;

const ID: &str = "settlement_run_id";
const CLOSING: &str = "closing_on";
const SCHEDULE: &str = "schedule";
const AFTER: &str = "after";
const OPENED: &str = "opened";
const SKIPPED: &str = "skipped";
const STUCK: &str = "stuck";
const FINISHED_AT: &str = "finished_at";

/// The start of a run.
#[derive(Clone, Debug)]
pub struct RunStart<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The closing day.
    pub closing: BusinessDate,
    /// The tenant's schedule; `None` if only merchants have one.
    pub schedule: Option<SettlementSchedule>,
    /// Who starts it, and why; `None`: the day is over.
    pub by: Option<(StaffId, &'a FreeText)>,
}

/// A stored run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlementRun {
    /// Its id.
    pub id: JobId,
    /// The day at whose end periods are closed.
    pub closing: BusinessDate,
    /// The schedule of merchants that have none of their own.
    pub schedule: Option<SettlementSchedule>,
    /// The staff member who started it; `None`: the day was over.
    pub staff: Option<StaffId>,
    /// Why that staff member did.
    pub reason: Option<FreeText>,
    /// How many merchants it closed.
    pub opened: i64,
    /// How many merchants had nothing to close.
    pub skipped: i64,
    /// How many merchants a person must see to.
    pub stuck: i64,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it had seen every merchant.
    pub finished_at: Option<Timestamp>,
    /// The last merchant that it has seen.
    after: Option<String>,
}

words! {
    /// The progress of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SettlementRunStatus {
        /// It has not seen every merchant.
        Running = "running",
        /// It has closed every merchant that was to be closed.
        Finished = "finished",
        /// It has seen every merchant, and a person must see to some.
        FinishedWithStuck = "finished_with_stuck",
    }
}

/// A part of the list of merchants that is dealt with before the progress is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The merchants.
    pub merchants: Vec<MerchantId>,
    /// The last one, if the list may have more.
    after: Option<String>,
}

/// What became of the merchants of a slice, all of them certain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceOutcome {
    /// How many were closed. Each has its line.
    pub opened: usize,
    /// The others, of which lines are to be written.
    pub others: Vec<(MerchantId, LineStatus)>,
}

/// Stores the run, due at once.
///
/// # Errors
/// [`PlanRefusal::Invalid`] if the day is not over in Japan, or the payment day is past the known bank holidays.
pub fn plan(command: &RunStart<'_>, cx: &Context) -> Result<Planned<SettlementRun>, PlanRefusal> {
    let refused = |why| PlanRefusal::Invalid { field: CLOSING, why };
    if command.closing >= cx.now.business_date() {
        return Err(refused("must be a day that is over in Japan"));
    }
    let schedule = command.schedule.filter(|schedule| schedule.closes_on(command.closing));
    if schedule.is_some_and(|schedule| schedule.pays_on(command.closing).is_err()) {
        return Err(refused("has a payment day whose bank holidays are not known to this release"));
    }
    Ok(start(command, cx))
}

/// As [`plan`], for a day that is over. A payment day that is not known is in the merchants' lines.
pub(super) fn start(command: &RunStart<'_>, cx: &Context) -> Planned<SettlementRun> {
    let RunStart { tenant, closing, schedule, by } = command;
    let run = SettlementRun {
        id: JobId::new(cx.resource_id),
        closing: *closing,
        schedule: *schedule,
        staff: by.map(|(staff, _)| staff),
        reason: by.map(|(_, reason)| reason.clone()),
        opened: 0,
        skipped: 0,
        stuck: 0,
        created_at: cx.now,
        finished_at: None,
        after: None,
    };
    let mut item = Item::from([
        (ID.to_owned(), Value::s(run.id)),
        (CLOSING.to_owned(), Value::s(closing)),
        (OPENED.to_owned(), Value::int(run.opened)),
        (SKIPPED.to_owned(), Value::int(run.skipped)),
        (STUCK.to_owned(), Value::int(run.stuck)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(jobs::begun(tenant, JobKind::SettlementRun, run.id, cx.now));
    item.extend(schedule.map(|schedule| (SCHEDULE.to_owned(), Value::s(schedule))));
    item.extend(run.staff.map(|staff| ("staff_id".to_owned(), Value::s(staff))));
    item.extend(run.reason.as_ref().map(|reason| ("reason".to_owned(), Value::s(reason.expose()))));
    let act = Act::new(run.actor(), Operation::SettlementRunStart, format!("settlement_run:{}", run.id))
        .because(run.reason.as_ref())
        .with(CLOSING, closing);
    let items = vec![
        TransactItem::put_new(Role::Job, keys::job(tenant, run.id), item, Failure::AlreadyExists),
        act.record(tenant, cx),
    ];
    Planned { draft: Draft { entry: None, items }, receipt: run }
}

impl SettlementRun {
    /// Reads a stored run.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed(ID, JobId::parse)?,
            closing: item.parsed(CLOSING, BusinessDate::parse)?,
            schedule: item.opt_parsed(SCHEDULE, str::parse)?,
            staff: item.opt_parsed("staff_id", StaffId::parse)?,
            reason: item.opt_parsed("reason", |text| FreeText::parse(text, 140))?,
            opened: item.int(OPENED)?,
            skipped: item.int(SKIPPED)?,
            stuck: item.int(STUCK)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            finished_at: item.opt_timestamp(FINISHED_AT)?,
            after: item.opt_string(AFTER)?,
        })
    }

    /// The run's progress.
    #[must_use]
    pub fn status(&self) -> SettlementRunStatus {
        match (self.finished_at, self.stuck) {
            (Some(_), 0) => SettlementRunStatus::Finished,
            (Some(_), _) => SettlementRunStatus::FinishedWithStuck,
            (None, _) => SettlementRunStatus::Running,
        }
    }

    /// Who closes the periods.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.staff.map_or(Actor::System, Actor::Staff)
    }

    /// What a settlement of the run keeps of it.
    pub(super) fn of_run(&self) -> OfRun {
        OfRun { run: self.id, closing: self.closing }
    }

    /// The query of the next slice, of at most `limit` merchants; `None` if it has seen every merchant.
    #[must_use]
    pub fn next(&self, tenant: &Tenant, limit: usize) -> Option<Query> {
        let query = reads::merchants(tenant).after(self.after.clone()).limit(limit);
        self.finished_at.is_none().then_some(query)
    }

    /// The slice that the query of [`SettlementRun::next`] found. Fewer than `limit` are the last ones.
    ///
    /// # Errors
    /// [`ItemError`] if an entry is malformed.
    pub fn slice(found: &[Item], limit: usize) -> Result<Slice, ItemError> {
        let merchants = found.iter().map(|entry| entry.parsed(attr::OWNER_SK, MerchantId::parse));
        let last = found.last().filter(|_| found.len() >= limit);
        let after = last.map(|entry| entry.string(attr::OWNER_SK)).transpose()?;
        Ok(Slice { merchants: merchants.collect::<Result<_, _>>()?, after })
    }

    /// Records that a slice is dealt with: its numbers, a line of each merchant that was not closed, and how far the run is.
    /// The last write removes the due index entry. The guard is on how far the run was: of two workers' writes from one read,
    /// the later is refused as stale.
    ///
    /// # Errors
    /// [`BuildError`], which a slice of at most 90 merchants never causes.
    pub fn advance(
        &self,
        tenant: &Tenant,
        slice: &Slice,
        outcome: &SliceOutcome,
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let number = |count: usize| Value::int(i64::try_from(count).unwrap_or(i64::MAX));
        let of_kind = |kind| number(outcome.others.iter().filter(|(_, status)| status.kind() == kind).count());
        let update = Update::new()
            .add(OPENED, OPENED, number(outcome.opened))
            .add(SKIPPED, SKIPPED, of_kind(LineKind::Skipped))
            .add(STUCK, STUCK, of_kind(LineKind::Stuck))
            .set(attr::UPDATED_AT, "ua", Value::s(now));
        let update = match &slice.after {
            Some(place) => update.set(AFTER, AFTER, Value::s(place)),
            None => update.set(FINISHED_AT, "ua", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK),
        };
        let mut items = vec![self.changed(tenant, update)];
        items.extend(outcome.others.iter().map(|other| line::of(tenant, self.id, *other, now)));
        Transaction::unkeyed(items)
    }

    /// A change of the run, guarded on how far it was when it was read.
    fn changed(&self, tenant: &Tenant, update: Update) -> TransactItem {
        let stale = |condition| Clause { condition, failure: Failure::StalePlan };
        let after = match &self.after {
            Some(seen) => Condition::compare(AFTER, Cmp::Eq, "seen_after", Value::s(seen)),
            None => Condition::absent(AFTER),
        };
        let guards = vec![stale(Condition::exists(attr::PK)), stale(after), stale(Condition::absent(FINISHED_AT))];
        TransactItem::update(Role::Job, keys::job(tenant, self.id), update, guards)
    }
}
