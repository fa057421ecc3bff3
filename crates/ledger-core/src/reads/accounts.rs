//! Balances and histories of one account or terminal.

use super::query::Query;
use super::range::SortRange;
use crate::ids::{Tenant, TerminalId, least_born_at};
use crate::keys::{self, Partition, sk};
use crate::time::BusinessDate;
use uuid::Uuid;

/// What are the account's balances?
#[must_use]
pub fn balances(account: &Partition) -> Query {
    Query::partition(account, SortRange::prefix(sk::BALANCE))
}

/// Which journal entries does the account have, newest first, after the entry `after`?
#[must_use]
pub fn history_entries(account: &Partition, after: Option<Uuid>) -> Query {
    newest(account, sk::TXN, after)
}

/// Which entries of other accounts concern this one, newest first, after the entry `after`?
#[must_use]
pub fn history_references(account: &Partition, after: Option<Uuid>) -> Query {
    newest(account, sk::TXNREF, after)
}

/// A page under a prefix, newest first, whose items end in an id.
pub(super) fn newest(partition: &Partition, prefix: &str, after: Option<Uuid>) -> Query {
    let after = after.map(|id| format!("{prefix}{id}"));
    Query::partition(partition, SortRange::prefix(prefix)).newest_first().after(after)
}

/// Which journal entries does the account have?
#[must_use]
pub fn account_entries(account: &Partition) -> Query {
    Query::partition(account, SortRange::prefix(sk::TXN))
}

/// Which journal entries of the account have this id or a later one?
#[must_use]
pub fn account_entries_from(account: &Partition, id: Uuid) -> Query {
    let (low, high) = Partition::entries_from(id);
    Query::partition(account, SortRange::between(low, high))
}

/// Which journal entries of the account have an id between these two?
#[must_use]
pub fn account_entries_between(account: &Partition, from: Uuid, to: Uuid) -> Query {
    let ((low, _), (high, _)) = (Partition::entries_from(from), Partition::entries_from(to));
    Query::partition(account, SortRange::between(low, high))
}

/// What does the account's history have in the legacy format?
#[must_use]
pub fn legacy_history(account: &Partition) -> Query {
    Query::partition(account, SortRange::prefix(sk::HISTORY))
}

/// What does the account's history have in the legacy format between two sort keys?
#[must_use]
pub fn legacy_history_between(account: &Partition, low: &str, high: &str) -> Query {
    Query::partition(account, SortRange::between(low, high))
}

/// Which entries was the terminal a party to on a business day?
#[must_use]
pub fn terminal_references_of(tenant: &Tenant, terminal: TerminalId, day: BusinessDate) -> Query {
    let (start, end) = day.bounds();
    let border = |at| format!("{}{}", sk::TXNREF, least_born_at(at));
    Query::partition(&Partition::terminal(tenant, terminal), SortRange::between(border(start), border(end)))
}

/// Which top-ups has the customer requested, by the markers that are kept?
#[must_use]
pub fn topup_markers(customer: &Partition) -> Query {
    Query::partition(customer, SortRange::prefix(keys::topup_markers()))
}
