//! The check of an account: the amounts of its balance item, by themselves and against its postings and holds.

use super::Scope;
use crate::account::Account;
use crate::forms::SeenCorrections;
use crate::ids::Tenant;
use crate::keys::attr;
use crate::money::{Asset, Delta};
use crate::reconcile::breaks::{BreakKind, Finding, Proposal};
use crate::reconcile::fact::{AccountFact, BalanceAmounts, BalanceItem};
use crate::reconcile::num::Num;
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The most ids in a finding's evidence.
const EVIDENCE_MAX: usize = 20;

/// The sums of an account's facts.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    available: Num,
    held: Num,
    /// The debt by its entries.
    owed: Num,
    has_postings: bool,
    /// Postings after the first item was read. Whether they count depends on when the balance was read.
    later: Vec<LaterPosting>,
    holding: Num,
    reserving: Num,
    evidence: BTreeSet<String>,
    /// The amounts of each item, or why they cannot be read.
    stored: BTreeMap<BalanceItem, Result<BalanceAmounts, Unreadable>>,
    /// Whether an item was read twice with different amounts.
    has_two_readings: bool,
    /// Whether the God Record says that the balance is in the legacy model.
    in_legacy_model: bool,
}

/// A posting that may be in the balance or not.
#[derive(Clone, Copy, Debug)]
struct LaterPosting {
    part: Part,
    delta: Num,
    at: i64,
}

/// The sum that a posting changes.
#[derive(Clone, Copy, Debug)]
enum Part {
    Available,
    Held,
    Owed,
}

/// An item whose amounts cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unreadable {
    sk: String,
    attribute: String,
}

impl Sums {
    pub(super) fn take(&mut self, fact: AccountFact, scope: &Scope) {
        match fact {
            AccountFact::Posted { held, delta, at } => {
                self.has_postings = true;
                self.post(if held { Part::Held } else { Part::Available }, delta, at, scope);
            }
            AccountFact::Debt { delta, at } => self.post(Part::Owed, delta, at, scope),
            AccountFact::Balance { item, amounts } => self.store(item, Ok(amounts)),
            AccountFact::UnreadableBalance { item, sk, attribute } => {
                self.store(item, Err(Unreadable { sk, attribute }));
            }
            AccountFact::Location { in_legacy_model } => self.in_legacy_model = in_legacy_model,
            AccountFact::Hold { amount, by } => {
                self.holding = self.holding.plus(amount);
                self.name(by);
            }
            AccountFact::Reservation { amount, by } => {
                self.reserving = self.reserving.plus(amount);
                self.name(by);
            }
        }
    }

    fn store(&mut self, item: BalanceItem, reading: Result<BalanceAmounts, Unreadable>) {
        let before = self.stored.insert(item, reading.clone());
        self.has_two_readings |= before.is_some_and(|before| before != reading);
    }

    fn post(&mut self, part: Part, delta: Num, at: i64, scope: &Scope) {
        if scope.at_one_moment || at <= scope.began_at.millis() {
            self.add(part, delta);
        } else {
            self.later.push(LaterPosting { part, delta, at });
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

    /// The item that counts. If the God Record has the balance, the balance item is incomplete, and breaks in it mean
    /// nothing. Without a God Record, or with one that does not name the concern, the balance item counts.
    fn current(&self) -> Option<&Result<BalanceAmounts, Unreadable>> {
        let items: &[BalanceItem] =
            if self.in_legacy_model { &[BalanceItem::Metrics, BalanceItem::GodRecord] } else { &[BalanceItem::Own] };
        items.iter().find_map(|item| self.stored.get(item))
    }

    pub(super) fn check(&self, tenant: &Tenant, account: Account, asset: &Asset, scope: &Scope) -> Vec<Finding> {
        let (stored, mut findings) = match self.current() {
            Some(Ok(stored)) => (Some(stored), by_itself(stored, tenant, account, asset)),
            Some(Err(unreadable)) => (None, vec![unreadable.finding(tenant, account)]),
            None => (None, Vec::new()),
        };
        let finding = |kind| Finding::new(tenant, kind, account).of(asset).by(self.evidence.iter().cloned());
        if self.has_two_readings {
            findings.push(finding(BreakKind::BalanceDiffers).expected("one balance").found("two different ones"));
        }
        let Some(stored) = stored else {
            let nothing =
                !self.has_postings && [self.owed, self.holding, self.reserving].iter().all(|sum| sum.is_zero());
            let open = self.later.is_empty() || scope.at_one_moment;
            if !nothing && open {
                findings.push(finding(BreakKind::BalanceDiffers).expected(self.available).found("no balance item"));
            }
            return findings;
        };
        let mut sums = self.clone();
        // Postings after the balance item's last change are not in it.
        for later in self.later.iter().filter(|later| later.at <= stored.updated_at) {
            sums.add(later.part, later.delta);
        }
        let are_other_parts_right = stored.held == sums.held && stored.reserved == self.reserving;
        if stored.balance != sums.available {
            let differs = finding(BreakKind::BalanceDiffers).expected(sums.available).found(stored.balance);
            let proposal = match are_other_parts_right {
                true => proposal(account, asset, stored, sums.available.minus(stored.balance)),
                // What its exposure should be is not known.
                false => None,
            };
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

/// Breaks of the amounts by themselves, without the postings. A merchant's balance may be below zero, because a
/// refund may exceed it.
fn by_itself(stored: &BalanceAmounts, tenant: &Tenant, account: Account, asset: &Asset) -> Vec<Finding> {
    let finding = |kind| Finding::new(tenant, kind, account).of(asset);
    let mut findings = Vec::new();
    let is_merchant = matches!(account, Account::Merchant(_));
    let BalanceAmounts { balance, held, reserved, owed, .. } = *stored;
    let parts = [(attr::BALANCE, balance), (attr::HELD, held), (attr::RESERVED, reserved), (attr::OWED, owed)];
    for (name, part) in parts {
        if part.is_negative() && !(is_merchant && name == attr::BALANCE) {
            let negative = finding(BreakKind::NegativeBalance).expected(format!("{name} of 0 or more"));
            findings.push(negative.found(part));
        }
    }
    if let Some(exposure) = stored.exposure.filter(|exposure| *exposure != stored.exposed()) {
        let differs = finding(BreakKind::ExposureDiffers).expected(stored.exposed()).found(exposure);
        findings.push(Finding { proposal: proposal(account, asset, stored, Num::ZERO), ..differs });
    }
    findings
}

impl Unreadable {
    fn finding(&self, tenant: &Tenant, account: Account) -> Finding {
        let unread = Finding::new(tenant, BreakKind::UnreadableItem, format!("{account} {}", self.sk));
        let unread = unread.expected("an item as we write it").found(format!("no readable `{}`", self.attribute));
        unread.by([account.to_string()])
    }
}

/// The adjustment of a wallet or a card: `difference` is what its available part is short of. A merchant's balance is a
/// projection and cannot be adjusted.
fn proposal(account: Account, asset: &Asset, stored: &BalanceAmounts, difference: Num) -> Option<Proposal> {
    match account {
        Account::Customer(_) | Account::Card(_) => {
            // A part that cannot be stored must not be left out of the other's proposal.
            let part = |difference: Num| match difference.is_zero() {
                true => Some(None),
                false => Delta::from_stored(asset.clone(), &difference.to_string()).ok().map(Some),
            };
            let of_exposure = stored.exposure.map(|exposure| stored.exposed().minus(exposure)).unwrap_or_default();
            let (delta, exposure) = (part(difference)?, part(of_exposure)?);
            let last_at = stored.corrected_at.map(Timestamp::from_millis);
            Some(Proposal { delta, exposure, seen: SeenCorrections { count: stored.corrections, last_at } })
        }
        Account::Merchant(_) | Account::Tenant(_) => None,
    }
}
