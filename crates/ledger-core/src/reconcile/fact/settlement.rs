//! Facts of a settlement: our records and entries, and the payment provider's payouts.

use super::super::num::{Num, Nums};
use super::text;
use crate::account::Account;
use crate::ids::MerchantId;
use crate::money::Asset;
use crate::operation::Operation;
use crate::ops::settlement::SettlementState;
use crate::psp::{PayoutStatus, PspId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// One fact of a settlement. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum SettlementFact {
    /// Its record.
    Record(RecordedSettlement),
    /// A record that is stamped with it.
    Stamp(Stamp),
    /// An entry of it.
    Entry(SettlementEntry),
    /// The provider's payout for it.
    ProviderPayout(ProviderPayout),
}

/// A settlement's record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedSettlement {
    /// Who is paid.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// Its state.
    #[serde(with = "text::one")]
    pub state: SettlementState,
    /// How many records it says that it has.
    pub records: i64,
    /// What it says that they add up to.
    #[serde(with = "text::sums")]
    pub totals: SettledSums,
    /// All of it in yen.
    pub net: Num,
    /// The fee in yen.
    pub fee: Num,
    /// The tax on the fee in yen.
    pub tax: Num,
    /// What is paid out in yen.
    pub payable: Num,
    /// When the payment provider paid it; `None` where it is paid by a bank file, or not yet.
    #[serde(deserialize_with = "text::present")]
    pub provider_paid_at: Option<i64>,
}

/// Quantities by side and asset.
pub type SettledSums = BTreeMap<SettledSum, Num>;

/// Which sum of a settlement: a side of an asset.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettledSum {
    /// The side.
    pub side: SettledSide,
    /// The asset.
    pub asset: Asset,
}

/// The sides of a settlement. Each sum is a positive quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettledSide {
    /// What payments brought.
    Taken,
    /// What refunds took.
    Refunded,
    /// What was paid by an earlier settlement and came back.
    CameBack,
}

impl SettledSide {
    /// Every side.
    pub const ALL: [Self; 3] = [Self::Taken, Self::Refunded, Self::CameBack];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Refunded => "refunded",
            Self::CameBack => "came_back",
        }
    }
}

impl SettledSum {
    /// Reads its text: `taken POINT`.
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

/// A record that is stamped with a settlement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamp {
    /// The record's merchant.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// What it owes the merchant.
    #[serde(with = "text::sums")]
    pub delta: Nums,
    /// Whether it was paid by an earlier settlement and came back.
    pub came_back: bool,
}

/// An entry of a settlement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettlementEntry {
    /// In whose partition it is.
    #[serde(with = "text::one")]
    pub home: Account,
    /// What it did.
    pub step: SettlementStep,
    /// What leaves the part that the merchant has put aside, in yen.
    pub out: Num,
}

/// What an entry of a settlement did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SettlementStep {
    /// What the merchant is owed was put aside.
    Hold,
    /// It was given back.
    HoldUndone,
    /// All of it became yen.
    Release,
    /// It became again what it was.
    ReleaseUndone,
    /// Fee and tax were taken.
    Fee,
    /// They were given back.
    FeeUndone,
    /// The rest was paid out.
    Payout,
    /// The payment provider's payout came back.
    Returned,
    /// A bank transfer was booked as returned.
    ReturnApproved,
    /// An entry as no step of a settlement writes it.
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
            (Operation::SettlementReturnApprove, Self::ReturnApproved),
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
    /// Who is paid.
    #[serde(with = "text::one")]
    pub merchant: MerchantId,
    /// How much, in yen.
    pub amount: Num,
    /// Its status.
    #[serde(with = "text::one")]
    pub status: PayoutStatus,
}
