//! Crediting by the seal: the transaction that puts a journal entry into a segment of the audit trail also adds what the
//! entry owes its merchant to the sums of the merchant's open period in the segment's lane.
//!
//! A merchant has an item for each lane, so that lanes never write the same item, and a merchant's balance is its balance
//! items and these sums. A settlement closes the period of each lane, and moves its sums to the balance items.

use super::period::{CreditKind, FIRST_PERIOD, PERIOD, PeriodId, PeriodSums, is_open};
use super::volume::{self, VolumeLimits, Volumes};
use crate::account::{self, Account};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::journal::JournalEntry;
use crate::journal::{
    CREDITED_BY, CREDITED_BY_SEAL, CREDITED_BY_SEAL_AS_CASH, CREDITED_BY_SEAL_AS_DEPOSIT, CREDITED_BY_SEAL_WITH_ROOM,
    REFUND_ROOM,
};
use crate::keys::{self, Key, attr, sk};
use crate::money::{Amount, Asset, Delta};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{BuildError, Clause, Role, TransactItem};
use std::collections::{BTreeMap, BTreeSet};

/// The attribute with the number of the last segment whose entries were added.
const SEGMENT: &str = "segment";
/// The attribute with the settlement that closed the lane's last period.
const CLOSED_SETTLEMENT: &str = "closed_settlement_id";

/// What a journal entry owes its merchant, if its seal credits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCredit {
    /// The merchant.
    pub merchant: MerchantId,
    /// The sums that it counts in.
    pub kind: CreditKind,
    /// The changes of its balances, by asset. Those of a refund and of cash taken are negative.
    pub delta: Vec<Delta>,
    /// What it took from the merchant's refund room, in yen.
    pub refund_room: Option<Amount>,
    /// The day of the entry in Japan.
    pub date: BusinessDate,
}

impl EntryCredit {
    /// Reads a stored entry; `None` if its seal credits no merchant.
    ///
    /// # Errors
    /// [`ItemError`] if it does, and its postings are malformed, or name no merchant or several.
    pub fn read(entry: &Item) -> Result<Option<Self>, ItemError> {
        let (kind, refund_room) = match entry.opt_text(CREDITED_BY)? {
            None => return Ok(None),
            Some(CREDITED_BY_SEAL) => (CreditKind::Trade, None),
            Some(CREDITED_BY_SEAL_AS_CASH) => (CreditKind::Cash, None),
            Some(CREDITED_BY_SEAL_AS_DEPOSIT) => (CreditKind::Deposit, None),
            Some(CREDITED_BY_SEAL_WITH_ROOM) => (CreditKind::Trade, Some(entry.amount(REFUND_ROOM, Asset::Ecopay)?)),
            Some(_) => return Err(ItemError::invalid(CREDITED_BY)),
        };
        let JournalEntry { postings, created_at, .. } = JournalEntry::read(entry)?;
        let mut owed = Vec::new();
        let mut merchants = Vec::new();
        for posting in &postings {
            if let Account::Merchant(merchant) = posting.account {
                merchants.push(merchant);
                owed.push(&posting.delta);
            }
        }
        merchants.dedup();
        let [merchant] = merchants.as_slice() else { return Err(ItemError::invalid("postings")) };
        let net = account::net(owed.into_iter().map(|delta| (delta.asset().clone(), delta)));
        let delta = net.map_err(|_| ItemError::invalid("postings"))?.into_values().collect();
        Ok(Some(Self { merchant: *merchant, kind, delta, refund_room, date: created_at.business_date() }))
    }
}

/// A merchant's open period in a lane, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneCredit {
    /// The lane.
    pub lane: u32,
    /// The period's number in the lane.
    pub number: u32,
    /// The sums of its entries.
    pub sums: PeriodSums,
    /// The last segment of the lane whose entries were added; 0 before the first.
    pub segment: u64,
    /// The settlement that closed the period before it.
    pub closed_settlement: Option<SettlementId>,
    /// What payments have on a day, of assets whose volume is limited.
    pub(super) volumes: Volumes,
}

impl LaneCredit {
    /// The first period of a merchant in a lane, which has no item yet.
    #[must_use]
    pub fn first(lane: u32) -> Self {
        Self {
            lane,
            number: FIRST_PERIOD,
            sums: PeriodSums::default(),
            segment: 0,
            closed_settlement: None,
            volumes: Volumes::new(),
        }
    }

    /// Reads the stored item of a lane.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(lane: u32, item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            lane,
            number: item.int(PERIOD)?,
            sums: PeriodSums::read(item)?,
            segment: item.int(SEGMENT)?,
            closed_settlement: item.opt_parsed(CLOSED_SETTLEMENT, SettlementId::parse)?,
            volumes: volume::read(item)?,
        })
    }

    /// Reads the stored items of a merchant, one for each lane that has any.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn all(items: &[Item]) -> Result<Vec<Self>, ItemError> {
        let lane = |item: &Item| {
            let number = item.text(attr::SK)?.strip_prefix(sk::CREDITED).unwrap_or_default();
            let number = number.parse().map_err(|_| ItemError::invalid(attr::SK))?;
            Self::read(number, item)
        };
        items.iter().map(lane).collect()
    }

    /// The period.
    #[must_use]
    pub fn period(&self) -> PeriodId {
        PeriodId { lane: self.lane, number: self.number }
    }

    /// Adds the sums of a segment's entries. Fails with `WrongState` if a settlement has closed the period, and with
    /// `StalePlan` if entries of this segment or a later one were added before.
    ///
    /// The item needs no guard on its sums: only the writer of the lane's next segment adds to them.
    fn added(
        &self,
        of: (&Tenant, MerchantId),
        (sums, volumes): (&PeriodSums, &BTreeMap<(BusinessDate, Asset), Delta>),
        segment: u64,
        now: Timestamp,
    ) -> TransactItem {
        let earlier = Condition::compare(SEGMENT, Cmp::Lt, SEGMENT, Value::N(segment.to_string()));
        let clauses = vec![
            is_open(self.number, Failure::WrongState),
            Clause { condition: Condition::absent(SEGMENT).or(earlier), failure: Failure::StalePlan },
        ];
        let update = sums
            .add_to(Update::new())
            .set(PERIOD, PERIOD, Value::int(self.number.into()))
            .set(SEGMENT, SEGMENT, Value::N(segment.to_string()))
            .set(attr::UPDATED_AT, "ua", Value::s(now));
        let update = volume::add(update, &self.volumes, volumes);
        TransactItem::update(Role::Crediting, self.key(of), update, clauses)
    }

    /// Closes the period for a settlement and opens the next one, which is empty. Fails with `StalePlan` if entries were
    /// added since, or another settlement has closed the period.
    pub(crate) fn closed(&self, of: (&Tenant, MerchantId), by: SettlementId, now: Timestamp) -> TransactItem {
        let next = self.number.saturating_add(1);
        let update = self.sums.remove_from(Update::new().set(PERIOD, "next_period", Value::int(next.into())));
        let update =
            update.set(CLOSED_SETTLEMENT, CLOSED_SETTLEMENT, Value::s(by)).set(attr::UPDATED_AT, "ua", Value::s(now));
        // INVARIANT: while the last segment is the same, so are the sums.
        let as_read = Condition::compare(SEGMENT, Cmp::Eq, "seen", Value::N(self.segment.to_string()));
        let clauses =
            vec![is_open(self.number, Failure::StalePlan), Clause { condition: as_read, failure: Failure::StalePlan }];
        TransactItem::update(Role::Crediting, self.key(of), update, clauses)
    }

    fn key(&self, (tenant, merchant): (&Tenant, MerchantId)) -> Key {
        keys::credited_in_lane(tenant, merchant, self.lane)
    }
}

/// The open periods of merchants in a lane, as they were read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneCredits {
    lane: u32,
    open: BTreeMap<MerchantId, LaneCredit>,
    limits: VolumeLimits,
}

impl LaneCredits {
    /// None of the lane are read yet.
    #[must_use]
    pub fn new(lane: u32) -> Self {
        Self { lane, open: BTreeMap::new(), limits: VolumeLimits::default() }
    }

    /// Counts the volumes that these limit.
    #[must_use]
    pub fn counting(self, limits: VolumeLimits) -> Self {
        Self { limits, ..self }
    }

    /// The keys of the items of these merchants that are not read yet, each once.
    #[must_use]
    pub fn unread(&self, tenant: &Tenant, merchants: impl IntoIterator<Item = MerchantId>) -> Vec<(MerchantId, Key)> {
        let unread: BTreeSet<MerchantId> =
            merchants.into_iter().filter(|merchant| !self.open.contains_key(merchant)).collect();
        unread.into_iter().map(|merchant| (merchant, keys::credited_in_lane(tenant, merchant, self.lane))).collect()
    }

    /// Takes over an item as it was read; `None` if there is none.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(&mut self, merchant: MerchantId, item: Option<&Item>) -> Result<(), ItemError> {
        let open = match item {
            Some(item) => LaneCredit::read(self.lane, item)?,
            None => LaneCredit::first(self.lane),
        };
        self.open.insert(merchant, open);
        Ok(())
    }

    /// Forgets what was read, since a settlement has closed a period.
    pub fn forget(&mut self) {
        self.open.clear();
    }

    /// The actions that add what these entries of a segment owe to their merchants' sums.
    ///
    /// # Errors
    /// [`BuildError`] if the open period of a merchant was not read, or a sum does not fit.
    pub(crate) fn added<'a>(
        &self,
        tenant: &Tenant,
        credits: impl Iterator<Item = &'a EntryCredit>,
        segment: u64,
        now: Timestamp,
    ) -> Result<Vec<TransactItem>, BuildError> {
        self.added_to(tenant, credits, segment, now, |_| true)
    }

    /// The same, for the merchants whose sums lack the segment.
    ///
    /// # Errors
    /// As [`Self::added`].
    pub(crate) fn missing<'a>(
        &self,
        tenant: &Tenant,
        credits: impl Iterator<Item = &'a EntryCredit>,
        segment: u64,
        now: Timestamp,
    ) -> Result<Vec<TransactItem>, BuildError> {
        self.added_to(tenant, credits, segment, now, |open| open.segment < segment)
    }

    fn added_to<'a>(
        &self,
        tenant: &Tenant,
        credits: impl Iterator<Item = &'a EntryCredit>,
        segment: u64,
        now: Timestamp,
        lacks: impl Fn(&LaneCredit) -> bool,
    ) -> Result<Vec<TransactItem>, BuildError> {
        let mut by_merchant = BTreeMap::<MerchantId, Vec<&EntryCredit>>::new();
        for credit in credits {
            by_merchant.entry(credit.merchant).or_default().push(credit);
        }
        let mut items = Vec::new();
        for (merchant, credits) in by_merchant {
            let open = self.of(merchant)?;
            if lacks(open) {
                let sums = PeriodSums::of(credits.iter().map(|credit| (credit.kind, credit.delta.as_slice())))?;
                let sums = sums.with_refund_room(credits.iter().filter_map(|credit| credit.refund_room.as_ref()))?;
                let volumes = self.limits.added(credits.iter().copied())?;
                items.push(open.added((tenant, merchant), (&sums, &volumes), segment, now));
            }
        }
        Ok(items)
    }

    /// The period and the time for an entry that is credited.
    ///
    /// # Errors
    /// [`BuildError`] if the open period of its merchant was not read.
    pub(crate) fn credited(
        &self,
        credit: Option<&EntryCredit>,
        now: Timestamp,
    ) -> Result<Option<(PeriodId, Timestamp)>, BuildError> {
        credit.map(|credit| Ok((self.of(credit.merchant)?.period(), now))).transpose()
    }

    fn of(&self, merchant: MerchantId) -> Result<&LaneCredit, BuildError> {
        self.open.get(&merchant).ok_or(BuildError::PeriodUnread(merchant))
    }
}
