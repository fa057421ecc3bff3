//! Processes one customer in a pass.

use crate::app::App;
use crate::dynamo::{CustomerMoveError, ReadError, WriteError};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::finding::{Indexing, IndexingError, Kept};
use ledger_core::idempotency::MarkerKeys;
use ledger_core::keys::Partition;
use ledger_core::migration::{
    BalanceLocation, Concern, Contraction, Copying, CustomerRef, Difference, Migration, PassKind, contract, copy,
    expire_history, parity, refer, reference_keys, refers_to, unread_amounts,
};
use ledger_core::reads;
use std::collections::BTreeSet;

/// How many legacy history items are read and written at a time.
const ROWS: usize = 40;
/// How often a customer is read again because other writers changed it.
const ROUNDS_MAX: u32 = 8;

/// The result of processing a customer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CustomerPass {
    /// Whether anything was written.
    pub(super) changed: bool,
    /// What remains to be done, or the differences found.
    pub(super) left: Option<Remaining>,
}

/// The unfinished concerns of a customer, or its differences, with a text for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Remaining {
    pub(super) concerns: BTreeSet<Concern>,
    pub(super) what: String,
}

/// A pass over a tenant's customers.
#[derive(Clone, Copy)]
pub(super) struct Passing<'a> {
    pub(super) app: &'a App,
    pub(super) migration: &'a Migration,
    pub(super) kind: PassKind,
    /// The keys of what customers are looked up by, while God Records are emptied.
    pub(super) lookups: Option<&'a MarkerKeys>,
}

impl Passing<'_> {
    /// Processes a customer for this kind of pass. Faults in the customer's data are returned as `left`, for review.
    pub(super) async fn customer(&self, customer_ref: &CustomerRef) -> Result<CustomerPass, CustomerMoveError> {
        let looked = match self.kind {
            PassKind::Backfill => self.backfill(customer_ref).await,
            PassKind::Verify => self.compare(customer_ref).await,
            PassKind::Contract => self.empty(customer_ref).await,
        };
        match looked {
            Err(
                error @ (CustomerMoveError::Unadoptable(_)
                | CustomerMoveError::Unreadable(_)
                | CustomerMoveError::Busy
                | CustomerMoveError::Read(ReadError::Unreadable(_) | ReadError::Unadoptable(_))),
            ) => {
                let left = Remaining { concerns: BTreeSet::new(), what: error.to_string() };
                Ok(CustomerPass { changed: false, left: Some(left) })
            }
            Err(error @ (CustomerMoveError::Fenced | CustomerMoveError::Read(_) | CustomerMoveError::Write(_))) => {
                Err(error)
            }
            Ok(looked) => Ok(looked),
        }
    }

    /// Adopts the customer, and copies each concern that the phase keeps elsewhere.
    async fn backfill(&self, customer_ref: &CustomerRef) -> Result<CustomerPass, CustomerMoveError> {
        let (dynamo, now) = (self.app.dynamo(), self.app.now());
        let mut changed = false;
        let mut seen = dynamo.snapshot(self.migration, customer_ref).await?;
        if !seen.is_adopted(customer_ref) {
            changed = dynamo.adopt(self.migration, customer_ref).await?;
            seen = dynamo.snapshot(self.migration, customer_ref).await?;
        }
        for concern in Concern::ALL {
            let needed =
                copy(self.migration, customer_ref, concern, &seen, now).map_err(CustomerMoveError::Unreadable)?;
            if matches!(needed, Copying::Done) {
                continue;
            }
            if concern == Concern::History {
                self.refer(customer_ref).await?;
            }
            dynamo.copy(self.migration, customer_ref, concern).await?;
            changed = true;
        }
        Ok(CustomerPass { changed, left: None })
    }

    /// Writes references for items that only the legacy history has.
    async fn refer(&self, customer_ref: &CustomerRef) -> Result<(), CustomerMoveError> {
        let mut rows = Rows::of(customer_ref);
        let (mut unread, mut names) = (0_usize, BTreeSet::new());
        while let Some(items) = rows.next(self.app).await? {
            for item in &items {
                let attributes = unread_amounts(item);
                unread = unread.saturating_add(usize::from(!attributes.is_empty()));
                names.extend(attributes);
            }
            if let Some(change) = refer(&items) {
                self.app.dynamo().change(&change).await?;
            }
        }
        if unread > 0 {
            let attributes = names.into_iter().collect::<Vec<_>>().join(", ");
            tracing::warn!(
                tenant = %customer_ref.tenant,
                customer = %customer_ref.customer,
                rows = unread,
                attributes,
                "legacy history rows have amounts that are not numbers: kept in their references, not shown"
            );
        }
        Ok(())
    }

    /// Compares both models as of one moment, and the history item by item.
    async fn compare(&self, customer_ref: &CustomerRef) -> Result<CustomerPass, CustomerMoveError> {
        let seen = self.app.dynamo().snapshot(self.migration, customer_ref).await?;
        if !seen.is_adopted(customer_ref) {
            let left = Remaining { concerns: BTreeSet::new(), what: "not adopted".to_owned() };
            return Ok(CustomerPass { changed: false, left: seen.record(customer_ref).map(|_| left) });
        }
        let parity = parity(self.migration, customer_ref, &seen).map_err(CustomerMoveError::Unreadable)?;
        let mut what: Vec<String> =
            parity.not_copied.iter().map(|concern| format!("{} not copied", concern.name())).collect();
        what.extend(
            parity.differences.iter().map(|Difference { record, attribute, .. }| format!("{record} {attribute}")),
        );
        let mut concerns = parity.not_copied;
        concerns.extend(parity.differences.iter().map(|difference| difference.concern));
        let history = self.migration.phase.stage(Concern::History);
        let truth = seen.truth(customer_ref, Concern::History).map_err(CustomerMoveError::Unreadable)?;
        if history.writes_legacy() && truth == Some(BalanceLocation::Both) {
            let unreferenced = self.unreferenced(customer_ref).await?;
            if let Some(first) = unreferenced.first() {
                concerns.insert(Concern::History);
                what.push(format!("{} rows of the history, {first} first", unreferenced.len()));
            }
        }
        let left = (!what.is_empty()).then(|| Remaining { concerns, what: what.join(", ") });
        Ok(CustomerPass { changed: false, left })
    }

    /// Returns the sort keys of legacy history items without an entry or reference.
    async fn unreferenced(&self, customer_ref: &CustomerRef) -> Result<Vec<String>, CustomerMoveError> {
        let mut unreferenced = Vec::new();
        let mut rows = Rows::of(customer_ref);
        while let Some(items) = rows.next(self.app).await? {
            let keys: Vec<_> = items.iter().flat_map(reference_keys).collect();
            let found: Vec<Item> = self.app.dynamo().get_many(&keys).await?.into_iter().flatten().collect();
            let missing = items.iter().filter(|item| !found.iter().any(|found| refers_to(found, item)));
            unreferenced.extend(missing.filter_map(sort_key));
        }
        Ok(unreferenced)
    }

    /// Sets the legacy history to expire, and empties the God Record.
    async fn empty(&self, customer_ref: &CustomerRef) -> Result<CustomerPass, CustomerMoveError> {
        let dynamo = self.app.dynamo();
        let mut changed = false;
        for _ in 0..ROUNDS_MAX {
            let seen = dynamo.snapshot(self.migration, customer_ref).await?;
            if seen.record(customer_ref).is_some() && !seen.is_adopted(customer_ref) {
                dynamo.adopt(self.migration, customer_ref).await?;
                continue;
            }
            match contract(self.migration, customer_ref, &seen).map_err(CustomerMoveError::Unreadable)? {
                Contraction::Done => {
                    changed |= self.list(customer_ref).await?;
                    return Ok(CustomerPass { changed, left: None });
                }
                Contraction::Fenced => return Err(CustomerMoveError::Fenced),
                Contraction::NotCopied(concern) => {
                    if concern == Concern::History {
                        self.refer(customer_ref).await?;
                    }
                    dynamo.copy(self.migration, customer_ref, concern).await?;
                }
                Contraction::Change(change) => {
                    self.expire(customer_ref).await?;
                    changed |= dynamo.change(&change).await?;
                }
            }
        }
        Err(CustomerMoveError::Busy)
    }

    /// Adds what lists and searches find the customer by: a God Record has none of it. Returns whether any was missing.
    async fn list(&self, customer_ref: &CustomerRef) -> Result<bool, CustomerMoveError> {
        let (dynamo, tenant) = (self.app.dynamo(), &customer_ref.tenant);
        let profile = Partition::customer(tenant, customer_ref.customer).profile();
        let Some((record, lookups)) = Indexing::of(&profile).zip(self.lookups) else { return Ok(false) };
        for _ in 0..ROUNDS_MAX {
            let items = dynamo.get_many(&record.keys()).await?;
            let listing = match record.compare(tenant, &items, lookups) {
                Ok(Kept::Whole) => return Ok(false),
                Ok(Kept::Differs(_, listing)) => listing,
                Err(IndexingError::Stored(error)) => return Err(CustomerMoveError::Unreadable(error)),
                Err(IndexingError::Build(error)) => {
                    return Err(CustomerMoveError::Write(WriteError::Determinate(error.to_string())));
                }
            };
            match dynamo.write(&listing).await {
                Ok(()) => return Ok(true),
                Err(WriteError::Cancelled(_)) => {}
                Err(
                    error @ (WriteError::Throttled
                    | WriteError::Determinate(_)
                    | WriteError::Unadoptable(_)
                    | WriteError::LaterForm(_)
                    | WriteError::Indeterminate(_)),
                ) => return Err(CustomerMoveError::Write(error)),
            }
        }
        Err(CustomerMoveError::Busy)
    }

    async fn expire(&self, customer_ref: &CustomerRef) -> Result<(), CustomerMoveError> {
        let mut rows = Rows::of(customer_ref);
        while let Some(items) = rows.next(self.app).await? {
            if let Some(change) = expire_history(&items, self.app.now()) {
                self.app.dynamo().change(&change).await?;
            }
        }
        Ok(())
    }
}

/// A customer's legacy history, read in pages.
struct Rows {
    partition: Partition,
    after: Option<String>,
    over: bool,
}

impl Rows {
    fn of(customer_ref: &CustomerRef) -> Self {
        Self { partition: Partition::customer(&customer_ref.tenant, customer_ref.customer), after: None, over: false }
    }

    async fn next(&mut self, app: &App) -> Result<Option<Vec<Item>>, CustomerMoveError> {
        if self.over {
            return Ok(None);
        }
        let query = reads::legacy_history(&self.partition).after(self.after.take()).limit(ROWS);
        let rows = app.dynamo().query_legacy(&query).await?;
        self.over = rows.len() < ROWS;
        self.after = rows.last().and_then(sort_key);
        Ok((!rows.is_empty()).then_some(rows))
    }
}

fn sort_key(item: &Item) -> Option<String> {
    item.key_text(ledger_core::keys::attr::SK).map(str::to_owned)
}
