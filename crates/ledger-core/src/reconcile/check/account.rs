//! An account: what its balance item says, against what was posted and what holds it.

use super::Scope;
use crate::account::Account;
use crate::ids::Tenant;
use crate::money::{Asset, Delta};
use crate::reconcile::breaks::{BreakKind, Finding, Proposal};
use crate::reconcile::fact::{Fact, Num};
use std::collections::BTreeSet;

/// How many ids a finding names.
const EVIDENCE_MAX: usize = 20;

/// An account's facts, added up.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    available: Num,
    held: Num,
    any: bool,
    /// What was posted after the first item was read: whether it counts depends on when the balance was read.
    later: Vec<(bool, Num, i64)>,
    holding: Num,
    reserving: Num,
    evidence: BTreeSet<String>,
    stored: Option<Stored>,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    balance: Num,
    held: Num,
    reserved: Num,
    at: i64,
}

impl Sums {
    pub(super) fn take(&mut self, fact: Fact, scope: &Scope) {
        if let Fact::Posted { held, delta, at } = fact {
            self.any = true;
            if scope.at_one_moment || at <= scope.began_at.millis() {
                self.add(held, delta);
            } else {
                self.later.push((held, delta, at));
            }
        } else if let Fact::Stored { balance, held, reserved, at } = fact {
            self.stored = Some(Stored { balance, held, reserved, at });
        } else if let Fact::Holding { amount, by } = fact {
            self.holding = self.holding.plus(amount);
            self.name(by);
        } else if let Fact::Reserving { amount, by } = fact {
            self.reserving = self.reserving.plus(amount);
            self.name(by);
        }
    }

    fn add(&mut self, held: bool, delta: Num) {
        let sum = if held { &mut self.held } else { &mut self.available };
        *sum = sum.plus(delta);
    }

    fn name(&mut self, by: String) {
        if self.evidence.len() < EVIDENCE_MAX {
            self.evidence.insert(by);
        }
    }

    pub(super) fn check(&self, tenant: &Tenant, account: Account, asset: &Asset, scope: &Scope) -> Vec<Finding> {
        let finding = |kind| Finding::new(tenant, kind, account).of(asset).by(self.evidence.iter().cloned());
        let Some(stored) = &self.stored else {
            let nothing = !self.any && self.holding.is_zero() && self.reserving.is_zero();
            let open = self.later.is_empty() || scope.at_one_moment;
            if nothing || !open {
                return Vec::new();
            }
            return vec![finding(BreakKind::BalanceDiffers).expected(self.available).found("no balance item")];
        };
        let mut sums = self.clone();
        // The balance item says when it last changed: what was posted after that is not in it.
        for (held, delta, _) in self.later.iter().filter(|(_, _, at)| *at <= stored.at) {
            sums.add(*held, *delta);
        }
        let mut findings = Vec::new();
        if stored.balance != sums.available {
            let differs = finding(BreakKind::BalanceDiffers).expected(sums.available).found(stored.balance);
            let proposal = proposal(account, asset, sums.available.minus(stored.balance));
            findings.push(Finding { proposal, ..differs });
        }
        if stored.held != sums.held {
            findings.push(finding(BreakKind::HeldDiffers).expected(sums.held).found(stored.held));
        } else if matches!(account, Account::Customer(_)) && stored.held != self.holding {
            let expected = format!("{} by holds and refunds", self.holding);
            findings.push(finding(BreakKind::HeldDiffers).expected(expected).found(stored.held));
        }
        if stored.reserved != self.reserving {
            findings.push(finding(BreakKind::ReservedDiffers).expected(self.reserving).found(stored.reserved));
        }
        findings
    }
}

/// The adjustment of a wallet or a card. A merchant's balance is a projection, which nobody adjusts.
fn proposal(account: Account, asset: &Asset, difference: Num) -> Option<Proposal> {
    match account {
        Account::Customer(_) | Account::Card(_) => {
            Some(Proposal { delta: Delta::from_stored(asset.clone(), &difference.to_string()).ok()? })
        }
        Account::Merchant(_) | Account::Tenant(_) => None,
    }
}
