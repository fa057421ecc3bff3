//! Queries of the figures of days.

use super::query::Query;
use super::range::SortRange;
use crate::ids::Tenant;
use crate::keys::{self, ACTIVE, Partition, SUBJECT, TotalsGroup, TotalsOf};
use crate::time::BusinessDate;

/// The closed posting days of a range, inclusive.
#[must_use]
pub fn closed_days(tenant: &Tenant, from: Option<BusinessDate>, to: Option<BusinessDate>) -> Query {
    let (low, high) = keys::closed_days_between(from, to);
    Query::partition(&Partition::totals(tenant, TotalsOf::Tenant), SortRange::between(low, high))
}

/// The totals of the days up to `to`, inclusive.
#[must_use]
pub fn day_totals(tenant: &Tenant, of: TotalsOf, from: Option<BusinessDate>, to: BusinessDate) -> Query {
    let (low, high) = keys::day_totals_between(from, to);
    Query::partition(&Partition::totals(tenant, of), SortRange::between(low, high))
}

/// What has totals of a group, after one of it: an item each.
#[must_use]
pub fn with_totals(tenant: &Tenant, group: TotalsGroup, after: Option<TotalsOf>) -> Query {
    let after = after.map(|after| format!("{SUBJECT}{after}"));
    Query::partition(&Partition::totals_group(tenant, group), SortRange::prefix(group.prefix())).after(after)
}

/// The accounts that were active on a day.
#[must_use]
pub fn active_accounts(tenant: &Tenant, date: BusinessDate) -> Query {
    Query::partition(&Partition::active(tenant, date), SortRange::prefix(ACTIVE))
}
