//! Compares the totals of finished days with the journal.

use super::entries::Entries;
use super::read::read_fold;
use crate::app::App;
use crate::dynamo::Dynamo;
use crate::problem::Problem;
use http::StatusCode;
use ledger_core::dynamo::ItemError;
use ledger_core::figures::{ClosedDay, DayTally, DayTotals, Difference, PostingDays, Sums, listed_totals};
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key, TotalsGroup, TotalsOf};
use ledger_core::reads;
use ledger_core::sealing::lanes::Lanes;
use ledger_core::time::BusinessDate;
use std::collections::BTreeSet;
use std::time::Duration;

/// The last days, which every check compares.
const RECENT_DAYS: u16 = 3;
/// In how many days every earlier day is compared once.
const TURN_DAYS: i64 = 28;
/// How far the clock of a writer may be ahead. More than half a day would have another day's segments read.
const CLOCK_AHEAD_MAX: Duration = Duration::from_secs(12 * 60 * 60);
/// The totals that are read at once.
const TOTALS_AT_ONCE: usize = 100;

/// What a check found.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Where totals differ from the journal.
    pub(crate) differences: Vec<(TotalsOf, BusinessDate, Difference)>,
    /// What has entries and is not listed in its group.
    pub(crate) unlisted: BTreeSet<TotalsOf>,
    /// The days whose entries cannot be read.
    pub(crate) unreadable: Vec<BusinessDate>,
}

/// Compares the totals of the last finished days, and of those earlier ones whose turn it is on a day.
///
/// Neither they nor the entries of those days ever change, so one read is enough. The days before the first closing are not
/// compared.
pub(crate) async fn check(app: &App, tenant: &Tenant, today: BusinessDate) -> Result<Checked, Problem> {
    let dynamo = app.dynamo();
    let mut checked = Checked::default();
    let Some(finished) = read_fold(app, tenant).await?.finished else { return Ok(checked) };
    let days = PostingDays::read(tenant, &dynamo.query(&reads::closed_days(tenant, None, Some(finished))).await?)?;
    let recent = finished.days_before(RECENT_DAYS.saturating_sub(1));
    let is_due = |date: BusinessDate| date >= recent || turn(date) == turn(today);
    let mut known: Option<BTreeSet<TotalsOf>> = None;
    let all: Vec<&ClosedDay> = days.iter().collect();
    for (place, closed) in all.iter().enumerate().filter(|(place, closed)| *place > 0 && is_due(closed.date)) {
        // Several days may be closed at once, long after their ends, so that segments with entries of this day are from before
        // the closings of others. An entry whose clock was ahead is in one from before this day began.
        let began = closed.date.bounds().0.minus(CLOCK_AHEAD_MAX);
        let after = all.iter().take(place).rev().find(|earlier| earlier.closed_at <= began).copied();
        let tally = match journal(dynamo, tenant, &days, (after, closed)).await {
            Ok(tally) => tally,
            Err(problem) if problem.status() == StatusCode::INTERNAL_SERVER_ERROR => {
                checked.unreadable.push(closed.date);
                continue;
            }
            Err(problem) => return Err(problem),
        };
        let with_totals = match known.take() {
            Some(with_totals) => with_totals,
            None => all_with_totals(dynamo, tenant).await?,
        };
        let is_unlisted = |of: &TotalsOf| keys::has_totals(tenant, *of).is_some() && !with_totals.contains(of);
        checked.unlisted.extend(tally.sums.keys().copied().filter(is_unlisted));
        let of: BTreeSet<TotalsOf> = with_totals.iter().copied().chain(tally.sums.keys().copied()).collect();
        known = Some(with_totals);
        for (of, totals) in stored(dynamo, tenant, closed.date, &of.into_iter().collect::<Vec<_>>()).await? {
            let none = Sums::default();
            let difference = totals.difference(tally.sums.get(&of).unwrap_or(&none));
            checked.differences.extend(difference.map(|difference| (of, closed.date, difference)));
        }
    }
    Ok(checked)
}

fn turn(date: BusinessDate) -> i64 {
    let (start, _) = date.bounds();
    start.seconds().div_euclid(24 * 60 * 60).rem_euclid(TURN_DAYS)
}

/// What the entries of a closed day come to.
async fn journal(
    dynamo: &Dynamo,
    tenant: &Tenant,
    days: &PostingDays,
    (after, closed): (Option<&ClosedDay>, &ClosedDay),
) -> Result<DayTally, Problem> {
    let mut entries = Entries::new(dynamo, tenant, days);
    for lane in 0..Lanes::MAX.count() {
        let from = after.map_or(0, |after| after.last_of(lane));
        let _ = entries.add((lane, from, closed.last_of(lane)), None).await?;
    }
    Ok(entries.tally.0.remove(&closed.date).unwrap_or_default())
}

/// The tenant, and every merchant, shop and terminal that has totals of any day.
async fn all_with_totals(dynamo: &Dynamo, tenant: &Tenant) -> Result<BTreeSet<TotalsOf>, Problem> {
    let mut found = BTreeSet::from([TotalsOf::Tenant]);
    for group in TotalsGroup::ALL {
        for item in dynamo.query(&reads::with_totals(tenant, group, None)).await? {
            found.insert(listed_totals(&item)?);
        }
    }
    Ok(found)
}

/// The stored totals of a day, none where there are none.
async fn stored(
    dynamo: &Dynamo,
    tenant: &Tenant,
    date: BusinessDate,
    of: &[TotalsOf],
) -> Result<Vec<(TotalsOf, DayTotals)>, Problem> {
    let mut all = Vec::new();
    for some in of.chunks(TOTALS_AT_ONCE) {
        let keys: Vec<Key> = some.iter().map(|of| keys::day_totals(tenant, *of, date)).collect();
        let items = dynamo.get_many(&keys).await?;
        let read = some.iter().zip(&items).map(|(of, item)| {
            let totals = item.as_ref().map(DayTotals::read).transpose()?;
            Ok((*of, totals.unwrap_or_else(|| DayTotals::none(*of, date))))
        });
        all.extend(read.collect::<Result<Vec<_>, ItemError>>()?);
    }
    Ok(all)
}
