//! A merchant's period: the records that were credited while it was open, and their sums.
//!
//! Periods of a merchant are numbered from 1. The open one is on the merchant's `CREDITING` item. A record names the
//! period in which it was credited, and never another.

use super::Clause;
use crate::account;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::money::{Asset, Balance, Delta, MoneyError};
use std::collections::BTreeMap;

/// The number of a merchant's first period.
pub const FIRST_PERIOD: u32 = 1;
/// The attribute with a period's number: of a record, of a closed period, and of `CREDITING`.
pub(crate) const PERIOD: &str = "period";
/// The attribute with the number of a period's records.
const RECORDS: &str = "period_records";
/// The prefixes of the attributes with the sums, as of settlements.
const TAKEN: &str = "taken_";
const REFUNDED: &str = "refunded_";

/// The sums of a period's records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeriodSums {
    /// The number of records.
    pub records: u32,
    /// The sum of payments, by asset.
    pub taken: BTreeMap<Asset, Balance>,
    /// The sum of refunds as a positive quantity, by asset.
    pub refunded: BTreeMap<Asset, Balance>,
}

/// The attribute with the sum of payments in an asset.
pub(crate) fn taken_attribute(asset: &Asset) -> String {
    format!("{TAKEN}{}", asset.attribute_suffix())
}

/// The attribute with the sum of refunds in an asset.
pub(crate) fn refunded_attribute(asset: &Asset) -> String {
    format!("{REFUNDED}{}", asset.attribute_suffix())
}

impl PeriodSums {
    /// The sums of records, each with what it changes in the merchant's balances.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub(crate) fn of<'a>(records: impl IntoIterator<Item = &'a [Delta]>) -> Result<Self, MoneyError> {
        let mut sums = Self::default();
        let mut all = Vec::new();
        for deltas in records {
            sums.records = sums.records.saturating_add(1);
            all.extend(deltas);
        }
        for ((asset, is_debit), sum) in account::net(all.into_iter().map(|delta| (side(delta), delta)))? {
            let zero = Balance::zero(asset.clone());
            if is_debit {
                sums.refunded.insert(asset, zero.checked_apply(&sum.inverse())?);
            } else {
                sums.taken.insert(asset, zero.checked_apply(&sum)?);
            }
        }
        Ok(sums)
    }

    /// Reads the sums of an item; a period without records has none.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let records = item.opt_int(RECORDS)?.unwrap_or_default();
        Ok(Self { records, taken: quantities(item, TAKEN)?, refunded: quantities(item, REFUNDED)? })
    }

    /// Whether the item has the sums of a period.
    pub(crate) fn are_in(item: &Item) -> bool {
        item.contains_key(RECORDS)
    }

    /// Whether there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The attributes.
    pub(crate) fn item(&self) -> Item {
        let sums = self.sums().map(|(name, sum)| (name, Value::N(sum.text())));
        sums.chain([(RECORDS.to_owned(), Value::int(self.records.into()))]).collect()
    }

    /// Adds the sums to those of an item.
    pub(crate) fn add_to(&self, update: Update) -> Update {
        let update = update.add(RECORDS, RECORDS, Value::int(self.records.into()));
        self.sums().fold(update, |update, (name, sum)| update.add(name.clone(), name, Value::N(sum.text())))
    }

    /// Removes the sums from an item.
    pub(crate) fn remove_from(&self, update: Update) -> Update {
        self.sums().fold(update.remove(RECORDS), |update, (name, _)| update.remove(name))
    }

    /// The sums that are not zero, by attribute.
    fn sums(&self) -> impl Iterator<Item = (String, &Balance)> {
        let taken = self.taken.iter().map(|(asset, sum)| (taken_attribute(asset), sum));
        taken.chain(self.refunded.iter().map(|(asset, sum)| (refunded_attribute(asset), sum)))
    }
}

/// A delta's asset, and whether it is a refund.
fn side(delta: &Delta) -> (Asset, bool) {
    (delta.asset().clone(), delta.is_debit())
}

fn quantities(item: &Item, prefix: &str) -> Result<BTreeMap<Asset, Balance>, ItemError> {
    let mut sums = BTreeMap::new();
    for name in item.keys() {
        let Some(suffix) = name.strip_prefix(prefix) else { continue };
        let asset = Asset::from_attribute_suffix(suffix).map_err(|_| ItemError::invalid(name))?;
        sums.insert(asset.clone(), item.balance(name, asset)?);
    }
    Ok(sums)
}

/// Requires that the merchant's open period is this one. A merchant that has not been credited to a period is in the
/// first.
pub(crate) fn is_open(number: u32, failure: Failure) -> Clause {
    let is_it = Condition::compare(PERIOD, Cmp::Eq, PERIOD, Value::int(number.into()));
    let condition = if number == FIRST_PERIOD { Condition::absent(PERIOD).or(is_it) } else { is_it };
    Clause { condition, failure }
}
