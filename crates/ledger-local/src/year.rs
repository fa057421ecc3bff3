//! A year of a whole programme, played over HTTP with the clock as an argument.
//!
//! 200 customers pay 20 merchants in yen, points and a regional currency from 1 April 2023 to the fiscal year's end on 31
//! March 2024, or in its last three months alone, and the settlements of the last month are paid in the days after. What
//! happens is the same each time, only ids and keys differ. Every request is one that a client of the API can send; what Stripe, a bank and the workers
//! do is done by the local stack's parts.

mod api;
mod office;
mod opening;
mod town;
mod trade;

pub use api::YearError;

use crate::clock::MovableClock;
use crate::engine::{Data, EngineConfig};
use crate::stack::{Stack, StackConfig, Store};
use crate::workers::Workers;
use ledger_core::ids::Tenant;
use ledger_core::rate::RequestRate;
use ledger_core::time::BusinessDate;
use ledger_runtime::config::CallerConfig;
use std::time::Duration;
use town::Town;

/// The tenant's slug.
pub const TENANT: &str = "year";
/// The last day of the fiscal year, which has a leap day.
const LAST_DAY: &str = "2024-03-31";
/// The days after the fiscal year, in which its last settlements are paid.
const DAYS_AFTER: u8 = 5;

const HOUR: Duration = Duration::from_secs(60 * 60);
/// When bank files are cut and marked, since midnight in Japan: between the cut and the bank's cut-off.
const BANK_HOUR: Duration = Duration::from_secs(10 * 60 * 60 + 5 * 60);
/// When a day's business begins, since midnight.
const OPENS: Duration = Duration::from_secs(11 * 60 * 60);
/// How long it goes on.
const IS_OPEN: Duration = Duration::from_secs(12 * 60 * 60);
/// When the workers run, since midnight.
const WORKERS_RUN: Duration = Duration::from_secs(40 * 60);

/// How much of the fiscal year is played. Every kind of occasion is in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// All of it.
    Year,
    /// Its last three months, with the leap day.
    LastQuarter,
}

impl Span {
    const fn first_day(self) -> &'static str {
        match self {
            Self::Year => "2023-04-01",
            Self::LastQuarter => "2024-01-01",
        }
    }
}

/// Where a year is played.
#[derive(Debug)]
pub struct Stage {
    /// A stack with the embedded engine, whose functions use the clock.
    pub stack: Stack,
    /// The workers of that stack, which are not started.
    pub workers: Workers,
    /// The clock. It is set to the year's first day before the stack starts: time that goes back would find requests
    /// counted against limits of a later time.
    pub clock: MovableClock,
    span: Span,
}

impl Stage {
    /// Starts a stack, in memory, whose clock is at the begin of what is played.
    ///
    /// # Errors
    /// [`YearError::Stack`] if a part could not start.
    pub async fn start(config: StackConfig, span: Span) -> Result<Self, YearError> {
        let clock = MovableClock::default();
        clock.set(day(span.first_day())?.bounds().0.plus(HOUR));
        let Store::Embedded(engine) = config.store else {
            return Err(YearError::failed("the year is played on the embedded engine"));
        };
        let store = Store::Embedded(EngineConfig { data: Data::MemoryWithoutExpiry, ..engine });
        // The clock moves only between requests, so that many of them are in one second.
        let (tenant_requests, callers) = (RequestRate::MAX, CallerConfig::of_highest_rates());
        let config = StackConfig { store, clock: clock.clock(), tenant_requests, callers, ..config };
        let (stack, workers) = Box::pin(Stack::start_paused(config)).await?;
        Ok(Self { stack, workers, clock, span })
    }

    async fn finish(&self, tenant: &Tenant) -> Result<(), YearError> {
        let at = self.clock.clock().now();
        self.workers.finish(tenant).await.map_err(|cause| YearError::Workers { at, cause })
    }
}

/// What a year has left.
#[derive(Debug, Clone)]
pub struct Year {
    /// The tenant.
    pub tenant: Tenant,
    /// The two owners of the operator, who request and approve.
    pub owners: [String; 2],
    /// Customers, also those that were closed.
    pub customers: Vec<String>,
    /// Merchants, also those that were closed.
    pub merchants: Vec<String>,
    /// Cards, also those that were replaced or closed.
    pub cards: Vec<String>,
    /// The first day that was played, and the last day of the fiscal year.
    pub days: (BusinessDate, BusinessDate),
}

/// Starts a stack, plays the year, goes on to the present, and starts the workers.
///
/// # Errors
/// As [`Stage::start`] and [`play`].
pub async fn start(config: StackConfig, says: impl Fn(&str)) -> Result<(Stack, Year), YearError> {
    let stage = Stage::start(config, Span::Year).await?;
    let year = play(&stage, says).await?;
    go_on_to_the_present(&stage, &year).await?;
    let Stage { stack, workers, .. } = stage;
    workers.start();
    Ok((stack, year))
}

/// Plays the stage's span of the year. `says` is called with a line for the console each month.
///
/// # Errors
/// [`YearError`] if a request is refused that should succeed, or a worker fails. The tenant is then left as it is.
pub async fn play(stage: &Stage, says: impl Fn(&str)) -> Result<Year, YearError> {
    let days = (day(stage.span.first_day())?, day(LAST_DAY)?);
    let mut town = Town::open(stage).await?;
    let mut date = days.0;
    let last = days.1.days_after(DAYS_AFTER);
    says(&format!("{date}: the programme opens with {}", town.size()));
    while date <= last {
        stage.clock.set(date.bounds().0.plus(BANK_HOUR));
        stage.finish(&town.tenant).await?;
        town.mark_bank_files(date).await?;
        let business = town.business_of(date, stage.span);
        let mut at = date.bounds().0.plus(OPENS);
        let step = IS_OPEN.checked_div(u32::try_from(business.len()).unwrap_or(u32::MAX)).unwrap_or(IS_OPEN);
        for act in business {
            stage.clock.set(at);
            town.act(act, date).await?;
            at = at.plus(step);
        }
        date = date.next();
        stage.clock.set(date.bounds().0.plus(WORKERS_RUN));
        stage.finish(&town.tenant).await?;
        if date.month() != date.days_before(1).month() {
            says(&format!("{date}: {} requests", town.api.requests()));
        }
    }
    Ok(town.left(days))
}

/// Goes on to the present: what has become due since the year is done, and every day is closed.
///
/// # Errors
/// [`YearError`] if a worker fails.
pub async fn go_on_to_the_present(stage: &Stage, year: &Year) -> Result<(), YearError> {
    stage.clock.ahead(Duration::ZERO);
    stage.finish(&year.tenant).await
}

fn day(text: &str) -> Result<BusinessDate, YearError> {
    BusinessDate::parse(text).map_err(YearError::failed)
}
