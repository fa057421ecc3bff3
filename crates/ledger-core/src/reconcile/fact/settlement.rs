//! Facts of a settlement: our records and entries, and the payment provider's payouts.

use super::super::num::{Num, Nums};
use super::text;
use crate::account::Account;
use crate::ids::MerchantId;
use crate::money::Asset;
use crate::operation::Operation;
use crate::psp::{PayoutStatus, PspId};
use crate::settlements::SettlementState;
use crate::time::BusinessDate;
use crate::words::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One fact of a settlement. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SettlementFact {
    /// Its record.
    Record(RecordedSettlement),
    /// A returned payout that is stamped with it.
    Stamp(Stamp),
    /// A closed period that it has.
    Period(SettledPeriod),
    /// One of its entries.
    Entry(SettlementEntry),
    /// A bank transfer that pays it.
    Transfer(SettledTransfer),
    /// The provider's payout for it.
    ProviderPayout(ProviderPayout),
}

/// A settlement's record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSettlement {
    /// The merchant.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// Its state.
    #[serde(with = "text::one")]
    pub state: SettlementState,
    /// The number of records, by the settlement.
    pub records: i64,
    /// The sums of the records, by the settlement.
    #[serde(with = "text::sums")]
    pub totals: SettledSums,
    /// The total in yen.
    pub net: Num,
    /// The fee in yen.
    pub fee: Num,
    /// The tax on the fee in yen.
    pub tax: Num,
    /// The amount that is paid out, in yen.
    pub payable: Num,
    /// When the payment provider paid it; `None` if a bank file pays it, or it is not paid yet.
    #[serde(deserialize_with = "text::present")]
    pub provider_paid_at: Option<i64>,
    /// Whether a bank pays it.
    pub is_by_bank: bool,
    /// The day for which its transfer was booked.
    #[serde(with = "text::optional")]
    pub transfer_on: Option<BusinessDate>,
}

/// Quantities by side and asset.
pub type SettledSums = BTreeMap<SettledSum, Num>;

/// Adds to a sum. Sums of zero are absent, as they are in facts: a deposit and its reversal are no sum.
pub(in crate::reconcile) fn add_to_sum(sums: &mut SettledSums, of: SettledSum, more: Num) {
    let sum = sums.remove(&of).unwrap_or_default().plus(more);
    if !sum.is_zero() {
        sums.insert(of, sum);
    }
}

/// The key of a settlement's sum: a side and an asset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettledSum {
    /// The side.
    pub side: SettledSide,
    /// The asset.
    pub asset: Asset,
}

words! {
    /// The sides of a settlement. Each sum is a positive quantity.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SettledSide {
        /// The sum of payments.
        Taken = "taken",
        /// The sum of refunds.
        Refunded = "refunded",
        /// The sum of payouts of earlier settlements that were returned.
        PayoutsReturned = "payouts_returned",
        /// The sum of cash that terminals took, which the merchant owes.
        CashTaken = "cash_taken",
        /// The sum of such cash that terminals returned.
        CashReversed = "cash_reversed",
        /// What the merchant brought for cash that it owes.
        Deposited = "deposited",
        /// What refunds took from the merchant's refund room.
        RefundRoom = "refund_room",
    }
}

impl SettledSum {
    /// Parses a key's text, such as `taken POINT`; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (name, asset) = text.split_once(' ')?;
        let side = SettledSide::ALL.into_iter().find(|side| side.name() == name)?;
        Some(Self { side, asset: Asset::parse(asset).ok()? })
    }
}

impl fmt::Display for SettledSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.side.name(), self.asset)
    }
}

/// A returned payout of an earlier settlement that is stamped with a settlement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// The record's merchant.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// What it credits to the merchant.
    #[serde(with = "text::sums")]
    pub delta: Nums,
}

/// A closed period that a settlement has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettledPeriod {
    /// The period's merchant.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// The number of its records.
    pub records: i64,
    /// The sums of its records.
    #[serde(with = "text::sums")]
    pub totals: SettledSums,
}

/// A bank transfer that pays a settlement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettledTransfer {
    /// The merchant that is paid.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// The day for which it was booked.
    #[serde(with = "text::one")]
    pub day: BusinessDate,
    /// The amount, in yen.
    pub amount: Num,
    /// Whether it was returned.
    pub is_returned: bool,
}

/// An entry of a settlement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettlementEntry {
    /// The account in whose partition it is.
    #[serde(with = "text::one")]
    pub home: Account,
    /// The step that it records.
    pub step: SettlementStep,
    /// What leaves the merchant's held part, in yen.
    pub out: Num,
    /// What `bank_clearing` is credited with, in yen.
    pub booked: Num,
    /// What `bank` is credited with, in yen.
    pub bank: Num,
}

/// The step of a settlement that an entry records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SettlementStep {
    /// What the merchant is owed was held.
    Hold,
    /// The hold was released.
    HoldUndone,
    /// What was held was converted to yen.
    Release,
    /// The conversion to yen was reversed.
    ReleaseUndone,
    /// Fee and tax were taken.
    Fee,
    /// Fee and tax were given back.
    FeeUndone,
    /// The rest was paid out.
    Payout,
    /// The payment provider's payout was returned.
    Returned,
    /// A bank transfer was booked as returned.
    ReturnApproved,
    /// An operation that no step of a settlement writes.
    Unknown(#[serde(with = "text::one")] Operation),
}

impl SettlementStep {
    /// The step of an operation.
    #[must_use]
    pub fn of(operation: Operation) -> Self {
        let steps = [
            (Operation::SettlementHold, Self::Hold),
            (Operation::SettlementHoldUndone, Self::HoldUndone),
            (Operation::SettlementRelease, Self::Release),
            (Operation::SettlementReleaseUndone, Self::ReleaseUndone),
            (Operation::SettlementFee, Self::Fee),
            (Operation::SettlementFeeUndone, Self::FeeUndone),
            (Operation::SettlementPayout, Self::Payout),
            (Operation::SettlementReturned, Self::Returned),
            (Operation::SettlementReturn, Self::ReturnApproved),
        ];
        let step = steps.into_iter().find_map(|(of, step)| (of == operation).then_some(step));
        step.unwrap_or(Self::Unknown(operation))
    }
}

/// The provider's payout.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderPayout {
    /// The provider's id.
    #[serde(with = "text::one")]
    pub id: PspId,
    /// The merchant that is paid.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// The amount, in yen.
    pub amount: Num,
    /// Its status.
    #[serde(with = "text::one")]
    pub status: PayoutStatus,
}
