//! Facts of a merchant's period: its sums, what settles it, and the entries that name it.

use super::super::num::{Num, Nums};
use super::settlement::{SettledSide, SettledSum, SettledSums, add_to_sum};
use super::text;
use crate::crediting::CreditKind;
use crate::ids::SettlementId;
use crate::money::Asset;
use serde::{Deserialize, Serialize};

/// One fact of a period. Instants are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum PeriodFact {
    /// It is the merchant's open period.
    Open {
        /// Its records and sums.
        sums: PeriodTotals,
        /// The last segment of the lane whose entries are in the sums.
        until: u64,
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
    /// Entries were credited in it: one, or those of an export's data file together.
    Credited {
        /// Their number and sums.
        sums: PeriodTotals,
        /// When the last of them was.
        at: i64,
        /// The last segment of the lane whose transaction credited one; `None` if its stamp names another lane.
        #[serde(deserialize_with = "text::present")]
        segment: Option<u64>,
    },
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

impl PeriodTotals {
    /// Those of one entry that was credited, by what it changed, the sums that it counts in, and what it took from the
    /// merchant's refund room, in yen.
    pub(in crate::reconcile) fn of_credit(delta: Nums, kind: CreditKind, refund_room: Num) -> Self {
        let mut totals = SettledSums::new();
        for (asset, delta) in delta {
            let (side, size) = match (kind, delta.is_negative()) {
                (CreditKind::Trade, true) => (SettledSide::Refunded, Num::ZERO.minus(delta)),
                (CreditKind::Trade, false) => (SettledSide::Taken, delta),
                (CreditKind::Cash, true) => (SettledSide::CashTaken, Num::ZERO.minus(delta)),
                (CreditKind::Cash, false) => (SettledSide::CashReversed, delta),
                (CreditKind::Deposit, _) => (SettledSide::Deposited, delta),
            };
            add_to_sum(&mut totals, SettledSum { side, asset }, size);
        }
        add_to_sum(&mut totals, SettledSum { side: SettledSide::RefundRoom, asset: Asset::Ecopay }, refund_room);
        Self { records: 1, totals }
    }

    /// Adds more records with their sums.
    pub fn add(&mut self, more: Self) {
        self.records = self.records.saturating_add(more.records);
        more.totals.into_iter().for_each(|(of, more)| add_to_sum(&mut self.totals, of, more));
    }
}
