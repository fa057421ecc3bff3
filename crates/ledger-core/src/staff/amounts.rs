//! Limits of what a staff member refunds and grants: by role, per request, and per day and month in Japan.

use super::change::acting;
use super::record::StaffMember;
use super::role::{AdminRole, MerchantRole, StaffRole};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::limits::{Holder, LimitKind, LimitTerms, count_of_member};
use crate::money::Amount;
use crate::permission::Permission;
use crate::plan::{Context, PlanRefusal};
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
    let has = what.roles().iter().filter(|(role, _)| by.roles.contains(role));
    let holders: Vec<Holder> = has.map(|(_, holder)| *holder).collect();
    let counted = count_of_member(terms, &holders, acting(tenant, by), (what.kind(), amount), cx.now)?;
    counted.ok_or(PlanRefusal::Refused(Failure::LimitExceeded))
}
