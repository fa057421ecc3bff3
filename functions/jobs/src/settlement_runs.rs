//! Settlement on schedule. When a closing day is over, one run is started for it. Each merchant is closed by a transaction of its own
//! with the run's line of it, so two workers on one run close it once.

use crate::subjects::{AT_ONCE, Subjects, listed_meanwhile};
use ledger_core::account::Account;
use ledger_core::calendar;
use ledger_core::crediting::LaneCredit;
use ledger_core::dynamo::ItemError;
use ledger_core::failure::Failure;
use ledger_core::ids::{MerchantId, SettlementId, Tenant};
use ledger_core::jobs::{Counted, LineState, Outcome, Page};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::settlement_runs::{
    ClosingCalendar, EndedDays, NotClosed, RunDetails, SeenMerchant, SettlementRun, Verdict, is_covered, plan_opening,
    verdict,
};
use ledger_core::settlements::Settlement;
use ledger_core::terms::TenantTerms;
use ledger_core::time::{BusinessDate, Timestamp};
use ledger_runtime::app::App;
use ledger_runtime::dynamo::ReadError;
use ledger_runtime::metrics::Metric;
use ledger_runtime::problem::Problem;
use ledger_runtime::settlement;
use std::time::Duration;

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
    /// Its schedule does not close on the day.
    Unlisted,
    /// It is not closed, for this reason.
    Not(NotClosed),
}

/// Why a merchant has no outcome.
enum Undone {
    /// A record of it cannot be read.
    Unreadable(ItemError),
    /// The store did not answer or refused, or something other than the merchant cannot be read.
    Failed(Problem),
}

impl From<ItemError> for Undone {
    fn from(error: ItemError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<Problem> for Undone {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<ReadError> for Undone {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unreadable(error) if !error.is_later_form() => Self::Unreadable(error),
            ReadError::Unreadable(_)
            | ReadError::Throttled
            | ReadError::Unavailable(_)
            | ReadError::Refused(_)
            | ReadError::Unadoptable(_) => Self::Failed(error.into()),
        }
    }
}

/// Starts the runs of closing days that are over.
///
/// # Errors
/// A problem of the store, or 500 if a merchant's schedule cannot be read: the days of the others are dealt with.
pub(crate) async fn start_ended_days(app: &App, tenant: &Tenant, terms: &TenantTerms) -> Result<(), Problem> {
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

impl Subjects for RunDetails {
    async fn at_once(_: &App, _: &Tenant, _: &SettlementRun) -> Result<usize, Problem> {
        Ok(AT_ONCE)
    }

    async fn page(app: &App, tenant: &Tenant, run: &SettlementRun, counted: &Counted) -> Result<Option<Page>, Problem> {
        let found = app.dynamo().query(&run.query(tenant, counted.room())).await?;
        Ok(Some(SettlementRun::page(&found, counted.room())?))
    }

    async fn deal_with(app: &App, tenant: &Tenant, run: &SettlementRun, subject: &str) -> Result<Outcome, Problem> {
        let Ok(Account::Merchant(merchant)) = Account::parse(subject) else { return Err(Problem::internal()) };
        let outcome = match closed(app, tenant, run, merchant).await {
            Ok(outcome) => outcome,
            // Nothing was written, and a retry would end in the same way. It must not keep the others open.
            Err(Undone::Unreadable(error)) => {
                tracing::error!(%tenant, run = %run.head.id, %merchant, %error, "merchant cannot be closed");
                Closing::Not(NotClosed::Unreadable)
            }
            Err(Undone::Failed(problem)) => return Err(problem),
        };
        Ok(match outcome {
            Closing::Opened => Outcome::Listed(LineState::Done),
            Closing::Unlisted => listed_meanwhile(app, (tenant, run.head.id), subject).await?,
            Closing::Not(why) => {
                if why == NotClosed::HolidaysUnknown {
                    app.metrics().count(Metric::BankHolidaysEnd, tenant, Operation::SettlementRunStart);
                    tracing::error!(%tenant, run = %run.head.id, "bank holidays of a payment day are not known");
                }
                Outcome::Line(Box::new(why.line(merchant, app.now())))
            }
        })
    }
}

/// Closes a merchant's period, unless that is done or cannot be.
async fn closed(app: &App, tenant: &Tenant, run: &SettlementRun, merchant: MerchantId) -> Result<Closing, Undone> {
    for _ in 0..ROUNDS_MAX {
        let items = app.dynamo().get_many(&SeenMerchant::keys(tenant, merchant)).await?;
        let seen = SeenMerchant::new(items);
        let scheduled = match verdict(run, &seen) {
            Verdict::Close(scheduled) => scheduled,
            Verdict::HasOpen(open) => return has_open(app, tenant, run, (&seen, merchant, open)).await,
            Verdict::Unlisted => return Ok(Closing::Unlisted),
            Verdict::Not(why) => return Ok(Closing::Not(why)),
        };
        if !has_credits(app, tenant, merchant).await? {
            return Ok(nothing_to_settle(&seen));
        }
        let cx = app.ledger().context(app.now()).map_err(|_| Problem::unavailable())?;
        let terms = app.terms_at(tenant, cx.now).await?;
        let provider = if seen.is_paid_by_provider() { app.provider_if_any().await? } else { None };
        let psp = provider.as_ref().map(|provider| provider.psp_executor().terms());
        let opening = match plan_opening(tenant, run, (&seen, scheduled), (&terms, psp), &cx) {
            Ok(opening) => opening,
            Err(why) => return Ok(Closing::Not(why)),
        };
        match app.ledger().apply(tenant, Operation::SettlementOpen, &opening).await {
            Ok(()) => return Ok(Closing::Opened),
            // A person or another worker changed it meanwhile, or this one did and had no answer: the line says it.
            Err(error) if matches!(error.failure(), Some(Failure::StalePlan | Failure::AlreadyExists)) => {
                let line = keys::job_line(tenant, run.head.id, Account::Merchant(merchant));
                if app.dynamo().get(&line).await?.is_some() {
                    return Ok(Closing::Opened);
                }
            }
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
) -> Result<Closing, Undone> {
    let item = app.dynamo().get(&keys::settlement(tenant, merchant, open)).await?;
    let open = item.as_ref().map(Settlement::read).transpose()?;
    if open.is_some_and(|open| is_covered(run, &open)) || !has_credits(app, tenant, merchant).await? {
        return Ok(nothing_to_settle(seen));
    }
    Ok(Closing::Not(NotClosed::SettlementOpen))
}

/// A merchant that was closed for good has no line unless something is to be settled.
fn nothing_to_settle(seen: &SeenMerchant) -> Closing {
    if seen.is_closed() { Closing::Unlisted } else { Closing::Not(NotClosed::NothingToSettle) }
}

/// Whether something was credited to a merchant that no settlement has.
async fn has_credits(app: &App, tenant: &Tenant, merchant: MerchantId) -> Result<bool, Undone> {
    let lanes = LaneCredit::all(&app.dynamo().query(&reads::lane_credits(tenant, merchant)).await?)?;
    if lanes.iter().any(|lane| !lane.sums.is_empty()) {
        return Ok(true);
    }
    Ok(!settlement::free_records(app.dynamo(), (tenant, merchant)).await?.is_empty())
}
