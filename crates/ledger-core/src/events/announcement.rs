//! What somebody is to be woken for, as an event of the account's default bus: its schema is under `events/v1`,
//! beside that of transactions. It names ids, kinds and counts; nothing of a person is in it.

use crate::ids::Tenant;
use crate::reconcile::run::Run;
use serde_json::{Map, Value, json};

/// Who tells it, as rules of a bus look for it.
pub const SOURCE: &str = "ecopay.ledger";
/// What a reconciliation that found breaks is told as.
pub const RECONCILIATION_BREAK: &str = "ReconciliationBreak";
/// Where the schema of that is, which is kept in the repository under `events/v1`.
pub const RECONCILIATION_BREAK_SCHEMA: &str = "https://ecopay.example/events/v1/reconciliation-break.schema.json";

/// An event of a bus, from [`SOURCE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// What it is about.
    pub detail_type: &'static str,
    /// The rest, as JSON. It is of some kilobytes at most: names and counts of as many kinds as there are.
    pub detail: String,
}

impl Announcement {
    /// What a run of the deployment `ledger` found. Whoever tells it again tells the same: it follows from the
    /// run's record alone, and receivers know a repetition by `run_id`.
    #[must_use]
    pub fn of_breaks(ledger: &str, tenant: &Tenant, run: &Run) -> Self {
        let tally = &run.tally;
        let breaks: Map<String, Value> =
            tally.breaks.iter().map(|(kind, count)| (kind.name().to_owned(), json!(count))).collect();
        let mut detail = json!({
            "schema": RECONCILIATION_BREAK_SCHEMA,
            "ledger": ledger,
            "tenant": tenant.as_str(),
            "run_id": run.id.to_string(),
            "finished_at": run.finished_at.map(|at| at.rfc3339()),
            "breaks": breaks,
            "total": tally.total(),
            "unsettled": tally.unsettled,
        });
        if let (Some(file), Some(detail)) = (&tally.file, detail.as_object_mut()) {
            detail.insert("report".to_owned(), json!(file));
        }
        Self { detail_type: RECONCILIATION_BREAK, detail: detail.to_string() }
    }

    /// As receivers get it, but for what the bus adds.
    ///
    /// # Errors
    /// None: the detail is JSON.
    pub fn envelope(&self) -> Result<Value, serde_json::Error> {
        let detail: Value = serde_json::from_str(&self.detail)?;
        Ok(json!({"source": SOURCE, "detail-type": self.detail_type, "detail": detail}))
    }
}
