//! What an account has used of its limits, and what is left.

use super::count::Use;
use super::rule::{Holder, LimitPeriod, Rule};
use super::terms::{LimitTerms, asset_of};
use crate::dynamo::{Attributes, Item, ItemError};
use crate::money::{Asset, Balance, MoneyError};
use crate::time::Timestamp;
use std::collections::BTreeMap;

/// One limit of an account, and how much of it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitStanding {
    /// The asset.
    pub asset: Asset,
    /// The kind of operation, and the period.
    pub rule: Rule,
    /// The limit.
    pub limit: Balance,
    /// What is used in the present period; zero for a limit of one operation.
    pub used: Balance,
    /// What is left; zero if more is used than the limit, which may have been lowered since.
    pub remaining: Balance,
    /// When the period ends; `None` for a limit of one operation.
    pub resets_at: Option<Timestamp>,
}

/// Computes the limits of an account from its items as they were read: its balance items, or the card.
///
/// # Errors
/// [`ItemError`] if an item is malformed.
pub fn standings(
    terms: &LimitTerms,
    holder: Holder,
    items: &[Item],
    now: Timestamp,
) -> Result<Vec<LimitStanding>, ItemError> {
    let terms = terms.of_account(items)?;
    let by_asset: BTreeMap<Asset, &Item> =
        items.iter().map(|item| Ok((asset_of(item)?, item))).collect::<Result<_, ItemError>>()?;
    let standing = |(asset, rule, limit): (Asset, Rule, &Balance)| {
        let used = match (Use::at(rule.kind, rule.period, now), by_asset.get(&asset)) {
            (Some(use_), Some(item)) => item.balance_or_zero(&use_.name(), asset.clone())?,
            (None, _) | (_, None) => Balance::zero(asset.clone()),
        };
        let invalid = |_: MoneyError| ItemError::invalid(rule.to_string());
        let rest = limit.checked_sub(&used).map_err(invalid)?;
        let remaining = if rest.value().is_sign_negative() { Balance::zero(asset.clone()) } else { rest };
        let resets_at = LimitPeriod::resets_at(rule.period, now);
        Ok(LimitStanding { asset, rule, limit: limit.clone(), used, remaining, resets_at })
    };
    terms.all(holder).into_iter().filter(|(_, rule, _)| holder.kinds().contains(&rule.kind)).map(standing).collect()
}
