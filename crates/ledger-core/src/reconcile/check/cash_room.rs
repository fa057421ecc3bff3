//! The check of a terminal's cash room: what was allotted, less the cash that was taken and not returned. Of a counter also
//! what of the cash was not collected.

use super::Scope;
use super::rooms::accounts_of;
use crate::ids::{Tenant, TerminalId, TerminalOwner};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::CashRoomFact;
use crate::reconcile::num::Num;
use std::collections::{BTreeMap, BTreeSet};

/// A cash room's facts, with the sums of the cash.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// What each owner has allotted.
    allotted: BTreeMap<TerminalOwner, Num>,
    /// The terminal's owner, its room, and when it last changed.
    rooms: BTreeSet<(TerminalOwner, Num, i64)>,
    /// What is outstanding at a counter, and when it last changed.
    outstanding: BTreeSet<(Num, i64)>,
    taken: Cash,
    collected: Cash,
}

/// A sum of cash.
#[derive(Clone, Debug, Default)]
struct Cash {
    sum: Num,
    /// Cash after the first item was read. Whether it counts depends on when the terminal's item was read.
    later: Vec<(Num, i64)>,
}

impl Cash {
    fn add(&mut self, amount: Num, at: i64, scope: &Scope) {
        if scope.at_one_moment || at <= scope.began_at.millis() {
            self.sum = self.sum.plus(amount);
        } else {
            self.later.push((amount, at));
        }
    }

    /// The sum in an item that last changed at an instant; `None`: never.
    fn until(&self, changed_at: Option<i64>) -> Num {
        let later = self.later.iter().filter(|(_, at)| changed_at.is_some_and(|changed_at| *at <= changed_at));
        later.fold(self.sum, |sum, (amount, _)| sum.plus(*amount))
    }
}

impl Sums {
    pub(super) fn take(&mut self, fact: CashRoomFact, scope: &Scope) {
        match fact {
            CashRoomFact::Allotted { owner, amount } => drop(self.allotted.insert(owner, amount)),
            CashRoomFact::Room { owner, room, changed_at } => {
                let _ = self.rooms.insert((owner, room, changed_at));
            }
            CashRoomFact::Outstanding { amount, changed_at } => {
                let _ = self.outstanding.insert((amount, changed_at));
            }
            CashRoomFact::Taken { amount, at } => self.taken.add(amount, at, scope),
            CashRoomFact::Collected { amount, at } => self.collected.add(amount, at, scope),
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, terminal: TerminalId) -> Vec<Finding> {
        let last = self.rooms.last();
        let (room, changed_at) = last.map_or((Num::ZERO, None), |(_, room, changed_at)| (*room, Some(*changed_at)));
        let taken = self.taken.until(changed_at);
        let allotted = self.allotted.values().fold(Num::ZERO, |sum, amount| sum.plus(*amount));
        let owners: BTreeSet<TerminalOwner> =
            self.allotted.keys().copied().chain(self.rooms.iter().map(|(owner, ..)| *owner)).collect();
        let differs = || Finding::new(tenant, BreakKind::CashRoomDiffers, format!("terminal:{terminal}"));
        let accounts = || owners.iter().filter_map(|owner| accounts_of(*owner));
        let expected = allotted.minus(taken);
        let mut findings = Vec::new();
        if expected != room || room.is_negative() || owners.len() > 1 || self.rooms.len() > 1 {
            let differs = differs().expected(format!("{expected} of one owner: {allotted} allotted, {taken} taken"));
            findings.push(differs.found(format!("{room} of {} owners", owners.len())).by(accounts()));
        }
        let last = self.outstanding.last();
        let (outstanding, changed_at) = last.map_or((Num::ZERO, None), |(amount, at)| (*amount, Some(*at)));
        let collected = self.collected.until(changed_at);
        // The cash of a till is a debt of its merchant, and nothing of it is outstanding here.
        let taken = if owners.contains(&TerminalOwner::Operator) { self.taken.until(changed_at) } else { Num::ZERO };
        let expected = taken.minus(collected);
        if findings.is_empty() && (expected != outstanding || outstanding.is_negative()) {
            let differs = differs().expected(format!("{expected}: {taken} taken, {collected} collected"));
            findings.push(differs.found(format!("{outstanding} outstanding")).by(accounts()));
        }
        findings
    }
}
