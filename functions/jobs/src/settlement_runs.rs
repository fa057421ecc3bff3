//! Settlement on schedule. When a closing day is over, one run is started for it; a run is continued slice by slice. Each
//! merchant is closed by a transaction of its own with the run's line of it, so two workers on one run close it once. A slice is
//! recorded when the outcome of each of its merchants is certain.

use futures::future::join_all;
use ledger_core::calendar;
use ledger_core::crediting::LaneCredit;
use ledger_core::dynamo::ItemError;
use ledger_core::failure::Failure;
use ledger_core::ids::{JobId, MerchantId, SettlementId, Tenant};
use ledger_core::keys::{self, JobKind};
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::settlement_runs::{
    ClosingCalendar, EndedDays, LineStatus, SeenMerchant, SettlementRun, SliceOutcome, Verdict, is_covered,
    plan_opening, verdict,
};
use ledger_core::settlements::Settlement;
use ledger_core::terms::TenantTerms;
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_runtime::app::App;
use ledger_runtime::due::{DueList, ListedWork};
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::Problem;
use ledger_runtime::settlement;
use std::time::Duration;
use tokio::time::Instant;

/// The runs that a tick continues; a later tick continues the others.
const RUNS_MAX: usize = 10;
/// The number of merchants that are dealt with before the progress is stored.
const SLICE_MERCHANTS: usize = 24;
/// The number of merchants that are dealt with at once.
const CONCURRENCY: usize = 8;
/// A tick starts no slice after this time: a function's time is limited, and a later tick continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(10);
/// The most closing days that a tick starts runs of.
const STARTS_MAX: usize = 40;
/// How often a merchant is read again because another request changed it.
const ROUNDS_MAX: usize = 4;
/// How long before the end of the known bank holidays their end is announced, in days.
const ANNOUNCED_BEFORE: u8 = 90;

/// What became of a merchant.
enum Closing {
    /// It was closed.
    Opened,
    /// Its schedule does not close on the day, or it is listed.
    NotClosed,
    /// It is not closed, for this reason.
    Not(LineStatus),
}

/// Why a merchant has no outcome.
enum NotClosed {
    /// A record of it cannot be read.
    Unreadable(ItemError),
    /// The store did not answer or refused, or something other than the merchant cannot be read.
    Failed(Problem),
}

impl From<ItemError> for NotClosed {
    fn from(error: ItemError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<Problem> for NotClosed {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<ReadError> for NotClosed {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unreadable(error) => Self::Unreadable(error),
            ReadError::Throttled | ReadError::Unavailable(_) | ReadError::Refused(_) | ReadError::Unadoptable(_) => {
                Self::Failed(error.into())
            }
        }
    }
}

/// Starts the runs of closing days that are over, and continues those of a tenant; returns how many merchants this tick closed.
/// One that cannot go on does not stop the others: the first error is returned when they are dealt with.
pub(crate) async fn run(app: &App, tenant: &Tenant, terms: &TenantTerms, due: &mut DueList) -> Result<usize, Problem> {
    let (began, mut opened) = (Instant::now(), 0_usize);
    let mut failed = start_all_ended(app, tenant, terms).await.err();
    for listed in due.next(JobKind::SettlementRun).await?.iter().take(RUNS_MAX) {
        match continue_run(app, tenant, (listed, began), &mut opened).await {
            Ok(()) => {}
            Err(problem) => failed = failed.or(Some(problem)),
        }
    }
    failed.map_or(Ok(opened), Err)
}

/// Continues a run as long as the tick may, and counts the merchants that it closes.
async fn continue_run(
    app: &App,
    tenant: &Tenant,
    (listed, began): (&ListedWork, Instant),
    opened: &mut usize,
) -> Result<(), Problem> {
    let id = listed.id(JobId::parse)?;
    while began.elapsed() < RUN_TIME_MAX {
        let Some(merchants) = advance(app, tenant, id).await? else { break };
        *opened = opened.saturating_add(merchants);
    }
    Ok(())
}

/// Starts the runs of closing days that are over.
///
/// # Errors
/// A problem of the store, or 500 if a merchant's schedule cannot be read: the days of the others are dealt with.
async fn start_all_ended(app: &App, tenant: &Tenant, terms: &TenantTerms) -> Result<(), Problem> {
    let item = app.dynamo().get(&keys::settlement_calendar(tenant)).await?;
    if item.is_none() && terms.settlement_schedule.is_none() {
        return Ok(());
    }
    let mut calendar = ClosingCalendar::read(item.as_ref())?;
    let unreadable = calendar.unreadable().cloned();
    for _ in 0..STARTS_MAX {
        if !start_ended(app, tenant, &calendar).await? {
            break;
        }
        calendar = ClosingCalendar::read(app.dynamo().get(&keys::settlement_calendar(tenant)).await?.as_ref())?;
    }
    unreadable.map_or(Ok(()), |error| Err(error.into()))
}

/// Deals with the closing days that are over, up to the first on which a schedule closes. `false` if there are no more.
async fn start_ended(app: &App, tenant: &Tenant, calendar: &ClosingCalendar) -> Result<bool, Problem> {
    let now = app.now();
    let (first, last) = match calendar.ended(now) {
        EndedDays::None => return Ok(false),
        EndedDays::Begin(last) => (last.next(), last),
        EndedDays::Days(first, last) => (first, last),
    };
    if calendar::known_until().is_none_or(|known| known < last.days_after(ANNOUNCED_BEFORE)) {
        app.metrics().count(Metric::BankHolidaysEnd, tenant, Operation::SettlementRunStart);
        tracing::warn!(%tenant, "known bank holidays end soon");
    }
    let mut date = first;
    while date <= last {
        let schedule = app.terms_at(tenant, last_instant(date)).await?.settlement_schedule;
        if calendar.closes_on(date, schedule) {
            let cx = app.ledger().context(now).map_err(|_| Problem::unavailable())?;
            let run = calendar.run(tenant, date, schedule, &cx).map_err(|_| Problem::internal())?;
            // If not written, another worker has started it.
            let _ = app.ledger().apply_as_read(tenant, Operation::SettlementRunStart, &run).await?;
            return Ok(true);
        }
        date = date.next();
    }
    let done = calendar.no_run(tenant, last, now).map_err(|_| Problem::internal())?;
    let _ = app.ledger().apply_as_read(tenant, Operation::SettlementRunStart, &done).await?;
    Ok(false)
}

fn last_instant(date: BusinessDate) -> Timestamp {
    date.bounds().1.minus(Duration::from_millis(1))
}

/// Closes the merchants of the next slice of a run, and records it; returns how many it closed. `None` if the run is over or
/// cannot go on, or another worker has recorded the slice.
async fn advance(app: &App, tenant: &Tenant, id: JobId) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the run itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let run = SettlementRun::read(&item)?;
    let Some(query) = run.next(tenant, SLICE_MERCHANTS) else { return Ok(None) };
    let slice = SettlementRun::slice(&app.dynamo().query(&query).await?, SLICE_MERCHANTS)?;
    let mut outcome = SliceOutcome::default();
    for few in slice.merchants.chunks(CONCURRENCY) {
        let closings = join_all(few.iter().map(|merchant| close(app, tenant, &run, *merchant))).await;
        for (merchant, closing) in few.iter().zip(closings) {
            match closing? {
                Closing::Opened => outcome.opened = outcome.opened.saturating_add(1),
                Closing::NotClosed => {}
                Closing::Not(status) => outcome.others.push((*merchant, status)),
            }
        }
    }
    if outcome.others.iter().any(|(_, status)| *status == LineStatus::HolidaysUnknown) {
        app.metrics().count(Metric::BankHolidaysEnd, tenant, Operation::SettlementRunStart);
        tracing::error!(%tenant, run = %id, "bank holidays of a payment day are not known");
    }
    let transaction = run.advance(tenant, &slice, &outcome, app.now()).map_err(|_| Problem::internal())?;
    let is_ours = app.ledger().apply_as_read(tenant, Operation::SettlementRunStart, &transaction).await?;
    Ok(is_ours.then_some(outcome.opened))
}

/// Closes a merchant's period, unless that is done or cannot be.
///
/// # Errors
/// A problem whose outcome is not certain: the merchant is tried again.
async fn close(app: &App, tenant: &Tenant, run: &SettlementRun, merchant: MerchantId) -> Result<Closing, Problem> {
    match closed(app, tenant, run, merchant).await {
        Ok(closing) => Ok(closing),
        // Nothing was written, and a retry would end in the same way. It must not keep the others open.
        Err(NotClosed::Unreadable(error)) => {
            tracing::error!(%tenant, run = %run.id, %merchant, %error, "merchant cannot be closed");
            Ok(Closing::Not(LineStatus::Unreadable))
        }
        Err(NotClosed::Failed(problem)) => Err(problem),
    }
}

async fn closed(app: &App, tenant: &Tenant, run: &SettlementRun, merchant: MerchantId) -> Result<Closing, NotClosed> {
    for _ in 0..ROUNDS_MAX {
        let items = app.dynamo().get_many(&SeenMerchant::keys(tenant, run, merchant)).await?;
        let seen = SeenMerchant::new(items);
        let pay_on = match verdict(run, &seen, app.now()) {
            Verdict::Close(pay_on) => pay_on,
            Verdict::HasOpen(open) => return has_open(app, tenant, run, (&seen, merchant, open)).await,
            Verdict::Listed(LineStatus::Opened) => return Ok(Closing::Opened),
            Verdict::Listed(_) | Verdict::NotClosed => return Ok(Closing::NotClosed),
            Verdict::Line(status) => return Ok(Closing::Not(status)),
        };
        if !has_credits(app, tenant, merchant).await? {
            return Ok(nothing_to_settle(&seen));
        }
        let cx = app.ledger().context(app.now()).map_err(|_| Problem::unavailable())?;
        let terms = app.terms_at(tenant, cx.now).await?;
        let provider = if seen.is_paid_by_provider() { app.provider_if_any().await? } else { None };
        let psp = provider.as_ref().map(|provider| provider.psp_executor().terms());
        let opening = match plan_opening(tenant, run, (&seen, pay_on), (&terms, psp), &cx) {
            Ok(opening) => opening,
            Err(status) => return Ok(Closing::Not(status)),
        };
        match app.ledger().apply(tenant, Operation::SettlementOpen, &opening).await {
            Ok(()) => return Ok(Closing::Opened),
            // A person or another worker changed it meanwhile, or this one did and had no answer.
            Err(error) if matches!(error.failure(), Some(Failure::StalePlan | Failure::AlreadyExists)) => {}
            Err(error) => return Err(Problem::from(error).into()),
        }
    }
    Err(Problem::busy().into())
}

/// What becomes of a merchant that has an open settlement: it waits for a person if something is to be settled beside it.
async fn has_open(
    app: &App,
    tenant: &Tenant,
    run: &SettlementRun,
    (seen, merchant, open): (&SeenMerchant, MerchantId, SettlementId),
) -> Result<Closing, NotClosed> {
    let item = app.dynamo().get(&keys::settlement(tenant, merchant, open)).await?;
    let open = item.as_ref().map(Settlement::read).transpose()?;
    if open.is_some_and(|open| is_covered(run, &open)) || !has_credits(app, tenant, merchant).await? {
        return Ok(nothing_to_settle(seen));
    }
    Ok(Closing::Not(LineStatus::SettlementOpen))
}

/// A merchant that was closed for good has no line unless something is to be settled.
fn nothing_to_settle(seen: &SeenMerchant) -> Closing {
    if seen.is_closed() { Closing::NotClosed } else { Closing::Not(LineStatus::NothingToSettle) }
}

/// Whether something was credited to a merchant that no settlement has.
async fn has_credits(app: &App, tenant: &Tenant, merchant: MerchantId) -> Result<bool, NotClosed> {
    let lanes = LaneCredit::all(&app.dynamo().query(&reads::lane_credits(tenant, merchant)).await?)?;
    if lanes.iter().any(|lane| !lane.sums.is_empty()) {
        return Ok(true);
    }
    Ok(!settlement::free_records(app.dynamo(), (tenant, merchant)).await?.is_empty())
}
