//! The check of a top-up: its record and refunds, against its entries and the payment provider's objects.

mod provider;

use super::Scope;
use crate::account::Account;
use crate::ids::{RefundId, Tenant, TopupId};
use crate::psp::PspId;
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{
    Charge, ProviderRefund, RecordedClawback, RecordedTopup, RecordedTopupRefund, TopupFact, TopupStep,
};
use crate::reconcile::num::Num;
use crate::topups::{ClawbackState, RefundState, TopupState};
use std::collections::{BTreeMap, BTreeSet};

/// The facts of a top-up, by kind.
#[derive(Default)]
struct Known<'a> {
    records: Vec<&'a RecordedTopup>,
    refunds: BTreeMap<RefundId, &'a RecordedTopupRefund>,
    clawbacks: BTreeMap<&'a PspId, &'a RecordedClawback>,
    /// The number of records beyond the first of the same id.
    doubled: usize,
    /// The number of entries of each step.
    steps: BTreeMap<&'a TopupStep, usize>,
    /// The accounts in whose partitions the entries are.
    homes: BTreeSet<Account>,
    /// The sum of the postings to `suspense`.
    suspense: Num,
    charges: Vec<&'a Charge>,
    provider_refunds: BTreeMap<RefundId, Vec<&'a ProviderRefund>>,
}

pub(super) fn check(tenant: &Tenant, id: TopupId, facts: &BTreeSet<TopupFact>, scope: &Scope) -> Vec<Finding> {
    let known = Known::of(facts);
    let subject = format!("topup:{id}");
    let homes: Vec<String> = known.homes.iter().map(Account::to_string).collect();
    let new = |kind, expected: &str, found: String| {
        Finding::new(tenant, kind, &subject).expected(expected).found(found).by(homes.iter().cloned())
    };
    let mut findings = Vec::new();
    let [record] = known.records.as_slice() else {
        if !known.records.is_empty() {
            let wallets = known.records.iter().map(|record| record.wallet.to_string());
            let found = format!("{} records", known.records.len());
            findings.push(new(BreakKind::TopupDiffers, "one record", found).by(wallets));
        } else if !known.steps.is_empty() || !known.refunds.is_empty() || !known.clawbacks.is_empty() {
            findings.push(new(BreakKind::TopupMissing, "a top-up", "its refunds or entries alone".to_owned()));
        }
        findings.extend(provider::without_record(&known, new));
        return findings;
    };
    let mut differs = |what: &str, expected: String, found: String| {
        let finding = new(BreakKind::TopupDiffers, &format!("{what}: {expected}"), found);
        findings.push(finding.by([record.wallet.to_string()]));
    };
    entries(record, &known, &mut differs);
    without_record(&known, &mut differs);
    let on_suspense = known.refunds.values().fold(record.suspense, |sum, refund| sum.plus(refund.suspense));
    if on_suspense != known.suspense {
        differs("suspense", known.suspense.to_string(), on_suspense.to_string());
    }
    if !known.suspense.is_zero() {
        let open = new(BreakKind::SuspenseOpen, "nothing on suspense", format!("{} ECOPAY", known.suspense));
        findings.push(open.by([record.wallet.to_string()]));
    }
    findings.extend(provider::check(record, &known, scope, new));
    findings
}

impl<'a> Known<'a> {
    fn of(facts: &'a BTreeSet<TopupFact>) -> Self {
        let mut known = Self::default();
        let mut doubled = 0_usize;
        for fact in facts {
            match fact {
                TopupFact::Record(record) => known.records.push(record),
                TopupFact::Refund(refund) => {
                    doubled = doubled.saturating_add(known.refunds.insert(refund.id, refund).into_iter().count());
                }
                TopupFact::Clawback(clawback) => {
                    let before = known.clawbacks.insert(&clawback.id, clawback);
                    doubled = doubled.saturating_add(before.into_iter().count());
                }
                TopupFact::Entry(entry) => {
                    known.suspense = known.suspense.plus(entry.suspense);
                    known.homes.insert(entry.home);
                    let count = known.steps.entry(&entry.step).or_default();
                    *count = count.saturating_add(1);
                }
                TopupFact::Charge(charge) => known.charges.push(charge),
                TopupFact::ProviderRefund(refund) => {
                    known.provider_refunds.entry(refund.refund).or_default().push(refund);
                }
            }
        }
        Self { doubled, ..known }
    }

    fn count(&self, step: &TopupStep) -> usize {
        self.steps.get(step).copied().unwrap_or_default()
    }
}

/// Whether the wallet has the money of a top-up in this state.
fn is_credited(state: TopupState) -> bool {
    match state {
        TopupState::Succeeded => true,
        TopupState::Requested | TopupState::Pending | TopupState::Canceled | TopupState::Refused => false,
    }
}

/// Checks the state and the sums against the entries.
fn entries(record: &RecordedTopup, known: &Known<'_>, differs: &mut impl FnMut(&str, String, String)) {
    let is_credited = is_credited(record.state);
    let credits = known.count(&TopupStep::Credit);
    if credits != usize::from(is_credited) {
        differs("credits", usize::from(is_credited).to_string(), format!("{credits}, and it is {}", record.state));
    }
    let (mut refundable, mut settled) = (record.charge, Num::ZERO);
    for (id, refund) in &known.refunds {
        let paid = known.count(&TopupStep::RefundPayout(*id));
        let returned = known.count(&TopupStep::RefundReturn(*id));
        let (is_out, fits) = match refund.state {
            RefundState::Requested | RefundState::Pending => (true, (paid, returned) == (0, 0)),
            RefundState::Succeeded => (true, (paid, returned) == (1, 0)),
            RefundState::Failed => (false, paid <= 1 && returned == 1),
        };
        if is_out {
            refundable = refundable.minus(refund.amount);
            settled = settled.plus(refund.settled);
        }
        if known.count(&TopupStep::RefundHold(*id)) != 1 || !fits {
            let found = format!("paid {paid} times, returned {returned} times");
            differs(&format!("refund:{id}"), format!("the entries of one that is {}", refund.state), found);
        }
    }
    for clawback in known.clawbacks.values() {
        refundable = refundable.minus(clawback.lowered);
        settled = settled.plus(clawback.settled);
    }
    if is_credited {
        let sums = [("refundable", refundable, record.refundable), ("points taken back", settled, record.taken_back)];
        for (what, expected, found) in sums {
            // Refunds and clawbacks together may exceed the charge.
            let is_overdrawn = what == "refundable" && !known.clawbacks.is_empty();
            if expected != found || (found.is_negative() && !is_overdrawn) {
                differs(what, expected.to_string(), found.to_string());
            }
        }
    }
    for (id, clawback) in &known.clawbacks {
        let taken = known.count(&TopupStep::ClawbackTaken((*id).clone()));
        let returned = known.count(&TopupStep::ClawbackReturned((*id).clone()));
        let is_taken = match clawback.state {
            ClawbackState::Taken => true,
            ClawbackState::Returned => false,
        };
        let fits = taken == returned.saturating_add(usize::from(is_taken));
        let most = usize::try_from(clawback.round).unwrap_or(usize::MAX).div_ceil(2);
        if !fits || taken > most {
            let found = format!("taken {taken} times, returned {returned} times");
            differs(id.as_str(), format!("the entries of one that is {}", clawback.state.name()), found);
        }
    }
}

/// Checks that each entry belongs to a record, and that no record exists twice.
fn without_record(known: &Known<'_>, differs: &mut impl FnMut(&str, String, String)) {
    if known.doubled > 0 {
        differs("records", "one of each id".to_owned(), format!("{} more", known.doubled));
    }
    for step in known.steps.keys() {
        match step {
            TopupStep::Credit | TopupStep::Suspense => {}
            TopupStep::RefundHold(id) | TopupStep::RefundPayout(id) | TopupStep::RefundReturn(id) => {
                if !known.refunds.contains_key(id) {
                    differs(&format!("refund:{id}"), "a refund".to_owned(), "entries of none".to_owned());
                }
            }
            TopupStep::ClawbackTaken(id) | TopupStep::ClawbackReturned(id) => {
                if !known.clawbacks.contains_key(id) {
                    differs(id.as_str(), "a clawback".to_owned(), "entries of none".to_owned());
                }
            }
            TopupStep::Unknown { operation, decision } => {
                let decided = decision.map_or(String::new(), |decision| format!(" that decided {}", decision.name()));
                differs("entries", "of its steps".to_owned(), format!("one of {operation}{decided}"));
            }
        }
    }
}
