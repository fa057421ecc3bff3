//! Balances at a past instant.
//!
//! Those of the tenant's own accounts and of merchants are made of totals: of the days before, of the batches of the day
//! that were over before the instant, and of the entries of the batch that it is in. Those of customers and cards are the
//! sums of their own entries. Only sealed entries count in either, so both agree.

use super::entries::Entries;
use super::read::Figures;
use crate::app::App;
use crate::problem::Problem;
use ledger_core::account::{Account, net};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::figures::{
    AccountClass, Balances, BatchSegments, Posted, PostingDays, Sums, TalliedEntry, balances_after, sum_of,
};
use ledger_core::ids::{Tenant, least_born_at};
use ledger_core::journal::expand;
use ledger_core::keys::{self, Key, Partition, TotalsOf};
use ledger_core::money::{Asset, Delta};
use ledger_core::reads;
use ledger_core::sealing::lane_segment_of;
use ledger_core::time::{BusinessDate, Timestamp};
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// The most batches that the instant is in whose entries a request reads.
const BATCHES_MAX: usize = 8;
/// How much later than its entry an id may be: more than clocks differ.
const ID_MARGIN: Duration = Duration::from_secs(24 * 60 * 60);

/// The balances of an account before an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BalanceAt {
    /// Whether the day of the instant is closed, so that they never change.
    pub is_closed: bool,
    /// The balances, held parts included. One of zero is not in it.
    pub balances: BTreeMap<Asset, Delta>,
}

/// The balances of an account from all entries before `at`. An entry that was posted to a later day than its own counts from
/// the beginning of that day.
///
/// # Errors
/// 400 if the tenant has too many entries around the instant, 503 if the store cannot be read or the fold is behind.
pub async fn balance_at(app: &App, tenant: &Tenant, account: Account, at: Timestamp) -> Result<BalanceAt, Problem> {
    let day = at.minus(Duration::from_millis(1)).business_date();
    let (of, class) = match account {
        Account::Customer(_) | Account::Card(_) => return own_balance(app, tenant, account, (day, at)).await,
        Account::Merchant(id) => (TotalsOf::Merchant(id), AccountClass::Merchants),
        Account::Tenant(own) => (TotalsOf::Tenant, AccountClass::Tenant(own)),
    };
    for _ in 0..Figures::TRIES {
        let figures = Figures::read_before(app, tenant, day, Some(at)).await?;
        let balances = figures.balances_before(of, (day, at)).await?;
        if figures.are_unchanged().await? {
            let own = balances.into_iter().filter(|((of, _), _)| *of == class);
            let balances = own.map(|((_, asset), sum)| (asset, sum)).collect();
            return Ok(BalanceAt { is_closed: figures.is_closed(day), balances });
        }
    }
    Err(Problem::unavailable())
}

impl Figures<'_> {
    /// The balances before an instant of a day. These figures are those before it.
    async fn balances_before(&self, of: TotalsOf, (day, at): (BusinessDate, Timestamp)) -> Result<Balances, Problem> {
        let mut balances = self.balances_until(of, day.days_before(1)).await?;
        let stored = self.stored(of, day).await?;
        let (mut around, mut has_planned) = (Vec::new(), false);
        if let Some(totals) = &stored {
            let too_many =
                || Problem::invalid_field("at", "is within a day of too many entries: ask for the day's end");
            let batches = match &totals.batches {
                Some(batches) => batches.as_slice(),
                // Before the end of the day are all its entries.
                None if at == day.bounds().1 => {
                    balances = balances_after(&balances, &totals.sums).map_err(|_| Problem::internal())?;
                    has_planned = self.planned_batch() == Some(totals.batch);
                    &[]
                }
                None => return Err(too_many()),
            };
            // The entries of the batch that is being folded are read with those that are not folded.
            for batch in batches.iter().filter(|batch| self.planned_batch() != Some(batch.batch)) {
                if batch.span.last < at {
                    balances = sum_of(&balances, &batch.changes).map_err(|_| Problem::internal())?;
                } else if batch.span.first < at {
                    around.push(batch.batch);
                }
            }
            if !around.is_empty() {
                let part = self.part_of_batches(&around, of, (day, at)).await?.ok_or_else(too_many)?;
                balances = balances_after(&balances, &part).map_err(|_| Problem::internal())?;
            }
        }
        for tally in [Some(&self.planned).filter(|_| !has_planned), Some(&self.tail)].into_iter().flatten() {
            if let Some(more) = tally.0.get(&day).and_then(|tally| tally.sums.get(&of)) {
                balances = balances_after(&balances, more).map_err(|_| Problem::internal())?;
            }
        }
        Ok(balances)
    }

    /// What the entries of batches come to that are posted to a day before an instant of it; `None` if they are too many.
    async fn part_of_batches(
        &self,
        batches: &[u64],
        of: TotalsOf,
        (day, at): (BusinessDate, Timestamp),
    ) -> Result<Option<Sums>, Problem> {
        let dynamo = self.app.dynamo();
        let days = closings(self.app, self.tenant, day).await?;
        let keys: Vec<Key> = batches.iter().map(|batch| keys::folded_batch(self.tenant, *batch)).collect();
        if batches.len() > BATCHES_MAX {
            return Ok(None);
        }
        let mut entries = Entries::new(dynamo, self.tenant, &days).before(Some(at));
        for (key, item) in keys.iter().zip(dynamo.get_many(&keys).await?) {
            let batch = BatchSegments::read(&item.ok_or_else(|| ItemError::missing(key.sk()))?)?;
            for range in batch.ranges() {
                let _ = entries.add(range, None).await?;
            }
        }
        let mut tally = entries.tally.0.remove(&day).unwrap_or_default();
        Ok(Some(tally.sums.remove(&of).unwrap_or_default()))
    }
}

/// The closings that decide whether an entry is posted to a day, or to an earlier or a later one.
async fn closings(app: &App, tenant: &Tenant, day: BusinessDate) -> Result<PostingDays, Problem> {
    closings_of(app, tenant, (day, day)).await
}

/// The closings that decide whether an entry is posted to these days, and to which of them: those of the day before and of
/// each of them. The first closing is that of all earlier days.
pub(super) async fn closings_of(
    app: &App,
    tenant: &Tenant,
    (from, to): (BusinessDate, BusinessDate),
) -> Result<PostingDays, Problem> {
    let before = from.days_before(1);
    let mut closed = app.dynamo().query(&reads::closed_days(tenant, Some(before), Some(to))).await?;
    if closed.is_empty() {
        closed = app.dynamo().query(&reads::closed_days(tenant, Some(before), None).limit(1)).await?;
    }
    Ok(PostingDays::read(tenant, &closed)?)
}

/// Where a stored entry is posted; `None` of one that is not sealed.
pub(super) fn posted(days: &PostingDays, item: &Item, created_at: Timestamp) -> Result<Option<Posted>, ItemError> {
    Ok(lane_segment_of(item)?.map(|place| days.posted(place, created_at)))
}

/// The balances of a customer or a card, from the entries and references of its partition.
async fn own_balance(
    app: &App,
    tenant: &Tenant,
    account: Account,
    (day, at): (BusinessDate, Timestamp),
) -> Result<BalanceAt, Problem> {
    let dynamo = app.dynamo();
    let days = closings(app, tenant, day).await?;
    let mut balances = BTreeMap::new();
    let Some(partition) = Partition::account(tenant, account) else { return Err(Problem::not_found()) };
    let until = least_born_at(at.plus(ID_MARGIN));
    let mut entries = dynamo.query(&reads::account_entries_between(&partition, Uuid::nil(), until)).await?;
    let references = dynamo.query(&reads::account_references_between(&partition, Uuid::nil(), until)).await?;
    let homes = references.iter().map(|item| home(tenant, item)).collect::<Result<Vec<_>, ItemError>>()?;
    let homes: Vec<Key> = homes.into_iter().flatten().collect();
    for (key, item) in homes.iter().zip(dynamo.get_many(&homes).await?) {
        entries.push(item.ok_or_else(|| ItemError::missing(key.sk()))?);
    }
    for item in &entries {
        let entry = TalliedEntry::read(item)?;
        if posted(&days, item, entry.created_at)?.is_some_and(|posted| posted.at < at) {
            let so_far = balances.iter().map(|(asset, sum): (&Asset, &Delta)| (asset.clone(), sum));
            let changes = entry.changes_of(account).map(|(asset, change)| (asset.clone(), change));
            balances = net(so_far.chain(changes)).map_err(|_| Problem::internal())?;
        }
    }
    let is_closed = days.last().is_some_and(|closed| day <= closed.date);
    Ok(BalanceAt { is_closed, balances })
}

/// The key of the entry that a reference is to; `None` of one to a row of a legacy history, which posts nothing.
fn home(tenant: &Tenant, reference: &Item) -> Result<Option<Key>, ItemError> {
    let reference = expand(reference)?;
    let Some(home) = reference.opt_parsed("home", Account::parse)? else { return Ok(None) };
    let id = reference.parsed("transaction_id", ledger_core::ids::TransactionId::parse)?;
    Ok(Partition::account(tenant, home).map(|partition| partition.entry(id)))
}
