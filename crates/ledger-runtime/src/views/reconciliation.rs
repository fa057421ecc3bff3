//! Reconciliations as the operator sees them.

use super::words;
use ledger_core::reconcile::run::{FoundBreak, Run};
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A run of the reconciliation.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RunView {
    /// Its id.
    pub run_id: String,
    /// `requested`, `running`, `clean`, `breaks`, `unsettled` (no break, but something that did not hold still)
    /// or `failed`.
    #[schema(value_type = words::RunStatus)]
    pub status: String,
    /// Who asked for it; absent for a night's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
    /// When it was asked for.
    pub created_at: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_at: Option<String>,
    /// When it was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// How many items of the tenant have been read.
    pub items_read: i64,
    /// How many read units that took.
    pub read_units: i64,
    /// How much was suspected at first, and read again.
    pub suspects: i64,
    /// How much of it could not be looked at in one moment.
    pub unsettled: i64,
    /// Whether the payment provider was asked: `listed`, `none` (it is not set up) or `unknown`; empty
    /// before that.
    #[schema(value_type = words::ProviderAsked)]
    pub provider: String,
    /// Breaks by kind.
    pub breaks: BTreeMap<String, i64>,
    /// Where the report for machines was put.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

/// A break that a run found. Nothing of it was repaired.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct FindingView {
    /// Its id.
    pub finding_id: String,
    /// What is wrong, for example `balance_differs`.
    pub kind: String,
    /// Of what, for example `customer:<id>`.
    pub subject: String,
    /// In which asset, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// What should be.
    pub expected: String,
    /// What is.
    pub found: String,
    /// Ids of what says so.
    pub evidence: Vec<String>,
    /// The subject of the break that may explain it: look there first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// What an adjustment would add to the balance. It takes two people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed: Option<String>,
    /// The adjustment that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjustment_id: Option<String>,
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
            proposed: found.proposed.as_ref().map(|delta| delta.text()),
            adjustment_id: found.adjustment.map(|id| id.to_string()),
        }
    }
}
