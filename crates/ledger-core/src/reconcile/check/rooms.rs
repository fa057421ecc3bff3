//! The check of the rooms of a merchant or of the operator: what was covered of the cash, and what is outstanding of
//! refunds.

use super::Scope;
use crate::account::Account;
use crate::ids::{Tenant, TerminalOwner};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{RoomSum, RoomsFact};
use crate::reconcile::num::Num;
use std::collections::{BTreeMap, BTreeSet};

/// The facts of an owner's rooms, with their sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// The sums by the owner's items, and when they last changed.
    recorded: BTreeMap<RoomSum, BTreeSet<(Num, i64)>>,
    changes: BTreeMap<RoomSum, Num>,
    /// Changes after the first item was read. Whether they count depends on when the owner's item was read.
    later: Vec<(RoomSum, Num, i64)>,
}

impl Sums {
    pub(super) fn take(&mut self, fact: RoomsFact, scope: &Scope) {
        match fact {
            RoomsFact::Recorded { of, amount, changed_at } => {
                let _ = self.recorded.entry(of).or_default().insert((amount, changed_at));
            }
            RoomsFact::Changed { of, amount, at } => {
                if scope.at_one_moment || at <= scope.began_at.millis() {
                    let sum = self.changes.entry(of).or_default();
                    *sum = sum.plus(amount);
                } else {
                    self.later.push((of, amount, at));
                }
            }
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, owner: TerminalOwner) -> Vec<Finding> {
        RoomSum::ALL.into_iter().filter_map(|of| self.differing(tenant, owner, of)).collect()
    }

    fn differing(&self, tenant: &Tenant, owner: TerminalOwner, of: RoomSum) -> Option<Finding> {
        let recorded = self.recorded.get(&of).and_then(BTreeSet::last).copied();
        let (found, changed_at) = recorded.map_or((Num::ZERO, None), |(amount, at)| (amount, Some(at)));
        let is_in_item = |at: i64| changed_at.is_some_and(|changed_at| at <= changed_at);
        let later = self.later.iter().filter(|(sum, _, at)| *sum == of && is_in_item(*at));
        let so_far = self.changes.get(&of).copied().unwrap_or_default();
        let expected = later.fold(so_far, |sum, (_, amount, _)| sum.plus(*amount));
        if expected == found {
            return None;
        }
        let (kind, what) = match of {
            RoomSum::CoveredCash => (BreakKind::CashRoomDiffers, "covered"),
            RoomSum::OutstandingRefunds => (BreakKind::RefundRoomDiffers, "refunded and not covered"),
        };
        let differs = Finding::new(tenant, kind, format!("rooms:{owner}"));
        let differs = differs.expected(format!("{expected} {what}")).found(found);
        Some(differs.by(accounts_of(owner)))
    }
}

/// The account of a merchant; none of the operator, whose cash is on `cash_clearing`.
pub(super) fn accounts_of(owner: TerminalOwner) -> Option<String> {
    owner.merchant().map(|merchant| Account::Merchant(merchant).to_string())
}
