//! The stored form of a staff member.

use super::declared::{DeclaredTies, declared_value, read_declared};
use super::person;
use super::role::StaffRole;
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::idempotency::MarkerKeys;
use crate::ids::{Actor, CustomerId, Employer, ShopId, StaffId, Tenant};
use crate::keys::{self, attr};
use crate::permission::{Permission, Staff};
use crate::personal::FreeText;
use crate::time::Timestamp;
use crate::transaction::{Role, TransactItem};
use crate::words::words;
use std::collections::BTreeSet;

/// The attribute of a record, and of the item that keeps its address to the member, with the time from which the person is a
/// member; absent until an invitation is accepted.
pub(super) const ACCEPTED_AT: &str = "accepted_at";
/// The attribute that counts the changes of a record.
pub(super) const VERSION: &str = "version";
/// The attribute that names the state.
pub(super) const STATE: &str = "state";
/// The attribute that lists the roles.
pub(super) const ROLES: &str = "roles";
/// The attribute with the accounts that are declared as the person's own, or of the person's family or business.
pub(super) const BENEFICIARY_OF: &str = "beneficiary_of";

words! {
    /// The states of a staff member.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MemberState {
        /// Invited, and has not accepted: may do nothing.
        Invited = "invited",
        /// May do what the roles permit.
        Active = "active",
        /// May do nothing.
        Disabled = "disabled",
    }
}

/// A staff member's record, in the partition of the tenant or of the merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaffMember {
    /// Whose staff.
    pub employer: Employer,
    /// The person: the subject of the person's tokens.
    pub id: StaffId,
    /// The person's verified e-mail address.
    pub email: FreeText,
    /// The roles.
    pub roles: BTreeSet<StaffRole>,
    /// The accounts that are declared as the person's own, or of the person's family or business. What the person signs in to, and
    /// the merchant whose staff the person belongs to, are the person's without being declared.
    pub beneficiary_of: DeclaredTies,
    /// The shop whose payments alone the member may see and change; `None`: those of all shops.
    pub shop: Option<ShopId>,
    /// Whether the member may act.
    pub state: MemberState,
    /// When the person became a member: of one who was invited, when the invitation was accepted. `None` until then.
    pub accepted_at: Option<Timestamp>,
    /// The number of the record's changes, from 1.
    pub version: i64,
    /// When the record was made.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

impl StaffMember {
    /// A record that is to be made.
    pub(super) fn new(
        (employer, id): (Employer, StaffId),
        email: &FreeText,
        roles: BTreeSet<StaffRole>,
        state: MemberState,
        now: Timestamp,
    ) -> Self {
        Self {
            employer,
            id,
            email: email.clone(),
            roles,
            beneficiary_of: DeclaredTies::new(),
            shop: None,
            state,
            accepted_at: match state {
                MemberState::Invited => None,
                MemberState::Active | MemberState::Disabled => Some(now),
            },
            version: 1,
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether the member is active and has a role with this permission.
    #[must_use]
    pub fn may(&self, permission: Permission) -> bool {
        match self.state {
            MemberState::Active => self.roles.iter().any(|role| role.has(permission)),
            MemberState::Invited | MemberState::Disabled => false,
        }
    }

    /// Whether the member is an active owner.
    #[must_use]
    pub fn is_owner(&self) -> bool {
        self.state == MemberState::Active && self.roles.contains(&StaffRole::owner(self.staff()))
    }

    /// Whether the account is declared, or the customer's with the person's id.
    #[must_use]
    pub fn is_beneficiary_of(&self, account: Account) -> bool {
        account == Account::Customer(CustomerId::new(self.id.uuid())) || self.beneficiary_of.contains_key(&account)
    }

    /// The kind of staff.
    #[must_use]
    pub fn staff(&self) -> Staff {
        self.employer.staff()
    }

    /// The member as an actor.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.employer.actor(self.id)
    }

    /// The roles' names, joined by `+`, for the audit trail.
    pub(super) fn role_names(&self) -> String {
        self.roles.iter().map(|role| role.name()).collect::<Vec<_>>().join("+")
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(employer: Employer, item: &Item) -> Result<Self, ItemError> {
        let staff = employer.staff();
        let role = |name: &str| StaffRole::parse(staff, name).ok_or(());
        Ok(Self {
            employer,
            id: item.parsed("staff_id", StaffId::parse)?,
            email: item.parsed("email", FreeText::email)?,
            roles: item.texts(ROLES, role)?.into_iter().collect(),
            beneficiary_of: read_declared(item, BENEFICIARY_OF)?,
            shop: item.opt_parsed(attr::SHOP, ShopId::parse)?,
            state: item.named(STATE, MemberState::parse)?,
            accepted_at: item.opt_timestamp(ACCEPTED_AT)?,
            version: item.int(VERSION)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            updated_at: item.timestamp(attr::UPDATED_AT)?,
        })
    }

    /// The attributes of the item.
    #[must_use]
    pub fn item(&self) -> Item {
        let mut item = Item::from([
            ("staff_id".to_owned(), Value::s(self.id)),
            ("email".to_owned(), Value::s(self.email.expose())),
            (ROLES.to_owned(), role_list(&self.roles)),
            (STATE.to_owned(), Value::s(self.state.name())),
            (VERSION.to_owned(), Value::int(self.version)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.updated_at)),
        ]);
        if !self.beneficiary_of.is_empty() {
            item.insert(BENEFICIARY_OF.to_owned(), declared_value(&self.beneficiary_of));
        }
        item.extend(self.accepted_at.map(|at| (ACCEPTED_AT.to_owned(), Value::s(at))));
        if let Some(shop) = self.shop {
            item.insert(attr::SHOP.to_owned(), Value::s(shop));
        }
        item
    }

    /// Writes the record.
    fn put(&self, tenant: &Tenant) -> TransactItem {
        let key = keys::staff_member(tenant, self.employer, self.id);
        TransactItem::put_new(Role::Staff, key, self.item(), Failure::AlreadyExists)
    }

    /// Writes the record, and keeps the person from having a second one.
    pub(super) fn puts(&self, tenant: &Tenant, keys: &MarkerKeys) -> Vec<TransactItem> {
        [vec![self.put(tenant)], person::claim(tenant, self, keys)].concat()
    }
}

pub(super) fn role_list(roles: &BTreeSet<StaffRole>) -> Value {
    Value::L(roles.iter().map(|role| Value::s(role.name())).collect())
}
