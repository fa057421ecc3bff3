//! Jobs of all kinds, in one form.

use super::words;
use ledger_core::bank_files::BankFileDetails;
use ledger_core::cards::batch::CardBatchDetails;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::erasure::ErasureDetails;
use ledger_core::files::FileContent;
use ledger_core::grants::bulk::GrantDetails;
use ledger_core::jobs::{Details, Head, Line};
use ledger_core::keys::{DueWork, JobKind, attr};
use ledger_core::previews::PreviewDetails;
use ledger_core::settlement_runs::RunDetails;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A job: work in the background.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JobView {
    /// Its id.
    job_id: String,
    /// Its kind.
    #[schema(value_type = words::JobKind)]
    kind: &'static str,
    /// `waiting` until a worker begins it, then `running`; `stopping` after a stop until a worker has counted what was in flight, then
    /// `stopped`; `done`; or `failed` if it has no result and will have none.
    #[schema(value_type = words::JobStatus)]
    status: &'static str,
    /// The number of subjects, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u32>,
    /// The number of subjects that it is done with. Of a file the rows that are written, of a preview the payments that were read.
    done: u32,
    /// The number of subjects that it could not do. Each has a line that says why.
    failed: u32,
    /// The number of subjects for which nothing was to be done. Each has a line that says why.
    skipped: u32,
    /// Why it failed; of a failed one.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// What it does, by name, as far as its kind has it: the asset and amount of a grant, the days of a file.
    details: BTreeMap<&'static str, String>,
    /// The staff member who asked for it; absent if a schedule started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_by: Option<String>,
    /// The time of the request.
    created_at: String,
    /// The time of the last change.
    updated_at: String,
    /// The time at which it is tried again; absent if it does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_try_at: Option<String>,
    /// The time at which staff asked that it stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_requested_at: Option<String>,
    /// The staff member who did.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_requested_by: Option<String>,
    /// The time of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
}

/// A job, with its reason: no stored answer has a text that a person typed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JobDetail {
    #[serde(flatten)]
    job: JobView,
    /// The reason; absent if it has none, or was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// What became of a subject of a job.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JobLineView {
    /// The subject: an account, `customer:`, `card:` or `merchant:` and its id; of an erasure, the place of a record.
    subject: String,
    /// `done`, `failed`, or `skipped` if nothing was to be done.
    #[schema(value_type = words::JobLineStatus)]
    status: &'static str,
    /// Why it failed or was skipped; `paid_later` if it is done and paid later than the schedule says.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// What keeps an account open, as the refusal of a close names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<Vec<String>>,
    /// The owner of a card that was closed; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_id: Option<String>,
    /// What a closed account had, by asset: points are in `breakage`, everything else is in `unclaimed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<BTreeMap<String, String>>,
    /// The journal entry's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    /// The id of the settlement that was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    settlement_id: Option<String>,
    /// The day of its payout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pay_on: Option<String>,
    /// The time at which it was written.
    created_at: String,
}

impl JobView {
    /// The view of a head. `own` has the attributes of its kind.
    ///
    /// # Errors
    /// [`ItemError`] if one of these is missing or malformed.
    pub fn of(head: &Head, own: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            job_id: head.id.to_string(),
            kind: head.kind.name(),
            status: head.state.name(),
            total: head.total,
            done: head.done,
            failed: head.failed,
            skipped: head.skipped,
            code: None,
            details: details(head.kind, own)?,
            requested_by: head.staff.map(|staff| staff.to_string()),
            created_at: head.created_at.to_string(),
            updated_at: head.updated_at.to_string(),
            next_try_at: None,
            stop_requested_at: head.stop_requested_at.map(|at| at.to_string()),
            stop_requested_by: head.stop_requested_by.map(|staff| staff.to_string()),
            ended_at: head.ended_at.map(|at| at.to_string()),
        })
    }
}

impl JobDetail {
    /// The view of a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let head = Head::read(item)?;
        let due = item.key_text(attr::DUE_SK).and_then(DueWork::parse).map(|due| due.at);
        let waits = due.filter(|at| *at > head.updated_at && head.stop_requested_at.is_none());
        let job = JobView {
            code: item.opt_string("code")?,
            next_try_at: waits.map(|at| at.to_string()),
            ..JobView::of(&head, item)?
        };
        Ok(Self { job, reason: head.reason.map(|reason| reason.expose().to_owned()) })
    }
}

/// What a kind of job stores of its own, without results.
fn details(kind: JobKind, item: &Item) -> Result<BTreeMap<&'static str, String>, ItemError> {
    let all: Vec<(&'static str, Option<String>)> = match kind {
        JobKind::WindDown => Vec::new(),
        JobKind::Grant => {
            let GrantDetails { asset, amount } = GrantDetails::read(item)?;
            vec![("asset", Some(asset.to_string())), ("amount", Some(amount))]
        }
        JobKind::CardBatch => {
            vec![("expires_at", CardBatchDetails::read(item)?.expires_at.map(|at| at.to_string()))]
        }
        JobKind::SettlementRun => {
            let RunDetails { closing, schedule } = RunDetails::read(item)?;
            vec![("closing_on", Some(closing.to_string())), ("schedule", schedule.map(|of| of.to_string()))]
        }
        JobKind::BankFile => vec![("bank_file_id", Some(BankFileDetails::read(item)?.file.to_string()))],
        JobKind::Erasure => vec![("customer_id", Some(ErasureDetails::read(item)?.customer.to_string()))],
        JobKind::File => {
            let content = FileContent::read(item)?;
            vec![
                ("content", Some(content.kind().to_owned())),
                ("customer_id", content.customer().map(|id| id.to_string())),
                ("from", content.days().map(|(from, _)| from.to_string())),
                ("to", content.days().map(|(_, to)| to.to_string())),
                ("month", content.month().map(|month| month.to_string())),
            ]
        }
        JobKind::TermsPreview => {
            let PreviewDetails { from, version, .. } = PreviewDetails::read(item)?;
            vec![("from", Some(from.to_string())), ("terms_version", Some(version.number().to_string()))]
        }
    };
    Ok(all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

impl From<&Line> for JobLineView {
    fn from(line: &Line) -> Self {
        let rest = line.rest.as_ref();
        Self {
            subject: line.subject.clone(),
            status: line.state.name(),
            code: line.code.clone(),
            open: line.open.clone(),
            customer_id: line.customer_id.map(|id| id.to_string()),
            rest: rest.map(|rest| rest.iter().map(|(asset, amount)| (asset.to_string(), amount.clone())).collect()),
            transaction_id: line.transaction_id.map(|id| id.to_string()),
            settlement_id: line.settlement_id.map(|id| id.to_string()),
            pay_on: line.pay_on.map(|date| date.to_string()),
            created_at: line.created_at.to_string(),
        }
    }
}
