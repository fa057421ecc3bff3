//! The job: which lists it reads, whether an account is closed, and the line of a close.

use crate::account::Account;
use crate::audit::Act;
use crate::card_state::CardState;
use crate::cards::record::CardRecord;
use crate::closing::ClosingReceipt;
use crate::customer_state::is_closed_wallet;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::idempotency::LedgerKey;
use crate::ids::{Actor, CardId, CustomerId, JobId, StaffId, Tenant};
use crate::jobs::{Counted, CursorJob, Details, Line, LineState, Page, Request};
use crate::keys::{self, JobKind, Key, Partition, Shards, attr};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::reads::{self, Query, Times};
use crate::transaction::{Draft, Planned};

/// The start of a job.
#[derive(Clone, Debug)]
pub struct WindDownStart<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who starts it.
    pub staff: StaffId,
    /// Why.
    pub reason: &'a FreeText,
}

/// What a job stores of its own: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindDownDetails;

/// A stored job.
pub type WindDown = CursorJob<WindDownDetails>;

impl Details for WindDownDetails {
    const KIND: JobKind = JobKind::WindDown;

    fn read(_: &Item) -> Result<Self, ItemError> {
        Ok(Self)
    }

    fn attributes(&self) -> Item {
        Item::new()
    }
}

/// Stores the job, due at once.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan(command: &WindDownStart<'_>, cx: &Context) -> Result<Planned<WindDown>, PlanRefusal> {
    let WindDownStart { tenant, staff, reason } = *command;
    let id = JobId::new(cx.resource_id);
    let request = Request { id, staff: Some(staff), reason: Some(reason), total: None, now: cx.now };
    let job = WindDown::requested(request, WindDownDetails);
    let act = Act::new(Actor::Staff(staff), Operation::WindDown, format!("job:{id}")).because(Some(reason));
    let items = vec![job.put(tenant, cx.now), act.record(tenant, cx)];
    Ok(Planned { draft: Draft { entry: None, items }, receipt: job })
}

impl WindDown {
    /// The query of the next accounts, at most as many as there is room for; `None` if there is none, every list was read, or a card
    /// is in flight and customers would be next: a customer with an open card is not closed.
    ///
    /// # Errors
    /// [`ItemError`] if the cursor is malformed.
    pub fn query(&self, tenant: &Tenant, counted: &Counted) -> Result<Option<Query>, ItemError> {
        let room = counted.room();
        let (shard, after) = self.place()?;
        let list = List::at(shard).filter(|_| room > 0 && !self.is_listed());
        let is_card = |subject: &str| matches!(Account::parse(subject), Ok(Account::Card(_)));
        let query = match list {
            None => return Ok(None),
            Some(List::Cards(shard)) => reads::cards(tenant, shard).newest_first().after(after.map(str::to_owned)),
            Some(List::Customers(_)) if counted.in_flight().any(is_card) => return Ok(None),
            Some(List::Customers(shard)) => {
                let after = after.and_then(keys::place_of);
                reads::customers(tenant, shard, Times { after, ..Times::default() })
            }
        };
        Ok(Some(query.limit(room)))
    }

    /// The accounts that the query found. Fewer than `room` are the last of their shard.
    ///
    /// # Errors
    /// [`ItemError`] if an entry, or the cursor, is malformed.
    pub fn page(&self, found: &[Item], room: usize) -> Result<Page, ItemError> {
        let (shard, _) = self.place()?;
        let list = List::at(shard);
        let account = |entry: &Item| match list {
            Some(List::Customers(_)) => {
                let id = |place: &str| keys::place_of(place).map(|(_, id)| CustomerId::new(id));
                entry.named(attr::OWNER_SK, id).map(Account::Customer)
            }
            Some(List::Cards(_)) | None => entry.parsed(attr::OWNER_SK, CardId::parse).map(Account::Card),
        };
        let accounts = found.iter().map(account).collect::<Result<Vec<_>, _>>()?;
        let last = found.last().filter(|_| found.len() >= room);
        let cursor = match last {
            Some(entry) => Some(format!("{shard}#{}", entry.text(attr::OWNER_SK)?)),
            None => {
                let next = shard.saturating_add(1);
                List::at(next).is_some().then(|| format!("{next}#"))
            }
        };
        Ok(Page { subjects: accounts.iter().map(ToString::to_string).collect(), cursor })
    }

    /// The shard of the lists, counted over those of cards and then those of customers, and the last place of it that was read.
    fn place(&self) -> Result<(u32, Option<&str>), ItemError> {
        let Some(cursor) = self.cursor().filter(|_| !self.is_listed()) else { return Ok((0, None)) };
        let malformed = || ItemError::invalid("cursor");
        let (shard, after) = cursor.split_once('#').ok_or_else(malformed)?;
        let shard = shard.parse().map_err(|_| malformed())?;
        Ok((shard, Some(after).filter(|after| !after.is_empty())))
    }

    /// The item that shows whether an account is closed.
    #[must_use]
    pub fn record(tenant: &Tenant, account: Account) -> Option<Key> {
        match account {
            Account::Card(id) => Some(keys::card(tenant, id)),
            Account::Customer(id) => Some(Partition::customer(tenant, id).profile()),
            Account::Merchant(_) | Account::Tenant(_) => None,
        }
    }

    /// Whether an account is closed, or there is none, by its item. One that cannot be read is not closed.
    #[must_use]
    pub fn is_closed(account: Account, record: Option<&Item>) -> bool {
        match (account, record) {
            (Account::Merchant(_) | Account::Tenant(_), _) | (_, None) => true,
            (Account::Customer(_), Some(profile)) => is_closed_wallet(profile),
            (Account::Card(_), Some(card)) => CardRecord::read(card).is_ok_and(|card| match card.state {
                CardState::Replaced | CardState::Closed => true,
                CardState::Active | CardState::Blocked => false,
            }),
        }
    }

    /// The key under which the job closes an account. It depends on the two alone.
    #[must_use]
    pub fn line_key(&self, account: Account) -> LedgerKey {
        LedgerKey::of_job_line(self.head.id, account)
    }

    /// Adds the job's line to an account's close. `owner` is a card's. Fails with `StalePlan` if the job has a line of the
    /// account.
    #[must_use]
    pub fn with_line(
        &self,
        tenant: &Tenant,
        planned: Planned<ClosingReceipt>,
        owner: Option<CustomerId>,
    ) -> Planned<ClosingReceipt> {
        let receipt = &planned.receipt;
        let rest = receipt.rest.iter().map(|amount| (amount.asset().clone(), amount.text()));
        let line = Line {
            customer_id: owner,
            rest: Some(rest.collect()),
            transaction_id: receipt.transaction_id,
            ..Line::new(receipt.account, LineState::Done, receipt.closed_at)
        };
        planned.and(Some(line.put(tenant, self.head.id)))
    }
}

/// A shard of the tenant's lists.
enum List {
    Cards(u32),
    Customers(u32),
}

impl List {
    /// The cards are before the customers.
    fn at(shard: u32) -> Option<Self> {
        match shard.checked_sub(Shards::CARDS.count()) {
            None => Some(Self::Cards(shard)),
            Some(shard) if shard < keys::LISTED_SHARDS.count() => Some(Self::Customers(shard)),
            Some(_) => None,
        }
    }
}
