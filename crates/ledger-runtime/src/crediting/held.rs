//! The uncredited records of one merchant, and crediting them under its lease.

use super::{OfMerchant, readable, unbuilt, unmarked};
use crate::app::App;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use ledger_core::crediting::{BatchRejection, CreditedMerchant, Crediting, Uncredited};
use ledger_core::dynamo::Attributes;
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{Key, Partition, Shards, attr};
use ledger_core::lease::Leased;
use ledger_core::operation::Operation;
use ledger_core::reads;
use ledger_core::terms::RecordVersion;
use ledger_core::transaction::{MAX_ITEMS, ProjectedRecord};
use std::collections::BTreeSet;
use tokio::time::Instant;

/// How many records of one shard one query lists.
const PAGE_ITEMS: usize = 200;
/// The most batches of one merchant in a run, so that a large merchant does not delay the others.
const BATCHES_MAX: usize = 50;

/// The uncredited records of a merchant, listed so far.
pub(super) struct Work {
    tenant: Tenant,
    merchant: MerchantId,
    /// Shards that have not been listed to their end; the current one is last.
    shards: Vec<u32>,
    /// Where the current shard's next page begins.
    after: Option<String>,
    waiting: Vec<Uncredited>,
    /// All records listed so far. An index may still list a record that has just been credited.
    seen: BTreeSet<Key>,
    done: OfMerchant,
}

impl Work {
    pub(super) fn new(tenant: &Tenant, merchant: MerchantId, shards: Shards) -> Self {
        Self {
            tenant: tenant.clone(),
            merchant,
            shards: (0..shards.count()).rev().collect(),
            after: None,
            waiting: Vec::new(),
            seen: BTreeSet::new(),
            done: OfMerchant::default(),
        }
    }

    /// Adds records, each once.
    pub(super) fn add(&mut self, records: impl IntoIterator<Item = Uncredited>) {
        for record in records {
            if self.seen.insert(record.key()) {
                let since = record.since();
                self.done.oldest = Some(self.done.oldest.map_or(since, |oldest| oldest.min(since)));
                self.waiting.push(record);
            }
        }
    }

    /// Whether the merchant has any uncredited record.
    pub(super) async fn any(&mut self, app: &App) -> Result<bool, Problem> {
        self.fill(app, 1).await?;
        Ok(!self.waiting.is_empty())
    }

    pub(super) fn into_done(self) -> OfMerchant {
        self.done
    }

    /// Lists until `wanted` records wait or all shards are listed.
    async fn fill(&mut self, app: &App, wanted: usize) -> Result<(), Problem> {
        while self.waiting.len() < wanted {
            let Some(shard) = self.shards.last() else { return Ok(()) };
            let query = reads::records_to_credit(&self.tenant, self.merchant, *shard)
                .after(self.after.take())
                .limit(PAGE_ITEMS);
            let page = app.dynamo().query(&query).await?;
            match page.last() {
                Some(last) if page.len() >= PAGE_ITEMS => self.after = Some(last.string(attr::DUE_SK)?),
                Some(_) | None => {
                    let _ = self.shards.pop();
                }
            }
            for item in &page {
                let record = readable(&self.tenant, item, &mut self.done.fault);
                self.add(record);
            }
        }
        Ok(())
    }

    /// Drops the records at these positions of `waiting`.
    fn drop_at(&mut self, positions: &[usize]) {
        let mut at = 0_usize;
        self.waiting.retain(|_| {
            let stays = !positions.contains(&at);
            at = at.saturating_add(1);
            stays
        });
    }
}

/// A merchant whose lease this run holds.
pub(super) struct Held<'a> {
    pub(super) app: &'a App,
    pub(super) tenant: &'a Tenant,
    pub(super) merchant: Leased<CreditedMerchant>,
    /// The version of the records that are written.
    pub(super) records: RecordVersion,
    /// No further batch begins after this.
    pub(super) until: Instant,
}

impl Held<'_> {
    /// Credits batch by batch until nothing is due, the time is over, or another worker has taken the lease.
    pub(super) async fn credit(&mut self, work: &mut Work) -> Result<(), Problem> {
        for batch in 0..BATCHES_MAX {
            // The first batch ignores the time limit, because the merchant's next turn may be several ticks away.
            if batch > 0 && Instant::now() >= self.until {
                return Ok(());
            }
            work.fill(self.app, MAX_ITEMS).await?;
            if !self.credit_batch(work).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Credits one batch, repeating it without records that are credited or missing. Returns `false` if the caller must
    /// stop.
    async fn credit_batch(&mut self, work: &mut Work) -> Result<bool, Problem> {
        let ledger = self.app.ledger();
        loop {
            let batch = self.merchant.batch(&work.waiting, self.records, self.app.now());
            let Some(batch) = batch.map_err(|error| unbuilt(self.app, self.tenant, &error))? else { return Ok(false) };
            let rejection = match ledger.attempt(self.tenant, Operation::Crediting, batch.transaction()).await? {
                WriteOutcome::Applied => {
                    work.done.records = work.done.records.saturating_add(batch.records());
                    work.waiting.drain(..batch.records());
                    return Ok(true);
                }
                WriteOutcome::Rejected(rejection) => rejection,
                WriteOutcome::MarkerExists(_) => return Err(unmarked(self.app, self.tenant)),
            };
            let dropped = match batch.explain(&rejection) {
                Some(BatchRejection::LeaseLost) => {
                    work.done.left = true;
                    return Ok(false);
                }
                // The same records are credited to the period that is open now.
                Some(BatchRejection::PeriodClosed) => {
                    self.read_period().await?;
                    continue;
                }
                Some(BatchRejection::Credited(positions)) => positions,
                Some(BatchRejection::Missing(positions)) => {
                    let why = "a record in the due index does not exist";
                    work.done.fault = Some(ledger.broken(self.tenant, Operation::Crediting, why));
                    positions
                }
                None => Vec::new(),
            };
            if dropped.is_empty() {
                let why = "a batch failed on a guard that it does not have";
                return Err(ledger.broken(self.tenant, Operation::Crediting, why));
            }
            work.drop_at(&dropped);
        }
    }

    /// Reads which period of the merchant is open.
    async fn read_period(&mut self) -> Result<(), Problem> {
        let key = Partition::merchant(self.tenant, self.merchant.id()).crediting();
        let crediting = self.app.dynamo().get(&key).await?;
        let crediting = crediting.as_ref().map(Crediting::read).transpose()?;
        let why = "a merchant that is credited has no crediting item";
        let crediting = crediting.ok_or_else(|| self.app.ledger().broken(self.tenant, Operation::Crediting, why))?;
        self.merchant = self.merchant.in_period(crediting.period);
        Ok(())
    }
}
