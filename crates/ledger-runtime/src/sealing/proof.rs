//! Reads what proves that a record was sealed before a binding. It only reads: read-only credentials are enough.

use super::read::key_of;
use crate::dynamo::{Dynamo, ReadError};
use futures::future::try_join_all;
use ledger_core::dynamo::{Item, ItemError};
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Key};
use ledger_core::reads;
use ledger_core::sealing::lanes::{Binding, LaneLink, LaneRange, LaneSegment, Unbound};
use ledger_core::sealing::{Proof, SealHash, lane_segment_of};
use ledger_core::time::UtcDay;

/// The number of segments per page: each is a few kilobytes.
const SEGMENTS_PER_PAGE: usize = 100;
/// The number of bindings per page.
const BINDINGS_PER_PAGE: usize = 500;

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
pub enum ProveError {
    /// There is no such record.
    #[error("there is no such entry: check the account and the id")]
    Unknown,
    /// The record is in no segment.
    #[error("the entry is not sealed yet: run the command again in two minutes")]
    NotSealed,
    /// No binding covers the record's segment.
    #[error("the entry is not bound yet: a binding is written an hour after the last one, and is a head from then on")]
    NotBound,
    /// No binding has this hash.
    #[error("no binding has the hash {0}: `audit verify` and GET /v1/admin/audit/seals list those of the trail")]
    UnknownHead(SealHash),
    /// The binding was written before the one that covers the record.
    #[error("the binding {0} was written before the entry was bound: name a later head")]
    EarlierHead(SealHash),
    /// The items do not lead from the record to the head.
    #[error("the audit trail does not lead from the entry to this head: run `audit verify`")]
    Broken,
    /// The table could not be read.
    #[error(transparent)]
    Store(#[from] ReadError),
}

impl From<ItemError> for ProveError {
    fn from(_: ItemError) -> Self {
        Self::Broken
    }
}

/// Proves that a record was sealed before the binding with this hash.
///
/// # Errors
/// [`ProveError`] if it was not, or the trail does not show it.
pub async fn prove(dynamo: &Dynamo, tenant: &Tenant, record: &Key, head: SealHash) -> Result<Proof, ProveError> {
    let item = dynamo.get(record).await?.ok_or(ProveError::Unknown)?;
    let place = lane_segment_of(&item)?.ok_or(ProveError::NotSealed)?;
    let key = keys::lane_segment(tenant, place.0, place.1);
    let stored = dynamo.get(&key).await?.ok_or(ProveError::Broken)?;
    let segment = LaneSegment::read(tenant, &key, &stored)?;
    // Workers' clocks differ by less than a day.
    let from = segment.sealed_at.utc_day().previous().unwrap_or(UtcDay::MIN);
    let mut chain = Chain { dynamo, tenant, place, before: None, bound: None, items: Vec::new() };
    if chain.lead_to(head, from).await? {
        let (Some(bound), before) = (&chain.bound, chain.before.as_ref()) else { return Err(ProveError::Broken) };
        let unread = bound.unread(before);
        let segments = segments(dynamo, tenant, unread).await?.ok_or(ProveError::Broken)?;
        return Proof::of(&item, (&segment, &stored), &segments, &chain.items).ok_or(ProveError::Broken);
    }
    let Some(bound) = chain.bound else { return Err(ProveError::NotBound) };
    match has_binding(dynamo, tenant, bound.link.day, head).await? {
        true => Err(ProveError::EarlierHead(head)),
        false => Err(ProveError::UnknownHead(head)),
    }
}

/// The bindings from the one that covers a segment.
struct Chain<'a> {
    dynamo: &'a Dynamo,
    tenant: &'a Tenant,
    /// The lane and number of the segment.
    place: (u32, u64),
    /// The binding before the one that covers the segment.
    before: Option<Binding>,
    /// The binding that covers the segment.
    bound: Option<Binding>,
    /// The stored bindings from that on.
    items: Vec<Item>,
}

impl Chain<'_> {
    /// Reads the bindings from a day on. Returns whether they lead to the head.
    async fn lead_to(&mut self, head: SealHash, from: UtcDay) -> Result<bool, ProveError> {
        if let Some(day) = from.previous() {
            let query = reads::bindings(self.tenant, UtcDay::MIN, day).newest_first().limit(1);
            for item in self.dynamo.query(&query).await? {
                self.before = Some(binding(self.tenant, &item)?);
            }
        }
        let mut after = None;
        loop {
            let query = reads::bindings(self.tenant, from, UtcDay::MAX).after(after.take()).limit(BINDINGS_PER_PAGE);
            let items = self.dynamo.query(&query).await?;
            let is_last = items.len() < BINDINGS_PER_PAGE;
            for item in items {
                after = key_of(self.tenant, &item).map(|key| key.sk().to_owned());
                if self.bound.is_none() {
                    let read = binding(self.tenant, &item)?;
                    let lane = usize::try_from(self.place.0).ok().and_then(|lane| read.lanes.get(lane));
                    if lane.is_none_or(|lane| lane.number < self.place.1) {
                        self.before = Some(read);
                        continue;
                    }
                    self.bound = Some(read);
                }
                let hash = Binding::digest(&item);
                self.items.push(item);
                if hash == head {
                    return Ok(true);
                }
            }
            if is_last {
                return Ok(false);
            }
        }
    }
}

fn binding(tenant: &Tenant, item: &Item) -> Result<Binding, ProveError> {
    let key = key_of(tenant, item).ok_or(ProveError::Broken)?;
    Ok(Binding::read(tenant, &key, item)?)
}

/// Whether a binding of these days or before has this hash.
async fn has_binding(dynamo: &Dynamo, tenant: &Tenant, until: UtcDay, hash: SealHash) -> Result<bool, ReadError> {
    let mut after = None;
    loop {
        let query = reads::bindings(tenant, UtcDay::MIN, until).after(after.take()).limit(BINDINGS_PER_PAGE);
        let items = dynamo.query(&query).await?;
        if items.iter().any(|item| Binding::digest(item) == hash) {
            return Ok(true);
        }
        after = items.last().and_then(|item| key_of(tenant, item)).map(|key| key.sk().to_owned());
        if items.len() < BINDINGS_PER_PAGE {
            return Ok(false);
        }
    }
}

/// Reads the segments of a binding, all lanes at once; `None` if one is missing or malformed.
pub(super) async fn segments(
    dynamo: &Dynamo,
    tenant: &Tenant,
    mut unread: Unbound,
) -> Result<Option<Unbound>, ReadError> {
    let lanes = (0_u32..).zip(unread.ranges().to_vec());
    let read = try_join_all(lanes.map(|(lane, range)| segments_of_lane(dynamo, tenant, lane, range))).await?;
    let is_whole = read.into_iter().flatten().all(|segment| segment.is_some_and(|segment| unread.add(&segment)));
    Ok((is_whole && unread.is_whole()).then_some(unread))
}

/// The segments of a range, each `None` if it is malformed.
async fn segments_of_lane(
    dynamo: &Dynamo,
    tenant: &Tenant,
    lane: u32,
    range: LaneRange,
) -> Result<Vec<Option<LaneLink>>, ReadError> {
    let last = keys::lane_segment(tenant, lane, range.last);
    let mut after = Some(keys::lane_segment(tenant, lane, range.first.saturating_sub(1)).sk().to_owned());
    let mut found = Vec::new();
    if range.first > range.last {
        return Ok(found);
    }
    loop {
        let query = reads::lane_segments(tenant, lane).after(after.take()).limit(SEGMENTS_PER_PAGE);
        let items = dynamo.query(&query).await?;
        for item in &items {
            let Some(key) = key_of(tenant, item).filter(|key| *key <= last) else { return Ok(found) };
            found.push(LaneSegment::link(tenant, &key, item).ok());
            after = Some(key.sk().to_owned());
        }
        if items.len() < SEGMENTS_PER_PAGE {
            return Ok(found);
        }
    }
}
