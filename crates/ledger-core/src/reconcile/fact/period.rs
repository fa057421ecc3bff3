//! Facts of a merchant's period: its sums, what settles it, and the records that name it.

use super::super::num::{Num, Nums};
use super::settlement::SettledSums;
use super::text;
use crate::ids::SettlementId;
use crate::transaction::CreditKind;
use serde::{Deserialize, Serialize};

/// One fact of a period. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PeriodFact {
    /// It is the merchant's open period.
    Open {
        /// Its records and sums.
        sums: PeriodTotals,
        /// Which records are in the sums.
        until: CreditedUntil,
    },
    /// It is closed.
    Closed {
        /// Its records and sums.
        sums: PeriodTotals,
        /// The settlement that has it.
        #[serde(with = "text::optional")]
        settlement: Option<SettlementId>,
    },
    /// A settlement has it: it closed it, or a list of the settlement's records names it.
    Taken {
        /// Its records and sums, by the list.
        #[serde(deserialize_with = "text::present")]
        sums: Option<PeriodTotals>,
        /// The settlement.
        #[serde(with = "text::one")]
        settlement: SettlementId,
    },
    /// A record or an entry was credited in it.
    Credited {
        /// What was credited.
        #[serde(with = "text::sums")]
        delta: Nums,
        /// Which sums it counts in.
        kind: CreditKind,
        /// What it took from the merchant's refund room, in yen.
        refund_room: Num,
        /// When.
        at: i64,
        /// The segment of the lane whose transaction credited it; `None` for a record.
        #[serde(deserialize_with = "text::present")]
        segment: Option<u64>,
    },
}

/// Which of the records and entries that name an open period are in its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum CreditedUntil {
    /// The records that were credited until this instant; 0 if none was.
    At(i64),
    /// The entries of the lane's segments until this one.
    Segment(u64),
}

/// How many records a period has, and their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeriodTotals {
    /// The number of records.
    pub records: i64,
    /// The sums.
    #[serde(with = "text::sums")]
    pub totals: SettledSums,
}
