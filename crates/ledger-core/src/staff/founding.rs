//! The staff of a tenant that is opened, and of one that was open before there were records.

use super::counts;
use super::record::{MemberState, StaffMember};
use super::role::StaffRole;
use crate::audit::Act;
use crate::dynamo::{Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Employer, StaffId, Tenant};
use crate::keys::{self, Partition, attr};
use crate::operation::Operation;
use crate::permission::Staff;
use crate::personal::FreeText;
use crate::plan::Context;
use crate::terms::StaffSource;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction, exists};
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
        let emails: BTreeSet<String> = founders.iter().map(|founder| founder.email.expose().to_lowercase()).collect();
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
    founders: &Founders,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let members = founders.members(cx.now);
    let act = Act::new(Actor::System, Operation::TenantConfigure, "tenant").with("owners", founders.ids());
    let mut transaction = opening.and(counts::first(tenant, Employer::Operator, &members, cx.now))?;
    for item in members.iter().flat_map(|member| member.puts(tenant)) {
        transaction = transaction.and(item)?;
    }
    transaction.and(act.record(tenant, cx))
}

/// Writes the record of an active member, for a tenant that was open before there were records. Fails with
/// `AlreadyExists` if the person has a record, and with `WrongState` once the records decide: owners invite from then on.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn add_member(
    tenant: &Tenant,
    employer: Employer,
    founder: &Founder,
    roles: &BTreeSet<StaffRole>,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let whose = (employer, founder.id);
    let member = StaffMember::new(whose, &founder.email, roles.clone(), MemberState::Active, cx.now);
    let act = Act::new(Actor::System, Operation::StaffInvite, employer.subject(founder.id))
        .with("roles", member.role_names())
        .with("state", member.state.name());
    let decide = Value::s(StaffSource::Records.name());
    let not_yet = Clause {
        condition: Condition::is_not(StaffSource::ATTRIBUTE, "records", decide),
        failure: Failure::WrongState,
    };
    let mut items = vec![TransactItem::check(Role::Config, keys::config(tenant), vec![exists(), not_yet])];
    items.extend(employed(tenant, employer));
    items.extend(member.puts(tenant));
    items.extend(counts::counting(tenant, None, &member, cx.now));
    items.push(act.record(tenant, cx));
    Transaction::unkeyed(items)
}

/// Lets the records decide what the staff may do, from then on and within a minute. Fails with `WrongState` unless two
/// active owners and two active members who can decide have records, and with `AlreadyExists` if records decide already.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn enforce_records(tenant: &Tenant, actor: Actor, cx: &Context) -> Result<Transaction, BuildError> {
    let update = Update::new().set(StaffSource::ATTRIBUTE, "staff", Value::s(StaffSource::Records.name())).set(
        attr::UPDATED_AT,
        "now",
        Value::s(cx.now),
    );
    let not_yet = Clause { condition: Condition::absent(StaffSource::ATTRIBUTE), failure: Failure::AlreadyExists };
    let act = Act::new(actor, Operation::TenantConfigure, "tenant").with("staff", StaffSource::Records.name());
    Transaction::unkeyed(vec![
        TransactItem::update(Role::Config, keys::config(tenant), update, vec![exists(), not_yet]),
        counts::enough(tenant),
        act.record(tenant, cx),
    ])
}

/// Requires that a merchant exists.
fn employed(tenant: &Tenant, employer: Employer) -> Option<TransactItem> {
    match employer {
        Employer::Operator => None,
        Employer::Merchant(id) => {
            Some(TransactItem::check(Role::Profile, Partition::merchant(tenant, id).profile(), vec![exists()]))
        }
    }
}
