//! Previews of changes of terms: reads a tenant's payments of the last days, and compares how they were made with how they
//! would be made.

use crate::app::App;
use crate::attempts::{Attempted, Ending, Progress};
use crate::problem::Problem;
use futures::future::try_join_all;
use ledger_core::account::Account;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, Key, attr};
use ledger_core::payments::PaymentRecord;
use ledger_core::previews::{
    Comparing, Comparison, PREVIEW_PAYMENTS_MAX, PastPayment, PreviewDetails, PreviewError, PreviewFailure,
};
use ledger_core::reads::{self, Times};
use ledger_core::refused_payment::RefusedPayment;
use ledger_core::terms::TenantTerms;
use ledger_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The number of merchants, or of payers, that are read at once.
const CONCURRENCY: usize = 8;
/// The number of index entries, and of records, that are read per step.
const PAGE_ITEMS: usize = 500;

impl Attempted for PreviewDetails {
    async fn make(app: &App, tenant: &Tenant, progress: &mut Progress<'_, Self>) -> Result<Ending, Problem> {
        let mut run = Run { app, tenant, progress, payments: Vec::new() };
        match run.compare().await {
            Ok(comparison) => Ok(Ending::Done(run.count(), Self::result(&comparison))),
            Err(Ended::Without(failure)) => Ok(Ending::Failed(failure.name())),
            Err(Ended::Problem(problem)) => Err(problem),
        }
    }
}

/// Why a preview has no result.
enum Ended {
    /// It will have none.
    Without(PreviewFailure),
    /// It could not be completed.
    Problem(Problem),
}

impl<E: Into<Problem>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Problem(error.into())
    }
}

/// One run of a preview.
struct Run<'a, 'b> {
    app: &'a App,
    tenant: &'a Tenant,
    progress: &'a mut Progress<'b, PreviewDetails>,
    payments: Vec<PastPayment>,
}

impl Run<'_, '_> {
    async fn compare(&mut self) -> Result<Comparison, Ended> {
        let present = self.app.terms(self.tenant).await?;
        let changed = match &self.progress.job.details.changes {
            Some(changes) => changes.applied(&present).ok_or(Ended::Without(PreviewFailure::TermsChanged))?,
            None => (*present).clone(),
        };
        self.read_payments().await?;
        self.read_refused().await?;
        self.payments.sort_by_key(|payment| (payment.at, payment.id));
        let accounts = self.accounts(&changed).await?;
        let mut comparing = Comparing::new(self.tenant, &present, &changed);
        for payment in &self.payments {
            let account = accounts.as_ref().and_then(|accounts| accounts.get(&payment.payer));
            comparing.add(payment, account.map(Vec::as_slice)).map_err(malformed)?;
        }
        Ok(comparing.finish().map_err(|error| malformed(error.into()))?)
    }

    /// Reads the payments of every merchant.
    async fn read_payments(&mut self) -> Result<(), Ended> {
        let merchants = self.app.dynamo().query(&reads::merchants(self.tenant)).await?;
        let merchants = merchants.iter().map(|item| item.parsed(attr::OWNER_SK, MerchantId::parse));
        let merchants = merchants.collect::<Result<Vec<_>, ItemError>>()?;
        for few in merchants.chunks(CONCURRENCY) {
            let read = try_join_all(few.iter().map(|merchant| self.payments_of(*merchant))).await?;
            self.keep(read.into_iter().flatten()).await?;
        }
        Ok(())
    }

    /// The payments to one merchant.
    async fn payments_of(&self, id: MerchantId) -> Result<Vec<PastPayment>, Ended> {
        let merchant = self.app.merchant(self.tenant, id).await?;
        let mut payments = Vec::new();
        for shard in 0..merchant.shards.count() {
            let list = reads::merchant_records(self.tenant, id, shard).newest_first().limit(PAGE_ITEMS);
            let mut after = None;
            loop {
                let entries = self.app.dynamo().query(&list.clone().after(after.take())).await?;
                let records = self.records(&entries).await?;
                let is_last = entries.len() < PAGE_ITEMS
                    || records.last().is_some_and(|last| last.created_at < self.progress.job.details.from);
                for record in records.iter().filter(|record| self.is_covered(record.created_at)) {
                    payments.extend(PastPayment::of_record(record).map_err(|error| malformed(error.into()))?);
                }
                if payments.len() > PREVIEW_PAYMENTS_MAX {
                    return Err(Ended::Without(PreviewFailure::TooManyPayments));
                }
                match entries.last() {
                    Some(last) if !is_last => after = Some(last.string(attr::OWNER_SK)?),
                    Some(_) | None => break,
                }
            }
        }
        Ok(payments)
    }

    /// The payments among the records of index entries, in their order.
    async fn records(&self, entries: &[Item]) -> Result<Vec<PaymentRecord>, Ended> {
        let items = self.items(entries).await?;
        // A refund has a kind.
        let payments = items.iter().filter(|item| !item.contains_key("kind")).map(PaymentRecord::read);
        Ok(payments.collect::<Result<_, ItemError>>()?)
    }

    /// Reads the payments that were refused.
    async fn read_refused(&mut self) -> Result<(), Ended> {
        for shard in 0..keys::LISTED_SHARDS.count() {
            let (from, until) = (Some(self.progress.job.details.from), Some(self.progress.job.head.created_at));
            let mut after = None;
            loop {
                let list = reads::refused_payments(self.tenant, shard, Times { from, until, after });
                let entries = self.app.dynamo().query(&list.limit(PAGE_ITEMS)).await?;
                let mut refused = Vec::new();
                for marker in self.items(&entries).await? {
                    refused.extend(RefusedPayment::read(&marker)?);
                }
                self.keep(refused.into_iter().map(|(refused, code)| PastPayment::of_refused(refused, code))).await?;
                match entries.last() {
                    Some(last) if entries.len() >= PAGE_ITEMS => {
                        after = Some(last.parsed(attr::OWNER_SK, |text| keys::place_of(text).ok_or(()))?);
                    }
                    Some(_) | None => break,
                }
            }
        }
        Ok(())
    }

    /// The items of index entries that exist, in their order.
    async fn items(&self, entries: &[Item]) -> Result<Vec<Item>, Ended> {
        let key = |entry: &Item| Key::stored(self.tenant, entry.key_text(attr::PK)?, entry.key_text(attr::SK)?);
        let keys = entries.iter().map(|entry| key(entry).ok_or_else(|| ItemError::invalid(attr::PK)));
        let keys = keys.collect::<Result<Vec<_>, ItemError>>()?;
        Ok(self.app.dynamo().get_many(&keys).await?.into_iter().flatten().collect())
    }

    /// Keeps payments, and records how many there are.
    async fn keep(&mut self, payments: impl Iterator<Item = PastPayment>) -> Result<(), Ended> {
        self.payments.extend(payments);
        if self.payments.len() > PREVIEW_PAYMENTS_MAX {
            return Err(Ended::Without(PreviewFailure::TooManyPayments));
        }
        self.record_progress().await
    }

    /// The balance items, or the card, of each payer, if any account of the tenant has limits of its own.
    async fn accounts(&mut self, terms: &TenantTerms) -> Result<Option<BTreeMap<Account, Vec<Item>>>, Ended> {
        if !terms.limits.as_ref().is_some_and(|limits| limits.has_own_limits()) {
            return Ok(None);
        }
        let payers: BTreeSet<Account> = self.payments.iter().map(|payment| payment.payer).collect();
        let payers: Vec<Account> = payers.into_iter().collect();
        let mut accounts = BTreeMap::new();
        for few in payers.chunks(CONCURRENCY) {
            let read = try_join_all(few.iter().map(|payer| self.app.limited_items(self.tenant, *payer))).await?;
            accounts.extend(few.iter().copied().zip(read));
            self.record_progress().await?;
        }
        Ok(Some(accounts))
    }

    fn is_covered(&self, at: Timestamp) -> bool {
        self.progress.job.details.from <= at && at < self.progress.job.head.created_at
    }

    async fn record_progress(&mut self) -> Result<(), Ended> {
        let count = self.count();
        Ok(self.progress.record(count).await?)
    }

    fn count(&self) -> u64 {
        u64::try_from(self.payments.len()).unwrap_or(u64::MAX)
    }
}

fn malformed(error: PreviewError) -> Problem {
    tracing::error!(%error, "payments cannot be compared");
    Problem::internal()
}
