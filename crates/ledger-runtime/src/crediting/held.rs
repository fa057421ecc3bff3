//! What is due to one merchant, and crediting it while its lease is held.

use super::{OfMerchant, readable, unbuilt, unmarked};
use crate::app::App;
use crate::execute::WriteOutcome;
use crate::problem::Problem;
use ledger_core::dynamo::Attributes;
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{Key, Shards, attr};
use ledger_core::lease::Leased;
use ledger_core::operation::Operation;
use ledger_core::ops::crediting::{CreditedMerchant, Setback, Uncredited};
use ledger_core::reads;
use ledger_core::transaction::{MAX_ITEMS, ProjectedRecord};
use std::collections::BTreeSet;
use tokio::time::Instant;

/// How many records of one shard are asked for at a time.
const PAGE: usize = 200;
/// How many batches a merchant gets in one run, so that a large one does not keep the others waiting.
const BATCHES_MAX: usize = 50;

/// The records that are due to a merchant, as far as they have been listed.
pub(super) struct Work {
    tenant: Tenant,
    merchant: MerchantId,
    /// Shards that have not been listed to their end, the present one last.
    shards: Vec<u32>,
    /// Where the present shard's next page begins.
    after: Option<String>,
    waiting: Vec<Uncredited>,
    /// Whatever has been listed: an index may list what was credited a moment ago.
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

    /// Takes records on, each once.
    pub(super) fn add(&mut self, records: impl IntoIterator<Item = Uncredited>) {
        for record in records {
            if self.seen.insert(record.key()) {
                let since = record.since();
                self.done.oldest = Some(self.done.oldest.map_or(since, |oldest| oldest.min(since)));
                self.waiting.push(record);
            }
        }
    }

    /// Whether anything is due at all.
    pub(super) async fn any(&mut self, app: &App) -> Result<bool, Problem> {
        self.fill(app, 1).await?;
        Ok(!self.waiting.is_empty())
    }

    pub(super) fn into_done(self) -> OfMerchant {
        self.done
    }

    /// Lists until so many wait or there are no more.
    async fn fill(&mut self, app: &App, wanted: usize) -> Result<(), Problem> {
        while self.waiting.len() < wanted {
            let Some(shard) = self.shards.last() else { return Ok(()) };
            let query =
                reads::records_to_credit(&self.tenant, self.merchant, *shard).after(self.after.take()).limit(PAGE);
            let page = app.dynamo().query(&query).await?;
            match page.last() {
                Some(last) if page.len() >= PAGE => self.after = Some(last.string(attr::DUE_SK)?),
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

    /// Drops records by their positions, which are those of the first ones.
    fn drop_at(&mut self, positions: &[usize]) {
        let mut at = 0_usize;
        self.waiting.retain(|_| {
            let stays = !positions.contains(&at);
            at = at.saturating_add(1);
            stays
        });
    }
}

/// A merchant that is ours for the time being.
pub(super) struct Held<'a> {
    pub(super) app: &'a App,
    pub(super) tenant: &'a Tenant,
    pub(super) merchant: &'a Leased<CreditedMerchant>,
    /// When no further batch is begun.
    pub(super) until: Instant,
}

impl Held<'_> {
    /// Credits what is due, batch by batch, until there is no more, the time is over or another has taken
    /// the merchant over.
    pub(super) async fn credit(&self, work: &mut Work) -> Result<(), Problem> {
        for batch in 0..BATCHES_MAX {
            // A merchant whose lease was taken gets one batch: its next turn may be several ticks away.
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

    /// One transaction, again without those that turn out to be credited. `false` if there is nothing left to do.
    async fn credit_batch(&self, work: &mut Work) -> Result<bool, Problem> {
        let ledger = self.app.ledger();
        loop {
            let batch = self.merchant.batch(&work.waiting, self.app.now());
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
            let dropped = match batch.setback(&rejection) {
                Some(Setback::LeaseLost) => {
                    work.done.left = true;
                    return Ok(false);
                }
                Some(Setback::Credited(positions)) => positions,
                Some(Setback::Missing(positions)) => {
                    let why = "a record that is due to be credited does not exist";
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
}
