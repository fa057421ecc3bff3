//! A merchant's credited and uncredited balances, consistent while seals credit entries.
//!
//! Only an index lists the entries that are not credited, and the index is behind the table. It therefore
//! names candidates, and each candidate is read together with the balances in one transaction. One that is neither in the
//! index nor credited is missed, as if the request had come earlier. None counts twice.

use crate::app::App;
use crate::problem::Problem;
use futures::future::{try_join_all, try_join3};
use ledger_core::crediting::{EntryCredit, LaneCredit, is_credited};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::{self, Key, Partition, Shards, Unpublished, attr, sk};
use ledger_core::money::{Asset, Balance, Delta};
use ledger_core::reads::{self, Query};
use ledger_core::sealing::lanes::TrailHead;
use ledger_core::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// How many index entries of one shard one query reads.
const PAGE_ITEMS: usize = 500;
/// The most index entries of the tenant that are read. More wait only if the worker has not run for long, which raises an
/// alarm, or if the tenant takes hundreds of payments a second.
const LISTED_MAX: usize = 10_000;
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

/// A merchant's balances, as of one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MerchantBalances {
    /// By asset.
    pub by_asset: BTreeMap<Asset, MerchantBalance>,
    /// The instant.
    pub as_of: Timestamp,
    /// Whether `uncredited` has everything that the index lists; otherwise more waits than is summed.
    pub is_complete: bool,
}

/// A journal entry that may be uncredited, and its change of the balances.
struct Candidate {
    key: Key,
    delta: Vec<Delta>,
}

/// What an index lists as uncredited.
struct Candidates {
    listed: Vec<Candidate>,
    is_complete: bool,
}

/// Balances and uncredited entries, as read in one round.
struct Snapshot {
    balances: Vec<Item>,
    lanes: Vec<LaneCredit>,
    uncredited: Vec<Candidate>,
    /// Whether the round saw one moment: the merchant was not credited between the first read and the last.
    is_one: bool,
}

/// The items that hold what a merchant is credited with.
struct Holding {
    /// The head of the audit trail, which says how many lanes there are.
    trail: Key,
    balances: Vec<Key>,
}

impl App {
    /// Returns a merchant's balances by asset.
    ///
    /// # Errors
    /// 404 if there is no such merchant. 503 if the table did not answer, or the merchant is credited too often to read
    /// its balances as of one instant.
    pub async fn merchant_balances(&self, tenant: &Tenant, merchant: MerchantId) -> Result<MerchantBalances, Problem> {
        // There must be such a merchant.
        self.merchant_anew(tenant, merchant).await?;
        let run = self.terms(tenant).await?;
        let partition = Partition::merchant(tenant, merchant);
        let (entries, standing, mut lanes) = try_join3(
            self.uncredited_entries(tenant, merchant, run.due_shards),
            self.balances(&partition),
            self.lanes(tenant),
        )
        .await?;
        let Candidates { listed: mut waiting, is_complete } = entries;
        // Also the assets without a balance item: their first entry may be credited before the read.
        let mut assets: BTreeSet<Asset> = standing.iter().map(asset_of).collect::<Result<_, _>>()?;
        assets.extend(run.assets.keys().cloned());
        assets.extend(waiting.iter().flat_map(|candidate| &candidate.delta).map(|delta| delta.asset().clone()));
        let balances = assets.iter().map(|asset| partition.balance(asset)).collect();
        let holding = Holding { trail: keys::lanes(tenant), balances };
        for _ in 0..ROUNDS_MAX {
            let as_of = self.now();
            let (snapshot, lanes_then) = self.together((tenant, merchant), &holding, lanes, waiting).await?;
            if snapshot.is_one && lanes_then == lanes {
                return Ok(MerchantBalances { by_asset: sums(&snapshot)?, as_of, is_complete });
            }
            lanes = lanes_then;
            // INVARIANT: a credited entry stays credited. Each round reads fewer entries, and a single read is always
            // consistent.
            waiting = snapshot.uncredited;
        }
        Err(Problem::busy())
    }

    /// The number of lanes of the tenant's audit trail; 0 before they are opened.
    async fn lanes(&self, tenant: &Tenant) -> Result<u32, Problem> {
        let head = self.dynamo().get(&keys::lanes(tenant)).await?;
        Ok(lanes_of(tenant, head.as_ref())?)
    }

    /// Lists the merchant's journal entries that the index has as not sealed, and whose seal credits it.
    async fn uncredited_entries(
        &self,
        tenant: &Tenant,
        merchant: MerchantId,
        shards: Shards,
    ) -> Result<Candidates, Problem> {
        let (keys, is_complete) = self.listed_entries(tenant, merchant, shards).await?;
        let mut listed = Vec::new();
        for (key, item) in keys.iter().zip(self.dynamo().get_many(&keys).await?) {
            let credit = item.as_ref().map(EntryCredit::read).transpose()?.flatten();
            let credit = credit.filter(|credit| credit.merchant == merchant);
            listed.extend(credit.map(|credit| Candidate { key: key.clone(), delta: credit.delta }));
        }
        Ok(Candidates { listed, is_complete })
    }

    /// The keys of the listed entries whose seal may credit the merchant, until too many index entries were read.
    async fn listed_entries(
        &self,
        tenant: &Tenant,
        merchant: MerchantId,
        shards: Shards,
    ) -> Result<(Vec<Key>, bool), Problem> {
        let mut listed = Vec::new();
        let queries = (0..shards.count()).map(|shard| reads::records_unsealed(tenant, shard));
        let mut open: Vec<(Query, Option<String>)> = queries.map(|query| (query, None)).collect();
        let mut seen = 0_usize;
        while !open.is_empty() && seen < LISTED_MAX {
            let few: Vec<_> = open.drain(..open.len().min(CONCURRENCY)).collect();
            let pages = few.into_iter().map(|(query, after)| async move {
                let page = self.dynamo().query(&query.clone().after(after).limit(PAGE_ITEMS)).await?;
                Ok::<_, Problem>((query, page))
            });
            for (query, page) in try_join_all(pages).await? {
                seen = seen.saturating_add(page.len());
                for item in &page {
                    let key = Key::stored(tenant, item.text(attr::PK)?, item.text(attr::SK)?);
                    let key = key.filter(|key| key.entry().is_some());
                    let due = Unpublished::parse(item.text(attr::DUE_SK)?);
                    listed.extend(key.filter(|_| due.is_some_and(|due| due.may_credit(merchant))));
                }
                if let Some(last) = page.last().filter(|_| page.len() >= PAGE_ITEMS) {
                    open.push((query, Some(last.string(attr::DUE_SK)?)));
                }
            }
        }
        let is_complete = open.is_empty();
        if !is_complete {
            tracing::error!(%tenant, %merchant, "more entries wait to be credited than can be summed");
        }
        Ok((listed, is_complete))
    }

    /// Reads balances and candidates, each part with what says how often the merchant was credited. If these are equal,
    /// all parts are of one moment. Also returns the number of lanes at that moment.
    async fn together(
        &self,
        of: (&Tenant, MerchantId),
        holding: &Holding,
        lanes: u32,
        candidates: Vec<Candidate>,
    ) -> Result<(Snapshot, u32), Problem> {
        let mut left: &[Candidate] = &candidates;
        let mut reads: Vec<(&[Key], &[Candidate])> = Vec::new();
        let mut beside: &[Key] = &holding.balances;
        let versions = usize::try_from(lanes).unwrap_or(usize::MAX).saturating_add(1);
        loop {
            let room = TRANSACT_GET_ITEMS_MAX.saturating_sub(versions).saturating_sub(beside.len());
            let (these, others) = left.split_at_checked(room).unwrap_or((left, &[]));
            reads.push((beside, these));
            (left, beside) = (others, &[]);
            if left.is_empty() {
                break;
            }
        }
        let mut answers = Vec::new();
        for few in reads.chunks(CONCURRENCY) {
            let few = few.iter().map(|(beside, these)| self.read_together(of, holding, (lanes, beside), these));
            answers.extend(try_join_all(few).await?);
        }
        let first = answers.first().map(|answer| answer.version.clone()).unwrap_or_default();
        let is_one = answers.iter().all(|answer| answer.version == first);
        let (mut standing, mut waits) = (Vec::new(), Vec::new());
        for answer in answers {
            standing.extend(answer.balances);
            waits.extend(answer.waits);
        }
        let uncredited = candidates.into_iter().zip(waits).filter(|(_, waits)| *waits).map(|(candidate, _)| candidate);
        let uncredited = uncredited.collect();
        let Version { lanes_then, lanes } = first;
        Ok((Snapshot { balances: standing, lanes, uncredited, is_one }, lanes_then))
    }

    async fn read_together(
        &self,
        (tenant, merchant): (&Tenant, MerchantId),
        holding: &Holding,
        (lanes, balances): (u32, &[Key]),
        candidates: &[Candidate],
    ) -> Result<Answer, Problem> {
        let of_lanes = (0..lanes).map(|lane| keys::credited_in_lane(tenant, merchant, lane));
        let entries = candidates.iter().map(|candidate| candidate.key.clone());
        let keys = std::iter::once(holding.trail.clone()).chain(of_lanes);
        let keys: Vec<Key> = keys.chain(balances.iter().cloned()).chain(entries).collect();
        let mut items = self.dynamo().get_together(&keys).await?.into_iter();
        let lanes_then = lanes_of(tenant, items.next().flatten().as_ref())?;
        let lanes = (0..lanes).zip(items.by_ref()).filter_map(|(lane, item)| Some((lane, item?)));
        let lanes = lanes.map(|(lane, item)| LaneCredit::read(lane, &item)).collect::<Result<_, _>>()?;
        let balances = items.by_ref().take(balances.len()).flatten().collect();
        let waits = items.map(|entry| match entry {
            Some(entry) => Ok(!is_credited(&entry)),
            None => Err(ItemError::invalid(attr::PK)),
        });
        let waits = waits.collect::<Result<_, _>>()?;
        Ok(Answer { version: Version { lanes_then, lanes }, balances, waits })
    }
}

/// What changes whenever the merchant is credited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Version {
    /// The number of lanes of the audit trail.
    lanes_then: u32,
    /// What entries have credited in each lane.
    lanes: Vec<LaneCredit>,
}

/// The result of one transactional read.
struct Answer {
    version: Version,
    balances: Vec<Item>,
    /// Whether each candidate is uncredited, in their order.
    waits: Vec<bool>,
}

fn lanes_of(tenant: &Tenant, head: Option<&Item>) -> Result<u32, ItemError> {
    Ok(head.map(|head| TrailHead::read(tenant, head)).transpose()?.map_or(0, |head| head.lanes.count()))
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
    for lane in &snapshot.lanes {
        for delta in lane.sums.net().map_err(|_| too_large())? {
            let sum = sums.entry(delta.asset().clone()).or_insert_with(|| nothing(delta.asset()));
            sum.credited = sum.credited.checked_apply(&delta).map_err(|_| too_large())?;
        }
    }
    for delta in snapshot.uncredited.iter().flat_map(|candidate| &candidate.delta) {
        let sum = sums.entry(delta.asset().clone()).or_insert_with(|| nothing(delta.asset()));
        sum.uncredited = sum.uncredited.checked_apply(delta).map_err(|_| too_large())?;
    }
    Ok(sums)
}

fn nothing(asset: &Asset) -> MerchantBalance {
    let zero = || Balance::zero(asset.clone());
    MerchantBalance { credited: zero(), held: zero(), uncredited: zero() }
}

fn asset_of(balance: &Item) -> Result<Asset, ItemError> {
    balance.parsed(attr::SK, |key| Asset::parse(key.strip_prefix(sk::BALANCE).unwrap_or_default()))
}

fn too_large() -> ItemError {
    ItemError::invalid(attr::BALANCE)
}
