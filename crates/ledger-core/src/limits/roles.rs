//! Counting what a staff member refunds or grants, on the member's own record.

use super::count::{Count, count};
use super::rule::{Holder, LimitKind, LimitPeriod, Rule};
use super::terms::LimitTerms;
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

/// Counts an amount in an action on the member's record: `ADD use_refund_20261123_ECOPAY` if that is absent or at most
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
    let limits = terms.of_roles(roles, amount.asset(), kind);
    let suffix = format!("_{}", amount.asset());
    Ok(match count(item, (kind, &suffix), amount, limits, now)? {
        Count::Of(item, _) => Some(*item),
        Count::Exceeded(_) => None,
    })
}
