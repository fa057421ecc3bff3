//! What became of the settlements of a run, in figures. They are read when they are asked for: a settlement goes on for days.

use crate::ids::{MerchantId, SettlementId};
use crate::money::{Amount, Asset, Balance, MoneyError};
use crate::settlements::{Settlement, SettlementState};

/// The settlements of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSums {
    /// How many are not over.
    pub open: u32,
    /// How many were booked for the bank.
    pub booked: u32,
    /// How many the payment provider paid.
    pub paid: u32,
    /// How many had nothing to pay.
    pub carried: u32,
    /// How many turned back.
    pub undone: u32,
    /// How many were paid and came back.
    pub returned: u32,
    /// The fees of all that did not turn back, in yen.
    pub fee: Balance,
    /// The tax on these fees.
    pub tax: Balance,
    /// What they pay out.
    pub payable: Balance,
}

/// Why a person must see to a settlement, or to a merchant without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToReview {
    /// The merchant.
    pub merchant: MerchantId,
    /// The settlement, if one was opened.
    pub settlement: Option<SettlementId>,
    /// The line's code, `stuck`, why the settlement turned back, or `fee_leaves_nothing`.
    pub why: String,
}

impl RunSums {
    /// No settlement.
    #[must_use]
    pub fn none() -> Self {
        let zero = || Balance::zero(Asset::Ecopay);
        let (fee, tax, payable) = (zero(), zero(), zero());
        Self { open: 0, booked: 0, paid: 0, carried: 0, undone: 0, returned: 0, fee, tax, payable }
    }

    /// Adds a settlement.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn add(&mut self, settlement: &Settlement) -> Result<(), MoneyError> {
        let count = match settlement.state {
            SettlementState::Booked => &mut self.booked,
            SettlementState::Paid => &mut self.paid,
            SettlementState::Carried => &mut self.carried,
            SettlementState::Undone => &mut self.undone,
            SettlementState::Returned => &mut self.returned,
            SettlementState::Collecting
            | SettlementState::Held
            | SettlementState::Verified
            | SettlementState::Released
            | SettlementState::Charged
            | SettlementState::Paying => &mut self.open,
        };
        *count = count.saturating_add(1);
        if settlement.undo_reason.is_none() {
            let sums = [(&mut self.fee, &settlement.fee), (&mut self.tax, &settlement.tax)];
            for (sum, amount) in sums.into_iter().chain([(&mut self.payable, &settlement.payable)]) {
                if let Some(amount) = amount.as_ref().map(Amount::as_balance) {
                    *sum = sum.checked_plus(&amount)?;
                }
            }
        }
        Ok(())
    }
}

impl ToReview {
    /// The settlement, if a person must see to it.
    #[must_use]
    pub fn of(settlement: &Settlement) -> Option<Self> {
        let why = match (settlement.stuck_at, settlement.undo_reason) {
            (Some(_), _) => "stuck",
            (None, Some(why)) => why.name(),
            (None, None) if settlement.to_review => "fee_leaves_nothing",
            (None, None) => return None,
        };
        Some(Self { merchant: settlement.merchant, settlement: Some(settlement.id), why: why.to_owned() })
    }
}
