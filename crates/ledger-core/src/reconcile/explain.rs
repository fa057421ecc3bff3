//! Which breaks follow from others. A missing entry, for example, makes a balance differ, and the review must begin
//! with the entry.

use super::breaks::{BreakKind, Finding};
use std::collections::BTreeMap;

/// Sets in each finding the one that may explain it. An explained finding has no proposal: the balance may be right,
/// and the entry wrong.
pub fn explain(findings: &mut [Finding]) {
    let mut causes = BTreeMap::<String, (BreakKind, String)>::new();
    for finding in findings.iter().filter(|finding| rank(finding.kind).is_some()) {
        for touched in finding.evidence.iter().chain([&finding.subject]) {
            let cause = (finding.kind, finding.subject.clone());
            let known = causes.entry(format!("{}/{touched}", finding.tenant)).or_insert_with(|| cause.clone());
            if rank(cause.0) < rank(known.0) {
                *known = cause;
            }
        }
    }
    for finding in findings.iter_mut() {
        let touched = finding.evidence.iter().chain([&finding.subject]);
        let causes = touched.filter_map(|touched| causes.get(&format!("{}/{touched}", finding.tenant)));
        let first = causes.min_by_key(|(kind, _)| rank(*kind));
        if let Some((kind, subject)) = first
            && rank(finding.kind).is_some_and(|own| rank(*kind).is_some_and(|first| first < own))
        {
            finding.follows = Some(subject.clone());
            finding.proposal = None;
        }
    }
}

/// The rank of a break: a lower one may explain a higher one. Late work has none, and explains nothing.
fn rank(kind: BreakKind) -> Option<u8> {
    Some(match kind {
        BreakKind::UnreadableItem => 0,
        BreakKind::EntryMissing
        | BreakKind::EntryDoubled
        | BreakKind::DuplicateEffect
        | BreakKind::UnbalancedEntry
        | BreakKind::HoldWithoutPayment
        | BreakKind::PaymentMissing
        | BreakKind::TopupMissing
        | BreakKind::ChargeWithoutCredit
        | BreakKind::CreditWithoutCharge => 1,
        BreakKind::EntryDiffers
        | BreakKind::HoldDiffers
        | BreakKind::PaymentDiffers
        | BreakKind::CreditDiffers
        | BreakKind::TopupDiffers
        | BreakKind::SuspenseOpen
        | BreakKind::ChargeDiffers
        | BreakKind::ProviderRefundDiffers => 2,
        BreakKind::BalanceDiffers
        | BreakKind::HeldDiffers
        | BreakKind::OwedDiffers
        | BreakKind::ReservedDiffers
        | BreakKind::SettlementDiffers
        | BreakKind::PeriodDiffers
        | BreakKind::CashRoomDiffers
        | BreakKind::RefundRoomDiffers
        | BreakKind::BonusDiffers => 3,
        BreakKind::NegativeBalance
        | BreakKind::ExposureDiffers
        | BreakKind::BankFileDiffers
        | BreakKind::PayoutDiffers
        | BreakKind::PayoutMissing => 4,
        BreakKind::ClaimStuck
        | BreakKind::EventUnsent
        | BreakKind::CreditOutstanding
        | BreakKind::BonusOutstanding
        | BreakKind::TotalsDiffer
        | BreakKind::TotalsUnlisted => return None,
    })
}
