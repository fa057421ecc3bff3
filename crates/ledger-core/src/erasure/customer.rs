//! Removes what says who a customer is, and starts the job that erases the texts.

use super::job;
use crate::account::Account;
use crate::audit::Act;
use crate::customer_state::{ERASED_AT, ERASURE, STATUS, is_closed_wallet, is_erased, not_erased};
use crate::customers::sign_in::{self, CurrentSignIn};
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::finding;
use crate::forms;
use crate::idempotency::MarkerKeys;
use crate::ids::{Actor, CustomerId, JobId, StaffId, Tenant};
use crate::keys::{Lookup, Partition, attr};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::{Clause, Draft, Role, TransactItem, exists};

/// The erasure of a customer.
#[derive(Clone, Copy, Debug)]
pub struct CustomerErase<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who requested it.
    pub staff: StaffId,
    /// The customer.
    pub customer: CustomerId,
}

/// Builds the erasure's transaction: the profile, the items that the customer is found by, the sign-in, the job, and the audit
/// record, which has ids alone. The items to be found by are all written, without keys, so that no change of the profile that was
/// made meanwhile leaves one.
///
/// # Errors
/// `AccountMissing` without the customer; `WrongState` if the wallet is open, or the customer is erased.
pub fn plan(
    command: &CustomerErase<'_>,
    profile: Option<&Item>,
    terms: &TenantTerms,
    keys: &MarkerKeys,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let CustomerErase { tenant, staff, customer } = *command;
    let profile = profile.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
    if !is_closed_wallet(profile) || is_erased(profile) {
        return Err(PlanRefusal::Refused(Failure::WrongState));
    }
    let subject = CurrentSignIn::read(profile, customer)?.subject;
    let id = JobId::new(cx.resource_id);
    let update = Lookup::OF_CUSTOMER.into_iter().fold(Update::new(), |update, lookup| update.remove(lookup.name()));
    let update = update.set(ERASED_AT, "ua", Value::s(cx.now)).set(ERASURE, "erasure", Value::s(id));
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let closed = Condition::compare(STATUS, Cmp::Eq, "closed", Value::s(crate::customer_state::CLOSED));
    let wrong = |condition| Clause { condition, failure: Failure::WrongState };
    let guards =
        vec![exists(), wrong(closed), wrong(not_erased()), forms::signs_in_with(customer, subject, Failure::StalePlan)];
    let key = Partition::customer(tenant, customer).profile();
    let mut items = vec![TransactItem::update(Role::Profile, key, update, guards)];
    let found_by = |lookup| finding::write_customer(tenant, customer, (lookup, None), keys);
    items.extend(Lookup::OF_CUSTOMER.map(found_by));
    items.push(sign_in::ended(tenant, customer, subject, cx.now));
    items.extend(sign_in::subjects_are_read(tenant, terms, cx.now));
    items.push(job::start(tenant, id, (staff, customer), cx.now));
    let act = Act::new(Actor::Staff(staff), Operation::CustomerErase, Account::Customer(customer));
    items.push(act.with("erasure_id", id).record(tenant, cx));
    Ok(Draft { entry: None, items })
}
