//! The worker that closes posting days and folds sealed entries into the totals of days.
//!
//! It runs after a tenant's entries were sealed. It holds no lease: of two workers that plan a batch one is rejected, both
//! may carry it out, and each total gets it once.

use super::entries::Entries;
use super::read::folded_until;
use crate::app::App;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use crate::sealed_heads;
use futures::future::try_join_all;
use ledger_core::dynamo::Item;
use ledger_core::figures::{
    ActiveAccounts, ClosedDay, ClosingFigures, DayTotals, Fold, FoldPlan, PostingDays, Span, Sums, Tally,
    balances_after, close, list_totals, next_to_close,
};
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, LISTED_SHARDS, TotalsOf};
use ledger_core::operation::Operation;
use ledger_core::reads::{self, Times};
use ledger_core::sealing::lanes::{Heads, LaneLink};
use ledger_core::time::BusinessDate;
use ledger_core::transaction::{BuildError, TransactItem, Transaction};
use serde::Serialize;
use std::time::Duration;
use tokio::time::Instant;

/// The most segments of a batch: some 12,000 entries.
const BATCH_SEGMENTS_MAX: u64 = 128;
/// The segments for which a batch is planned before [`BATCH_EVERY`]: requests read the entries of those that are not folded.
const BATCH_SEGMENTS_MIN: u64 = 32;
/// The time after which a batch is planned for any segments. Each batch writes the totals of every merchant and terminal
/// that it has an entry of, so that more of them cost more.
const BATCH_EVERY: Duration = Duration::from_secs(60 * 60);
/// The most totals in a transaction, each of which may have to be listed too. They are of one day, so that at most one of them
/// is the tenant's, which is the largest.
const TOTALS_AT_ONCE: usize = 48;
/// How often totals are read again that another worker has changed meanwhile.
const TRIES: usize = 4;

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Folded {
    /// The number of posting days that were closed.
    pub days: usize,
    /// The number of batches that were completed.
    pub batches: usize,
    /// The number of entries in them.
    pub entries: u64,
}

/// Closes the posting days whose time has come, and folds sealed entries into the totals of days.
///
/// # Errors
/// 503 if the store cannot be read or written; a later run continues. 500 if an entry or a segment cannot be read.
pub async fn run(app: &App, tenant: &Tenant, time_max: Duration) -> Result<Folded, Problem> {
    let mut worker = Worker { app, tenant, began: Instant::now(), time_max, done: Folded::default() };
    worker.fold().await.map(|()| worker.done)
}

/// What a batch adds to totals.
struct Addition<'a> {
    of: TotalsOf,
    date: BusinessDate,
    sums: &'a Sums,
    span: Option<Span>,
}

struct Worker<'a> {
    app: &'a App,
    tenant: &'a Tenant,
    began: Instant,
    time_max: Duration,
    done: Folded,
}

impl<'w> Worker<'w> {
    async fn fold(&mut self) -> Result<(), Problem> {
        let dynamo = self.app.dynamo();
        let Some(mut heads) = sealed_heads::heads(dynamo, self.tenant).await? else { return Ok(()) };
        let stored = dynamo.get(&keys::fold(self.tenant)).await?;
        let mut fold = stored.as_ref().map_or_else(|| Ok(Fold::new()), Fold::read)?;
        let days = PostingDays::read(self.tenant, &self.closed_days(&fold).await?)?;
        let mut last = days.last().map(|last| last.date);
        while let Some(date) = next_to_close(last, self.app.now()) {
            if self.began.elapsed() >= self.time_max {
                return Ok(());
            }
            let closing = self.built(close(self.tenant, date, &heads, self.app.now()))?;
            if self.is_written(&closing).await? {
                self.done.days = self.done.days.saturating_add(1);
                last = Some(date);
                continue;
            }
            // Another worker has closed it, or a lane was sealed meanwhile.
            let Some(sealed) = sealed_heads::heads(dynamo, self.tenant).await? else { return Ok(()) };
            if sealed == heads {
                break;
            }
            heads = sealed;
        }
        let days = if last == days.last().map(|last| last.date) {
            days
        } else {
            PostingDays::read(self.tenant, &self.closed_days(&fold).await?)?
        };
        while self.began.elapsed() < self.time_max {
            let (planned, entries) = match fold.planned.clone() {
                Some(plan) => (fold.clone(), self.entries(&fold, &plan, &days).await?),
                None => {
                    let Some((to, entries)) = self.plan(&fold, &heads, &days).await? else { return Ok(()) };
                    let finished = fold_to(&fold, &days).filter(|closed| closed.is_within(&to));
                    let (planned, transaction) = self.built(fold.plan(self.tenant, to, finished))?;
                    if !self.is_written(&transaction).await? {
                        return Ok(());
                    }
                    (planned, entries)
                }
            };
            self.carry_out(&planned, &entries.tally, &days).await?;
            let completed = self.built(planned.complete(self.tenant, self.app.now()))?;
            let Some((next, transaction)) = completed else { return Ok(()) };
            if !self.is_written(&transaction).await? {
                return Ok(());
            }
            self.done.batches = self.done.batches.saturating_add(1);
            self.done.entries = self.done.entries.saturating_add(entries.count);
            fold = next;
        }
        Ok(())
    }

    async fn closed_days(&self, fold: &Fold) -> Result<Vec<Item>, Problem> {
        Ok(self.app.dynamo().query(&reads::closed_days(self.tenant, fold.finished, None)).await?)
    }

    /// The next batch, if one is due: the last segment of each lane, and the entries.
    async fn plan<'a>(
        &self,
        fold: &Fold,
        heads: &Heads,
        days: &'a PostingDays,
    ) -> Result<Option<(Vec<u64>, Entries<'a>)>, Problem>
    where
        'w: 'a,
    {
        let closed = fold_to(fold, days);
        let end = |lane: &LaneLink| closed.map_or(lane.number, |closed| closed.last_of(lane.lane));
        let lanes = || heads.lanes.iter().map(|lane| (lane.link.lane, fold.last_of(lane.link.lane), end(&lane.link)));
        let waiting = lanes().fold(0_u64, |sum, (_, from, to)| sum.saturating_add(to.saturating_sub(from)));
        let is_old = fold.folded_at.is_none_or(|at| self.app.now().since(at) >= BATCH_EVERY);
        if closed.is_none() && waiting < BATCH_SEGMENTS_MIN && (waiting == 0 || !is_old) {
            return Ok(None);
        }
        // The entries of a later day wait until the day before is closed: its balances come first.
        let until = if closed.is_none() { fold.open_day() } else { None };
        let mut entries = Entries::new(self.app.dynamo(), self.tenant, days);
        // Each lane has its part, so that a batch of many entries is of a short time.
        let room = BATCH_SEGMENTS_MAX.checked_div(heads.lanes.len().try_into().unwrap_or(1)).unwrap_or(1);
        let (mut to, mut is_any) = (Vec::new(), false);
        for (lane, from, end) in lanes() {
            let end = end.min(from.saturating_add(room)).max(from);
            let last = entries.add((lane, from, end), until).await?;
            is_any |= last > from;
            to.push(last);
        }
        let is_due = is_any || closed.is_some_and(|closed| closed.is_within(&to));
        Ok(is_due.then_some((to, entries)))
    }

    /// The entries of a planned batch.
    async fn entries<'a>(&self, fold: &Fold, plan: &FoldPlan, days: &'a PostingDays) -> Result<Entries<'a>, Problem>
    where
        'w: 'a,
    {
        let mut entries = Entries::new(self.app.dynamo(), self.tenant, days);
        for segments in plan.segments_after(fold) {
            let _ = entries.add(segments, None).await?;
        }
        Ok(entries)
    }

    /// Adds a planned batch to every total that does not have it.
    async fn carry_out(&self, fold: &Fold, tally: &Tally, days: &PostingDays) -> Result<(), Problem> {
        let finishes = fold.planned.as_ref().and_then(|plan| plan.finishes);
        for (date, day) in &tally.0 {
            let list = ActiveAccounts::put(self.tenant, *date, fold.batch, day, self.app.now());
            if let Some(list) = list
                && self.app.dynamo().get(list.key()).await?.is_none()
            {
                // If another worker stores it first, it stores the same list.
                let _ = self.is_written(&self.built(Transaction::unkeyed(vec![list, fold.part(self.tenant)]))?).await?;
            }
        }
        for (date, day) in &tally.0 {
            let of_day = day.sums.iter().filter(|(of, _)| (**of, Some(*date)) != (TotalsOf::Tenant, finishes));
            let wanted = of_day.map(|(of, sums)| Addition { of: *of, date: *date, sums, span: day.span });
            for part in wanted.collect::<Vec<_>>().chunks(TOTALS_AT_ONCE) {
                self.add(part, fold, None).await?;
            }
        }
        let Some((date, closed)) = finishes.and_then(|date| Some((date, days.of(date)?))) else { return Ok(()) };
        let before =
            folded_until(self.app.dynamo(), self.tenant, TotalsOf::Tenant, date.days_before(1)).await?.balances;
        let active = reads::active_accounts(self.tenant, date);
        let active = ActiveAccounts::read(&self.app.dynamo().query(&active).await?)?;
        let closing = ClosingFigures {
            closed_at: closed.closed_at,
            balances: before,
            active_customers: count(active.customers.len()),
            active_cards: count(active.cards.len()),
            new_customers: new_customers(self.app, self.tenant, date).await?,
        };
        let (none, day) = (Sums::default(), tally.0.get(&date));
        let sums = day.and_then(|day| day.sums.get(&TotalsOf::Tenant)).unwrap_or(&none);
        let last = Addition { of: TotalsOf::Tenant, date, sums, span: day.and_then(|day| day.span) };
        self.add(&[last], fold, Some(&closing)).await
    }

    /// Adds the planned batch to totals. `closing` has the balances before the day that it finishes.
    async fn add(&self, wanted: &[Addition<'_>], fold: &Fold, closing: Option<&ClosingFigures>) -> Result<(), Problem> {
        let batch = fold.batch;
        for _ in 0..TRIES {
            let keys: Vec<_> = wanted.iter().map(|more| keys::day_totals(self.tenant, more.of, more.date)).collect();
            let stored = self.app.dynamo().get_many(&keys).await?;
            let mut actions: Vec<TransactItem> = Vec::new();
            for (more, stored) in wanted.iter().zip(&stored) {
                let seen = stored.as_ref().map(DayTotals::read).transpose()?;
                if seen.as_ref().is_some_and(|seen| seen.batch >= batch) {
                    continue;
                }
                let before = seen.clone().unwrap_or_else(|| DayTotals::none(more.of, more.date));
                let mut after = before.after(batch, more.sums, more.span).map_err(|_| Problem::internal())?;
                if let Some(closing) = closing {
                    let balances = balances_after(&closing.balances, &after.sums).map_err(|_| Problem::internal())?;
                    after.closing = Some(ClosingFigures { balances, ..closing.clone() });
                }
                actions.push(after.put(self.tenant, seen.as_ref()));
                if seen.is_none() {
                    actions.extend(list_totals(self.tenant, more.of));
                }
            }
            if actions.is_empty() {
                return Ok(());
            }
            actions.push(fold.part(self.tenant));
            if self.is_written(&self.built(Transaction::unkeyed(actions))?).await? {
                return Ok(());
            }
        }
        Err(Problem::unavailable())
    }

    async fn is_written(&self, transaction: &Transaction) -> Result<bool, Problem> {
        match self.app.ledger().attempt(self.tenant, Operation::Figures, transaction).await? {
            WriteOutcome::Applied => Ok(true),
            WriteOutcome::Rejected(_) => Ok(false),
            WriteOutcome::MarkerExists(_) => Err(self.broken("the totals of a day found a marker")),
        }
    }

    fn built<T>(&self, built: Result<T, BuildError>) -> Result<T, Problem> {
        built.map_err(|error| self.broken(&error.to_string()))
    }

    fn broken(&self, what: &str) -> Problem {
        self.app.ledger().broken(self.tenant, Operation::Figures, what)
    }
}

/// The closing up to which entries are folded: of the first day that is closed and not finished.
fn fold_to<'a>(fold: &Fold, days: &'a PostingDays) -> Option<&'a ClosedDay> {
    match fold.open_day() {
        Some(open) => days.of(open),
        None => days.first(),
    }
}

/// The number of customers that were opened on a day; `None` while a legacy model holds them, which are in no list.
pub(super) async fn new_customers(app: &App, tenant: &Tenant, date: BusinessDate) -> Result<Option<u64>, Problem> {
    if app.dynamo().layout(tenant).await?.is_migrating() {
        return Ok(None);
    }
    let (from, until) = date.bounds();
    let times = Times { from: Some(from), until: Some(until), after: None };
    let query = |shard| reads::customers(tenant, shard, times);
    let shards: Vec<_> = (0..LISTED_SHARDS.count()).map(query).collect();
    let listed = try_join_all(shards.iter().map(|query| app.dynamo().count(query))).await?;
    Ok(Some(count(listed.into_iter().fold(0, usize::saturating_add))))
}

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}
