//! The job that erases texts: how far it is in the customer's lists, and what it erased.
//!
//! A slice is one transaction with the erasures of a page and the job's progress, so a slice that runs twice changes nothing.

use super::texts::{ErasureSlice, ErasureTexts, by_key, erase_texts};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{CustomerId, JobId, StaffId, Tenant};
use crate::jobs;
use crate::keys::{self, JobKind, Key, Partition, attr};
use crate::reads::{self, Query};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, MAX_ITEMS, Role, TransactItem, Transaction};
use crate::words::words;
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// How long after the erasure the job starts: a request that was planned before has ended, and the index lists its act.
pub const ERASURE_STARTS_AFTER: Duration = Duration::from_secs(300);

/// The most records that are named of those that could not be read.
const FAILURES_MAX: usize = 50;
/// The most items that a slice erases. The job's own item is beside them.
const ERASED_MAX: usize = MAX_ITEMS - 1;

const ID: &str = "erasure_id";
const CUSTOMER: &str = "customer_id";
const LIST: &str = "list";
const AFTER: &str = "after";
const ERASED: &str = "erased";
const FAILED: &str = "failed";
const FAILURES: &str = "failures";
const FINISHED_AT: &str = "finished_at";

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erasure {
    /// Its id.
    pub id: JobId,
    /// The customer.
    pub customer: CustomerId,
    /// The staff member who requested it.
    pub staff: StaffId,
    /// How many items it has removed texts from.
    pub erased: i64,
    /// How many records it could not read.
    pub failed: i64,
    /// The first of these, by their sort keys or ids.
    pub failures: Vec<String>,
    /// When the customer was erased.
    pub created_at: Timestamp,
    /// When it had seen every list.
    pub finished_at: Option<Timestamp>,
    /// The list that it is in.
    list: Option<List>,
    /// The last place of that list that it has dealt with.
    after: Option<String>,
}

words! {
    /// The progress of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ErasureStatus {
        /// It has not seen every list.
        Running = "running",
        /// It has erased every text that the lists name.
        Finished = "finished",
        /// It has seen every list, and could not read some records.
        FinishedWithFailed = "finished_with_failed",
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
    let mut item = Item::from([
        (ID.to_owned(), Value::s(id)),
        (CUSTOMER.to_owned(), Value::s(customer)),
        ("staff_id".to_owned(), Value::s(staff)),
        (LIST.to_owned(), Value::s(List::Entries.name())),
        (ERASED.to_owned(), Value::int(0)),
        (FAILED.to_owned(), Value::int(0)),
        (FAILURES.to_owned(), Value::L(Vec::new())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
        (attr::UPDATED_AT.to_owned(), Value::s(now)),
    ]);
    item.extend(jobs::begun(tenant, JobKind::Erasure, id, now.plus(ERASURE_STARTS_AFTER)));
    TransactItem::put_new(Role::Job, keys::job(tenant, id), item, Failure::AlreadyExists)
}

impl Erasure {
    /// Reads a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed(ID, JobId::parse)?,
            customer: item.parsed(CUSTOMER, CustomerId::parse)?,
            staff: item.parsed("staff_id", StaffId::parse)?,
            erased: item.int(ERASED)?,
            failed: item.int(FAILED)?,
            failures: item.texts(FAILURES, |text| Ok::<_, ItemError>(text.to_owned()))?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            finished_at: item.opt_timestamp(FINISHED_AT)?,
            list: item.opt_named(LIST, List::parse)?,
            after: item.opt_string(AFTER)?,
        })
    }

    /// The job's progress.
    #[must_use]
    pub fn status(&self) -> ErasureStatus {
        match (self.finished_at, self.failed) {
            (None, _) => ErasureStatus::Running,
            (Some(_), 0) => ErasureStatus::Finished,
            (Some(_), _) => ErasureStatus::FinishedWithFailed,
        }
    }

    /// The query of the next page, of at most `limit` records; `None` if the job is over.
    #[must_use]
    pub fn next(&self, tenant: &Tenant, limit: usize) -> Option<Query> {
        let partition = Partition::customer(tenant, self.customer);
        let query = match self.list? {
            List::Entries => reads::account_entries(&partition),
            List::References => reads::account_references_between(&partition, Uuid::nil(), Uuid::max()),
            List::Acts => reads::acts_of(tenant, self.customer, None),
        };
        Some(query.after(self.after.clone()).limit(limit))
    }

    /// The page that the query of [`Erasure::next`] found. Fewer than `limit` are the last of their list.
    ///
    /// # Errors
    /// [`ItemError`] if an item has no key of the tenant.
    pub fn slice(&self, tenant: &Tenant, found: &[Item], limit: usize) -> Result<ErasureSlice, ItemError> {
        ErasureSlice::read(self, tenant, found, limit)
    }

    /// The attribute that sorts the present list.
    pub(super) fn sorted_by(&self) -> &'static str {
        match self.list {
            Some(List::Acts) => attr::OWNER_SK,
            Some(List::Entries | List::References) | None => attr::SK,
        }
    }

    /// Erases the texts of a page and records how far the job is; the last page removes the due index entry. `items` are those of
    /// [`ErasureTexts::keys`] that exist, in any order. A page with more texts than one transaction takes is dealt with in part. The
    /// guard is on how far the job was: of two workers' writes from one read, the later is refused as stale.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn advance(
        &self,
        tenant: &Tenant,
        texts: &ErasureTexts,
        items: &[Item],
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let stored = by_key(tenant, items);
        let mut erased = BTreeMap::<&Key, TransactItem>::new();
        let (mut failures, mut after, mut dealt_with) = (Vec::new(), self.after.as_ref(), 0_usize);
        for record in &texts.records {
            let erasure = |key| Some((key, erase_texts(key, stored.get(key)?)?));
            let others = record.keys.iter().filter(|key| !erased.contains_key(key));
            let own: Vec<(&Key, TransactItem)> = others.filter_map(erasure).collect();
            if dealt_with > 0 && erased.len().saturating_add(own.len()) > ERASED_MAX {
                break;
            }
            erased.extend(own);
            failures.extend((!record.is_readable).then_some(&record.place));
            after = Some(&record.place);
            dealt_with = dealt_with.saturating_add(1);
        }
        let is_over = texts.is_last && dealt_with == texts.records.len();
        let list = if is_over { self.list.and_then(List::next) } else { self.list };
        let number = |count: usize| Value::int(i64::try_from(count).unwrap_or(i64::MAX));
        let mut update = Update::new()
            .add(ERASED, "erased", number(erased.len()))
            .add(FAILED, "failed", number(failures.len()))
            .set(attr::UPDATED_AT, "ua", Value::s(now));
        if !failures.is_empty() {
            let named = self.failures.iter().chain(failures).take(FAILURES_MAX);
            update = update.set(FAILURES, "failures", Value::L(named.map(Value::s).collect()));
        }
        update = match after.filter(|_| !is_over) {
            Some(place) => update.set(AFTER, "after", Value::s(place)),
            None => update.remove(AFTER),
        };
        update = match list {
            Some(list) => update.set(LIST, "list", Value::s(list.name())),
            None => {
                let finished = update.set(FINISHED_AT, "ua", Value::s(now)).remove(LIST);
                finished.remove(attr::DUE_PK).remove(attr::DUE_SK)
            }
        };
        let seen_list = match self.list {
            Some(list) => Condition::compare(LIST, Cmp::Eq, "seen", Value::s(list.name())),
            None => Condition::absent(LIST),
        };
        let seen_after = match &self.after {
            Some(seen) => Condition::compare(AFTER, Cmp::Eq, "seen_after", Value::s(seen)),
            None => Condition::absent(AFTER),
        };
        let stale = |condition| Clause { condition, failure: Failure::StalePlan };
        let as_read = vec![stale(seen_list), stale(seen_after)];
        let job = TransactItem::update(Role::Job, keys::job(tenant, self.id), update, as_read);
        Transaction::unkeyed([job].into_iter().chain(erased.into_values()).collect())
    }
}
