//! Limits of what a staff member refunds and grants: by role, per request, and per day and month in Japan.

use super::change::acting;
use super::record::StaffMember;
use super::role::{AdminRole, MerchantRole, StaffRole};
use crate::dynamo::Item;
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::limits::{Alone, Holder, LimitKind, LimitTerms, count_alone, count_of_member, used_by_member};
use crate::money::Amount;
use crate::permission::Permission;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::TransactItem;

/// What a staff member moves that is limited by role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaffAmount {
    /// A refund of a payment, by a merchant's staff.
    Refund,
    /// A grant to one customer or to many, by the operator's staff.
    Grant,
}

impl StaffAmount {
    /// The permission that it needs.
    #[must_use]
    pub const fn permission(self) -> Permission {
        match self {
            Self::Refund => Permission::PaymentsRefund,
            Self::Grant => Permission::GrantsIssue,
        }
    }

    const fn kind(self) -> LimitKind {
        match self {
            Self::Refund => LimitKind::Refund,
            Self::Grant => LimitKind::Grant,
        }
    }

    /// The roles that permit it.
    const fn roles(self) -> &'static [(StaffRole, Holder)] {
        match self {
            Self::Refund => &[
                (StaffRole::Merchant(MerchantRole::Manager), Holder::MerchantManager),
                (StaffRole::Merchant(MerchantRole::Owner), Holder::MerchantOwner),
            ],
            Self::Grant => &[
                (StaffRole::Admin(AdminRole::Treasurer), Holder::Treasurer),
                (StaffRole::Admin(AdminRole::Owner), Holder::Owner),
            ],
        }
    }

    /// The roles of a member that permit it.
    fn holders(self, member: &StaffMember) -> Vec<Holder> {
        let has = self.roles().iter().filter(|(role, _)| member.roles.contains(role));
        has.map(|(_, holder)| *holder).collect()
    }

    /// Whether a role has a limit of it, so that the member's record must be read.
    #[must_use]
    pub fn is_limited(self, terms: &LimitTerms) -> bool {
        let holders = self.roles().iter().map(|(_, holder)| *holder).collect::<Vec<_>>();
        terms.limits_roles(&holders, self.kind())
    }
}

/// Counts an amount on the member's record: guarded on the record as it was read, and on the limits of the member's
/// roles. Fails with `LimitExceeded`. A member with several roles has the highest limit of them.
///
/// # Errors
/// [`PlanRefusal::Denied`] if the record no longer permits it, `LimitExceeded` if the amount alone exceeds a limit.
pub fn count_amount(
    tenant: &Tenant,
    by: &StaffMember,
    terms: &LimitTerms,
    (what, amount): (StaffAmount, &Amount),
    cx: &Context,
) -> Result<TransactItem, PlanRefusal> {
    if !by.may(what.permission()) {
        return Err(PlanRefusal::Denied(what.permission()));
    }
    let counted = count_of_member(terms, &what.holders(by), acting(tenant, by), (what.kind(), amount), cx.now)?;
    counted.ok_or(PlanRefusal::Refused(Failure::LimitExceeded))
}

/// Counts a grant that a member makes alone, as [`count_amount`] does; `None` if another person must approve it: the asset has
/// no limit for that, or what the member grants alone in the day would be above it. A limit by request alone would be evaded
/// by splitting. `seen` is the member's item.
///
/// # Errors
/// As [`count_amount`].
pub fn grant_alone(
    tenant: &Tenant,
    (by, seen): (&StaffMember, &Item),
    terms: &TenantTerms,
    amount: &Amount,
    cx: &Context,
) -> Result<Option<TransactItem>, PlanRefusal> {
    let what = StaffAmount::Grant;
    if !by.may(what.permission()) {
        return Err(PlanRefusal::Denied(what.permission()));
    }
    let Some(alone) = terms.grant_limits.0.get(amount.asset()) else { return Ok(None) };
    let (none, holders) = (LimitTerms::none(), what.holders(by));
    let limits = (terms.limits.as_ref().unwrap_or(&none), holders.as_slice());
    let counted = (what.kind(), amount);
    let used = used_by_member(seen, counted, cx.now)?;
    match count_alone(limits, acting(tenant, by), counted, (alone, &used), cx.now)? {
        Alone::Counted(item) => Ok(Some(*item)),
        Alone::NeedsApproval => Ok(None),
        Alone::Exceeded => Err(PlanRefusal::Refused(Failure::LimitExceeded)),
    }
}
