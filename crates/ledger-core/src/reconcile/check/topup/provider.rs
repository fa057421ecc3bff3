//! The check of a top-up against the payment provider's objects, if the provider was listed.

use super::{Known, is_credited};
use crate::ids::RefundId;
use crate::psp::{IntentStatus, PspId, RefundStatus};
use crate::reconcile::Scope;
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{Charge, ProviderRefund, RecordedTopup, RecordedTopupRefund};
use crate::time::Timestamp;
use crate::topups::RefundState;

fn is_paid(charge: &Charge) -> bool {
    match charge.status {
        IntentStatus::Succeeded => true,
        IntentStatus::Open | IntentStatus::Canceled => false,
    }
}

/// Whether both states agree. By our record, the provider does not have a refund that is only requested.
fn agrees(ours: RefundState, theirs: RefundStatus) -> bool {
    match (ours, theirs) {
        (RefundState::Pending, RefundStatus::Pending)
        | (RefundState::Succeeded, RefundStatus::Succeeded)
        | (RefundState::Failed, RefundStatus::Failed) => true,
        (RefundState::Requested | RefundState::Pending | RefundState::Succeeded | RefundState::Failed, _) => false,
    }
}

/// The breaks of the provider's objects for a top-up that has no record, or several.
pub(super) fn without_record(known: &Known<'_>, new: impl Fn(BreakKind, &str, String) -> Finding) -> Vec<Finding> {
    let mut findings = Vec::new();
    for charge in known.charges.iter().filter(|charge| is_paid(charge)) {
        let found = format!("{} ECOPAY charged", charge.received);
        findings.push(new(BreakKind::ChargeWithoutCredit, "a top-up", found).by([charge.id.to_string()]));
    }
    for (refund, theirs) in &known.provider_refunds {
        let found = format!("{} refunds at the provider", theirs.len());
        let differs = new(BreakKind::ProviderRefundDiffers, "a top-up", found);
        findings.push(differs.by(named(*refund, theirs)));
    }
    findings
}

/// Checks the provider's objects of a top-up against its record.
pub(super) fn check(
    record: &RecordedTopup,
    known: &Known<'_>,
    scope: &Scope,
    new: impl Fn(BreakKind, &str, String) -> Finding,
) -> Vec<Finding> {
    let was_listed = |at: i64| {
        let at = Timestamp::from_millis(at);
        scope.listed.is_some_and(|(since, until)| since <= at && at <= until)
    };
    let wallet = record.wallet.to_string();
    let mut findings = Vec::new();
    let by = |finding: Finding, charges: &[&Charge]| {
        finding.by(charges.iter().map(|charge| charge.id.to_string())).by([wallet.clone()])
    };
    let is_credited = is_credited(record.state);
    let paid: Vec<&Charge> = known.charges.iter().copied().filter(|charge| is_paid(charge)).collect();
    for charge in &paid {
        if is_credited && charge.received != record.charge {
            let expected = record.charge.to_string();
            let differs = new(BreakKind::ChargeDiffers, &expected, charge.received.to_string());
            findings.push(by(differs, &[*charge]));
        } else if !is_credited && charge.received != record.given_up {
            let found = format!("{} ECOPAY charged, and it is {}", charge.received, record.state);
            findings.push(by(new(BreakKind::ChargeWithoutCredit, "credited", found), &[*charge]));
        }
    }
    if paid.iter().any(|charge| paid.iter().any(|other| other.id != charge.id)) {
        let found = format!("{} PaymentIntents paid", paid.len());
        findings.push(by(new(BreakKind::ChargeDiffers, "charged once", found), &paid));
    }
    if is_credited && paid.is_empty() && was_listed(record.at) {
        let intent = record.intent.as_ref().map_or("no PaymentIntent", PspId::as_str);
        let credited = new(BreakKind::CreditWithoutCharge, "charged", format!("credited for {intent}"));
        findings.push(credited.by([intent.to_owned(), wallet.clone()]));
    }
    for (id, refund) in &known.refunds {
        let theirs = known.provider_refunds.get(id).map(Vec::as_slice).unwrap_or_default();
        if let Some(found) = differs(refund, theirs, was_listed(refund.at)) {
            let expected = format!("{} of {} ECOPAY", refund.state, refund.paid);
            let finding = new(BreakKind::ProviderRefundDiffers, &expected, found);
            findings.push(finding.by(named(*id, theirs)).by([wallet.clone()]));
        }
    }
    for (id, theirs) in known.provider_refunds.iter().filter(|(id, _)| !known.refunds.contains_key(*id)) {
        let statuses: Vec<&str> = theirs.iter().map(|refund| refund.status.name()).collect();
        let found = format!("one that is {}", statuses.join(", "));
        let finding = new(BreakKind::ProviderRefundDiffers, "a refund of ours", found);
        findings.push(finding.by(named(*id, theirs)).by([wallet.clone()]));
    }
    findings
}

/// How the provider's refunds differ from ours.
fn differs(refund: &RecordedTopupRefund, theirs: &[&ProviderRefund], was_listed: bool) -> Option<String> {
    match theirs {
        [] if refund.state == RefundState::Succeeded && was_listed => Some("none".to_owned()),
        [] => None,
        [one] => {
            let is_given_up = !one.amount.is_zero() && one.amount == refund.given_up;
            if refund.state == RefundState::Failed && is_given_up {
                None
            } else if one.amount != refund.paid {
                Some(format!("{} ECOPAY", one.amount))
            } else {
                (!agrees(refund.state, one.status)).then(|| one.status.name().to_owned())
            }
        }
        [_, _, ..] => Some(format!("{} refunds", theirs.len())),
    }
}

/// The ids of a refund and of the provider's refunds for it.
fn named(id: RefundId, theirs: &[&ProviderRefund]) -> Vec<String> {
    std::iter::once(format!("refund:{id}")).chain(theirs.iter().map(|refund| refund.id.to_string())).collect()
}
