//! A merchant's volume: what payments to it have on a day in Japan, by asset.
//!
//! The seal of a payment's entry adds it to the merchant's item of the lane, in the transaction that credits the merchant:
//! each payment counts once, and payments write nothing for it. The worker that seals compares the sum of all lanes with the
//! tenant's limit.

use super::lane::{EntryCredit, LaneCredit};
use crate::account;
use crate::crediting::CreditKind;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::ids::MerchantId;
use crate::limits::LimitTerms;
use crate::money::{Asset, Balance, Delta, MoneyError};
use crate::time::BusinessDate;
use std::collections::BTreeMap;

/// What the name of every volume begins with: `volume_20261123_ecopay`.
const VOLUME: &str = "volume_";

/// Volumes by day and asset.
pub(super) type Volumes = BTreeMap<(BusinessDate, Asset), Balance>;

/// The limits of merchants' volumes on a day, and what happens beyond them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumeLimits {
    /// The most of each asset that has a limit. Volumes of other assets are not counted.
    most: BTreeMap<Asset, Balance>,
    /// Whether a merchant beyond it is suspended.
    suspends: bool,
}

/// A volume beyond its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeExceeded {
    /// The merchant.
    pub merchant: MerchantId,
    /// The day.
    pub date: BusinessDate,
    /// What payments have on it.
    pub volume: Balance,
    /// The limit.
    pub most: Balance,
    /// Whether the merchant is suspended for it.
    pub suspends: bool,
}

impl VolumeLimits {
    /// The limits in a tenant's terms.
    #[must_use]
    pub fn of(limits: Option<&LimitTerms>) -> Self {
        limits.map_or_else(Self::default, |limits| Self { most: limits.volumes(), suspends: limits.suspends() })
    }

    /// Whether no volume is limited.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.most.is_empty()
    }

    pub(super) fn counts(&self, asset: &Asset) -> bool {
        self.most.contains_key(asset)
    }

    /// The first volume of a merchant beyond its limit, among those of `date`. `lanes` are all its items of lanes.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn exceeded(
        &self,
        merchant: MerchantId,
        date: BusinessDate,
        lanes: &[LaneCredit],
    ) -> Result<Option<VolumeExceeded>, MoneyError> {
        for (asset, most) in &self.most {
            let mut volume = Balance::zero(asset.clone());
            for lane in lanes {
                if let Some(of_lane) = lane.volumes.get(&(date, asset.clone())) {
                    volume = volume.checked_plus(of_lane)?;
                }
            }
            if most.checked_sub(&volume)?.value().is_sign_negative() {
                let (most, suspends) = (most.clone(), self.suspends);
                return Ok(Some(VolumeExceeded { merchant, date, volume, most, suspends }));
            }
        }
        Ok(None)
    }

    /// What these entries add, by day and asset. What a merchant gave back stays counted.
    pub(super) fn added<'a>(
        &self,
        credits: impl Iterator<Item = &'a EntryCredit>,
    ) -> Result<BTreeMap<(BusinessDate, Asset), Delta>, MoneyError> {
        let mut of_days = BTreeMap::<BusinessDate, Vec<&Delta>>::new();
        for credit in credits.filter(|credit| credit.kind == CreditKind::Trade) {
            let taken = credit.delta.iter().filter(|delta| !delta.is_debit() && self.counts(delta.asset()));
            of_days.entry(credit.date).or_default().extend(taken);
        }
        let mut added = BTreeMap::new();
        for (date, deltas) in of_days {
            let sums = account::net(deltas.into_iter().map(|delta| (delta.asset().clone(), delta)))?;
            added.extend(sums.into_iter().map(|(asset, sum)| ((date, asset), sum)));
        }
        Ok(added)
    }
}

/// Reads the volumes of an item of a lane.
pub(super) fn read(item: &Item) -> Result<Volumes, ItemError> {
    let mut volumes = Volumes::new();
    for name in item.keys() {
        let Some(rest) = name.strip_prefix(VOLUME) else { continue };
        let invalid = || ItemError::invalid(name);
        let (digits, suffix) = rest.split_once('_').ok_or_else(invalid)?;
        let date = BusinessDate::from_digits(digits).ok_or_else(invalid)?;
        let asset = Asset::from_attribute_suffix(suffix).map_err(|_| invalid())?;
        volumes.insert((date, asset.clone()), item.balance(name, asset)?);
    }
    Ok(volumes)
}

/// Adds volumes to those of an item, and removes those of days before yesterday's.
pub(super) fn add(update: Update, seen: &Volumes, added: &BTreeMap<(BusinessDate, Asset), Delta>) -> Update {
    let Some((latest, _)) = added.keys().next_back() else { return update };
    let kept_from = latest.days_before(1);
    let update = added.iter().fold(update, |update, ((date, asset), sum)| {
        let name = name(*date, asset);
        update.add(name.clone(), name, Value::N(sum.text()))
    });
    let past = seen.keys().filter(|(date, _)| *date < kept_from && !added.keys().any(|(added, _)| added == date));
    past.fold(update, |update, (date, asset)| update.remove(name(*date, asset)))
}

fn name(date: BusinessDate, asset: &Asset) -> String {
    format!("{VOLUME}{}_{}", date.digits(), asset.attribute_suffix())
}
