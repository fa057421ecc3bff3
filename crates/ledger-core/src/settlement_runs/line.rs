//! What a run says of each merchant whose schedule closes on its day.

use crate::account::Account;
use crate::dynamo::ItemError;
use crate::ids::MerchantId;
use crate::jobs::{Line, LineState};
use crate::settlements::Settlement;
use crate::time::{BusinessDate, Timestamp};
use crate::words::words;

words! {
    /// Why a merchant was not closed: the code of its line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NotClosed {
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

impl NotClosed {
    /// Whether a person must see to it, or nothing is to be done.
    #[must_use]
    pub const fn state(self) -> LineState {
        match self {
            Self::NothingToSettle | Self::ClosedBefore => LineState::Skipped,
            Self::SettlementOpen
            | Self::Suspended
            | Self::MerchantClosed
            | Self::NoDestination
            | Self::DestinationChanged
            | Self::NoPayoutAccount
            | Self::HolidaysUnknown
            | Self::Unreadable => LineState::Failed,
        }
    }

    /// The line of a merchant.
    #[must_use]
    pub fn line(self, merchant: MerchantId, now: Timestamp) -> Line {
        let code = Some(self.name().to_owned());
        Line { code, ..Line::new(Account::Merchant(merchant), self.state(), now) }
    }
}

/// The merchant of a line.
///
/// # Errors
/// [`ItemError`] if its subject is no merchant.
pub fn merchant_of(line: &Line) -> Result<MerchantId, ItemError> {
    match Account::parse(&line.subject) {
        Ok(Account::Merchant(merchant)) => Ok(merchant),
        Ok(Account::Customer(_) | Account::Card(_) | Account::Tenant(_)) | Err(_) => Err(ItemError::invalid("subject")),
    }
}

/// The code of a line whose settlement is paid later than the schedule says: the scheduled day was too early.
const PAID_LATER: &str = "paid_later";

/// The line of a merchant that is closed in the same transaction, with the payment day of its schedule.
pub(super) fn opened(settlement: &Settlement, scheduled: BusinessDate) -> Line {
    Line {
        code: (settlement.pay_on != scheduled).then(|| PAID_LATER.to_owned()),
        settlement_id: Some(settlement.id),
        pay_on: Some(settlement.pay_on),
        ..Line::new(Account::Merchant(settlement.merchant), LineState::Done, settlement.created_at)
    }
}
