//! Counting what a staff member refunds or grants, on the member's own record.

use super::count::{Count, count, used_of_day};
use super::rule::{Holder, LimitKind, LimitPeriod, Rule};
use super::terms::LimitTerms;
use crate::dynamo::{Item, ItemError};
use crate::failure::Failure;
use crate::money::{Amount, Asset, Balance, MoneyError};
use crate::time::Timestamp;
use crate::transaction::TransactItem;

impl LimitTerms {
    /// The limits of a member who has these roles: in each period the highest of them, and none if a role has none.
    fn of_roles<'a>(&'a self, roles: &[Holder], asset: &Asset, kind: LimitKind) -> Vec<(LimitPeriod, &'a Balance)> {
        let most = |period| {
            let of_role = roles.iter().map(|role| self.rules(*role, asset)?.get(&Rule { kind, period }));
            let limits = of_role.collect::<Option<Vec<&Balance>>>()?;
            Some((period, limits.into_iter().max_by_key(|limit| limit.value())?))
        };
        LimitPeriod::ALL.into_iter().filter_map(most).collect()
    }

    /// Whether one of these roles has a limit of this kind.
    #[must_use]
    pub fn limits_roles(&self, roles: &[Holder], kind: LimitKind) -> bool {
        self.named(roles).any(|rule| rule.kind == kind)
    }
}

/// Counts an amount in an action on the member's record: `ADD use_refund_20261123_ecopay` if that is absent or at most
/// the limit less the amount; the same for the month. `None` if the amount alone exceeds a limit.
///
/// # Errors
/// [`MoneyError`] if the sums do not fit.
pub(crate) fn count_of_member(
    terms: &LimitTerms,
    roles: &[Holder],
    item: TransactItem,
    (kind, amount): (LimitKind, &Amount),
    now: Timestamp,
) -> Result<Option<TransactItem>, MoneyError> {
    let limits = terms.of_roles(roles, amount.asset(), kind).into_iter();
    counted(item, (kind, amount), limits.map(|(period, most)| (period, most, Failure::LimitExceeded)), now)
}

/// Counts what a member does alone, as [`count_of_member`] does. In a day it is at most `alone`, whatever the roles' limits:
/// `NeedsApproval` is the result above that with `used`, what the member had in the day as it was read, and `StalePlan` the
/// failure if it has more by then.
///
/// # Errors
/// [`MoneyError`] if the sums do not fit.
pub(crate) fn count_alone(
    (terms, roles): (&LimitTerms, &[Holder]),
    item: TransactItem,
    (kind, amount): (LimitKind, &Amount),
    (alone, used): (&Amount, &Balance),
    now: Timestamp,
) -> Result<Alone, MoneyError> {
    let alone = alone.as_balance();
    if alone.checked_sub(used)?.checked_sub(&amount.as_balance())?.value().is_sign_negative() {
        return Ok(Alone::NeedsApproval);
    }
    let of_roles = terms.of_roles(roles, amount.asset(), kind);
    let is_less =
        |(period, most): &(LimitPeriod, &Balance)| *period == LimitPeriod::Day && most.value() <= alone.value();
    let day = (!of_roles.iter().any(is_less)).then_some((LimitPeriod::Day, &alone, Failure::StalePlan));
    let kept = of_roles.into_iter().filter(|(period, _)| day.is_none() || *period != LimitPeriod::Day);
    let limits = kept.map(|(period, most)| (period, most, Failure::LimitExceeded)).chain(day);
    let counted = counted(item, (kind, amount), limits, now)?;
    Ok(counted.map_or(Alone::Exceeded, |item| Alone::Counted(Box::new(item))))
}

/// What a member had of a kind in the day of an instant, by the member's item.
///
/// # Errors
/// [`ItemError`] if the count is malformed.
pub(crate) fn used_by_member(
    item: &Item,
    (kind, amount): (LimitKind, &Amount),
    now: Timestamp,
) -> Result<Balance, ItemError> {
    used_of_day(item, (kind, &suffix_of(amount)), amount.asset(), now)
}

/// Whether a member may do something alone.
pub(crate) enum Alone {
    /// It is counted by this action.
    Counted(Box<TransactItem>),
    /// Another person must approve it.
    NeedsApproval,
    /// It exceeds a limit of the member's roles.
    Exceeded,
}

fn counted<'a>(
    item: TransactItem,
    (kind, amount): (LimitKind, &Amount),
    limits: impl IntoIterator<Item = (LimitPeriod, &'a Balance, Failure)>,
    now: Timestamp,
) -> Result<Option<TransactItem>, MoneyError> {
    Ok(match count(item, (kind, &suffix_of(amount)), amount, limits, now)? {
        Count::Of(item, _) => Some(*item),
        Count::Exceeded(_) => None,
    })
}

fn suffix_of(amount: &Amount) -> String {
    format!("_{}", amount.asset().attribute_suffix())
}
