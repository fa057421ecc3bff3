//! Queries of the balances and the history of one account or terminal.

use super::query::Query;
use super::range::SortRange;
use crate::ids::{CustomerId, Tenant, TerminalId, least_born_at};
use crate::keys::{self, Partition, sk};
use crate::time::{BusinessDate, Timestamp};
use uuid::Uuid;

/// The account's balances.
#[must_use]
pub fn balances(account: &Partition) -> Query {
    Query::partition(account, SortRange::prefix(sk::BALANCE))
}

/// The account's journal entries, newest first, after the entry `after`.
#[must_use]
pub fn history_entries(account: &Partition, after: Option<Uuid>) -> Query {
    newest(account, sk::TXN, after)
}

/// References to entries of other accounts that concern this one, newest first, after the entry `after`.
#[must_use]
pub fn history_references(account: &Partition, after: Option<Uuid>) -> Query {
    newest(account, sk::TXNREF, after)
}

/// Items under a prefix that is followed by an id, newest first.
pub(super) fn newest(partition: &Partition, prefix: &str, after: Option<Uuid>) -> Query {
    let after = after.map(|id| format!("{prefix}{id}"));
    Query::partition(partition, SortRange::prefix(prefix)).newest_first().after(after)
}

/// The account's journal entries with an id of `from` or later, newest first, after the entry `after`.
#[must_use]
pub fn history_entries_from(account: &Partition, from: Timestamp, after: Option<Uuid>) -> Query {
    newest_from(account, sk::TXN, from, after)
}

/// References to entries of other accounts with an id of `from` or later, newest first, after the entry `after`.
#[must_use]
pub fn history_references_from(account: &Partition, from: Timestamp, after: Option<Uuid>) -> Query {
    newest_from(account, sk::TXNREF, from, after)
}

/// Items under a prefix that is followed by an id of `from` or later, newest first.
pub(super) fn newest_from(partition: &Partition, prefix: &str, from: Timestamp, after: Option<Uuid>) -> Query {
    let after = after.map(|id| format!("{prefix}{id}"));
    let range = SortRange::prefix(prefix).at_least(&format!("{prefix}{}", least_born_at(from)));
    Query::partition(partition, range).newest_first().after(after)
}

/// The account's journal entries.
#[must_use]
pub fn account_entries(account: &Partition) -> Query {
    Query::partition(account, SortRange::prefix(sk::TXN))
}

/// The account's journal entries with this id or a later one.
#[must_use]
pub fn account_entries_from(account: &Partition, id: Uuid) -> Query {
    let (low, high) = Partition::entries_from(id);
    Query::partition(account, SortRange::between(low, high))
}

/// The account's journal entries with an id between these two.
#[must_use]
pub fn account_entries_between(account: &Partition, from: Uuid, to: Uuid) -> Query {
    let ((low, _), (high, _)) = (Partition::entries_from(from), Partition::entries_from(to));
    Query::partition(account, SortRange::between(low, high))
}

/// References to entries of other accounts with an id between these two.
#[must_use]
pub fn account_references_between(account: &Partition, from: Uuid, to: Uuid) -> Query {
    let border = |id| format!("{}{id}", sk::TXNREF);
    Query::partition(account, SortRange::between(border(from), border(to)))
}

/// The account's history in the legacy format.
#[must_use]
pub fn legacy_history(account: &Partition) -> Query {
    Query::partition(account, SortRange::prefix(sk::HISTORY))
}

/// The account's history in the legacy format between two sort keys, inclusive.
#[must_use]
pub fn legacy_history_between(account: &Partition, low: &str, high: &str) -> Query {
    Query::partition(account, SortRange::between(low, high))
}

/// References to the entries to which the terminal was a party on a business day.
#[must_use]
pub fn terminal_references_of(tenant: &Tenant, terminal: TerminalId, day: BusinessDate) -> Query {
    let (start, end) = day.bounds();
    let border = |at| format!("{}{}", sk::TXNREF, least_born_at(at));
    Query::partition(&Partition::terminal(tenant, terminal), SortRange::between(border(start), border(end)))
}

/// The collections of the cash that a counter took.
#[must_use]
pub fn cash_collections(tenant: &Tenant, terminal: TerminalId) -> Query {
    Query::partition(&Partition::terminal(tenant, terminal), SortRange::prefix(keys::CASH_COLLECTION))
}

/// The keys of the customer's top-ups: all of them, or those whose ids are of `from` or later. One that was just written
/// may be missing.
#[must_use]
pub fn topups(tenant: &Tenant, customer: CustomerId, from: Option<Timestamp>) -> Query {
    owned(keys::topups_partition(tenant, customer), from)
}

/// The keys of the staff's acts about the customer: all of them, or those of `from` or later. One that was just written may
/// be missing.
#[must_use]
pub fn acts_of(tenant: &Tenant, customer: CustomerId, from: Option<Timestamp>) -> Query {
    owned(keys::acts_partition(tenant, customer), from)
}

/// Entries of the index by owner that are sorted by ids, of `from` or later.
fn owned(partition: String, from: Option<Timestamp>) -> Query {
    let range = from.map_or(SortRange::ALL, |from| SortRange::ALL.at_least(&least_born_at(from).to_string()));
    Query::by_owner_within(partition, range)
}

/// The markers of the customer's top-ups, as long as they are kept.
#[must_use]
pub fn topup_markers(customer: &Partition) -> Query {
    Query::partition(customer, SortRange::prefix(keys::topup_markers()))
}
