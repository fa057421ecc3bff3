//! Scans of the whole table: in segments, consistent, with the read units of each page.

use super::reads::{ReadError, Readable};
use super::{Dynamo, convert};
use ledger_core::dynamo::ItemError;
use ledger_core::ids::{CustomerId, Tenant};
use ledger_core::keys::{Key, attr};
use ledger_core::reads::{self, Request, Segment};

/// A tenant's items on one page of a segment.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// The items.
    pub items: Vec<Readable>,
    /// The read units consumed, rounded up.
    pub units: u64,
    /// Where the next page begins; `None` at the segment's end.
    pub next: Option<Segment>,
}

/// A tenant's customers with a God Record on one page of the table.
#[derive(Clone, Debug)]
pub struct ScannedCustomers {
    /// The customers.
    pub customers: Vec<CustomerId>,
    /// The key after which the next page begins; `None` at the table's end.
    pub next: Option<Key>,
}

/// The keys of a tenant's records that lists and searches find, on one page of a segment.
#[derive(Clone, Debug)]
pub struct FoundRecords {
    /// The keys.
    pub keys: Vec<Key>,
    /// The read units consumed, rounded up.
    pub units: u64,
    /// Where the next page begins; `None` at the segment's end.
    pub next: Option<Segment>,
}

impl Dynamo {
    /// Scans a page of the table for a tenant's customers with a God Record.
    ///
    /// A customer whose God Record exists from the scan's first page until its own page is read is on one of the pages.
    ///
    /// # Errors
    /// [`ReadError`] if the scan fails; the same page can be read again.
    pub async fn scan_customers(&self, tenant: &Tenant, after: Option<&Key>) -> Result<ScannedCustomers, ReadError> {
        let answer = self.ask(reads::customers_with_god_record(tenant, after)).await?;
        let found = answer.items.iter().flatten().filter_map(convert::key_from_sdk);
        let customers = found.filter_map(|key| key.customer()).collect();
        let unreadable = || ReadError::Unreadable(ItemError::invalid(attr::PK));
        let next = answer.next.map(|next| convert::key_from_sdk(&convert::item_to_sdk(next)).ok_or_else(unreadable));
        Ok(ScannedCustomers { customers, next: next.transpose()? })
    }

    /// Scans a page of a segment for the keys of a tenant's records that lists and searches find: those of one of the reads
    /// for that.
    ///
    /// # Errors
    /// [`ReadError`] if the scan fails; the same page can be read again.
    pub async fn found_records(
        &self,
        read: fn(&Tenant, &Segment) -> Request,
        segment: &Segment,
        tenant: &Tenant,
    ) -> Result<FoundRecords, ReadError> {
        let answer = self.ask(read(tenant, segment)).await?;
        Ok(FoundRecords {
            keys: answer.items.iter().flatten().filter_map(convert::key_from_sdk).collect(),
            units: answer.units.unwrap_or(answer.scanned),
            next: answer.next.map(|after| segment.from(after)),
        })
    }

    /// Scans a page of a segment for a tenant's items.
    ///
    /// # Errors
    /// [`ReadError`] if the scan fails; the same page can be read again.
    pub async fn scan_page(&self, segment: &Segment, tenant: &Tenant) -> Result<Scanned, ReadError> {
        let answer = self.ask(reads::table_segment(tenant, segment)).await?;
        Ok(Scanned {
            items: answer.items.into_iter().flatten().map(convert::readable).collect(),
            // Without a reported capacity, one unit per item is assumed, which is right for small items.
            units: answer.units.unwrap_or(answer.scanned),
            next: answer.next.map(|after| segment.from(after)),
        })
    }
}
