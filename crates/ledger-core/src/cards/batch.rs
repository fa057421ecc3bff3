//! The issue of many cards without owners: a stored job that a worker continues in slices. The cards' ids follow from the job,
//! so a slice that runs twice issues once.

use super::record;
use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, CardId, JobId, StaffId, Tenant};
use crate::jobs;
use crate::keys::{self, JobKind, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction};
use sha2::{Digest, Sha256};
use uuid::Builder;

/// The most cards of one batch.
pub const BATCH_CARDS_MAX: u32 = 10_000;
/// The cards of one slice, which one transaction issues.
pub const SLICE_CARDS: u32 = 50;

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

/// A stored batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardBatch {
    /// Its id.
    pub id: JobId,
    /// The number of cards.
    pub count: u32,
    /// How many of them are issued: those with the lowest places.
    pub done: u32,
    /// From when the cards cannot be used.
    pub expires_at: Option<Timestamp>,
    /// When it was requested.
    pub created_at: Timestamp,
}

/// What a response says about a new batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardBatchReceipt {
    /// The batch.
    pub id: JobId,
    /// The number of cards.
    pub count: u32,
    /// When it was requested.
    pub created_at: Timestamp,
}

/// Stores the batch, due at once.
///
/// # Errors
/// [`PlanRefusal`] for no or too many cards, or cards that would be expired already.
pub fn plan(command: &CardBatchIssue<'_>, cx: &Context) -> Result<Planned<CardBatchReceipt>, PlanRefusal> {
    let CardBatchIssue { tenant, staff, count, expires_at, reason } = command;
    if !(1..=BATCH_CARDS_MAX).contains(count) {
        return Err(PlanRefusal::Invalid { field: "count", why: "must be from 1 to 10000" });
    }
    record::check_expiry(*expires_at, cx.now)?;
    let id = JobId::new(cx.resource_id);
    let mut item = Item::from([
        ("batch_id".to_owned(), Value::s(id)),
        ("staff_id".to_owned(), Value::s(staff)),
        ("count".to_owned(), Value::int((*count).into())),
        ("done".to_owned(), Value::int(0)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(jobs::begun(tenant, JobKind::CardBatch, id, cx.now));
    item.extend(expires_at.map(|at| ("expires_at".to_owned(), Value::s(at))));
    let act = Act::new(Actor::Staff(*staff), Operation::CardBatch, format!("card_batch:{id}")).because(*reason);
    let items = vec![
        TransactItem::put_new(Role::Job, keys::job(tenant, id), item, Failure::AlreadyExists),
        act.with("count", count).record(tenant, cx),
    ];
    let receipt = CardBatchReceipt { id, count: *count, created_at: cx.now };
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}

impl CardBatch {
    /// Reads a stored batch.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let number = |name| item.checked_int(name, |number: u32| Some(number));
        Ok(Self {
            id: item.parsed("batch_id", JobId::parse)?,
            count: number("count")?,
            done: number("done")?,
            expires_at: item.opt_timestamp("expires_at")?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }

    /// Whether every card is issued.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.done >= self.count
    }

    /// The id of the card at a place: a UUIDv7 of the batch's time, whose other bits are a digest of the batch and the place.
    #[must_use]
    pub fn card(&self, place: u32) -> CardId {
        let of = Sha256::new().chain_update(b"card of batch").chain_update(self.id.uuid().as_bytes());
        let digest: [u8; 32] = of.chain_update(place.to_be_bytes()).finalize().into();
        let [a, b, c, d, e, f, g, h, i, j, ..] = digest;
        let millis = u64::try_from(self.created_at.millis()).unwrap_or(0);
        CardId::new(Builder::from_unix_timestamp_millis(millis, &[a, b, c, d, e, f, g, h, i, j]).into_uuid())
    }

    /// At most `limit` issued cards after the card `after`, by place, and whether these are the last of them. Empty if `after` is
    /// no card of the batch.
    #[must_use]
    pub fn page(&self, after: Option<CardId>, limit: usize) -> (Vec<CardId>, bool) {
        let first = match after {
            None => Some(0),
            Some(after) => (0..self.done).find(|place| self.card(*place) == after).map(|place| place.saturating_add(1)),
        };
        let Some(first) = first else { return (Vec::new(), true) };
        let last = first.saturating_add(u32::try_from(limit).unwrap_or(u32::MAX)).min(self.done);
        ((first..last).map(|place| self.card(place)).collect(), last >= self.done)
    }

    /// Issues the next slice: its cards, and how far the batch is. The last write removes the due index entry. The guard is on
    /// `done`: of two workers' writes from one read, the later is refused as stale.
    ///
    /// `None` if every card is issued.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn advance(&self, tenant: &Tenant, now: Timestamp) -> Result<Option<Transaction>, BuildError> {
        if self.is_finished() {
            return Ok(None);
        }
        let to = self.done.saturating_add(SLICE_CARDS).min(self.count);
        let mut update = Update::new().set("done", "done", Value::int(to.into()));
        update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
        if to >= self.count {
            update = update.remove(attr::DUE_PK).remove(attr::DUE_SK);
        }
        let as_read = Clause {
            condition: Condition::compare("done", Cmp::Eq, "seen", Value::int(self.done.into())),
            failure: Failure::StalePlan,
        };
        let mut items = vec![TransactItem::update(Role::Job, keys::job(tenant, self.id), update, vec![as_read])];
        for place in self.done..to {
            let card = self.card(place);
            let item = record::issued(tenant, (card, None, self.expires_at), now);
            items.push(TransactItem::put_new(Role::Card, keys::card(tenant, card), item, Failure::AlreadyExists));
        }
        Transaction::unkeyed(items).map(Some)
    }
}
