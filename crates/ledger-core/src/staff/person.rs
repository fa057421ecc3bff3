//! The items that keep a person from having two records with one employer.
//!
//! Each is named by a hash of the e-mail address under one of the marker keys. A key is never removed, so the names of a person
//! are those under every key.

use super::record::{ACCEPTED_AT, StaffMember};
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::finding;
use crate::idempotency::{KeyId, MarkerKeys};
use crate::ids::{Employer, StaffId, Tenant};
use crate::keys::{self, Key, attr};
use crate::personal::FreeText;
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};

/// The name of a person's item under a key.
fn named(tenant: &Tenant, employer: Employer, email: &FreeText, (keys, id): (&MarkerKeys, &KeyId)) -> Key {
    let of = match employer {
        Employer::Operator => "operator".to_owned(),
        Employer::Merchant(id) => format!("merchant:{id}"),
    };
    let address = finding::address(email.expose());
    // INVARIANT: HMAC takes every key. Were there no hash, all persons would have one name, and a second one be refused.
    let hash = keys.lookup(id, &[tenant.as_str(), "person", &of, &address]).unwrap_or_default();
    keys::person(tenant, employer, (id.as_str(), &hash))
}

/// The names of a person's item: first that under the current key, then those under the others.
#[must_use]
pub fn person_names(tenant: &Tenant, employer: Employer, email: &FreeText, keys: &MarkerKeys) -> Vec<Key> {
    let others = keys.ids().filter(|id| *id != keys.current());
    let all = std::iter::once(keys.current()).chain(others);
    all.map(|id| named(tenant, employer, email, (keys, id))).collect()
}

fn absent(name: Key, failure: Failure) -> TransactItem {
    TransactItem::check(Role::Person, name, vec![Clause { condition: Condition::absent(attr::PK), failure }])
}

/// Claims the person of a record: puts the item under the current key, and requires that there is none under another. Fails
/// with `AlreadyExists`.
pub(super) fn claim(tenant: &Tenant, member: &StaffMember, keys: &MarkerKeys) -> Vec<TransactItem> {
    let StaffMember { employer, email, .. } = member;
    let mut item = Item::from([
        ("staff_id".to_owned(), Value::s(member.id)),
        (attr::CREATED_AT.to_owned(), Value::s(member.created_at)),
    ]);
    item.extend(member.accepted_at.map(|at| (ACCEPTED_AT.to_owned(), Value::s(at))));
    let mut names = person_names(tenant, *employer, email, keys).into_iter();
    let put = names.next().map(|name| TransactItem::put_new(Role::Person, name, item, Failure::AlreadyExists));
    put.into_iter().chain(names.map(|name| absent(name, Failure::AlreadyExists))).collect()
}

/// Records that the person of a record has accepted the invitation. `name` is the one of [`person_names`] that has an item.
pub(super) fn accepted(name: Key, id: StaffId, now: Timestamp) -> TransactItem {
    let own = Condition::compare("staff_id", Cmp::Eq, "member", Value::s(id));
    let clauses = vec![Clause { condition: own, failure: Failure::StalePlan }];
    TransactItem::update(Role::Person, name, Update::new().set(ACCEPTED_AT, "now", Value::s(now)), clauses)
}

/// Requires that a record, or the item that keeps an address to its member, is none of a person who accepted. An invitation
/// that was not accepted is none: its address is chosen by the member who invites.
pub(crate) fn not_accepted(role: Role, key: Key, failure: Failure) -> TransactItem {
    TransactItem::check(role, key, vec![Clause { condition: Condition::absent(ACCEPTED_AT), failure }])
}

/// Whether a record, or the item that keeps an address to its member, is one of a person who accepted.
pub(crate) fn has_accepted(item: &Item) -> bool {
    item.contains_key(ACCEPTED_AT)
}
