//! The check of a merchant's period: its sums are those of the records that name it, and one settlement has it once it is
//! closed.

use super::Scope;
use super::settlement::{add_record, shown};
use crate::account::Account;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{PeriodFact, PeriodTotals};
use crate::reconcile::num::Nums;
use std::collections::BTreeSet;

/// A period's facts, with sums of its records, since there may be many.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// What says that it is open: sums, and when a record was last credited.
    open: BTreeSet<(PeriodTotals, i64)>,
    /// What says that it is closed: sums, and the settlement that has it.
    closed: BTreeSet<(PeriodTotals, Option<SettlementId>)>,
    /// The settlements that name it, with the sums by a list.
    taken: BTreeSet<(SettlementId, Option<PeriodTotals>)>,
    credited: PeriodTotals,
    /// Records that were credited after the first item was read. Whether they count depends on when the sums were read.
    later: Vec<(Nums, i64)>,
}

impl Sums {
    pub(super) fn take(&mut self, fact: PeriodFact, scope: &Scope) {
        match fact {
            PeriodFact::Open { sums, at } => drop(self.open.insert((sums, at))),
            PeriodFact::Closed { sums, settlement } => drop(self.closed.insert((sums, settlement))),
            PeriodFact::Taken { sums, settlement } => drop(self.taken.insert((settlement, sums))),
            PeriodFact::Credited { delta, at } => {
                if scope.at_one_moment || at <= scope.began_at.millis() {
                    credit(&mut self.credited, delta);
                } else {
                    self.later.push((delta, at));
                }
            }
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, merchant: MerchantId, number: u32, scope: &Scope) -> Vec<Finding> {
        let subject = format!("period:{merchant}:{number}");
        let finding = |expected: String, found: String| {
            let differs = Finding::new(tenant, BreakKind::PeriodDiffers, &subject).expected(expected).found(found);
            let settlements = self.closed.iter().filter_map(|(_, settlement)| *settlement);
            let settlements = settlements.chain(self.taken.iter().map(|(settlement, _)| *settlement));
            let differs = differs.by(settlements.map(|settlement| format!("settlement:{settlement}")));
            vec![differs.by([Account::Merchant(merchant).to_string()])]
        };
        let open: Vec<_> = self.open.iter().collect();
        let closed: Vec<_> = self.closed.iter().collect();
        let (sums, credited_until, owner) = match (open.as_slice(), closed.as_slice()) {
            ([], []) => {
                let is_named = self.credited.records > 0 || !self.later.is_empty() || !self.taken.is_empty();
                let is_settled = self.later.is_empty() || scope.at_one_moment;
                return if is_named && is_settled {
                    finding("a period".to_owned(), format!("{} records of none", self.credited.records))
                } else {
                    Vec::new()
                };
            }
            ([(sums, at)], []) => (sums, *at, None),
            ([], [(sums, settlement)]) => (sums, i64::MAX, *settlement),
            (_, _) => {
                let found = format!("{} open and {} closed ones", open.len(), closed.len());
                return finding("one period".to_owned(), found);
            }
        };
        let mut credited = self.credited.clone();
        // Records that were credited after the sums were read are not in them.
        for (delta, _) in self.later.iter().filter(|(_, at)| *at <= credited_until) {
            credit(&mut credited, delta.clone());
        }
        if credited != *sums {
            return finding(described(&credited), described(sums));
        }
        let owners: Vec<SettlementId> = owner.into_iter().collect();
        let named: Vec<SettlementId> = self.taken.iter().map(|(settlement, _)| *settlement).collect();
        if named != owners {
            let shown = |of: &[SettlementId]| of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return finding(format!("taken by: {}", shown(&owners)), format!("named by: {}", shown(&named)));
        }
        match self.taken.iter().filter_map(|(_, listed)| listed.as_ref()).find(|listed| *listed != sums) {
            Some(listed) => finding(described(sums), format!("{} in a list", described(listed))),
            None => Vec::new(),
        }
    }
}

fn credit(credited: &mut PeriodTotals, delta: Nums) {
    credited.records = credited.records.saturating_add(1);
    add_record(&mut credited.totals, delta, false);
}

fn described(sums: &PeriodTotals) -> String {
    format!("{} records: {}", sums.records, shown(&sums.totals))
}
