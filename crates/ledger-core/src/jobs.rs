//! Jobs: what every kind of them stores beside what is its own.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{JobId, Tenant};
use crate::keys::{self, JobKind, attr};
use crate::time::Timestamp;

/// The attribute of a job's kind.
const KIND: &str = "kind";

/// The attributes of a job that is due from `due_at` on: its kind, and its places in the list of its kind and of due work.
pub(crate) fn begun(
    tenant: &Tenant,
    kind: JobKind,
    id: JobId,
    due_at: Timestamp,
) -> impl Iterator<Item = (String, Value)> {
    let of = [
        (KIND.to_owned(), Value::s(kind.name())),
        (attr::OWNER_PK.to_owned(), Value::S(keys::jobs_partition(tenant, kind))),
        (attr::OWNER_SK.to_owned(), Value::s(id)),
    ];
    of.into_iter().chain(kind.due(tenant, due_at, id).attributes())
}

/// Whether a stored job is of a kind.
///
/// # Errors
/// [`ItemError`] if its kind is missing or unknown.
pub fn is_of(kind: JobKind, item: &Item) -> Result<bool, ItemError> {
    Ok(item.named(KIND, JobKind::parse)? == kind)
}
