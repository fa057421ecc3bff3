//! Schedules that the bank can never follow: after each closing day the payment day comes too soon for the file.

use super::schedule::{BANK_DAYS_MAX, DAY_MAX};
use super::{BankDeadline, ClosingDay, HolidaysUnknown, PaymentRule, PaymentWindow, SettlementSchedule, TABLE};
use crate::time::BusinessDate;
use std::fmt;
use std::time::Duration;

/// How long after midnight in Japan a closing day's run starts: the last payments of the day are credited.
pub(crate) const CLOSING_MARGIN: Duration = Duration::from_secs(10 * 60);

/// The error for a schedule that is paid on its own day after no closing day of the known years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct NeverOnTime {
    earliest: Option<SettlementSchedule>,
}

impl fmt::Display for NeverOnTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bank can never pay on the days of the schedule: they come too soon after the closing days")?;
        self.earliest.map_or(Ok(()), |earliest| write!(f, "; the earliest rule is {earliest}"))
    }
}

impl SettlementSchedule {
    /// Checks that a period is paid on the schedule's own day after one closing day of the known years, at least.
    ///
    /// # Errors
    /// [`NeverOnTime`], whose text says which rule of the same kind is the earliest.
    pub fn check_on_time(&self, deadline: &BankDeadline) -> Result<(), NeverOnTime> {
        if self.is_ever_on_time(deadline) {
            return Ok(());
        }
        let mut schedules = self.payment.all_of_kind().into_iter().map(|payment| Self { payment, ..*self });
        let earliest = schedules.find(|schedule| schedule.is_ever_on_time(deadline));
        Err(NeverOnTime { earliest })
    }

    fn is_ever_on_time(&self, deadline: &BankDeadline) -> bool {
        let Some(table) = TABLE.as_ref() else { return false };
        let mut closing = table.first;
        while closing <= table.last {
            // A payment day that is not known is none.
            if self.closes_on(closing) && self.is_on_time(closing, deadline).unwrap_or(false) {
                return true;
            }
            closing = closing.next();
        }
        false
    }

    /// Whether the run of a closing day finds the payment day possible.
    fn is_on_time(&self, closing: BusinessDate, deadline: &BankDeadline) -> Result<bool, HolidaysUnknown> {
        let run = closing.bounds().1.plus(CLOSING_MARGIN);
        Ok(self.pays_on(closing)? >= PaymentWindow::of_bank(run, deadline)?.first)
    }
}

impl PaymentRule {
    /// The rules of the same kind, the earliest one first.
    fn all_of_kind(self) -> Vec<Self> {
        match self {
            Self::BankDays(_) => (1..=BANK_DAYS_MAX).map(Self::BankDays).collect(),
            Self::NextMonth(_, rule) => {
                let days = (1..=DAY_MAX).map(ClosingDay::Day).chain([ClosingDay::MonthEnd]);
                days.map(|day| Self::NextMonth(day, rule)).collect()
            }
        }
    }
}
