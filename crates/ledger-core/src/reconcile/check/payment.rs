//! The check of a payment: its record, its refunds, its hold, and its entries' postings to the merchant.

use crate::ids::{PaymentId, Tenant, TransactionId};
use crate::payment_state::PaymentState;
use crate::payments::ReturnKind;
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{PaymentEntry, PaymentFact, RecordedHold, RecordedPayment, RecordedReturn};
use crate::reconcile::num::{Num, Nums};
use std::collections::{BTreeMap, BTreeSet};

/// The facts of a payment, by kind.
#[derive(Default)]
struct Known<'a> {
    records: Vec<&'a RecordedPayment>,
    returns: Vec<&'a RecordedReturn>,
    holds: Vec<&'a RecordedHold>,
    entries: Vec<&'a PaymentEntry>,
}

pub(super) fn check(tenant: &Tenant, id: PaymentId, facts: &BTreeSet<PaymentFact>) -> Vec<Finding> {
    let known = Known::of(facts);
    let subject = format!("payment:{id}");
    let finding = |kind| Finding::new(tenant, kind, &subject);
    let [record] = known.records.as_slice() else {
        return vec![known.without_record(finding)];
    };
    let mut findings = Vec::new();
    if let Some((expected, found)) = hold(record, &known.holds) {
        let differs = finding(BreakKind::HoldDiffers).expected(expected).found(found);
        findings.push(differs.by([record.payer.to_string()]));
    }
    findings.extend(remainder(record, &known.returns, finding));
    findings.extend(credited(record, &known, finding));
    findings
}

impl<'a> Known<'a> {
    fn of(facts: &'a BTreeSet<PaymentFact>) -> Self {
        let mut known = Self::default();
        for fact in facts {
            match fact {
                PaymentFact::Record(record) => known.records.push(record),
                PaymentFact::Return(returned) => known.returns.push(returned),
                PaymentFact::Hold(hold) => known.holds.push(hold),
                PaymentFact::Entry(entry) => known.entries.push(entry),
            }
        }
        known
    }

    /// The break of a payment that has no record, or several.
    fn without_record(&self, finding: impl Fn(BreakKind) -> Finding) -> Finding {
        let entries = self.entries.iter().flat_map(|of| [format!("transaction:{}", of.entry), of.home.to_string()]);
        if !self.records.is_empty() {
            let differs = finding(BreakKind::PaymentDiffers).expected("one record");
            return differs.found(format!("{} records", self.records.len())).by(entries);
        }
        match self.holds.first() {
            Some(hold) => finding(BreakKind::HoldWithoutPayment)
                .expected("a payment")
                .found(format!("a hold that is {}, and no payment", hold.state))
                .by(entries)
                .by([hold.payer.to_string()]),
            None => {
                let refunds = self.returns.iter().map(|returned| format!("refund:{}", returned.id));
                let found = format!("{} refunds, {} entries, and no payment", refunds.len(), self.entries.len());
                finding(BreakKind::PaymentMissing).expected("a payment").found(found).by(refunds).by(entries)
            }
        }
    }
}

/// The state of the hold of a payment in `state`.
fn hold_state(state: PaymentState) -> PaymentState {
    match state {
        PaymentState::Captured | PaymentState::PartiallyRefunded | PaymentState::Refunded => PaymentState::Captured,
        // The first three are also states of holds. No payment with a hold has one of the others.
        PaymentState::Authorized
        | PaymentState::Canceled
        | PaymentState::Expired
        | PaymentState::Created
        | PaymentState::Authorizing
        | PaymentState::Capturing
        | PaymentState::Refunding
        | PaymentState::Failed
        | PaymentState::Reversed => state,
    }
}

/// Checks that an authorized payment has one hold, of its state and amounts.
fn hold(record: &RecordedPayment, holds: &[&RecordedHold]) -> Option<(String, String)> {
    let state = hold_state(record.state);
    match (record.has_hold, holds) {
        (false, []) => None,
        (false, [hold, ..]) => Some(("no hold".to_owned(), format!("one that is {}", hold.state))),
        (true, []) => Some((format!("a hold that is {state}"), "none".to_owned())),
        (true, [hold]) if hold.state != state => Some((state.to_string(), hold.state.to_string())),
        (true, [hold]) if hold.payer != record.payer => Some((record.payer.to_string(), hold.payer.to_string())),
        (true, [hold]) if hold.held != record.authorized => Some((shown(&record.authorized), shown(&hold.held))),
        (true, [_]) => None,
        (true, [_, _, ..]) => Some(("one hold".to_owned(), format!("{} holds", holds.len()))),
    }
}

/// Checks that what may be refunded is what was captured less what was refunded, and that the state fits.
fn remainder(
    record: &RecordedPayment,
    returns: &[&RecordedReturn],
    finding: impl Fn(BreakKind) -> Finding,
) -> Vec<Finding> {
    let mut left = record.captured.clone();
    for (asset, delta) in returns.iter().flat_map(|returned| returned.delta.iter()) {
        let of_asset = left.entry(asset.clone()).or_default();
        *of_asset = of_asset.plus(*delta);
    }
    let mut findings = Vec::new();
    for asset in left.keys().chain(record.refundable.keys()).collect::<BTreeSet<_>>() {
        let of = |nums: &Nums| nums.get(asset).copied().unwrap_or_default();
        let (expected, found) = (of(&left), of(&record.refundable));
        if expected != found || found.is_negative() || found > of(&record.captured) {
            findings.push(finding(BreakKind::PaymentDiffers).expected(expected).found(found).of(asset));
        }
    }
    let is_whole = left.iter().all(|(asset, left)| record.captured.get(asset) == Some(left));
    let is_nothing = left.values().all(|left| left.is_zero());
    let is_reversed = returns.iter().any(|returned| match returned.kind {
        ReturnKind::PaymentReversal => true,
        ReturnKind::Refund | ReturnKind::RefundReversal => false,
    });
    use PaymentState as S;
    let expected: &[S] = match (record.captured.is_empty(), is_reversed, is_whole, is_nothing) {
        (true, ..) => &[S::Authorized, S::Canceled, S::Expired],
        (false, true, ..) => &[S::Reversed],
        (false, false, true, _) => &[S::Captured],
        (false, false, false, true) => &[S::Refunded],
        (false, false, false, false) => &[S::PartiallyRefunded],
    };
    if findings.is_empty() && !expected.contains(&record.state) {
        let names: Vec<&str> = expected.iter().map(|state| state.name()).collect();
        findings.push(finding(BreakKind::PaymentDiffers).expected(names.join(" or ")).found(record.state));
    }
    findings
}

/// Checks that each merchant is owed what the entries post, that each such posting has a record, and that the seal of the
/// entry credits the merchant.
fn credited(record: &RecordedPayment, known: &Known<'_>, finding: impl Fn(BreakKind) -> Finding) -> Vec<Finding> {
    // A payment owes what was captured, and a return changes that.
    let mut records = vec![(record.entry, &record.captured)];
    records.extend(known.returns.iter().map(|returned| (returned.entry, &returned.delta)));
    let mut posted = BTreeMap::<TransactionId, Vec<&PaymentEntry>>::new();
    for entry in &known.entries {
        posted.entry(entry.entry).or_default().push(entry);
    }
    let mut findings = Vec::new();
    let mut differs = |entry: TransactionId, expected: String, found: String| {
        let by = [format!("transaction:{entry}"), format!("merchant:{}", record.merchant), record.payer.to_string()];
        findings.push(finding(BreakKind::CreditDiffers).expected(expected).found(found).by(by));
    };
    for (entry, owed) in &records {
        // A missing entry is a break of the entry's own group.
        for posted in posted.get(entry).into_iter().flatten() {
            if posted.delta != **owed {
                differs(*entry, shown(&posted.delta), shown(owed));
            } else if !owed.is_empty() && !posted.by_seal {
                differs(*entry, "credited by the seal of its entry".to_owned(), "by nothing".to_owned());
            }
        }
    }
    let has_record = |entry: &TransactionId| records.iter().any(|(of, _)| of == entry);
    for (entry, posted) in posted.iter().filter(|(entry, _)| !has_record(entry)) {
        for posted in posted.iter().filter(|posted| !posted.delta.is_empty()) {
            differs(*entry, shown(&posted.delta), shown(&Nums::new()));
        }
    }
    findings
}

fn shown(nums: &Nums) -> String {
    let parts: Vec<String> = nums.iter().map(|(asset, num): (_, &Num)| format!("{num} {asset}")).collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}
