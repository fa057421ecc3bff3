//! Which day a settlement is paid on.

use super::destination::Destination;
use crate::calendar::{BankDeadline, HolidaysUnknown, PaymentDayError, PaymentWindow};
use crate::time::{BusinessDate, Timestamp};

/// The day of the payout that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayOn {
    /// The first possible day.
    First,
    /// A day that a person states. It must be possible.
    Stated(BusinessDate),
    /// The day of a schedule. If it is too early, the settlement is paid on the first possible day. A person may not state a
    /// day so far ahead, a schedule may.
    Scheduled(BusinessDate),
}

impl PayOn {
    /// The day that is asked for, if one is.
    #[must_use]
    pub fn day(self) -> Option<BusinessDate> {
        match self {
            Self::First => None,
            Self::Stated(day) | Self::Scheduled(day) => Some(day),
        }
    }

    /// The day of a payout to a destination that is opened at an instant.
    ///
    /// # Errors
    /// [`PaymentDayError`] for a stated day that is not possible, or if it is not known on which days banks are open.
    pub(super) fn resolve(
        self,
        destination: &Destination,
        deadline: &BankDeadline,
        now: Timestamp,
    ) -> Result<BusinessDate, PaymentDayError> {
        let window = window(destination, deadline, now)?;
        match self {
            Self::First => Ok(window.first),
            Self::Stated(day) => window.check(day).map(|()| day),
            Self::Scheduled(day) => Ok(day.max(window.first)),
        }
    }
}

/// The days on which a destination can be paid, of a settlement that is opened at an instant.
fn window(
    destination: &Destination,
    deadline: &BankDeadline,
    now: Timestamp,
) -> Result<PaymentWindow, HolidaysUnknown> {
    match destination {
        Destination::Bank(_) => PaymentWindow::of_bank(now, deadline),
        Destination::Stripe { .. } => Ok(PaymentWindow::of_provider(now, deadline)),
    }
}
