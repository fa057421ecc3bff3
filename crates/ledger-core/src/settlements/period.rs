//! Closing a merchant's open periods: the settlement takes all entries that were credited in one, by one write.
//!
//! A closed period is an item with its sums and the settlement that has it, so each entry's period leads to its
//! settlement. It is a batch of the settlement, as lists are. A settlement that turns back gives it back in its turn; the
//! period is then listed in the merchant's partition for the next settlement, which takes it in a list.

use super::collect::{Settleable, added};
use super::record::Settlement;
use crate::account::Account;
use crate::canonical::parse_canonical;
use crate::crediting::LaneCredit;
use crate::crediting::{PeriodId, PeriodSums};
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Role, TransactItem, Transaction};

/// The value with the period that a settlement closes.
const CLOSED_PERIOD: &str = "closed_period";
/// The prefix of the attribute with a period that a settlement closed. The number of the batch follows.
const CLOSED_BATCHES: &str = "closed_batch_";

/// The period that a settlement closed, and the batch of the settlement that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodBatch {
    /// The period.
    pub period: PeriodId,
    /// The number of the batch.
    pub batch: u32,
}

impl PeriodBatch {
    /// The periods that a settlement closed.
    pub(super) fn read(settlement: &Item) -> Result<Vec<Self>, ItemError> {
        let mut closed = Vec::new();
        for name in settlement.keys() {
            let Some(batch) = name.strip_prefix(CLOSED_BATCHES) else { continue };
            let batch = parse_canonical(batch).ok_or_else(|| ItemError::invalid(name))?;
            let period = PeriodId::parse(settlement.text(name)?).ok_or_else(|| ItemError::invalid(name))?;
            closed.push(Self { period, batch });
        }
        Ok(closed)
    }

    fn set(self, settlement: Update) -> Update {
        settlement.set(self.attribute(), CLOSED_PERIOD, Value::s(self.period))
    }

    pub(super) fn removed(self, settlement: Update) -> Update {
        settlement.remove(self.attribute())
    }

    fn attribute(self) -> String {
        format!("{CLOSED_BATCHES}{}", self.batch)
    }
}

/// A closed period of a merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedPeriod {
    /// Its merchant.
    pub merchant: MerchantId,
    /// Its name.
    pub id: PeriodId,
    /// The sums of its entries.
    pub sums: PeriodSums,
    /// The settlement that has it; `None` while the next one is to take it.
    pub settlement: Option<SettlementId>,
}

impl ClosedPeriod {
    /// Reads a stored period.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        if !PeriodSums::are_in(item) {
            return Err(ItemError::missing("period_records"));
        }
        Ok(Self {
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            id: PeriodId::of_closed(item)?,
            sums: PeriodSums::read(item)?,
            settlement: item.opt_parsed("settlement_id", SettlementId::parse)?,
        })
    }
}

/// Closes the merchant's open period of a lane, takes it into the settlement, and moves its sums to the merchant's
/// balances: `None` if no entry was credited in it, or the settlement has closed one of the lane.
///
/// Fails with `StalePlan` if the settlement has changed, or if entries were credited in the lane since. Fails with
/// `AlreadyExists` if the open period was closed before, which no worker does.
///
/// # Errors
/// [`BuildError`] if the sums do not fit.
pub fn close_lane(
    tenant: &Tenant,
    settlement: &Settlement,
    open: &LaneCredit,
    now: Timestamp,
) -> Result<Option<Transaction>, BuildError> {
    if open.sums.is_empty() || open.closed_settlement == Some(settlement.id) {
        return Ok(None);
    }
    let of = (tenant, settlement.merchant);
    let [changed, period] = taken(tenant, settlement, (open.period(), &open.sums), now)?;
    // INVARIANT: the balances grow by the sums that the same transaction removes from the lane.
    let beside = vec![changed, period, open.closed(of, settlement.id, now)];
    // A balance may become negative, because refunds may exceed it.
    let balances = Partition::merchant(tenant, settlement.merchant);
    let sums = open.sums.net()?.into_iter().map(|delta| (balances.balance(delta.asset()), delta));
    let to = (Role::MerchantBalance, Account::Merchant(settlement.merchant));
    Transaction::sums_moved(beside, to, sums, now).map(Some)
}

/// Takes a period into the settlement: the actions on the settlement and on the closed period.
fn taken(
    tenant: &Tenant,
    settlement: &Settlement,
    (id, sums): (PeriodId, &PeriodSums),
    now: Timestamp,
) -> Result<[TransactItem; 2], BuildError> {
    let period = [Settleable::Period(id, sums.clone())];
    let closed = PeriodBatch { period: id, batch: settlement.batches.saturating_add(1) };
    let update = closed.set(added(settlement, &period)?);
    let mut item = sums.item();
    item.extend([
        ("merchant_id".to_owned(), Value::s(settlement.merchant)),
        id.attribute(),
        ("settlement_id".to_owned(), Value::s(settlement.id)),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
    ]);
    let key = id.key(tenant, settlement.merchant);
    // Another run that closes it changes the settlement first: a period that exists alone is a fault of the table.
    let period = TransactItem::put_new(Role::Period, key, item, Failure::AlreadyExists);
    Ok([settlement.changed(tenant, update, now), period])
}

/// The action that lists a period that the settlement had closed and gives back. A period is closed once, so it is listed
/// once, whichever settlements take it and give it back after that.
pub(super) fn given_back(tenant: &Tenant, settlement: &Settlement, id: PeriodId, now: Timestamp) -> TransactItem {
    let item = Item::from([
        ("merchant_id".to_owned(), Value::s(settlement.merchant)),
        id.attribute(),
        ("given_back_settlement_id".to_owned(), Value::s(settlement.id)),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
    ]);
    let key = keys::period_back(tenant, settlement.merchant, &id.sort_key());
    // Another run that gives it back changes the settlement first: an item that exists alone is a fault of the table.
    TransactItem::put_new(Role::Period, key, item, Failure::AlreadyExists)
}

/// The key of the closed period that an item of the list of periods that were given back names.
///
/// # Errors
/// [`ItemError`] if it names none.
pub fn given_back_period(tenant: &Tenant, merchant: MerchantId, listed: &Item) -> Result<Key, ItemError> {
    Ok(PeriodId::of_closed(listed)?.key(tenant, merchant))
}
