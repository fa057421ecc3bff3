//! The check of a merchant's period: its sums are those of the entries that name it, and one settlement has it
//! once it is closed.

use super::Scope;
use super::settlement::shown;
use crate::account::Account;
use crate::crediting::PeriodId;
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{PeriodFact, PeriodTotals};
use std::collections::BTreeSet;

/// A period's facts, with sums of its entries, since there may be many.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// What says that it is open: sums, and the last segment whose entries are in them.
    open: BTreeSet<(PeriodTotals, u64)>,
    /// What says that it is closed: sums, and the settlement that has it.
    closed: BTreeSet<(PeriodTotals, Option<SettlementId>)>,
    /// The settlements that name it, with the sums by a list.
    taken: BTreeSet<(SettlementId, Option<PeriodTotals>)>,
    credited: Credited,
    /// Entries that were credited after the first item was read. Whether they count depends on when the sums were read.
    later: Vec<LaterCredit>,
}

/// The sums of entries that were credited.
#[derive(Clone, Debug, Default)]
struct Credited {
    totals: PeriodTotals,
    /// The last segment of them.
    segment: Option<u64>,
}

/// A credit that may be in the sums or not.
#[derive(Clone, Debug)]
struct LaterCredit {
    sums: PeriodTotals,
    segment: Option<u64>,
}

impl Sums {
    pub(super) fn take(&mut self, fact: PeriodFact, scope: &Scope) {
        match fact {
            PeriodFact::Open { sums, until } => drop(self.open.insert((sums, until))),
            PeriodFact::Closed { sums, settlement } => drop(self.closed.insert((sums, settlement))),
            PeriodFact::Taken { sums, settlement } => drop(self.taken.insert((settlement, sums))),
            PeriodFact::Credited { sums, at, segment } => {
                if scope.at_one_moment || at <= scope.began_at.millis() {
                    self.credited.add(sums, segment);
                } else {
                    self.later.push(LaterCredit { sums, segment });
                }
            }
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, merchant: MerchantId, id: PeriodId, scope: &Scope) -> Vec<Finding> {
        let subject = format!("period:{merchant}:{id}");
        let finding = |expected: String, found: String| {
            let differs = Finding::new(tenant, BreakKind::PeriodDiffers, &subject).expected(expected).found(found);
            let settlements = self.closed.iter().filter_map(|(_, settlement)| *settlement);
            let settlements = settlements.chain(self.taken.iter().map(|(settlement, _)| *settlement));
            let differs = differs.by(settlements.map(|settlement| format!("settlement:{settlement}")));
            vec![differs.by([Account::Merchant(merchant).to_string()])]
        };
        let open: Vec<_> = self.open.iter().collect();
        let closed: Vec<_> = self.closed.iter().collect();
        let (sums, until, owner) = match (open.as_slice(), closed.as_slice()) {
            ([], []) => {
                let is_named = self.credited.totals.records > 0 || !self.later.is_empty() || !self.taken.is_empty();
                let is_settled = self.later.is_empty() || scope.at_one_moment;
                return if is_named && is_settled {
                    finding("a period".to_owned(), format!("{} records of none", self.credited.totals.records))
                } else {
                    Vec::new()
                };
            }
            ([(sums, until)], []) => (sums, Some(*until), None),
            ([], [(sums, settlement)]) => (sums, None, *settlement),
            (_, _) => {
                let found = format!("{} open and {} closed ones", open.len(), closed.len());
                return finding("one period".to_owned(), found);
            }
        };
        let mut credited = self.credited.clone();
        // Entries that were credited after the sums were read are not in them.
        for later in self.later.iter().filter(|later| later.is_in_sums(until)) {
            credited.add(later.sums.clone(), later.segment);
        }
        if credited.totals != *sums {
            return finding(described(&credited.totals), described(sums));
        }
        if let (Some(until), Some(last)) = (until, credited.segment)
            && until != last
        {
            return finding(format!("entries until segment {last}"), format!("until segment {until}"));
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

impl Credited {
    fn add(&mut self, sums: PeriodTotals, segment: Option<u64>) {
        self.totals.add(sums);
        self.segment = self.segment.max(segment);
    }
}

impl LaterCredit {
    /// Whether it is in the sums that were read. Those of a closed period have all.
    fn is_in_sums(&self, until: Option<u64>) -> bool {
        until.is_none_or(|until| self.segment.is_some_and(|segment| segment <= until))
    }
}

fn described(sums: &PeriodTotals) -> String {
    format!("{} records: {}", sums.records, shown(&sums.totals))
}
