//! The issue of many cards without owners: a job whose slices are transactions with the cards. The cards' ids follow from random
//! bytes of the job, so a slice that runs twice issues once, and no caller names a card before it is issued.

use super::record;
use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{Actor, CardId, JobId, StaffId, Tenant};
use crate::jobs::{CursorJob, Details, Line, Request, Slice, SliceError};
use crate::keys::{self, JobKind};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{Draft, Planned, Role, TransactItem, Transaction};
use sha2::{Digest, Sha256};
use std::fmt;
use uuid::Builder;

/// The most cards of one batch.
pub const BATCH_CARDS_MAX: u32 = 10_000;
/// The cards of one slice, which one transaction issues.
pub const SLICE_CARDS: u32 = 50;

const COUNT: &str = "count";
const EXPIRES_AT: &str = "expires_at";
const SEED: &str = "seed";

/// The random bytes from which the ids of a batch's cards follow. They leave the table in no answer and no log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct BatchSeed([u8; 16]);

impl BatchSeed {
    fn parse(text: &str) -> Result<Self, hex::FromHexError> {
        let mut bytes = [0; 16];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for BatchSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BatchSeed")
    }
}

/// A batch of cards to be issued.
#[derive(Clone, Debug)]
pub struct CardBatchIssue<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who issues it.
    pub staff: StaffId,
    /// The number of cards.
    pub count: u32,
    /// From when the cards cannot be used.
    pub expires_at: Option<Timestamp>,
    /// Why.
    pub reason: Option<&'a FreeText>,
}

/// What a batch issues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardBatchDetails {
    /// The number of cards.
    pub count: u32,
    /// From when the cards cannot be used.
    pub expires_at: Option<Timestamp>,
    /// What the ids of the cards follow from.
    pub seed: BatchSeed,
}

/// A stored batch.
pub type CardBatch = CursorJob<CardBatchDetails>;

impl Details for CardBatchDetails {
    const KIND: JobKind = JobKind::CardBatch;

    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            count: item.int(COUNT)?,
            expires_at: item.opt_timestamp(EXPIRES_AT)?,
            seed: item.parsed(SEED, BatchSeed::parse)?,
        })
    }

    fn attributes(&self) -> Item {
        let mut item = Item::from([
            (COUNT.to_owned(), Value::int(self.count.into())),
            (SEED.to_owned(), Value::s(hex::encode(self.seed.0))),
        ]);
        item.extend(self.expires_at.map(|at| (EXPIRES_AT.to_owned(), Value::s(at))));
        item
    }
}

/// Stores the batch, due at once.
///
/// # Errors
/// [`PlanRefusal`] for no or too many cards, or cards that would be expired already.
pub fn plan(command: &CardBatchIssue<'_>, cx: &Context) -> Result<Planned<CardBatch>, PlanRefusal> {
    let CardBatchIssue { tenant, staff, count, expires_at, reason } = *command;
    if !(1..=BATCH_CARDS_MAX).contains(&count) {
        return Err(PlanRefusal::Invalid { field: "count", why: "must be from 1 to 10000" });
    }
    record::check_expiry(expires_at, cx.now)?;
    let id = JobId::new(cx.resource_id);
    let request = Request { id, staff: Some(staff), reason, total: Some(count), now: cx.now };
    let batch = CardBatch::requested(request, CardBatchDetails { count, expires_at, seed: BatchSeed(cx.secret) });
    let act = Act::new(Actor::Staff(staff), Operation::CardBatch, format!("job:{id}")).because(reason);
    let items = vec![batch.put(tenant, cx.now), act.with("count", count).record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: batch })
}

impl CardBatch {
    /// The place of the next card: how many were issued or failed.
    ///
    /// # Errors
    /// [`ItemError`] if the cursor is malformed.
    pub fn place(&self) -> Result<u32, ItemError> {
        match self.cursor() {
            _ if self.is_listed() => Ok(self.details.count),
            Some(place) => place.parse().map_err(|_| ItemError::invalid("cursor")),
            None => Ok(0),
        }
    }

    /// The id of the card at a place: a UUIDv7 of the batch's time, whose other bits are a digest of the seed and the place.
    #[must_use]
    pub fn card(&self, place: u32) -> CardId {
        let of = Sha256::new().chain_update(b"card of batch").chain_update(self.details.seed.0);
        let digest: [u8; 32] = of.chain_update(place.to_be_bytes()).finalize().into();
        let [a, b, c, d, e, f, g, h, i, j, ..] = digest;
        let millis = u64::try_from(self.head.created_at.millis()).unwrap_or(0);
        CardId::new(Builder::from_unix_timestamp_millis(millis, &[a, b, c, d, e, f, g, h, i, j]).into_uuid())
    }

    /// At most `limit` cards after the card `after`, by place, and whether these are the last of them. Empty if `after` is
    /// no card of the batch.
    ///
    /// # Errors
    /// [`ItemError`] if the cursor is malformed.
    pub fn page(&self, after: Option<CardId>, limit: usize) -> Result<(Vec<CardId>, bool), ItemError> {
        let issued = self.place()?;
        let first = match after {
            None => Some(0),
            Some(after) => (0..issued).find(|place| self.card(*place) == after).map(|place| place.saturating_add(1)),
        };
        let Some(first) = first else { return Ok((Vec::new(), true)) };
        let last = first.saturating_add(u32::try_from(limit).unwrap_or(u32::MAX)).min(issued);
        Ok(((first..last).map(|place| self.card(place)).collect(), last >= issued))
    }

    /// Issues the next cards, at most `limit`, and records it.
    ///
    /// # Errors
    /// [`SliceError`] if the cursor is malformed, or there are too many cards.
    pub fn issue(&self, tenant: &Tenant, limit: u32, now: Timestamp) -> Result<Transaction, SliceError> {
        let (from, count) = (self.place()?, self.details.count);
        let to = from.saturating_add(limit).min(count);
        let put = |place| {
            let card = self.card(place);
            let item = record::issued(tenant, (card, None, self.details.expires_at), now);
            TransactItem::put_new(Role::Card, keys::card(tenant, card), item, Failure::AlreadyExists)
        };
        let done = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
        let slice = Slice { done, lines: Vec::new(), cursor: (to < count).then(|| to.to_string()) };
        Ok(self.advance_with(tenant, (slice, (from..to).map(put).collect()), now)?)
    }

    /// Records that the next card cannot be issued.
    ///
    /// # Errors
    /// [`SliceError`] if the cursor is malformed.
    pub fn pass_over(&self, tenant: &Tenant, code: &str, now: Timestamp) -> Result<Transaction, SliceError> {
        let place = self.place()?;
        let to = place.saturating_add(1);
        let line = Line::failed(Account::Card(self.card(place)), code, now);
        let cursor = (to < self.details.count).then(|| to.to_string());
        Ok(self.advance_with(tenant, (Slice { done: 0, lines: vec![line], cursor }, Vec::new()), now)?)
    }
}
