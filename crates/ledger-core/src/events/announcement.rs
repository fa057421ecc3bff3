//! Alerts to staff, as events of the AWS account's default bus. Their schema is under `events/v1`, as is that of
//! transactions. They hold ids, kinds and counts, and no personal data.

use crate::ids::Tenant;
use crate::notices::{Notice, NoticeSubject};
use crate::reconcile::run::Run;
use serde_json::{Map, Value, json};

/// The `source` of the events, which rules of the bus match.
pub const SOURCE: &str = "ecopay.ledger";
/// The detail type of a reconciliation that found breaks.
pub const RECONCILIATION_BREAK: &str = "ReconciliationBreak";
/// The schema of [`RECONCILIATION_BREAK`], kept in the repository under `events/v1`.
pub const RECONCILIATION_BREAK_SCHEMA: &str = "https://ecopay.example/events/v1/reconciliation-break.schema.json";

/// The detail type of a customer's changed e-mail address or telephone number.
pub const CONTACT_CHANGED: &str = "ContactChanged";
/// The schema of [`CONTACT_CHANGED`].
pub const CONTACT_CHANGED_SCHEMA: &str = "https://ecopay.example/events/v1/contact-changed.schema.json";
/// The detail type of a customer's changed sign-in.
pub const SIGN_IN_CHANGED: &str = "SignInChanged";
/// The schema of [`SIGN_IN_CHANGED`].
pub const SIGN_IN_CHANGED_SCHEMA: &str = "https://ecopay.example/events/v1/sign-in-changed.schema.json";
/// The detail type of a merchant's changed payout destination.
pub const DESTINATION_CHANGED: &str = "PayoutDestinationChanged";
/// The schema of [`DESTINATION_CHANGED`].
pub const DESTINATION_CHANGED_SCHEMA: &str = "https://ecopay.example/events/v1/payout-destination-changed.schema.json";

/// An event for the bus, from [`SOURCE`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The detail type.
    pub detail_type: &'static str,
    /// The detail, as JSON. A few kilobytes at most: it has one count for each kind of break.
    pub detail: String,
}

impl Announcement {
    /// The event of a run that found breaks, in the deployment `ledger`. It depends on the run's record alone, so
    /// publishing it again sends the same event. Receivers recognize a repetition by `run_id`.
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

    /// The event of a changed address, in the deployment `ledger`. It depends on the notice alone. Receivers recognize a
    /// repetition by `notice_id`, under which the previous addresses can be read.
    #[must_use]
    pub fn of_notice(ledger: &str, tenant: &Tenant, notice: &Notice) -> Self {
        let common = |schema: &str| {
            Map::from_iter([
                ("schema".to_owned(), json!(schema)),
                ("ledger".to_owned(), json!(ledger)),
                ("tenant".to_owned(), json!(tenant.as_str())),
                ("notice_id".to_owned(), json!(notice.id.to_string())),
                ("changed_at".to_owned(), json!(notice.at.rfc3339())),
            ])
        };
        let (detail_type, detail) = match &notice.subject {
            NoticeSubject::Contact { customer, changed, previous: _ } => {
                let mut detail = common(CONTACT_CHANGED_SCHEMA);
                detail.insert("customer_id".to_owned(), json!(customer.to_string()));
                detail.insert("changed".to_owned(), json!(changed.names()));
                (CONTACT_CHANGED, detail)
            }
            NoticeSubject::SignIn { customer, contact: _ } => {
                let mut detail = common(SIGN_IN_CHANGED_SCHEMA);
                detail.insert("customer_id".to_owned(), json!(customer.to_string()));
                (SIGN_IN_CHANGED, detail)
            }
            NoticeSubject::Destination { merchant, change } => {
                let mut detail = common(DESTINATION_CHANGED_SCHEMA);
                detail.insert("merchant_id".to_owned(), json!(merchant.to_string()));
                detail.insert("paid_from".to_owned(), json!(change.paid_from.rfc3339()));
                (DESTINATION_CHANGED, detail)
            }
        };
        Self { detail_type, detail: Value::Object(detail).to_string() }
    }

    /// The event as receivers get it, without the fields that the bus adds.
    ///
    /// # Errors
    /// Never: the detail is JSON.
    pub fn envelope(&self) -> Result<Value, serde_json::Error> {
        let detail: Value = serde_json::from_str(&self.detail)?;
        Ok(json!({"source": SOURCE, "detail-type": self.detail_type, "detail": detail}))
    }
}
