//! A merchant's credited and uncredited balances, consistent while the worker credits records.
//!
//! Only an index lists the records that are not credited, and the index is behind the table. It therefore names
//! candidates, and each candidate is read together with the balances in one transaction. A record that is neither in
//! the index nor credited is missed, as if the request had come earlier. No record counts twice.

use crate::app::App;
use crate::problem::Problem;
use futures::future::{try_join, try_join_all};
use ledger_core::crediting::{Crediting, Uncredited, is_credited};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{Key, Partition, attr, sk};
use ledger_core::money::{Asset, Balance, Delta};
use ledger_core::reads;
use ledger_core::terms::MerchantTerms;
use ledger_core::transaction::ProjectedRecord;
use std::collections::{BTreeMap, BTreeSet};

/// How many records of one shard one query lists.
const PAGE_ITEMS: usize = 500;
/// The most records that are summed. More wait only if the worker has not run for long, which raises an alarm.
const CANDIDATES_MAX: usize = 10_000;
/// The most items that DynamoDB reads in one transaction.
const TRANSACT_GET_ITEMS_MAX: usize = 100;
/// How many of these reads are made concurrently.
const CONCURRENCY: usize = 8;
/// How often candidates that need several reads are read again because the merchant was credited in between.
const ROUNDS_MAX: u32 = 20;

/// A merchant's balance of an asset. Refunds may take each part below zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerchantBalance {
    /// Credited and not paid out, with what a settlement holds.
    pub credited: Balance,
    /// The part of `credited` that a settlement holds.
    pub held: Balance,
    /// Payments less refunds that are not credited yet.
    pub uncredited: Balance,
}

/// A record that may be uncredited, and its change of the balances.
struct Candidate {
    key: Key,
    delta: Vec<Delta>,
}

/// Balances and uncredited records, as read in one round.
struct Snapshot {
    balances: Vec<Item>,
    uncredited: Vec<Candidate>,
    /// Whether the round saw one moment: the merchant was not credited between the first read and the last.
    is_one: bool,
}

impl App {
    /// Returns a merchant's balances by asset.
    ///
    /// # Errors
    /// 404 if there is no such merchant. 503 if the table did not answer, or too many records wait to be summed.
    pub async fn merchant_balances(
        &self,
        tenant: &Tenant,
        merchant: MerchantId,
    ) -> Result<BTreeMap<Asset, MerchantBalance>, Problem> {
        let (terms, run) = (self.merchant_anew(tenant, merchant).await?, self.terms(tenant).await?);
        let partition = Partition::merchant(tenant, merchant);
        let (mut waiting, standing) = try_join(self.uncredited(tenant, &terms), self.balances(&partition)).await?;
        // Also the assets without a balance item: their first record may be credited before the read.
        let mut assets: BTreeSet<Asset> = standing.iter().map(asset_of).collect::<Result<_, _>>()?;
        assets.extend(run.assets.keys().cloned());
        assets.extend(waiting.iter().flat_map(|candidate| &candidate.delta).map(|delta| delta.asset().clone()));
        for _ in 0..ROUNDS_MAX {
            let snapshot = self.together(&partition, &assets, waiting).await?;
            if snapshot.is_one {
                return Ok(sums(&snapshot)?);
            }
            // INVARIANT: a credited record stays credited. Each round reads fewer records, and a single read is always
            // consistent.
            waiting = snapshot.uncredited;
        }
        Err(Problem::busy())
    }

    /// Lists the records that the index has as not credited.
    async fn uncredited(&self, tenant: &Tenant, terms: &MerchantTerms) -> Result<Vec<Candidate>, Problem> {
        let mut found = Vec::new();
        for shard in 0..terms.shards.count() {
            let mut after = None;
            loop {
                let query = reads::records_to_credit(tenant, terms.id, shard).after(after.take()).limit(PAGE_ITEMS);
                let page = self.dynamo().query(&query).await?;
                for item in &page {
                    if let Some(record) = Uncredited::read(tenant, item)? {
                        found.push(Candidate { key: record.key(), delta: record.delta().to_vec() });
                    }
                }
                if found.len() > CANDIDATES_MAX {
                    tracing::error!(%tenant, merchant = %terms.id, "more uncredited records than can be summed");
                    return Err(Problem::busy());
                }
                match page.last() {
                    Some(last) if page.len() >= PAGE_ITEMS => after = Some(last.string(attr::DUE_SK)?),
                    Some(_) | None => break,
                }
            }
        }
        Ok(found)
    }

    /// Reads balances and candidates, each part with the merchant's version. Equal versions mean that all parts are of
    /// one moment.
    async fn together(
        &self,
        partition: &Partition,
        assets: &BTreeSet<Asset>,
        candidates: Vec<Candidate>,
    ) -> Result<Snapshot, Problem> {
        let balances: Vec<Key> = assets.iter().map(|asset| partition.balance(asset)).collect();
        let mut left: &[Candidate] = &candidates;
        let mut reads: Vec<(&[Key], &[Candidate])> = Vec::new();
        let mut beside: &[Key] = &balances;
        loop {
            let room = TRANSACT_GET_ITEMS_MAX.saturating_sub(1).saturating_sub(beside.len());
            let (these, others) = left.split_at_checked(room).unwrap_or((left, &[]));
            reads.push((beside, these));
            (left, beside) = (others, &[]);
            if left.is_empty() {
                break;
            }
        }
        let mut answers = Vec::new();
        for few in reads.chunks(CONCURRENCY) {
            let few = few.iter().map(|(beside, these)| self.read_together(partition, beside, these));
            answers.extend(try_join_all(few).await?);
        }
        let versions: BTreeSet<Option<i64>> = answers.iter().map(|answer| answer.version).collect();
        let (mut standing, mut waits) = (Vec::new(), Vec::new());
        for answer in answers {
            standing.extend(answer.balances);
            waits.extend(answer.waits);
        }
        let uncredited = candidates.into_iter().zip(waits).filter(|(_, waits)| *waits).map(|(candidate, _)| candidate);
        Ok(Snapshot { balances: standing, uncredited: uncredited.collect(), is_one: versions.len() <= 1 })
    }

    async fn read_together(
        &self,
        partition: &Partition,
        balances: &[Key],
        candidates: &[Candidate],
    ) -> Result<Answer, Problem> {
        let records = candidates.iter().map(|candidate| candidate.key.clone());
        let keys: Vec<Key> =
            [partition.crediting()].into_iter().chain(balances.iter().cloned()).chain(records).collect();
        let mut items = self.dynamo().get_together(&keys).await?.into_iter();
        let crediting = items.next().flatten();
        let version = crediting.as_ref().map(Crediting::read).transpose()?.map(|crediting| crediting.version);
        let balances = items.by_ref().take(balances.len()).flatten().collect();
        let waits = items.map(|record| match record {
            Some(record) => Ok(!is_credited(&record)),
            None => Err(ItemError::invalid(attr::PK)),
        });
        Ok(Answer { version, balances, waits: waits.collect::<Result<_, _>>()? })
    }
}

/// The result of one transactional read.
struct Answer {
    version: Option<i64>,
    balances: Vec<Item>,
    /// Whether each candidate is uncredited, in their order.
    waits: Vec<bool>,
}

fn sums(snapshot: &Snapshot) -> Result<BTreeMap<Asset, MerchantBalance>, ItemError> {
    let mut sums = BTreeMap::new();
    for item in &snapshot.balances {
        let asset = asset_of(item)?;
        let held = item.balance_or_zero(attr::HELD, asset.clone())?;
        let credited = item.balance_or_zero(attr::BALANCE, asset.clone())?;
        let credited = credited.checked_plus(&held).map_err(|_| too_large())?;
        sums.insert(asset.clone(), MerchantBalance { credited, held, uncredited: Balance::zero(asset) });
    }
    for delta in snapshot.uncredited.iter().flat_map(|candidate| &candidate.delta) {
        let zero = || Balance::zero(delta.asset().clone());
        let nothing = || MerchantBalance { credited: zero(), held: zero(), uncredited: zero() };
        let sum = sums.entry(delta.asset().clone()).or_insert_with(nothing);
        sum.uncredited = sum.uncredited.checked_apply(delta).map_err(|_| too_large())?;
    }
    Ok(sums)
}

fn asset_of(balance: &Item) -> Result<Asset, ItemError> {
    balance.parsed(attr::SK, |key| Asset::parse(key.strip_prefix(sk::BALANCE).unwrap_or_default()))
}

fn too_large() -> ItemError {
    ItemError::invalid(attr::BALANCE)
}
