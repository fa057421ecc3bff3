//! Inviting a staff member, and setting the first owner of a merchant.

use super::change::{acting, own_accounts_permitted, permitted, shop_permitted};
use super::counts;
use super::declared::{self, BeneficiaryKinds, DeclaredTies};
use super::record::{BENEFICIARY_OF, MemberState, StaffMember};
use super::role::StaffRole;
use crate::audit::Act;
use crate::idempotency::MarkerKeys;
use crate::ids::{Employer, MerchantId, ShopId, StaffId, Tenant};
use crate::keys::{Partition, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::shops;
use crate::transaction::{Draft, Planned, Role, TransactItem, exists};
use std::collections::BTreeSet;

/// An invitation of a person to the staff of `by`'s employer.
#[derive(Clone, Copy, Debug)]
pub struct Invitation<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The record of the member who invites, as read.
    pub by: &'a StaffMember,
    /// The person.
    pub id: StaffId,
    /// The person's verified e-mail address.
    pub email: &'a FreeText,
    /// The roles.
    pub roles: &'a BTreeSet<StaffRole>,
    /// The accounts that are the person's own, or of the person's family or business.
    pub beneficiary_of: &'a BeneficiaryKinds,
    /// The shop whose payments alone the person may see and change; `None`: those of all shops.
    pub shop: Option<ShopId>,
    /// The keys of what persons are found by.
    pub keys: &'a MarkerKeys,
}

/// The first owner of a merchant, set by the operator.
#[derive(Clone, Copy, Debug)]
pub struct FirstOwner<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The record of the member of the operator's staff who sets it, as read.
    pub by: &'a StaffMember,
    /// The merchant.
    pub merchant: MerchantId,
    /// The person.
    pub id: StaffId,
    /// The person's verified e-mail address.
    pub email: &'a FreeText,
    /// The keys of what persons are found by.
    pub keys: &'a MarkerKeys,
}

/// Writes the record of a person who may act once they accept. Fails with `AlreadyExists` if the person has a record.
///
/// # Errors
/// [`PlanRefusal::Denied`] if `by` may not give these roles, [`PlanRefusal::Invalid`] for roles of other staff.
pub fn plan_invite(command: Invitation<'_>, cx: &Context) -> Result<Planned<StaffMember>, PlanRefusal> {
    let Invitation { tenant, by, id, email, roles, beneficiary_of, shop, keys } = command;
    permitted(by, roles.iter())?;
    shop_permitted(by, roles, shop)?;
    let mut member = StaffMember::new((by.employer, id), email, roles.clone(), MemberState::Invited, cx.now);
    let mut act =
        Act::new(by.actor(), Operation::StaffInvite, by.employer.subject(id)).with("roles", member.role_names());
    if !beneficiary_of.is_empty() {
        own_accounts_permitted(by, beneficiary_of)?;
        member.beneficiary_of = declared::declare(&DeclaredTies::new(), beneficiary_of, by.id, cx.now);
        act = act.with(BENEFICIARY_OF, declared::kinds_text(beneficiary_of));
    }
    member.shop = shop;
    if let Some(shop) = shop {
        act = act.with(attr::SHOP, shop);
    }
    let mut items = member.puts(tenant, keys);
    items.extend(shops::assigning(tenant, by.employer, (None, shop), cx.now));
    items.push(acting(tenant, by));
    items.push(act.record(tenant, cx));
    Ok(Planned { draft: Draft { entry: None, items }, receipt: member })
}

/// Writes the record of a merchant's first owner, who may act at once. Fails with `AlreadyExists` if the merchant has
/// an owner or the person a record, and with `AccountMissing` if there is no such merchant.
#[must_use]
pub fn plan_first_owner(command: FirstOwner<'_>, cx: &Context) -> Planned<StaffMember> {
    let FirstOwner { tenant, by, merchant, id, email, keys } = command;
    let employer = Employer::Merchant(merchant);
    let roles = BTreeSet::from([StaffRole::owner(employer.staff())]);
    let member = StaffMember::new((employer, id), email, roles, MemberState::Active, cx.now);
    let act = Act::new(by.actor(), Operation::MerchantOwner, employer.subject(id)).with("merchant_id", merchant);
    let mut items = vec![
        TransactItem::check(Role::Profile, Partition::merchant(tenant, merchant).profile(), vec![exists()]),
        counts::first(tenant, employer, [&member], cx.now),
    ];
    items.extend(member.puts(tenant, keys));
    items.push(acting(tenant, by));
    items.push(act.record(tenant, cx));
    Planned { draft: Draft { entry: None, items }, receipt: member }
}
