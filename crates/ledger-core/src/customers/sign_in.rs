//! The operator moves a customer to another sign-in, for example after a phone was lost. The customer's id, which names the
//! wallet and the owner of idempotency keys, does not change.
//!
//! A subject that was a sign-in once is never one again, so a customer's present subject also says how often it was moved.

use crate::audit::Act;
use crate::customer_state::is_closed_wallet;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms::{self, SUBJECT};
use crate::ids::{Actor, CustomerId, SubjectId, Tenant};
use crate::keys::{self, Key, Partition, attr};
use crate::notices::{Contact, Notice, NoticeSubject};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{SignInTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Role, TransactItem, exists};

/// The attribute of a profile with the time of the last move.
const SINCE: &str = "sign_in_since";
/// The attribute of a subject's item with the time at which it ended.
const ENDED_AT: &str = "ended_at";
const CUSTOMER: &str = "customer_id";

/// Whose sign-in a subject is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignIn {
    /// It has no item: it is the sign-in of the customer with the same id, if there is one.
    Own,
    /// A customer was moved to it.
    Of(CustomerId),
    /// The customer that had it was moved to another one, or was erased.
    Ended(CustomerId),
}

/// A customer's move from one subject to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignInMove {
    /// The customer.
    pub customer: CustomerId,
    /// The subject from then on.
    pub subject: SubjectId,
    /// The subject before.
    pub seen: SubjectId,
}

/// The sign-in of a customer, for the operator's staff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurrentSignIn {
    /// The subject.
    pub subject: SubjectId,
    /// When the customer was moved to it; `None`: never moved.
    pub since: Option<Timestamp>,
}

impl SignIn {
    /// Reads the item of a subject.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: Option<&Item>) -> Result<Self, ItemError> {
        let Some(item) = item else { return Ok(Self::Own) };
        let customer = item.parsed(CUSTOMER, CustomerId::parse)?;
        Ok(if item.opt_timestamp(ENDED_AT)?.is_some() { Self::Ended(customer) } else { Self::Of(customer) })
    }
}

impl CurrentSignIn {
    /// Reads a customer's profile.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub fn read(profile: &Item, customer: CustomerId) -> Result<Self, ItemError> {
        let subject = profile.opt_parsed(SUBJECT, SubjectId::parse)?.unwrap_or_else(|| own_of(customer));
        Ok(Self { subject, since: profile.opt_timestamp(SINCE)? })
    }
}

impl SignInMove {
    /// The items that it is planned from: the customer's profile, the item of the subject, and the profile of the customer
    /// that would have the subject as id.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let profile = Partition::customer(tenant, self.customer).profile();
        vec![profile, keys::sign_in(tenant, self.subject), namesake(tenant, self.subject)]
    }
}

/// The subject of a customer that was never moved.
#[must_use]
pub const fn own_of(customer: CustomerId) -> SubjectId {
    SubjectId::new(customer.uuid())
}

/// Requires that a customer who is opened has an id that is no one's sign-in; `None` while the tenant has moved no customer.
pub(crate) fn not_taken(tenant: &Tenant, customer: CustomerId, terms: &TenantTerms) -> Option<TransactItem> {
    match terms.sign_ins {
        SignInTerms::OwnIds => None,
        SignInTerms::Moved => {
            let free = Clause { condition: Condition::absent(attr::PK), failure: Failure::AlreadyExists };
            Some(TransactItem::check(Role::Lookup, keys::sign_in(tenant, own_of(customer)), vec![free]))
        }
    }
}

/// Drafts the move: the subject's item, that of the subject before, the profile, the open payment code, the
/// audit record, and a notice to the customer's addresses.
/// `items` are those of [`SignInMove::keys`], as read, in their order.
///
/// # Errors
/// `AccountMissing` without the customer; `WrongState` if the wallet is closed; `AlreadyExists` if the subject is or was a sign-in, or is a customer's id.
pub fn plan(
    tenant: &Tenant,
    of: &SignInMove,
    items: &[Option<Item>],
    (actor, reason): (Actor, Option<&FreeText>),
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let refused = |failure| Err(PlanRefusal::Refused(failure));
    let [Some(profile), subject, namesake_profile] = items else { return refused(Failure::AccountMissing) };
    if subject.is_some() || namesake_profile.is_some() {
        return refused(Failure::AlreadyExists);
    }
    if is_closed_wallet(profile) {
        return refused(Failure::WrongState);
    }
    if CurrentSignIn::read(profile, of.customer)?.subject != of.seen {
        return refused(Failure::StalePlan);
    }
    let SignInMove { customer, subject, seen } = *of;
    let new = Item::from([(CUSTOMER.to_owned(), Value::s(customer)), (attr::CREATED_AT.to_owned(), Value::s(cx.now))]);
    let unused = Clause { condition: Condition::absent(attr::PK), failure: Failure::AlreadyExists };
    let moved = Update::new().set(SUBJECT, "subject", Value::s(subject)).set(SINCE, "ua", Value::s(cx.now)).set(
        attr::UPDATED_AT,
        "ua",
        Value::s(cx.now),
    );
    let contact = Contact::read(profile)?;
    let open = Clause { condition: Condition::absent(attr::CLOSED_AT), failure: Failure::WrongState };
    let guards = [exists(), open, forms::signs_in_with(customer, seen, Failure::StalePlan)]
        .into_iter()
        .chain(contact.as_read())
        .collect();
    let mut changed = vec![
        TransactItem::update(Role::Profile, Partition::customer(tenant, customer).profile(), moved, guards),
        TransactItem::put_new(Role::Lookup, keys::sign_in(tenant, subject), new, Failure::AlreadyExists),
        TransactItem::check(Role::Profile, namesake(tenant, subject), vec![unused]),
        ended(tenant, customer, seen, cx.now),
        forms::end_code(keys::payment_code(tenant, customer), cx.now),
    ];
    changed.extend(subjects_are_read(tenant, terms, cx.now));
    let act = Act::new(actor, Operation::SignInMove, format!("customer:{customer}")).because(reason);
    changed.push(act.with("subject", subject).with("former_subject", seen).record(tenant, cx));
    // The customer hears of it where the move changed nothing.
    let notice = Notice::of(cx.audit_id, NoticeSubject::SignIn { customer, contact }, cx.now);
    changed.extend(notice.map(|notice| notice.store(tenant)));
    Ok(Draft { entry: None, items: changed })
}

/// The change of `CONFIG` from which on requests read the subject's item; `None` if it was made before.
pub(crate) fn subjects_are_read(tenant: &Tenant, terms: &TenantTerms, now: Timestamp) -> Option<TransactItem> {
    match terms.sign_ins {
        SignInTerms::Moved => None,
        SignInTerms::OwnIds => {
            let update = SignInTerms::moved(Update::new()).set(attr::UPDATED_AT, "now", Value::s(now));
            Some(TransactItem::update(Role::Config, keys::config(tenant), update, vec![exists()]))
        }
    }
}

/// Ends a customer's subject for good. That of a customer who was never moved gets its item here.
pub(crate) fn ended(tenant: &Tenant, customer: CustomerId, subject: SubjectId, now: Timestamp) -> TransactItem {
    let key = keys::sign_in(tenant, subject);
    if subject == own_of(customer) {
        let item = Item::from([
            (CUSTOMER.to_owned(), Value::s(customer)),
            (attr::CREATED_AT.to_owned(), Value::s(now)),
            (ENDED_AT.to_owned(), Value::s(now)),
        ]);
        return TransactItem::put_new(Role::Lookup, key, item, Failure::AlreadyExists);
    }
    let stale = |condition| Clause { condition, failure: Failure::StalePlan };
    let guards = vec![
        stale(Condition::compare(CUSTOMER, Cmp::Eq, "customer", Value::s(customer))),
        stale(Condition::absent(ENDED_AT)),
    ];
    TransactItem::update(Role::Lookup, key, Update::new().set(ENDED_AT, "now", Value::s(now)), guards)
}

/// The profile of the customer that would have a subject as id.
fn namesake(tenant: &Tenant, subject: SubjectId) -> Key {
    Partition::customer(tenant, CustomerId::new(subject.uuid())).profile()
}
