//! How many active owners and deciders there are: a counter that every change of them guards.

use super::record::{MemberState, StaffMember};
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Employer, Tenant};
use crate::keys::{self, attr};
use crate::permission::{Permission, Staff};
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};

const OWNERS: &str = "owners";
const DECIDERS: &str = "deciders";

/// The least number of active owners of the operator's staff, and of active members who can decide.
const OPERATOR_MIN: i64 = 2;
/// The least number of active owners of a merchant's staff, once it has one.
const MERCHANT_MIN: i64 = 1;

/// What one member adds to the counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    owners: i64,
    deciders: i64,
}

impl Counted {
    fn of(member: &StaffMember) -> Self {
        match member.state {
            MemberState::Active => Self {
                owners: i64::from(member.is_owner()),
                deciders: i64::from(member.may(Permission::ApprovalsDecide)),
            },
            MemberState::Invited | MemberState::Disabled => Self::default(),
        }
    }

    fn sum<'a>(members: impl IntoIterator<Item = &'a StaffMember>) -> Self {
        members.into_iter().map(Self::of).fold(Self::default(), |sum, one| Self {
            owners: sum.owners.saturating_add(one.owners),
            deciders: sum.deciders.saturating_add(one.deciders),
        })
    }
}

/// Adds the difference between a member's record before and after a change to the counter; `None` if there is none.
/// Fails with `WrongState` if too few would remain.
pub(super) fn counting(
    tenant: &Tenant,
    before: &StaffMember,
    after: &StaffMember,
    now: Timestamp,
) -> Option<TransactItem> {
    let (from, to) = (Counted::of(before), Counted::of(after));
    let min = minimum(after.employer);
    let (mut update, mut clauses) = (Update::new(), Vec::new());
    for (name, by) in
        [(OWNERS, to.owners.saturating_sub(from.owners)), (DECIDERS, to.deciders.saturating_sub(from.deciders))]
    {
        if by == 0 {
            continue;
        }
        update = update.add(name, format!("{name}_by"), Value::int(by));
        if by < 0 {
            // INVARIANT: the counter never falls below the minimum, whatever changes run in parallel.
            let more = Condition::compare(name, Cmp::Gt, "min", Value::int(min));
            clauses.push(Clause { condition: more, failure: Failure::WrongState });
        }
    }
    if update.is_empty() {
        return None;
    }
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
    Some(TransactItem::update(Role::StaffCounts, keys::staff_counts(tenant, after.employer), update, clauses))
}

/// Adds members without an earlier record to the counter.
pub(super) fn joining(
    tenant: &Tenant,
    employer: Employer,
    members: &[StaffMember],
    now: Timestamp,
) -> Option<TransactItem> {
    let Counted { owners, deciders } = Counted::sum(members);
    (owners > 0 || deciders > 0).then(|| {
        let update = Update::new()
            .add(OWNERS, "owners_by", Value::int(owners))
            .add(DECIDERS, "deciders_by", Value::int(deciders))
            .set(attr::UPDATED_AT, "ua", Value::s(now));
        TransactItem::update(Role::StaffCounts, keys::staff_counts(tenant, employer), update, Vec::new())
    })
}

/// Writes the first counter, with these members.
pub(super) fn first<'a>(
    tenant: &Tenant,
    employer: Employer,
    members: impl IntoIterator<Item = &'a StaffMember>,
    now: Timestamp,
) -> TransactItem {
    let Counted { owners, deciders } = Counted::sum(members);
    let item = Item::from([
        (OWNERS.to_owned(), Value::int(owners)),
        (DECIDERS.to_owned(), Value::int(deciders)),
        (attr::UPDATED_AT.to_owned(), Value::s(now)),
    ]);
    TransactItem::put_new(Role::StaffCounts, keys::staff_counts(tenant, employer), item, Failure::AlreadyExists)
}

fn minimum(employer: Employer) -> i64 {
    match employer.staff() {
        Staff::Operator => OPERATOR_MIN,
        Staff::Merchant => MERCHANT_MIN,
    }
}
