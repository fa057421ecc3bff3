//! Reads the totals of days: what is folded, and the entries of the segments that are not.

use super::entries::Entries;
use super::fold::new_customers;
use crate::app::App;
use crate::cursor::PlacedCursor;
use crate::dynamo::Dynamo;
use crate::problem::Problem;
use crate::sealed_heads;
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::figures::{
    ActiveAccounts, Balances, ClosingFigures, DayTotals, Fold, PostingDays, Sums, Tally, balances_after, listed_totals,
    sum_of,
};
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, TotalsGroup, TotalsOf};
use ledger_core::reads;
use ledger_core::sealing::lane_segment_of;
use ledger_core::time::{BusinessDate, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// The most segments that are not folded whose entries a request reads. There are more only while the fold is behind.
const TAIL_SEGMENTS_MAX: u64 = 512;
/// The number of totals that are read at once.
const ITEMS_AT_ONCE: usize = 100;

/// The most days whose totals a page of a group sums: a year and what follows its end.
const GROUP_DAYS_MAX: u16 = 400;

/// The figures of a tenant, as of one moment.
pub struct Figures<'a> {
    pub(super) app: &'a App,
    pub(super) tenant: &'a Tenant,
    fold: Fold,
    /// The last segment of each lane that they have; `None` if they have all of their days.
    last: Option<BTreeMap<u32, u64>>,
    /// The entries of the batch that is being folded. Totals that have the batch have them.
    pub(super) planned: Tally,
    /// The entries of the segments after it.
    pub(super) tail: Tally,
    /// Whether all of them are of finished days.
    are_final: bool,
}

/// The figures of a day, of the tenant or of a merchant.
#[derive(Clone, Debug)]
pub struct DayFigures {
    /// The day.
    pub date: BusinessDate,
    /// Whether the day is closed, so that its figures never change.
    pub is_closed: bool,
    /// The totals.
    pub sums: Sums,
    /// Of the tenant, the balances and the numbers of accounts. The numbers of a day before the first closing are not known.
    pub closing: Option<ClosingFigures>,
    /// The balance of each class of accounts at the end of the day, or until the present moment.
    pub balances: Balances,
}

impl<'a> Figures<'a> {
    /// How often a request reads the figures again that a batch has changed meanwhile.
    pub const TRIES: usize = 4;

    /// Reads what is not folded of days up to `to`. An answer that is made of it is of one moment if
    /// [`Figures::are_unchanged`] afterwards.
    ///
    /// # Errors
    /// 503 if the store cannot be read, or if the fold is behind.
    pub async fn read(app: &'a App, tenant: &'a Tenant, to: BusinessDate) -> Result<Self, Problem> {
        Self::read_before(app, tenant, to, None).await
    }

    /// Reads what is not folded of days up to `to`, without the entries that balances have from `before` on.
    pub(super) async fn read_before(
        app: &'a App,
        tenant: &'a Tenant,
        to: BusinessDate,
        before: Option<Timestamp>,
    ) -> Result<Self, Problem> {
        let (dynamo, fold) = (app.dynamo(), read_fold(app, tenant).await?);
        // The figures of these days never change.
        let are_final = fold.finished.is_some_and(|finished| to <= finished);
        let (planned, tail) = (Tally::default(), Tally::default());
        let figures = Self { app, tenant, fold, last: None, planned, tail, are_final };
        if are_final {
            return Ok(figures);
        }
        let Some(heads) = sealed_heads::heads(dynamo, tenant).await? else {
            return Ok(Self { last: Some(BTreeMap::new()), ..figures });
        };
        let days = dynamo.query(&reads::closed_days(tenant, figures.fold.finished, None)).await?;
        let days = PostingDays::read(tenant, &days)?;
        let none = || Entries::new(dynamo, tenant, &days).before(before);
        let (mut planned, mut tail, mut segments) = (none(), none(), 0_u64);
        for lane in &heads.lanes {
            let (number, last) = (lane.link.lane, lane.link.number);
            let from = figures.fold.last_of(number);
            let middle = figures.fold.planned.as_ref().map_or(from, |plan| plan.last_of(number));
            segments = segments.saturating_add(last.saturating_sub(from));
            if segments > TAIL_SEGMENTS_MAX {
                return Err(behind(tenant));
            }
            let _ = planned.add((number, from, middle), None).await?;
            let _ = tail.add((number, middle, last), None).await?;
        }
        let (planned, tail) = (planned.tally, tail.tally);
        let last = heads.lanes.iter().map(|lane| (lane.link.lane, lane.link.number)).collect();
        Ok(Self { last: Some(last), planned, tail, ..figures })
    }

    /// Whether they have an entry of their days, which is sealed.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub(super) fn have(&self, entry: &Item) -> Result<bool, ItemError> {
        let Some(last) = &self.last else { return Ok(true) };
        let place = lane_segment_of(entry)?;
        Ok(place.is_some_and(|(lane, number)| last.get(&lane).is_some_and(|last| number <= *last)))
    }

    /// Whether no batch was planned or completed since they were read.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn are_unchanged(&self) -> Result<bool, Problem> {
        Ok(self.are_final || read_fold(self.app, self.tenant).await? == self.fold)
    }

    /// The number of the batch that is being folded.
    pub(super) fn planned_batch(&self) -> Option<u64> {
        self.fold.planned.as_ref().map(|_| self.fold.batch)
    }

    /// Whether the figures of a day never change.
    #[must_use]
    pub fn is_closed(&self, date: BusinessDate) -> bool {
        self.fold.finished.is_some_and(|finished| date <= finished)
    }

    /// The totals of days, inclusive. A day without entries is not in them.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn totals(
        &self,
        of: TotalsOf,
        (from, to): (BusinessDate, BusinessDate),
    ) -> Result<BTreeMap<BusinessDate, DayTotals>, Problem> {
        let stored = self.app.dynamo().query(&reads::day_totals(self.tenant, of, Some(from), to)).await?;
        let stored = stored.iter().map(DayTotals::read).collect::<Result<Vec<_>, ItemError>>()?;
        let mut days: BTreeMap<_, _> = stored.into_iter().map(|totals| (totals.date, totals)).collect();
        for (tally, is_planned) in [(&self.planned, true), (&self.tail, false)] {
            for (date, day) in tally.0.iter().filter(|(date, _)| (from..=to).contains(*date)) {
                let Some(more) = day.sums.get(&of) else { continue };
                let totals = days.remove(date).unwrap_or_else(|| DayTotals::none(of, *date));
                let has_it = is_planned && totals.batch == self.fold.batch;
                let totals = if has_it { totals } else { totals.with(more).map_err(|_| Problem::internal())? };
                days.insert(*date, totals);
            }
        }
        Ok(days)
    }

    /// The figures of each of these days, inclusive, of the tenant or of a merchant.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn days(
        &self,
        of: TotalsOf,
        (from, to): (BusinessDate, BusinessDate),
    ) -> Result<Vec<DayFigures>, Problem> {
        let mut totals = self.totals(of, (from, to)).await?;
        let mut balances = self.balances_until(of, from.days_before(1)).await?;
        let (mut days, mut date) = (Vec::new(), from);
        while date <= to {
            let totals = totals.remove(&date).unwrap_or_else(|| DayTotals::none(of, date));
            balances = balances_after(&balances, &totals.sums).map_err(|_| Problem::internal())?;
            let is_closed = self.is_closed(date);
            let closing = if is_closed { totals.closing } else { None };
            days.push(DayFigures { date, is_closed, sums: totals.sums, closing, balances: balances.clone() });
            date = date.next();
        }
        Ok(days)
    }

    /// The balances at the end of a day, of the tenant's classes of accounts or of a merchant.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn balances_until(&self, of: TotalsOf, date: BusinessDate) -> Result<Balances, Problem> {
        let folded = folded_until(self.app.dynamo(), self.tenant, of, date).await?;
        let mut balances = folded.balances.clone();
        for (tally, is_planned) in [(&self.planned, true), (&self.tail, false)] {
            for (date, day) in tally.0.range(..=date) {
                let Some(more) = day.sums.get(&of) else { continue };
                if is_planned && folded.has(*date, self.fold.batch) {
                    continue;
                }
                balances = balances_after(&balances, more).map_err(|_| Problem::internal())?;
            }
        }
        Ok(balances)
    }

    pub(super) async fn stored(&self, of: TotalsOf, date: BusinessDate) -> Result<Option<DayTotals>, Problem> {
        let stored = self.app.dynamo().get(&keys::day_totals(self.tenant, of, date)).await?;
        Ok(stored.as_ref().map(DayTotals::read).transpose()?)
    }

    /// A page of these days, by date.
    ///
    /// # Errors
    /// 400 if the cursor is malformed, 503 if the store cannot be read.
    pub async fn day_page(
        &self,
        of: TotalsOf,
        (limit, cursor): (usize, Option<PlacedCursor>),
        (from, to): (BusinessDate, BusinessDate),
    ) -> Result<(Vec<DayFigures>, Option<String>), Problem> {
        let after = cursor.map(|cursor| BusinessDate::parse(cursor.place()).map_err(|_| wrong_cursor())).transpose()?;
        let from = after.map_or(from, |after| from.max(after.next()));
        if from > to {
            return Ok((Vec::new(), None));
        }
        let last = (1..limit).fold(from, |date, _| date.next()).min(to);
        let next = (last < to).then(|| PlacedCursor::after(&last.to_string()).to_string());
        Ok((self.days(of, (from, last)).await?, next))
    }

    /// The numbers of customers and cards that entries of an open day changed, and of customers that were opened.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn active(&self, date: BusinessDate) -> Result<(ActiveAccounts, Option<u64>), Problem> {
        let stored = self.app.dynamo().query(&reads::active_accounts(self.tenant, date)).await?;
        let mut active = ActiveAccounts::read(&stored)?;
        for day in [&self.planned, &self.tail].into_iter().filter_map(|tally| tally.0.get(&date)) {
            active.add(day);
        }
        Ok((active, new_customers(self.app, self.tenant, date).await?))
    }

    /// A page of a group of those that have totals of any day, by id, with those of these days.
    ///
    /// # Errors
    /// 400 if the cursor is malformed or the days are more than 400, 503 if the store cannot be read.
    pub async fn page(
        &self,
        group: TotalsGroup,
        (limit, cursor): (usize, Option<PlacedCursor>),
        days: (BusinessDate, BusinessDate),
    ) -> Result<(Vec<(TotalsOf, Sums)>, Option<String>), Problem> {
        if days.0 <= days.1.days_before(GROUP_DAYS_MAX) {
            return Err(Problem::invalid_field("from", "must be less than 400 days before `to`"));
        }
        let after = cursor.map(|cursor| TotalsOf::parse(cursor.place()).ok_or_else(wrong_cursor)).transpose()?;
        if after.is_some_and(|after| !group.has(after)) {
            return Err(wrong_cursor());
        }
        let unfolded = [&self.planned, &self.tail].into_iter().flat_map(|tally| tally.0.values());
        let unfolded = unfolded.flat_map(|day| day.sums.keys()).filter(|of| group.has(**of)).copied();
        let mut of_group: BTreeSet<TotalsOf> = unfolded.filter(|of| after.is_none_or(|after| *of > after)).collect();
        let listed = reads::with_totals(self.tenant, group, after).limit(limit.saturating_add(1));
        let listed = self.app.dynamo().query(&listed).await?;
        for item in &listed {
            let _ = of_group.insert(listed_totals(item)?);
        }
        let mut found: Vec<TotalsOf> = of_group.into_iter().collect();
        let has_more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().filter(|_| has_more).map(|last| PlacedCursor::after(&last.to_string()).to_string());
        let sums = async |of: TotalsOf| {
            let mut sums = Sums::default();
            for totals in self.totals(of, days).await?.values() {
                sums.merge(&totals.sums).map_err(|_| Problem::internal())?;
            }
            Ok::<_, Problem>((of, sums))
        };
        Ok((try_join_all(found.into_iter().map(sums)).await?, next))
    }
}

fn wrong_cursor() -> Problem {
    Problem::invalid_field("cursor", "was not returned by this list")
}

fn behind(tenant: &Tenant) -> Problem {
    tracing::warn!(%tenant, "figures not read: the totals of days are not folded far enough");
    Problem::unavailable()
}

pub(super) async fn read_fold(app: &App, tenant: &Tenant) -> Result<Fold, Problem> {
    let stored = app.dynamo().get(&keys::fold(tenant)).await?;
    Ok(stored.as_ref().map_or_else(|| Ok(Fold::new()), Fold::read)?)
}

/// Balances after the totals of days.
pub(super) struct FoldedBalances {
    pub(super) balances: Balances,
    /// The last batch of each day's totals after the closing that they begin with.
    batches: BTreeMap<BusinessDate, u64>,
    /// The day of that closing. All entries of it and of the days before are in the balances.
    closed: Option<BusinessDate>,
}

impl FoldedBalances {
    /// Whether the totals of a day had a batch when they were read.
    fn has(&self, date: BusinessDate, batch: u64) -> bool {
        self.closed.is_some_and(|closed| date <= closed) || self.batches.get(&date) == Some(&batch)
    }
}

/// The balances after the totals of all days up to `date`, as far as they are folded: the tenant's from the last closed day
/// on, others from the first day.
pub(super) async fn folded_until(
    dynamo: &Dynamo,
    tenant: &Tenant,
    of: TotalsOf,
    date: BusinessDate,
) -> Result<FoldedBalances, Problem> {
    let mut folded = FoldedBalances { balances: Balances::new(), batches: BTreeMap::new(), closed: None };
    let mut after = None;
    loop {
        let query = reads::day_totals(tenant, of, None, date).newest_first().after(after.take());
        let size = if of == TotalsOf::Tenant && folded.batches.is_empty() { 1 } else { ITEMS_AT_ONCE };
        let items = dynamo.query(&query.limit(size)).await?;
        for item in &items {
            let totals = DayTotals::read(item)?;
            if let Some(closing) = totals.closing {
                folded.balances = sum_of(&folded.balances, &closing.balances).map_err(|_| Problem::internal())?;
                folded.closed = Some(totals.date);
                return Ok(folded);
            }
            folded.balances = balances_after(&folded.balances, &totals.sums).map_err(|_| Problem::internal())?;
            let _ = folded.batches.insert(totals.date, totals.batch);
            after = Some(item.text(keys::attr::SK)?.to_owned());
        }
        if items.len() < size {
            return Ok(folded);
        }
    }
}
