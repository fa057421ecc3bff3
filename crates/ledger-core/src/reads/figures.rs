//! Queries of the figures of days.

use super::query::Query;
use super::range::SortRange;
use crate::ids::Tenant;
use crate::keys::{self, Partition, TotalsGroup, TotalsOf};
use crate::time::BusinessDate;

/// The closed posting days of a range, inclusive.
#[must_use]
pub fn closed_days(tenant: &Tenant, from: Option<BusinessDate>, to: Option<BusinessDate>) -> Query {
    let (low, high) = keys::closed_days_between(from, to);
    Query::partition(&Partition::tenant(tenant), SortRange::between(low, high))
}

/// The totals of the days up to `to`, inclusive.
#[must_use]
pub fn day_totals(tenant: &Tenant, of: TotalsOf, from: Option<BusinessDate>, to: BusinessDate) -> Query {
    let (low, high) = keys::day_totals_between(of, from, to);
    Query::partition(&Partition::tenant(tenant), SortRange::between(low, high))
}

/// The first totals of a group that sort after those of one of it.
#[must_use]
pub fn next_with_totals(tenant: &Tenant, group: TotalsGroup, after: Option<TotalsOf>) -> Query {
    let (low, high) = keys::day_totals_after(group, after);
    Query::partition(&Partition::tenant(tenant), SortRange::between(low, high)).limit(1)
}

/// The accounts that were active on a day.
#[must_use]
pub fn active_accounts(tenant: &Tenant, date: BusinessDate) -> Query {
    Query::partition(&Partition::tenant(tenant), SortRange::prefix(keys::active_on(date)))
}
