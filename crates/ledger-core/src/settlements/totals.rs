//! The sums of a settlement's records, by asset.

use super::record::quantities;
use crate::dynamo::{Item, ItemError, Value};
use crate::money::{Asset, Balance};
use std::collections::BTreeMap;

/// The sums of one asset in a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetTotals {
    /// The sum of payments.
    pub taken: Balance,
    /// The sum of refunds, as a positive quantity.
    pub refunded: Balance,
    /// What was paid before and returned. No fee is taken on it again.
    pub payouts_returned: Balance,
    /// The sum of cash that terminals took, which the merchant owes.
    pub cash_taken: Balance,
    /// The sum of such cash that terminals returned.
    pub cash_reversed: Balance,
    /// The sum of what the merchant brought for cash that it owes.
    pub deposited: Balance,
    /// What refunds took from the merchant's refund room, in yen. It is no part of the net: the refunds are.
    pub refund_room: Balance,
    /// What the settlement before carried over, with its sign.
    pub carried_in: Balance,
}

impl AssetTotals {
    /// Zero quantities of an asset.
    #[must_use]
    pub fn zero(asset: &Asset) -> Self {
        let zero = || Balance::zero(asset.clone());
        Self {
            taken: zero(),
            refunded: zero(),
            payouts_returned: zero(),
            cash_taken: zero(),
            cash_reversed: zero(),
            deposited: zero(),
            refund_room: zero(),
            carried_in: zero(),
        }
    }
}

pub(super) fn payouts_returned_attribute(asset: &Asset) -> String {
    format!("payouts_returned_{}", asset.attribute_suffix())
}

/// The field of a sum.
type Sum = fn(&mut AssetTotals) -> &mut Balance;

/// The sums that grow with each record, by the prefix of their attributes.
const TOTALS: [(&str, Sum); 7] = [
    ("taken_", |totals| &mut totals.taken),
    ("refunded_", |totals| &mut totals.refunded),
    ("payouts_returned_", |totals| &mut totals.payouts_returned),
    ("cash_taken_", |totals| &mut totals.cash_taken),
    ("cash_reversed_", |totals| &mut totals.cash_reversed),
    ("deposited_", |totals| &mut totals.deposited),
    ("refund_room_", |totals| &mut totals.refund_room),
];

pub(super) fn totals(item: &Item) -> Result<BTreeMap<Asset, AssetTotals>, ItemError> {
    let mut totals = BTreeMap::<Asset, AssetTotals>::new();
    for (asset, carried) in quantities(item, "carried_in")? {
        totals.entry(asset.clone()).or_insert_with(|| AssetTotals::zero(&asset)).carried_in = carried;
    }
    for (name, value) in item {
        let found = TOTALS.into_iter().find_map(|(prefix, part)| Some((part, name.strip_prefix(prefix)?)));
        let Some((part, suffix)) = found else { continue };
        let asset = Asset::from_attribute_suffix(suffix).map_err(|_| ItemError::invalid(name))?;
        let sum = number(&asset, value).ok_or_else(|| ItemError::invalid(name))?;
        let of_asset = totals.entry(asset.clone()).or_insert_with(|| AssetTotals::zero(&asset));
        *part(of_asset) = sum;
    }
    Ok(totals)
}

fn number(asset: &Asset, value: &Value) -> Option<Balance> {
    match value {
        Value::N(number) => Balance::from_stored(asset.clone(), number).ok(),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => None,
    }
}
