//! What a run says of each merchant whose schedule closes on its day.

use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{JobId, MerchantId, SettlementId, Tenant};
use crate::keys::{self, attr};
use crate::settlements::Settlement;
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Role, TransactItem};
use crate::words::words;

words! {
    /// What became of a merchant.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LineStatus {
        /// Its period was closed by a settlement.
        Opened = "opened",
        /// Nothing was credited since the last settlement.
        NothingToSettle = "nothing_to_settle",
        /// Another run closed it for this day or a later one.
        ClosedBefore = "closed_before",
        /// A settlement of it is open.
        SettlementOpen = "settlement_open",
        /// It is suspended.
        Suspended = "suspended",
        /// It is closed, and something was credited since.
        MerchantClosed = "merchant_closed",
        /// It has no payout destination.
        NoDestination = "no_destination",
        /// Its payout destination was changed less than a day ago.
        DestinationChanged = "destination_changed",
        /// The tenant has no account to pay it from.
        NoPayoutAccount = "no_payout_account",
        /// Its payment day is past the known bank holidays.
        HolidaysUnknown = "holidays_unknown",
        /// A record of it cannot be read.
        Unreadable = "unreadable",
    }
}

/// What a status means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// It is settled.
    Opened,
    /// Nothing is to be done.
    Skipped,
    /// A person must see to it.
    Stuck,
}

/// A line of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettlementRunLine {
    /// The merchant.
    pub merchant: MerchantId,
    /// What became of it.
    pub status: LineStatus,
    /// The settlement, if one was opened.
    pub settlement: Option<SettlementId>,
    /// The day of its payout.
    pub pay_on: Option<BusinessDate>,
    /// When the line was written.
    pub created_at: Timestamp,
}

impl LineStatus {
    /// What it means for the run.
    #[must_use]
    pub const fn kind(self) -> LineKind {
        match self {
            Self::Opened => LineKind::Opened,
            Self::NothingToSettle | Self::ClosedBefore => LineKind::Skipped,
            Self::SettlementOpen
            | Self::Suspended
            | Self::MerchantClosed
            | Self::NoDestination
            | Self::DestinationChanged
            | Self::NoPayoutAccount
            | Self::HolidaysUnknown
            | Self::Unreadable => LineKind::Stuck,
        }
    }
}

impl SettlementRunLine {
    /// Reads a stored line.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            status: item.named("status", LineStatus::parse)?,
            settlement: item.opt_parsed("settlement_id", SettlementId::parse)?,
            pay_on: item.opt_parsed("pay_on", BusinessDate::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }
}

/// The line of a merchant that is closed in the same transaction.
pub(super) fn opened(tenant: &Tenant, run: JobId, settlement: &Settlement) -> TransactItem {
    let mut item = line(settlement.merchant, LineStatus::Opened, settlement.created_at);
    item.insert("settlement_id".to_owned(), Value::s(settlement.id));
    item.insert("pay_on".to_owned(), Value::s(settlement.pay_on));
    written(tenant, run, settlement.merchant, item)
}

/// The line of a merchant that is not closed.
pub(super) fn of(
    tenant: &Tenant,
    run: JobId,
    (merchant, status): (MerchantId, LineStatus),
    now: Timestamp,
) -> TransactItem {
    written(tenant, run, merchant, line(merchant, status, now))
}

fn line(merchant: MerchantId, status: LineStatus, now: Timestamp) -> Item {
    Item::from([
        ("merchant_id".to_owned(), Value::s(merchant)),
        ("status".to_owned(), Value::s(status.name())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
    ])
}

/// Writes a line if the run has none of the merchant.
fn written(tenant: &Tenant, run: JobId, merchant: MerchantId, item: Item) -> TransactItem {
    let key = keys::job_line(tenant, run, merchant);
    TransactItem::put_new(Role::SettlementRunLine, key, item, Failure::StalePlan)
}
