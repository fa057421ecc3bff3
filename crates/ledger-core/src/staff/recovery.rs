//! Recovery of a tenant whose owners are lost: a command at a shell names two persons, and makes them owners once a delay
//! has passed in which an owner who is not lost can cancel it.

use super::change::acting;
use super::counts;
use super::founding::{Founder, Founders};
use super::record::StaffMember;
use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::idempotency::MarkerKeys;
use crate::ids::{Actor, Employer, StaffId, Tenant};
use crate::keys::{self, attr};
use crate::operation::Operation;
use crate::permission::Permission;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction, exists};
use crate::words::words;
use std::time::Duration;

/// How long a recovery waits before it can be finished.
pub const RECOVERY_DELAY: Duration = Duration::from_secs(72 * 60 * 60);

const STATE: &str = "state";
const READY_AT: &str = "ready_at";
const OWNERS: &str = "owners";

words! {
    /// The states of a recovery.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RecoveryState {
        /// It was requested.
        Pending = "pending",
        /// The persons are owners.
        Done = "done",
        /// An owner cancelled it.
        Cancelled = "cancelled",
    }
}

/// The last recovery of a tenant's owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The persons who become owners.
    pub owners: Founders,
    /// The state.
    pub state: RecoveryState,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When it can be finished.
    pub ready_at: Timestamp,
}

impl Recovery {
    /// Reads the stored recovery.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let founder = |owner: &Item| {
            Ok(Founder {
                id: owner.parsed("staff_id", StaffId::parse)?,
                email: owner.parsed("email", FreeText::email)?,
            })
        };
        let owners = item.maps(OWNERS, founder)?;
        Ok(Self {
            owners: Founders::new(owners).map_err(|_| ItemError::invalid(OWNERS))?,
            state: item.named(STATE, RecoveryState::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            ready_at: item.timestamp(READY_AT)?,
        })
    }

    fn item(&self) -> Item {
        let owner = |owner: &Founder| {
            Value::M(Item::from([
                ("staff_id".to_owned(), Value::s(owner.id)),
                ("email".to_owned(), Value::s(owner.email.expose())),
            ]))
        };
        Item::from([
            (OWNERS.to_owned(), Value::L(self.owners.all().iter().map(owner).collect())),
            (STATE.to_owned(), Value::s(self.state.name())),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (READY_AT.to_owned(), Value::s(self.ready_at)),
        ])
    }

    fn act<'a>(&self, actor: Actor) -> Act<'a> {
        Act::new(actor, Operation::OwnerRecovery, "tenant")
            .with(OWNERS, self.owners.ids())
            .with(READY_AT, self.ready_at)
    }
}

/// Whether a stored act is one of a recovery: an alarm rings for it.
#[must_use]
pub fn is_act_of_recovery(act: &Item) -> bool {
    act.opt_text("action").ok().flatten() == Some(Operation::OwnerRecovery.name())
}

/// Requests a recovery. Fails with `AlreadyExists` if one is pending.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn request_recovery(
    tenant: &Tenant,
    owners: &Founders,
    cx: &Context,
) -> Result<(Recovery, Transaction), BuildError> {
    let recovery = Recovery {
        owners: owners.clone(),
        state: RecoveryState::Pending,
        created_at: cx.now,
        ready_at: cx.now.plus(RECOVERY_DELAY),
    };
    let not_pending = Condition::is_not(STATE, "pending", Value::s(RecoveryState::Pending.name()));
    let free = Clause { condition: Condition::absent(STATE).or(not_pending), failure: Failure::AlreadyExists };
    let transaction = Transaction::unkeyed(vec![
        TransactItem::check(Role::Config, keys::config(tenant), vec![exists()]),
        TransactItem::put(Role::Recovery, keys::owner_recovery(tenant), recovery.item(), vec![free]),
        recovery.act(Actor::System).with(STATE, recovery.state.name()).record(tenant, cx),
    ])?;
    Ok((recovery, transaction))
}

/// Makes the persons of a recovery owners. Fails with `WrongState` before its time, or if it was cancelled or finished;
/// with `AlreadyExists` if one of them has a record.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn finish_recovery(
    tenant: &Tenant,
    (recovery, keys): (&Recovery, &MarkerKeys),
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let members = recovery.owners.members(cx.now);
    let in_time = Condition::compare(READY_AT, Cmp::Le, "now", Value::s(cx.now));
    let mut items = vec![
        ended(tenant, recovery, RecoveryState::Done, cx)
            .guarded_also(vec![Clause { condition: in_time, failure: Failure::WrongState }]),
    ];
    items.extend(members.iter().flat_map(|member| member.puts(tenant, keys)));
    items.extend(counts::joining(tenant, Employer::Operator, &members, cx.now));
    items.push(recovery.act(Actor::System).with(STATE, RecoveryState::Done.name()).record(tenant, cx));
    Transaction::unkeyed(items)
}

/// Cancels a pending recovery, as an owner.
///
/// # Errors
/// [`PlanRefusal::Denied`] for another person, `WrongState` if it is not pending.
pub fn plan_cancel_recovery(
    tenant: &Tenant,
    recovery: &Recovery,
    by: &StaffMember,
    cx: &Context,
) -> Result<Planned<Recovery>, PlanRefusal> {
    if !by.is_owner() {
        return Err(PlanRefusal::Denied(Permission::StaffManage));
    }
    let after = Recovery { state: RecoveryState::Cancelled, ..recovery.clone() };
    let items = vec![
        ended(tenant, recovery, after.state, cx),
        acting(tenant, by),
        recovery.act(by.actor()).with(STATE, after.state.name()).record(tenant, cx),
    ];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: after })
}

/// Ends a recovery that is pending, and is the one that was read.
fn ended(tenant: &Tenant, recovery: &Recovery, state: RecoveryState, cx: &Context) -> TransactItem {
    let pending = Value::s(RecoveryState::Pending.name());
    let clause = |condition, failure| Clause { condition, failure };
    TransactItem::update(
        Role::Recovery,
        keys::owner_recovery(tenant),
        Update::new().set(STATE, "state", Value::s(state.name())).set(attr::UPDATED_AT, "ua", Value::s(cx.now)),
        vec![
            exists(),
            clause(Condition::compare(READY_AT, Cmp::Eq, "seen", Value::s(recovery.ready_at)), Failure::StalePlan),
            clause(Condition::compare(STATE, Cmp::Eq, "pending", pending), Failure::WrongState),
        ],
    )
}
