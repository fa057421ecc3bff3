//! An account: what its balance item says, by itself and against what was posted and what holds it.

use super::Scope;
use crate::account::Account;
use crate::forms::SeenCorrections;
use crate::ids::Tenant;
use crate::keys::attr;
use crate::money::{Asset, Delta};
use crate::reconcile::breaks::{BreakKind, Finding, Proposal};
use crate::reconcile::fact::{Fact, Place};
use crate::reconcile::num::Num;
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// How many ids a finding names.
const EVIDENCE_MAX: usize = 20;

/// An account's facts, added up.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    available: Num,
    held: Num,
    /// What it owes by its entries, less what top-ups of an earlier release say.
    owed: Num,
    any: bool,
    /// What was posted after the first item was read: whether it counts depends on when the balance was read.
    later: Vec<(Part, Num, i64)>,
    holding: Num,
    reserving: Num,
    evidence: BTreeSet<String>,
    /// By item: what it says, or why it says nothing.
    stored: BTreeMap<Place, Result<Stored, Unread>>,
    /// Whether the God Record says that the balance stands in the model before.
    in_legacy: bool,
}

/// The sum to which something is posted.
#[derive(Clone, Copy, Debug)]
enum Part {
    Available,
    Held,
    Owed,
}

#[derive(Clone, Copy, Debug)]
struct Stored {
    balance: Num,
    held: Num,
    reserved: Num,
    owed: Num,
    exposure: Option<Num>,
    corrections: SeenCorrections,
    at: i64,
}

#[derive(Clone, Debug)]
struct Unread {
    sk: String,
    attribute: String,
}

impl Sums {
    pub(super) fn take(&mut self, fact: Fact, scope: &Scope) {
        if let Fact::Posted { held, delta, at } = fact {
            self.any = true;
            self.post(if held { Part::Held } else { Part::Available }, delta, at, scope);
        } else if let Fact::Owing { delta, at } = fact {
            self.post(Part::Owed, delta, at, scope);
        } else if let Fact::OwedForTopup { amount } = fact {
            self.add(Part::Owed, Num::ZERO.minus(amount));
        } else if let Fact::Stored { place, balance, held, reserved, owed, exposure, corrections, corrected_at, at } =
            fact
        {
            let last_at = corrected_at.map(Timestamp::from_millis);
            let corrections = SeenCorrections { count: corrections, last_at };
            self.stored.insert(place, Ok(Stored { balance, held, reserved, owed, exposure, corrections, at }));
        } else if let Fact::Unread { place, sk, attribute } = fact {
            self.stored.insert(place, Err(Unread { sk, attribute }));
        } else if let Fact::Standing { in_legacy } = fact {
            self.in_legacy = in_legacy;
        } else if let Fact::Holding { amount, by } = fact {
            self.holding = self.holding.plus(amount);
            self.name(by);
        } else if let Fact::Reserving { amount, by } = fact {
            self.reserving = self.reserving.plus(amount);
            self.name(by);
        }
    }

    fn post(&mut self, part: Part, delta: Num, at: i64, scope: &Scope) {
        if scope.at_one_moment || at <= scope.began_at.millis() {
            self.add(part, delta);
        } else {
            self.later.push((part, delta, at));
        }
    }

    fn add(&mut self, part: Part, delta: Num) {
        let sum = match part {
            Part::Available => &mut self.available,
            Part::Held => &mut self.held,
            Part::Owed => &mut self.owed,
        };
        *sum = sum.plus(delta);
    }

    fn name(&mut self, by: String) {
        if self.evidence.len() < EVIDENCE_MAX {
            self.evidence.insert(by);
        }
    }

    /// What the item says that counts. Where the God Record has the balance, that of the others is none: it lacks what
    /// was there before, and what is wrong with it means nothing. Who has a God Record that says nothing of it, or
    /// none, has a balance item.
    fn counts(&self) -> Option<&Result<Stored, Unread>> {
        let places: &[Place] = if self.in_legacy { &[Place::Metrics, Place::GodRecord] } else { &[Place::Own] };
        places.iter().find_map(|place| self.stored.get(place))
    }

    pub(super) fn check(&self, tenant: &Tenant, account: Account, asset: &Asset, scope: &Scope) -> Vec<Finding> {
        let (stored, mut findings) = match self.counts() {
            Some(Ok(stored)) => (Some(stored), stored.by_itself(tenant, account, asset)),
            Some(Err(unread)) => (None, vec![unread.finding(tenant, account)]),
            None => (None, Vec::new()),
        };
        let finding = |kind| Finding::new(tenant, kind, account).of(asset).by(self.evidence.iter().cloned());
        let Some(stored) = stored else {
            let nothing = !self.any && self.owed.is_zero() && self.holding.is_zero() && self.reserving.is_zero();
            let open = self.later.is_empty() || scope.at_one_moment;
            if !nothing && open {
                findings.push(finding(BreakKind::BalanceDiffers).expected(self.available).found("no balance item"));
            }
            return findings;
        };
        let mut sums = self.clone();
        // The balance item says when it last changed: what was posted after that is not in it.
        for (part, delta, _) in self.later.iter().filter(|(_, _, at)| *at <= stored.at) {
            sums.add(*part, *delta);
        }
        if stored.balance != sums.available {
            let differs = finding(BreakKind::BalanceDiffers).expected(sums.available).found(stored.balance);
            let proposal = proposal(account, asset, sums.available.minus(stored.balance), stored.corrections);
            findings.push(Finding { proposal, ..differs });
        }
        if stored.held != sums.held {
            findings.push(finding(BreakKind::HeldDiffers).expected(sums.held).found(stored.held));
        } else if matches!(account, Account::Customer(_)) && stored.held != self.holding {
            let expected = format!("{} by holds and refunds", self.holding);
            findings.push(finding(BreakKind::HeldDiffers).expected(expected).found(stored.held));
        }
        if stored.owed != sums.owed {
            findings.push(finding(BreakKind::OwedDiffers).expected(sums.owed).found(stored.owed));
        }
        if stored.reserved != self.reserving {
            findings.push(finding(BreakKind::ReservedDiffers).expected(self.reserving).found(stored.reserved));
        }
        findings
    }
}

impl Stored {
    /// What is wrong with it whatever was posted. A merchant's may be below zero: refunds take what is not there any
    /// more.
    fn by_itself(&self, tenant: &Tenant, account: Account, asset: &Asset) -> Vec<Finding> {
        let finding = |kind| Finding::new(tenant, kind, account).of(asset);
        let mut findings = Vec::new();
        let is_merchant = matches!(account, Account::Merchant(_));
        let parts = [
            (attr::BALANCE, self.balance),
            (attr::HELD, self.held),
            (attr::RESERVED, self.reserved),
            (attr::OWED, self.owed),
        ];
        for (name, part) in parts {
            if part.is_negative() && !(is_merchant && name == attr::BALANCE) {
                let negative = finding(BreakKind::NegativeBalance).expected(format!("{name} of 0 or more"));
                findings.push(negative.found(part));
            }
        }
        let sum = self.balance.plus(self.held).plus(self.reserved);
        if let Some(exposure) = self.exposure.filter(|exposure| *exposure != sum) {
            findings.push(finding(BreakKind::ExposureDiffers).expected(sum).found(exposure));
        }
        findings
    }
}

impl Unread {
    fn finding(&self, tenant: &Tenant, account: Account) -> Finding {
        let unread = Finding::new(tenant, BreakKind::UnreadableItem, format!("{account} {}", self.sk));
        let unread = unread.expected("an item as we write it").found(format!("no readable `{}`", self.attribute));
        unread.by([account.to_string()])
    }
}

/// The adjustment of a wallet or a card. A merchant's balance is a projection, which nobody adjusts.
fn proposal(account: Account, asset: &Asset, difference: Num, seen: SeenCorrections) -> Option<Proposal> {
    match account {
        Account::Customer(_) | Account::Card(_) => {
            let delta = Delta::from_stored(asset.clone(), &difference.to_string()).ok()?;
            Some(Proposal { delta, seen: Some(seen) })
        }
        Account::Merchant(_) | Account::Tenant(_) => None,
    }
}
