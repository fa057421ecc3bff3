//! Requests that read the table, as data: one function per access pattern.
//!
//! One place in the runtime executes them, and each has golden vectors (`golden/reads`). A single item needs no
//! function of its own: `keys` lists the keys, and [`item`] reads any of them.
//!
//! Every read is strongly consistent, except queries of an index, which DynamoDB offers eventually consistent only.

mod accounts;
mod due;
mod figures;
mod finding;
mod items;
mod merchants;
mod query;
mod range;
mod registry;
mod request;
mod table;
mod tenants;
mod trail;

pub use accounts::{
    account_entries, account_entries_between, account_entries_from, account_references_between, acts_of, balances,
    cash_collections, history_entries, history_entries_from, history_references, history_references_from,
    legacy_history, legacy_history_between, terminal_references_of, topup_markers, topups,
};
pub use due::{attention, entries_to_publish_late, open_holds, records_unsealed, work_due, work_waiting};
pub use figures::{active_accounts, closed_days, day_totals, with_totals};
pub use finding::{
    Times, customers, customers_named, customers_with, merchants_named, refused_payments, terminals, terminals_of,
};
pub use items::{KEYS_MAX, item, items, snapshot};
pub use merchants::{
    cards, cash_bonuses, lane_credits, merchant_records, merchant_records_from, merchants, periods, periods_given_back,
    returned_payouts, settled_batches, settlements, settlements_of_tenant, shops,
};
pub use query::Query;
pub use registry::registered_tenants;
pub use request::{QueryRequest, Request, ScanRequest};
pub use table::{SCAN_PAGE_ITEMS, Segment, customers_with_god_record, found_records, stored_cards, table_segment};
pub use tenants::{
    acts_from, approvals, audit_records, bank_file_items, bank_files, bank_transfers, breaks, breaks_of, job_lines,
    jobs, migration_passes, reconciliations, staff_members, terms,
};
pub use trail::{bindings, lane_segments, payment_items, steps_of, topup_items, topup_refunds};

#[cfg(test)]
mod tests;
