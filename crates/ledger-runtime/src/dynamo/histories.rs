//! A party's history: entries, references to entries of others, and legacy items of customers being migrated.

use super::Dynamo;
use super::reads::ReadError;
use futures::future::try_join_all;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::TransactionId;
use ledger_core::journal::expanded;
use ledger_core::keys::{Partition, attr};
use ledger_core::migration::{Concern, Layout, legacy_after, legacy_of, newest, reference};
use ledger_core::reads;
use ledger_core::time::Timestamp;
use uuid::Uuid;

impl Dynamo {
    /// Reads a party's history after a line: entries and references, at most `wanted` of each, and legacy items.
    ///
    /// Only legacy items without entry or reference are included. The result is unordered and contains the newest
    /// `wanted` lines. Entries and references of `from` or later are read; legacy items may be earlier.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn history(
        &self,
        partition: &Partition,
        (from, after): (Option<Timestamp>, Option<Uuid>),
        wanted: usize,
    ) -> Result<Vec<Item>, ReadError> {
        let queries = match from {
            None => [reads::history_entries(partition, after), reads::history_references(partition, after)],
            Some(from) => [
                reads::history_entries_from(partition, from, after),
                reads::history_references_from(partition, from, after),
            ],
        };
        let queries = queries.map(|query| query.limit(wanted));
        let found = try_join_all(queries.iter().map(|query| self.query(query))).await?;
        let found = found.into_iter().flatten().map(expanded).collect::<Result<Vec<Item>, ItemError>>()?;
        if self.has_legacy_history(partition).await? {
            return Box::pin(self.with_legacy(partition, found, after, wanted)).await;
        }
        Ok(found)
    }

    /// Reads a party's entry, or its reference to an entry of another party.
    ///
    /// # Errors
    /// [`ReadError`] if a read fails.
    pub async fn history_line(&self, partition: &Partition, id: TransactionId) -> Result<Option<Item>, ReadError> {
        let refers = partition.entry_reference(id);
        let found = self.get_many(&[partition.entry(id), refers.clone()]).await?.into_iter().flatten().next();
        if found.is_some() || !self.has_legacy_history(partition).await? {
            return Ok(found.map(expanded).transpose()?);
        }
        let Some((low, high)) = legacy_of(id) else { return Ok(None) };
        // All legacy items of the same moment as the id.
        let legacy = self.query_readable(&reads::legacy_history_between(partition, &low, &high)).await?;
        let mut references = legacy.iter().filter_map(|legacy| reference(&legacy.item));
        Ok(references.find(|(key, _)| *key == refers).map(|(_, reference)| expanded(reference)).transpose()?)
    }

    /// Whether the legacy format may hold lines without entry or reference: as long as the phase writes it.
    async fn has_legacy_history(&self, partition: &Partition) -> Result<bool, ReadError> {
        let layout = self.layout_of(&partition.profile()).await?;
        Ok(match layout.as_deref() {
            Some(Layout::Migrating(migration)) => migration.phase.stage(Concern::History).writes_legacy(),
            Some(Layout::Split) | None => false,
        })
    }

    /// Adds legacy items to these entries and references until the newest `wanted` lines are among them.
    async fn with_legacy(
        &self,
        partition: &Partition,
        mut items: Vec<Item>,
        line: Option<Uuid>,
        wanted: usize,
    ) -> Result<Vec<Item>, ReadError> {
        // One more than wanted, because only the item after the last line shows that no other item has the same moment.
        let step = wanted.saturating_add(1);
        let mut after = line.and_then(legacy_after);
        loop {
            let query = reads::legacy_history(partition).newest_first().after(after).limit(step);
            let some = self.query_readable(&query).await?;
            let last = some.last().filter(|_| some.len() == step);
            let read_to = last.and_then(|last| last.item.key_text(attr::SK).map(str::to_owned));
            // Legacy attributes of an unknown type are ignored.
            items.extend(some.into_iter().map(|readable| readable.item));
            match newest(items.clone(), line, wanted, read_to.as_deref())? {
                Some(newest) => return Ok(newest),
                None => after = read_to,
            }
        }
    }
}
