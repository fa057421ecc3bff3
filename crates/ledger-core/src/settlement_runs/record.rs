//! The job: the day that it closes, and the merchants that it reads.

use crate::account::Account;
use crate::audit::Act;
use crate::calendar::SettlementSchedule;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{JobId, MerchantId, StaffId, Tenant};
use crate::jobs::{CursorJob, Details, Page, Request};
use crate::keys::{JobKind, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::reads::{self, Query};
use crate::settlements::OfRun;
use crate::time::BusinessDate;
use crate::transaction::{Draft, Planned};

const CLOSING: &str = "closing_on";
const SCHEDULE: &str = "schedule";
/// How many days ago the closing day of a run by hand may be: a year.
const CLOSING_DAYS_MAX: u16 = 366;

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

/// What a run stores of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDetails {
    /// The day at whose end periods are closed.
    pub closing: BusinessDate,
    /// The schedule of merchants that have none of their own.
    pub schedule: Option<SettlementSchedule>,
}

/// A stored run.
pub type SettlementRun = CursorJob<RunDetails>;

impl Details for RunDetails {
    const KIND: JobKind = JobKind::SettlementRun;

    fn read(item: &Item) -> Result<Self, ItemError> {
        let schedule = item.opt_parsed(SCHEDULE, str::parse)?;
        Ok(Self { closing: item.parsed(CLOSING, BusinessDate::parse)?, schedule })
    }

    fn attributes(&self) -> Item {
        let mut item = Item::from([(CLOSING.to_owned(), Value::s(self.closing))]);
        item.extend(self.schedule.map(|schedule| (SCHEDULE.to_owned(), Value::s(schedule))));
        item
    }
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
    if command.closing < cx.now.business_date().days_before(CLOSING_DAYS_MAX) {
        return Err(refused("must be a day of the last year"));
    }
    let schedule = command.schedule.filter(|schedule| schedule.closes_on(command.closing));
    if schedule.is_some_and(|schedule| schedule.pays_on(command.closing).is_err()) {
        return Err(refused("has a payment day whose bank holidays are not known to this release"));
    }
    Ok(start(command, cx))
}

/// As [`plan`], for a day that is over. A payment day that is not known is in the merchants' lines.
pub(super) fn start(command: &RunStart<'_>, cx: &Context) -> Planned<SettlementRun> {
    let RunStart { tenant, closing, schedule, by } = *command;
    let (id, reason) = (JobId::new(cx.resource_id), by.map(|(_, reason)| reason));
    let request = Request { id, staff: by.map(|(staff, _)| staff), reason, total: None, now: cx.now };
    let run = SettlementRun::requested(request, RunDetails { closing, schedule });
    let act = Act::new(run.head.actor(), Operation::SettlementRunStart, format!("job:{id}"));
    let act = act.because(reason).with(CLOSING, closing);
    let items = vec![run.put(tenant, cx.now), act.record(tenant, cx)];
    Planned { draft: Draft { entry: None, items }, receipt: run }
}

impl SettlementRun {
    /// What a settlement of the run keeps of it.
    pub(super) fn of_run(&self) -> OfRun {
        OfRun { run: self.head.id, closing: self.details.closing }
    }

    /// The query of the next merchants, at most `room`.
    #[must_use]
    pub fn query(&self, tenant: &Tenant, room: usize) -> Query {
        reads::merchants(tenant).after(self.cursor().map(str::to_owned)).limit(room)
    }

    /// The merchants that the query found. Fewer than `room` are the last ones.
    ///
    /// # Errors
    /// [`ItemError`] if an entry is malformed.
    pub fn page(found: &[Item], room: usize) -> Result<Page, ItemError> {
        let merchants = found.iter().map(|entry| entry.parsed(attr::OWNER_SK, MerchantId::parse));
        let merchants = merchants.collect::<Result<Vec<_>, _>>()?;
        let last = merchants.last().filter(|_| found.len() >= room);
        Ok(Page {
            cursor: last.map(ToString::to_string),
            subjects: merchants.iter().map(|id| Account::Merchant(*id).to_string()).collect(),
        })
    }
}
