//! The check of a terminal's cash room: what was allotted, less the cash that was taken and not returned.

use super::Scope;
use crate::account::Account;
use crate::ids::{MerchantId, Tenant, TerminalId};
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::CashRoomFact;
use crate::reconcile::num::Num;
use std::collections::{BTreeMap, BTreeSet};

/// A cash room's facts, with the sum of the cash.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// What each merchant has allotted.
    allotted: BTreeMap<MerchantId, Num>,
    /// The terminal's merchant, its room, and when it last changed.
    rooms: BTreeSet<(MerchantId, Num, i64)>,
    taken: Num,
    /// Cash after the first item was read. Whether it counts depends on when the room was read.
    later: Vec<(Num, i64)>,
}

impl Sums {
    pub(super) fn take(&mut self, fact: CashRoomFact, scope: &Scope) {
        match fact {
            CashRoomFact::Allotted { merchant, amount } => drop(self.allotted.insert(merchant, amount)),
            CashRoomFact::Room { merchant, room, changed_at } => {
                let _ = self.rooms.insert((merchant, room, changed_at));
            }
            CashRoomFact::Taken { amount, at } => {
                if scope.at_one_moment || at <= scope.began_at.millis() {
                    self.taken = self.taken.plus(amount);
                } else {
                    self.later.push((amount, at));
                }
            }
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, terminal: TerminalId) -> Vec<Finding> {
        let rooms: Vec<_> = self.rooms.iter().collect();
        let (room, changed_at) = match rooms.as_slice() {
            [] => (Num::ZERO, None),
            [(_, room, changed_at)] => (*room, Some(*changed_at)),
            [_, (_, room, changed_at), ..] => (*room, Some(*changed_at)),
        };
        let in_room = |at: i64| changed_at.is_some_and(|changed_at| at <= changed_at);
        let later = self.later.iter().filter(|(_, at)| in_room(*at));
        let taken = later.fold(self.taken, |sum, (amount, _)| sum.plus(*amount));
        let allotted = self.allotted.values().fold(Num::ZERO, |sum, amount| sum.plus(*amount));
        let merchants: BTreeSet<MerchantId> =
            self.allotted.keys().copied().chain(self.rooms.iter().map(|(merchant, ..)| *merchant)).collect();
        let expected = allotted.minus(taken);
        if expected == room && !room.is_negative() && merchants.len() <= 1 && rooms.len() <= 1 {
            return Vec::new();
        }
        let differs = Finding::new(tenant, BreakKind::CashRoomDiffers, format!("terminal:{terminal}"));
        let differs = differs.expected(format!("{expected} of one merchant: {allotted} allotted, {taken} taken"));
        let differs = differs.found(format!("{room} of {} merchants", merchants.len()));
        vec![differs.by(merchants.into_iter().map(|merchant| Account::Merchant(merchant).to_string()))]
    }
}
