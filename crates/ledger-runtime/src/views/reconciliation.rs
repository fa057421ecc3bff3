//! Reconciliations, as the operator API shows them.

use super::words;
use ledger_core::money::Delta;
use ledger_core::reconcile::run::{FoundBreak, Run};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A run of the reconciliation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunView {
    /// The run's id.
    pub run_id: String,
    /// `requested`, `running`, `clean`, `breaks`, `unsettled` (no break, but some items changed at each read, or were
    /// written by a later release) or
    /// `failed`.
    #[schema(value_type = words::RunStatus)]
    pub status: String,
    /// The staff member who requested it; absent for a nightly run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// The time of the request.
    pub created_at: String,
    /// The time at which it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_at: Option<String>,
    /// The time at which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// The number of the tenant's items that were read.
    pub items_read: i64,
    /// The number of read units used.
    pub read_units: i64,
    /// The number of differences seen at first, which were read again.
    pub suspects: i64,
    /// The number of differences that could not be read as of one moment.
    pub unsettled: i64,
    /// The number of items that a later release wrote, by the names of their kinds. They were not compared.
    pub newer: BTreeMap<String, i64>,
    /// Whether the PSP was read: `listed`, `none` (not configured) or `unknown`; empty before that.
    #[schema(value_type = words::ProviderAsked)]
    pub provider: String,
    /// The number of breaks by kind.
    pub breaks: BTreeMap<String, i64>,
    /// The name of the machine-readable report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// A break that a run found. Runs repair nothing.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FindingView {
    /// The finding's id.
    pub finding_id: String,
    /// The kind of break, for example `balance_differs`.
    pub kind: String,
    /// The subject, for example `customer:<id>`.
    pub subject: String,
    /// The asset, if the break is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// The expected value.
    pub expected: String,
    /// The value found.
    pub found: String,
    /// The ids of the records that show it.
    pub evidence: Vec<String>,
    /// The subject of the break that may explain it: check that one first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// The amount that an adjustment would post to the balance. A second person must approve it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<String>,
    /// The amount that the adjustment would add to the exposure, which counts against the wallet's cap, beyond what it posts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_exposure: Option<String>,
    /// The adjustment that was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjustment_id: Option<String>,
}

/// A break of a list over all runs.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct BreakView {
    /// The run that found it.
    pub run_id: String,
    /// The break.
    #[serde(flatten)]
    pub finding: FindingView,
}

impl From<&Run> for RunView {
    fn from(run: &Run) -> Self {
        let tally = &run.tally;
        Self {
            run_id: run.id.to_string(),
            status: run.state.name().to_owned(),
            requested_by: run.requested_by.map(|staff| staff.to_string()),
            created_at: run.created_at.to_string(),
            began_at: run.began_at.map(|at| at.to_string()),
            finished_at: run.finished_at.map(|at| at.to_string()),
            items_read: tally.items,
            read_units: tally.units,
            suspects: tally.suspects,
            unsettled: tally.unsettled,
            newer: tally.newer.clone(),
            provider: tally.provider.clone(),
            breaks: tally.breaks.iter().map(|(kind, count)| (kind.name().to_owned(), *count)).collect(),
            report: tally.file.clone(),
        }
    }
}

impl From<&FoundBreak> for FindingView {
    fn from(found: &FoundBreak) -> Self {
        Self {
            finding_id: found.id.to_string(),
            kind: found.kind.name().to_owned(),
            subject: found.subject.clone(),
            asset: found.asset.as_ref().map(ToString::to_string),
            expected: found.expected.clone(),
            found: found.found.clone(),
            evidence: found.evidence.clone(),
            follows: found.follows.clone(),
            proposed: found.proposed.as_ref().and_then(|proposal| proposal.delta.as_ref()).map(Delta::text),
            proposed_exposure: found.proposed.as_ref().and_then(|proposal| proposal.exposure.as_ref()).map(Delta::text),
            adjustment_id: found.adjustment.map(|id| id.to_string()),
        }
    }
}
