//! Scans of the whole table: in segments, consistently, with what each page costs.

use super::reads::{ReadError, Readable};
use super::{Dynamo, convert};
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{Key, attr};
use ledger_core::reads::{self, Segment};

/// Items of a tenant.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The items.
    pub items: Vec<Readable>,
    /// The read units that it took, rounded up.
    pub units: u64,
    /// Where to read on; `None` at the segment's end.
    pub next: Option<Segment>,
}

/// Customers of a tenant who have a God Record.
#[derive(Clone, Debug)]
pub struct ScannedCustomers {
    /// The customers.
    pub customers: Vec<CustomerId>,
    /// After which item to read on; `None` at the table's end.
    pub next: Option<Key>,
}

impl Dynamo {
    /// A page of the table, of which only a tenant's customers with a God Record are handed over. Whoever has one when
    /// the first page is read, and still when their page is read, is on one.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known: the same page can be read again.
    pub async fn scan_customers(&self, tenant: &Tenant, after: Option<&Key>) -> Result<ScannedCustomers, ReadError> {
        let answer = self.ask(reads::customers_with_god_record(tenant, after)).await?;
        let found = answer.items.iter().flatten().filter_map(convert::key_from_sdk);
        let customers = found.filter_map(|key| key.customer()).collect();
        let unreadable = || ReadError::Unreadable(ItemError::invalid(attr::PK));
        let next = answer.next.map(|next| convert::key_from_sdk(&convert::item_to_sdk(next)).ok_or_else(unreadable));
        Ok(ScannedCustomers { customers, next: next.transpose()? })
    }

    /// A page of a segment, of which only a tenant's items are handed over.
    ///
    /// # Errors
    /// [`ReadError`] if that is not known: the same page can be read again.
    pub async fn scan_page(&self, segment: &Segment, tenant: &Tenant) -> Result<Scanned, ReadError> {
        let answer = self.ask(reads::table_segment(tenant, segment)).await?;
        Ok(Scanned {
            items: answer.items.into_iter().flatten().map(convert::readable).collect(),
            // A store that does not say is taken at one unit an item, which small items are.
            units: answer.units.unwrap_or(answer.scanned),
            next: answer.next.map(|after| segment.from(after)),
        })
    }
}
