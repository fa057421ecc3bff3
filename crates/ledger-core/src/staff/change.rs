//! Changing a staff member: roles, disabling, enabling, accepting an invitation.

use super::declared::{self, BeneficiaryKind, BeneficiaryKinds};
use super::record::role_list;
use super::record::{ACCEPTED_AT, BENEFICIARY_OF, MemberState, ROLES, STATE, StaffMember, VERSION};
use super::role::StaffRole;
use super::{counts, person};
use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::finding;
use crate::ids::{Employer, ShopId, Tenant};
use crate::keys::{self, Key, attr};
use crate::operation::Operation;
use crate::permission::{Permission, Staff};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::shops;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem, exists};
use std::collections::BTreeSet;

/// A change of a member. `None` keeps a value.
#[derive(Clone, Copy, Debug)]
pub struct StaffChange<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The member's record, as read.
    pub member: &'a StaffMember,
    /// The new roles.
    pub roles: Option<&'a BTreeSet<StaffRole>>,
    /// All accounts that are declared from then on. Only an owner changes them, and not the own record's.
    pub beneficiary_of: Option<&'a BeneficiaryKinds>,
    /// The shop whose payments alone the member may see and change; `Some(None)`: those of all shops.
    pub shop: Option<Option<ShopId>>,
    /// Whether the member may act: `Active` or `Disabled`.
    pub state: Option<MemberState>,
    /// The reason.
    pub reason: Option<&'a FreeText>,
}

impl StaffChange<'_> {
    /// Whether the member gets a role that decides on requests or moves money, may use one again, or may use it for other
    /// accounts; or whether a declared account is taken from the record, or binds the member less.
    #[must_use]
    pub fn gives_power(&self) -> bool {
        if self.beneficiary_of.is_some_and(|all| declared::is_weakened(&self.member.beneficiary_of, all)) {
            return true;
        }
        let roles = self.roles.unwrap_or(&self.member.roles);
        let is_enabled = self.state == Some(MemberState::Active) && self.member.state != MemberState::Active;
        let has_others = self.beneficiary_of.is_some_and(|all| *all != declared::kinds_of(&self.member.beneficiary_of));
        let gives = |role: &&StaffRole| is_enabled || has_others || !self.member.roles.contains(role);
        roles.iter().filter(|role| role.decides_or_pays()).any(|role| gives(&role))
    }
}

/// Changes a member's record. `by` is the acting person's record, as read: it must be unchanged when the change is
/// written. Fails with `WrongState` if too few owners or deciders would remain.
///
/// # Errors
/// [`PlanRefusal::Denied`] if `by` may not make the change, `FourEyes` if members give themselves a role or enable
/// themselves, `WrongState` if the state does not allow it.
pub fn plan_change(
    command: StaffChange<'_>,
    by: &StaffMember,
    cx: &Context,
) -> Result<Planned<StaffMember>, PlanRefusal> {
    let StaffChange { tenant, member, roles, beneficiary_of, shop, state, reason } = command;
    let new_roles = roles.unwrap_or(&member.roles);
    permitted(by, member.roles.union(new_roles))?;
    let is_own = by.id == member.id;
    if is_own && new_roles.difference(&member.roles).next().is_some() {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    let before = declared::kinds_of(&member.beneficiary_of);
    let accounts = beneficiary_of.unwrap_or(&before);
    let are_other = *accounts != before;
    if are_other {
        own_accounts_permitted(by, accounts)?;
        if is_own {
            return Err(PlanRefusal::Refused(Failure::FourEyes));
        }
    }
    let shop = shop.unwrap_or(member.shop);
    shop_permitted(by, new_roles, shop)?;
    let is_other_shop = shop != member.shop;
    if is_own && is_other_shop {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    let after = StaffMember {
        roles: new_roles.clone(),
        beneficiary_of: declared::declare(&member.beneficiary_of, accounts, by.id, cx.now),
        shop,
        state: next_state(member, state)?,
        version: member.version.saturating_add(1),
        updated_at: cx.now,
        ..member.clone()
    };
    let act = Act::new(by.actor(), Operation::StaffChange, member.employer.subject(member.id))
        .because(reason)
        .with("roles_before", member.role_names())
        .with("roles", after.role_names())
        .with("state_before", member.state.name())
        .with("state", after.state.name());
    let act = if are_other { act.with(BENEFICIARY_OF, declared::kinds_text(accounts)) } else { act };
    let act = if is_other_shop { act.with(attr::SHOP, shop_name(shop)) } else { act };
    let mut items = vec![replacing(tenant, member, &after)];
    items.extend(shops::assigning(tenant, member.employer, (member.shop, shop), cx.now));
    items.extend(counts::counting(tenant, member, &after, cx.now));
    if !is_own {
        items.push(acting(tenant, by));
    }
    items.push(act.record(tenant, cx));
    Ok(Planned { draft: Draft { entry: None, items }, receipt: after })
}

/// Whether an address is the one of a member's record.
#[must_use]
pub fn is_address_of(email: &str, member: &StaffMember) -> bool {
    finding::address(email) == finding::address(member.email.expose())
}

/// Accepts a member's own invitation: from then on the member may act. `person` is the key of the item that keeps the address
/// to the member.
///
/// # Errors
/// `WrongState` if the member is not invited.
pub fn plan_accept(
    tenant: &Tenant,
    (member, person): (&StaffMember, Key),
    cx: &Context,
) -> Result<Planned<StaffMember>, PlanRefusal> {
    match member.state {
        MemberState::Invited => {}
        MemberState::Active | MemberState::Disabled => return Err(PlanRefusal::Refused(Failure::WrongState)),
    }
    let after = StaffMember {
        state: MemberState::Active,
        accepted_at: Some(cx.now),
        version: member.version.saturating_add(1),
        updated_at: cx.now,
        ..member.clone()
    };
    let act = Act::new(member.actor(), Operation::StaffAccept, member.employer.subject(member.id))
        .with("roles", member.role_names());
    let mut items = vec![replacing(tenant, member, &after), person::accepted(person, member.id, cx.now)];
    items.extend(counts::counting(tenant, member, &after, cx.now));
    items.push(act.record(tenant, cx));
    Ok(Planned { draft: Draft { entry: None, items }, receipt: after })
}

/// Strikes out an invitation in a merchant's staff. `by` is the record of the acting member of the operator's staff, as read: it
/// must be unchanged when the change is written. The person may accept nothing, and can be invited again as one that an owner
/// of the merchant struck out can.
///
/// # Errors
/// [`PlanRefusal::Denied`] if `by` may not set a merchant's owner, or the record is none of a merchant's staff; `WrongState`
/// unless the person is invited and has not accepted.
pub fn plan_strike(
    tenant: &Tenant,
    member: &StaffMember,
    (by, reason): (&StaffMember, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<StaffMember>, PlanRefusal> {
    let needed = Permission::MerchantsOwner;
    let merchant = match member.employer {
        Employer::Merchant(merchant) if by.may(needed) => merchant,
        Employer::Merchant(_) | Employer::Operator => return Err(PlanRefusal::Denied(needed)),
    };
    // INVARIANT: the operator takes no access from a person who has it, so no merchant is locked out.
    match member.state {
        MemberState::Invited => {}
        MemberState::Active | MemberState::Disabled => return Err(PlanRefusal::Refused(Failure::WrongState)),
    }
    let after = StaffMember {
        state: MemberState::Disabled,
        version: member.version.saturating_add(1),
        updated_at: cx.now,
        ..member.clone()
    };
    let act = Act::new(by.actor(), Operation::StaffStrike, member.employer.subject(member.id))
        .because(reason)
        .with("merchant_id", merchant)
        .with("roles", member.role_names())
        .with("state_before", member.state.name())
        .with("state", after.state.name());
    let items = vec![replacing(tenant, member, &after), acting(tenant, by), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: after })
}

/// Checks that `by` manages staff and may give and take these roles.
pub(super) fn permitted<'a>(
    by: &StaffMember,
    roles: impl Iterator<Item = &'a StaffRole> + Clone,
) -> Result<(), PlanRefusal> {
    let manages = match by.staff() {
        Staff::Operator => Permission::StaffManage,
        Staff::Merchant => Permission::ShopStaffManage,
    };
    if roles.clone().next().is_none() || roles.clone().any(|role| role.staff() != by.staff()) {
        return Err(PlanRefusal::Invalid { field: "roles", why: "must be at least one role of this staff" });
    }
    let needs_owner = roles.clone().any(|role| role.decides_or_pays());
    if by.may(manages) && (by.is_owner() || !needs_owner) { Ok(()) } else { Err(PlanRefusal::Denied(manages)) }
}

/// Declares one account of the acting member, or that it binds the member more. It needs no other person.
///
/// # Errors
/// `FourEyes` if the account is declared and would bind the member less; `WrongState` for a member who may do nothing.
pub fn plan_declare(
    tenant: &Tenant,
    member: &StaffMember,
    (account, kind): (Account, BeneficiaryKind),
    cx: &Context,
) -> Result<Planned<StaffMember>, PlanRefusal> {
    match member.state {
        MemberState::Active => {}
        MemberState::Invited | MemberState::Disabled => return Err(PlanRefusal::Refused(Failure::WrongState)),
    }
    let mut all = declared::kinds_of(&member.beneficiary_of);
    all.insert(account, kind);
    can_be_declared(member, &all)?;
    if declared::is_weakened(&member.beneficiary_of, &all) {
        return Err(PlanRefusal::Refused(Failure::FourEyes));
    }
    let after = StaffMember {
        beneficiary_of: declared::declare(&member.beneficiary_of, &all, member.id, cx.now),
        version: member.version.saturating_add(1),
        updated_at: cx.now,
        ..member.clone()
    };
    let act = Act::new(member.actor(), Operation::StaffChange, member.employer.subject(member.id))
        .with(BENEFICIARY_OF, declared::kinds_text(&all));
    let items = vec![replacing(tenant, member, &after), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: after })
}

/// Checks that accounts can be declared on a record: that of a member of the operator's staff, and not too many.
fn can_be_declared(member: &StaffMember, accounts: &BeneficiaryKinds) -> Result<(), PlanRefusal> {
    let invalid = |why| Err(PlanRefusal::Invalid { field: BENEFICIARY_OF, why });
    if accounts.len() > declared::ACCOUNTS_MAX || !accounts.keys().all(declared::can_be_declared) {
        return invalid("must be at most 20 accounts of customers, cards and merchants");
    }
    match member.staff() {
        Staff::Merchant => invalid("is of the operator's staff only"),
        Staff::Operator => Ok(()),
    }
}

/// Checks that `by` may declare accounts on another member's record: an owner of the operator's staff.
pub(super) fn own_accounts_permitted(by: &StaffMember, accounts: &BeneficiaryKinds) -> Result<(), PlanRefusal> {
    can_be_declared(by, accounts)?;
    if by.is_owner() { Ok(()) } else { Err(PlanRefusal::Denied(Permission::StaffManage)) }
}

/// Checks that a member with these roles may have this shop: a member of a merchant's staff, and not an owner, who manages
/// all of it. Members of one shop manage no staff.
pub(super) fn shop_permitted(
    by: &StaffMember,
    roles: &BTreeSet<StaffRole>,
    shop: Option<ShopId>,
) -> Result<(), PlanRefusal> {
    if by.shop.is_some() {
        return Err(PlanRefusal::Denied(Permission::ShopStaffManage));
    }
    if shop.is_none() {
        return Ok(());
    }
    let invalid = |why| Err(PlanRefusal::Invalid { field: "shop", why });
    match by.staff() {
        Staff::Operator => invalid("is of a merchant's staff only"),
        Staff::Merchant if roles.contains(&StaffRole::owner(Staff::Merchant)) => invalid("an owner has no shop"),
        Staff::Merchant => Ok(()),
    }
}

/// A member's shop, for the audit trail.
fn shop_name(shop: Option<ShopId>) -> String {
    shop.map_or_else(|| "all".to_owned(), |shop| shop.to_string())
}

/// Requires that the acting person's record is as it was read: a person who was demoted or disabled since changes
/// nothing.
pub(crate) fn acting(tenant: &Tenant, by: &StaffMember) -> TransactItem {
    TransactItem::check(Role::Staff, keys::staff_member(tenant, by.employer, by.id), vec![exists(), as_read(by)])
}

fn as_read(member: &StaffMember) -> Clause {
    let seen = Condition::compare(VERSION, Cmp::Eq, "seen", Value::int(member.version));
    Clause { condition: seen, failure: Failure::StalePlan }
}

fn next_state(member: &StaffMember, to: Option<MemberState>) -> Result<MemberState, PlanRefusal> {
    match (member.state, to) {
        (state, None) => Ok(state),
        (_, Some(MemberState::Disabled)) => Ok(MemberState::Disabled),
        // An invited member accepts; another person cannot do it for them.
        (MemberState::Invited, Some(MemberState::Active)) | (_, Some(MemberState::Invited)) => {
            Err(PlanRefusal::Refused(Failure::WrongState))
        }
        (MemberState::Active, Some(MemberState::Active)) => Ok(MemberState::Active),
        // An invitation that was struck out before it was accepted is one again.
        (MemberState::Disabled, Some(MemberState::Active)) => {
            Ok(if member.accepted_at.is_some() { MemberState::Active } else { MemberState::Invited })
        }
    }
}

fn replacing(tenant: &Tenant, before: &StaffMember, after: &StaffMember) -> TransactItem {
    let update = Update::new()
        .set(ROLES, "roles", role_list(&after.roles))
        .set(STATE, "state", Value::s(after.state.name()))
        .set(VERSION, "version", Value::int(after.version))
        .set(attr::UPDATED_AT, "ua", Value::s(after.updated_at));
    let update = match after.accepted_at.filter(|_| before.accepted_at.is_none()) {
        Some(at) => update.set(ACCEPTED_AT, ACCEPTED_AT, Value::s(at)),
        None => update,
    };
    let update = match (before.beneficiary_of == after.beneficiary_of, after.beneficiary_of.is_empty()) {
        (true, _) => update,
        (false, true) => update.remove(BENEFICIARY_OF),
        (false, false) => update.set(BENEFICIARY_OF, BENEFICIARY_OF, declared::declared_value(&after.beneficiary_of)),
    };
    let update = match (before.shop == after.shop, after.shop) {
        (true, _) => update,
        (false, None) => update.remove(attr::SHOP),
        (false, Some(shop)) => update.set(attr::SHOP, attr::SHOP, Value::s(shop)),
    };
    let key = keys::staff_member(tenant, before.employer, before.id);
    TransactItem::update(Role::Staff, key, update, vec![exists(), as_read(before)])
}
