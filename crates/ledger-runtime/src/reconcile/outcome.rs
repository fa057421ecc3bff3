//! Orders and counts the breaks of a run that has ended.

use crate::metrics::{Metric, Metrics};
use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use ledger_core::reconcile::{BreakKind, Finding, explain};
use std::collections::BTreeMap;
use std::fmt::Display;

/// Breaks by kind.
pub(super) type Breaks = BTreeMap<BreakKind, i64>;

/// Sorts a tenant's breaks, causes before what follows from them, and counts them by kind.
pub(super) fn in_order(findings: &mut [Finding]) -> Breaks {
    explain(findings);
    findings.sort_by_cached_key(|finding| (finding.follows.clone(), finding.kind, finding.subject.clone()));
    let mut breaks = Breaks::new();
    for finding in findings {
        let count = breaks.entry(finding.kind).or_default();
        *count = count.saturating_add(1);
    }
    breaks
}

/// Counts and logs the breaks that a run found.
pub(super) fn count(metrics: &Metrics, tenant: &Tenant, run: &dyn Display, breaks: &Breaks) {
    for (kind, count) in breaks {
        tracing::error!(%tenant, %run, kind = kind.name(), count, "the books do not agree");
        let count = u64::try_from(*count).unwrap_or_default();
        metrics.count_many(Metric::ReconciliationBreak, tenant, Operation::Reconcile, count);
        if matches!(kind, BreakKind::DuplicateEffect | BreakKind::EntryDoubled) {
            metrics.count_many(Metric::DuplicateEffect, tenant, Operation::Reconcile, count);
        }
        if *kind == BreakKind::NegativeBalance {
            metrics.count_many(Metric::NegativeBalance, tenant, Operation::Reconcile, count);
        }
    }
}
