//! The first owners of a tenant.

use super::counts;
use super::record::{MemberState, StaffMember};
use super::role::StaffRole;
use crate::audit::Act;
use crate::finding;
use crate::idempotency::MarkerKeys;
use crate::ids::{Actor, Employer, StaffId, Tenant};
use crate::operation::Operation;
use crate::permission::Staff;
use crate::personal::FreeText;
use crate::plan::Context;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Transaction};
use std::collections::BTreeSet;

/// A person who is an owner from the tenant's beginning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Founder {
    /// The person.
    pub id: StaffId,
    /// The person's verified e-mail address.
    pub email: FreeText,
}

/// The first owners of a tenant: at least two persons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Founders(Vec<Founder>);

/// Too few persons, or one of them twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a tenant needs two owners: two ids and two e-mail addresses that differ")]
pub struct FoundersError;

impl Founders {
    /// The most owners of a tenant's opening transaction.
    const MAX: usize = 20;

    /// Accepts two persons or more.
    ///
    /// # Errors
    /// [`FoundersError`] for fewer, for more than 20, or if two have one id or address.
    pub fn new(founders: Vec<Founder>) -> Result<Self, FoundersError> {
        let ids: BTreeSet<StaffId> = founders.iter().map(|founder| founder.id).collect();
        let addresses = founders.iter().map(|founder| finding::address(founder.email.expose()));
        let emails: BTreeSet<String> = addresses.collect();
        let distinct = ids.len() == founders.len() && emails.len() == founders.len();
        if distinct && (2..=Self::MAX).contains(&founders.len()) { Ok(Self(founders)) } else { Err(FoundersError) }
    }
}

impl Founders {
    /// The persons.
    #[must_use]
    pub fn all(&self) -> &[Founder] {
        &self.0
    }

    /// Their ids, joined by `+`, for the audit trail.
    pub(super) fn ids(&self) -> String {
        self.0.iter().map(|founder| founder.id.to_string()).collect::<Vec<_>>().join("+")
    }

    /// Their records as active owners of the operator's staff.
    pub(super) fn members(&self, now: Timestamp) -> Vec<StaffMember> {
        let roles = BTreeSet::from([StaffRole::owner(Staff::Operator)]);
        let member = |founder: &Founder| {
            let whose = (Employer::Operator, founder.id);
            StaffMember::new(whose, &founder.email, roles.clone(), MemberState::Active, now)
        };
        self.0.iter().map(member).collect()
    }
}

/// Adds the first owners' records to the transaction that opens a tenant.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn with_founders(
    opening: Transaction,
    tenant: &Tenant,
    (founders, keys): (&Founders, &MarkerKeys),
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let members = founders.members(cx.now);
    let act = Act::new(Actor::System, Operation::TenantConfigure, "tenant").with("owners", founders.ids());
    let mut transaction = opening.and(counts::first(tenant, Employer::Operator, &members, cx.now))?;
    for item in members.iter().flat_map(|member| member.puts(tenant, keys)) {
        transaction = transaction.and(item)?;
    }
    transaction.and(act.record(tenant, cx))
}
