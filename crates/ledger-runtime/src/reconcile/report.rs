//! A run's machine-readable report: a line of JSON for the run, and one for each break.

use super::outcome::Breaks;
use futures::future::BoxFuture;
use ledger_core::forms::SeenCorrections;
use ledger_core::ids::Tenant;
use ledger_core::money::{Asset, Delta};
use ledger_core::reconcile::run::{Run, RunState, Tally};
use ledger_core::reconcile::{BreakKind, Finding, Proposal};
use ledger_core::time::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A store of reports.
pub trait ReportFiles: Send + Sync {
    /// Writes a report; an existing one of the name is replaced, so that a run can be repeated.
    fn put<'a>(&'a self, name: &'a str, lines: Vec<u8>) -> BoxFuture<'a, Result<(), String>>;
}

/// The name of a run's report.
pub(super) fn name(tenant: &Tenant, run: &Run) -> String {
    format!("{tenant}/reconciliation-{}.jsonl", run.id)
}

/// The report's lines. They hold no personal data: findings contain only ids.
pub(super) fn lines(
    tenant: &Tenant,
    run: &Run,
    (state, tally): (RunState, &Tally),
    findings: &[Finding],
    now: Timestamp,
) -> Vec<u8> {
    let head = json!({
        "tenant": tenant.as_str(),
        "run_id": run.id.to_string(),
        "status": state.name(),
        "began_at": run.began_at.map(|at| at.to_string()),
        "finished_at": now.to_string(),
        "items_read": tally.items,
        "read_units": tally.units,
        "suspects": tally.suspects,
        "unsettled": tally.unsettled,
        "newer": tally.newer,
        "provider": tally.provider,
        "breaks": by_name(&tally.breaks),
    });
    text(&head, findings)
}

/// The counts by the names of their kinds.
pub(super) fn by_name(breaks: &Breaks) -> Value {
    breaks.iter().map(|(kind, count)| (kind.name().to_owned(), Value::from(*count))).collect()
}

/// A report: a head line, and a line for each finding.
pub(super) fn text(head: &Value, findings: &[Finding]) -> Vec<u8> {
    let mut text = head.to_string();
    text.push('\n');
    for finding in findings {
        text.push_str(&line(finding).to_string());
        text.push('\n');
    }
    text.into_bytes()
}

/// A finding as a line of a report.
#[must_use]
pub(super) fn line(finding: &Finding) -> Value {
    json!({
        "tenant": finding.tenant.as_str(),
        "kind": finding.kind.name(),
        "subject": finding.subject,
        "asset": finding.asset.as_ref().map(ToString::to_string),
        "expected": finding.expected,
        "found": finding.found,
        "evidence": finding.evidence,
        "follows": finding.follows,
        "proposed": finding.proposal.as_ref().and_then(|proposal| proposal.delta.as_ref()).map(Delta::text),
        "proposed_exposure": finding.proposal.as_ref().and_then(|proposal| proposal.exposure.as_ref()).map(Delta::text),
        "seen_corrections": finding.proposal.as_ref().map(|proposal| proposal.seen.count),
        "seen_corrected_at": finding.proposal.as_ref().and_then(|proposal| proposal.seen.last_at).map(|at| at.to_string()),
    })
}

/// A finding's line, for reading it back.
#[derive(Deserialize)]
struct Line {
    tenant: String,
    kind: String,
    subject: String,
    asset: Option<String>,
    expected: String,
    found: String,
    evidence: BTreeSet<String>,
    follows: Option<String>,
    proposed: Option<String>,
    proposed_exposure: Option<String>,
    seen_corrections: Option<i64>,
    seen_corrected_at: Option<String>,
}

/// Reads a finding's line; `None` if it is malformed. The line does not hold `seen_at`.
pub(super) fn read_line(text: &str) -> Option<Finding> {
    let line: Line = serde_json::from_str(text).ok()?;
    let asset = match line.asset {
        Some(asset) => Some(Asset::parse(&asset).ok()?),
        None => None,
    };
    let part = |text: Option<String>, asset: &Asset| match text {
        Some(text) => Delta::from_stored(asset.clone(), &text).ok().map(Some),
        None => Some(None),
    };
    let proposal = match (line.proposed, line.proposed_exposure, &asset) {
        (None, None, _) => None,
        (_, _, None) => return None,
        (delta, exposure, Some(asset)) => {
            let last_at = match line.seen_corrected_at {
                Some(at) => Some(Timestamp::parse(&at).ok()?),
                None => None,
            };
            let seen = SeenCorrections { count: line.seen_corrections?, last_at };
            Some(Proposal { delta: part(delta, asset)?, exposure: part(exposure, asset)?, seen })
        }
    };
    Some(Finding {
        tenant: Tenant::parse(&line.tenant).ok()?,
        kind: BreakKind::parse(&line.kind)?,
        subject: line.subject,
        asset,
        expected: line.expected,
        found: line.found,
        evidence: line.evidence,
        follows: line.follows,
        proposal,
        seen_at: None,
    })
}
