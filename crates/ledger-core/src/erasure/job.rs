//! The job that erases texts: how far it is in the customer's lists, and what it erased.
//!
//! A slice is one transaction with the erasures of a page and the job's progress, so a slice that runs twice changes nothing.

use super::texts::{ErasureSlice, ErasureTexts, RecordTexts, by_key, erase_texts};
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{CustomerId, JobId, StaffId, Tenant};
use crate::jobs::{CursorJob, Details, Line, Request, Slice, SliceError};
use crate::keys::{JobKind, Key, Partition, attr};
use crate::reads::{self, Query};
use crate::time::Timestamp;
use crate::transaction::{MAX_ITEMS, TransactItem, Transaction};
use crate::words::words;
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// How long after the erasure the job starts: a request that was planned before has ended, and the index lists its act.
const ERASURE_STARTS_AFTER: Duration = Duration::from_secs(300);

/// The code of a line of a record that cannot be read.
const UNREADABLE: &str = "unreadable";
/// The most items that a slice erases, and lines that it writes. The job's own item is beside them.
const WRITTEN_MAX: usize = MAX_ITEMS - 1;

const CUSTOMER: &str = "customer_id";

/// What a job stores of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasureDetails {
    /// The customer.
    pub customer: CustomerId,
}

/// A stored job.
pub type Erasure = CursorJob<ErasureDetails>;

impl Details for ErasureDetails {
    const KIND: JobKind = JobKind::Erasure;

    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { customer: item.parsed(CUSTOMER, CustomerId::parse)? })
    }

    fn attributes(&self) -> Item {
        Item::from([(CUSTOMER.to_owned(), Value::s(self.customer))])
    }
}

words! {
    /// The lists of a customer, in the order in which the job reads them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum List {
        /// The entries in the customer's partition.
        Entries = "entries",
        /// The references to entries of others.
        References = "references",
        /// The acts about the customer.
        Acts = "acts",
    }
}

impl List {
    fn next(self) -> Option<Self> {
        Self::ALL.into_iter().skip_while(|list| *list != self).nth(1)
    }
}

/// Stores the job of a customer.
pub(super) fn start(
    tenant: &Tenant,
    id: JobId,
    (staff, customer): (StaffId, CustomerId),
    now: Timestamp,
) -> TransactItem {
    let request = Request { id, staff: Some(staff), reason: None, total: None, now };
    Erasure::requested(request, ErasureDetails { customer }).put(tenant, now.plus(ERASURE_STARTS_AFTER))
}

impl Erasure {
    /// The query of the next page, of at most `limit` records; `None` if every list was read.
    ///
    /// # Errors
    /// [`ItemError`] if the cursor is malformed.
    pub fn query(&self, tenant: &Tenant, limit: usize) -> Result<Option<Query>, ItemError> {
        let partition = Partition::customer(tenant, self.details.customer);
        let Some((list, after)) = self.place()? else { return Ok(None) };
        let query = match list {
            List::Entries => reads::account_entries(&partition),
            List::References => reads::account_references_between(&partition, Uuid::nil(), Uuid::max()),
            List::Acts => reads::acts_of(tenant, self.details.customer, None),
        };
        Ok(Some(query.after(after.map(str::to_owned)).limit(limit)))
    }

    /// The page that the query of [`Erasure::query`] found. Fewer than `limit` are the last of their list.
    ///
    /// # Errors
    /// [`ItemError`] if an item has no key of the tenant, or the cursor is malformed.
    pub fn slice(&self, tenant: &Tenant, found: &[Item], limit: usize) -> Result<ErasureSlice, ItemError> {
        let sorted_by = match self.place()? {
            Some((List::Acts, _)) => attr::OWNER_SK,
            Some((List::Entries | List::References, _)) | None => attr::SK,
        };
        ErasureSlice::read(sorted_by, tenant, found, limit)
    }

    /// The list that the job is in, and the last place of it that was dealt with; `None` after the last list.
    fn place(&self) -> Result<Option<(List, Option<&str>)>, ItemError> {
        if self.is_listed() {
            return Ok(None);
        }
        let Some(cursor) = self.cursor() else { return Ok(Some((List::Entries, None))) };
        let malformed = || ItemError::invalid("cursor");
        let (list, after) = cursor.split_once('#').ok_or_else(malformed)?;
        let list = List::parse(list).ok_or_else(malformed)?;
        Ok(Some((list, Some(after).filter(|after| !after.is_empty()))))
    }

    /// Erases the texts of a page and records how far the job is. `items` are those of [`ErasureTexts::keys`] that exist, in any
    /// order. A page with more texts than one transaction takes is dealt with in part.
    ///
    /// # Errors
    /// [`SliceError`] if the cursor is malformed.
    pub fn erase(
        &self,
        tenant: &Tenant,
        (texts, items): (&ErasureTexts, &[Item]),
        now: Timestamp,
    ) -> Result<Transaction, SliceError> {
        let stored = by_key(tenant, items);
        let mut erased = BTreeMap::<&Key, TransactItem>::new();
        let (mut unreadable, mut dealt_with) = (Vec::new(), 0_usize);
        for record in &texts.records {
            let erasure = |key| Some((key, erase_texts(key, stored.get(key)?)?));
            let others = record.keys.iter().filter(|key| !erased.contains_key(key));
            let own: Vec<(&Key, TransactItem)> = others.filter_map(erasure).collect();
            let lines = unreadable.len().saturating_add(usize::from(!record.is_readable));
            if dealt_with > 0 && erased.len().saturating_add(own.len()).saturating_add(lines) > WRITTEN_MAX {
                break;
            }
            erased.extend(own);
            unreadable.extend((!record.is_readable).then_some(record));
            dealt_with = dealt_with.saturating_add(1);
        }
        let lines = unreadable.into_iter().map(|record| self.line(record, now));
        let slice = Slice {
            done: erased.len(),
            lines: lines.collect::<Result<_, _>>()?,
            cursor: self.after(texts, dealt_with)?,
        };
        Ok(self.advance_with(tenant, (slice, erased.into_values().collect()), now)?)
    }

    /// The cursor after the first records of a page.
    fn after(&self, texts: &ErasureTexts, records: usize) -> Result<Option<String>, ItemError> {
        let Some((list, before)) = self.place()? else { return Ok(None) };
        if texts.is_last && records == texts.records.len() {
            return Ok(list.next().map(|next| format!("{}#", next.name())));
        }
        let last = texts.records.iter().take(records).next_back().map(|record| record.place.as_str()).or(before);
        Ok(Some(format!("{}#{}", list.name(), last.unwrap_or_default())))
    }

    fn line(&self, record: &RecordTexts, now: Timestamp) -> Result<Line, ItemError> {
        let list = self.place()?.map_or(List::Acts, |(list, _)| list);
        Ok(Line::failed(format_args!("{}#{}", list.name(), record.place), UNREADABLE, now))
    }
}
