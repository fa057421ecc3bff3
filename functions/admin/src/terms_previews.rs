//! `/v1/admin/terms/previews`: what a change of the tenant's terms would have done to the payments of the last days.

use crate::terms::{TermsFieldView, config_of, field_views, sent_changes};
use axum::Json;
use axum::extract::State;
use ledger_core::idempotency::Fields;
use ledger_core::ids::JobId;
use ledger_core::money::Balance;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::previews::{self, Comparison, Difference, Planned, Preview, PreviewDetails, PreviewRequest, Side};
use ledger_core::terms::{TermsChanges, TermsFieldChange};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, created};
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{KeyedJson, PathId};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A preview of a change of the tenant's terms.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"changes": {"points_rate": "0.02"}, "days": 7}))]
pub(crate) struct PreviewBody {
    /// By field: the new value as text, or null to clear it, as for a change. Empty: the terms as they are.
    changes: BTreeMap<String, Option<String>>,
    /// The days of payments: 1 is the present day in Japan, 31 the most.
    days: u32,
}

/// A preview, with its result once it has one.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PreviewView {
    /// Its id.
    job_id: String,
    /// `waiting`, `running`, `done`, `failed` or `stopped`.
    #[schema(value_type = words::JobStatus)]
    status: &'static str,
    /// Why it failed: `too_many_payments` if there are more than 100,000, `terms_changed` if a term that the change names has
    /// another value than at the request, `begun_too_often`, or the code of the last problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// The time from which payments are in it.
    from: String,
    /// The version of the terms that the changes are of.
    terms_version: u32,
    /// The changes, in the order of the fields.
    changes: Vec<TermsFieldView>,
    /// The staff member who requested it.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_by: Option<String>,
    /// The time of the request, until which payments are in it.
    created_at: String,
    /// The time at which it ended; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// The number of payments and refusals that were read so far.
    payments: u32,
    /// The result; absent until it is `done`.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ComparisonView>,
}

/// Payments as they were made and as they would be made, side by side.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparisonView {
    /// As they were made.
    made: SideView,
    /// As they would be made.
    planned: SideView,
    /// The number of payments on which the two differ.
    differing: i64,
    /// The first 50 of them, oldest first.
    differences: Vec<DifferenceView>,
}

/// The sums of one side.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SideView {
    /// The payments and authorizations that are accepted.
    accepted: i64,
    /// The number of those that are refused, by the code of the refusal.
    refused: BTreeMap<String, i64>,
    /// What merchants are paid, by asset.
    paid: BTreeMap<String, String>,
    /// The points that payers earn.
    points: String,
    /// The settlement fee in yen, as if each merchant's sum were settled at once.
    fee: String,
    /// The tax on the fee, in yen.
    tax: String,
}

/// A payment on which the two sides differ.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DifferenceView {
    /// The payment's id; of a refused one, an id of its refusal.
    id: String,
    /// What became of it.
    made: PlannedView,
    /// What would have become of it.
    planned: PlannedView,
}

/// What becomes of a payment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlannedView {
    /// The points that it earns; absent if it earns none.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<String>,
    /// The code of its refusal; absent if it is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/terms/previews/{job_id}")
    .summary("Returns a preview of a change of the tenant's terms.")
    .about("A preview is kept for 90 days after its end.")
    .permission(Permission::TermsRead)
    .id("job_id", "The job's id.")
    .ok::<PreviewView>("The preview")
    .when(Code::NotFound, "no such preview");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
) -> Result<Json<PreviewView>, Problem> {
    let item = app.job_of::<PreviewDetails>(who.tenant(), id).await?;
    Ok(Json(PreviewView::from(&Preview::read(&item)?)))
}

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/terms/previews")
    .summary("Requests a preview of a change of the tenant's terms.")
    .about(
        "The payments and authorizations of the last days are planned again under the changed terms, at their own times, \
         and points, fees, refusals and sums are compared. It runs in the background, starts within about a minute and \
         changes nothing. A refusal that terms do not decide, for a balance or a PIN, stays one. Limits are counted from \
         the first of the days on. Refused payments are in it.",
    )
    .permission(Permission::TermsChange)
    .body::<PreviewBody>()
    .created::<PreviewView>("Requested")
    .keyed(Operation::TermsPreview);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<PreviewBody>,
) -> Result<Outcome, Problem> {
    let fields = Fields::new().with("changes", sent_changes(&body.changes)).with("days", body.days);
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        let (_, schedule) = config_of(&app, &who, &claim).await?;
        let present = schedule.at(cx.now);
        let changes = match body.changes.is_empty() {
            true => None,
            false => Some(TermsChanges::plan(present, &body.changes).map_err(|errors| {
                let errors = errors.into_iter().map(|error| (error.field, error.why));
                Problem::invalid_fields(errors.collect())
            })?),
        };
        let (tenant, staff, version) = (who.tenant().clone(), who.staff_id(), present.version);
        Ok(previews::plan(&PreviewRequest { tenant, staff, days: body.days, version, changes }, &cx)?)
    };
    let render = |preview: &Preview| created(GET.path(&[&preview.head.id]), &PreviewView::from(preview));
    Ok(app.perform(claim.clone(), admission, plan, render).await)
}

impl From<&Preview> for PreviewView {
    fn from(preview: &Preview) -> Self {
        let details = &preview.details;
        let changes = details.changes.iter().flat_map(TermsChanges::iter);
        let of =
            |TermsFieldChange { field, from, to }: &TermsFieldChange| (field.to_string(), from.clone(), to.clone());
        let head = &preview.head;
        Self {
            job_id: head.id.to_string(),
            status: head.state.name(),
            code: preview.code.clone(),
            from: details.from.to_string(),
            terms_version: details.version.number(),
            changes: field_views(&changes.map(of).collect::<Vec<_>>()),
            requested_by: head.staff.map(|staff| staff.to_string()),
            created_at: head.created_at.to_string(),
            ended_at: head.ended_at.map(|at| at.to_string()),
            payments: head.done,
            result: details.comparison.as_ref().map(ComparisonView::from),
        }
    }
}

impl From<&Comparison> for ComparisonView {
    fn from(comparison: &Comparison) -> Self {
        Self {
            made: SideView::from(&comparison.made),
            planned: SideView::from(&comparison.planned),
            differing: comparison.differing,
            differences: comparison.differences.iter().map(DifferenceView::from).collect(),
        }
    }
}

impl From<&Side> for SideView {
    fn from(side: &Side) -> Self {
        Self {
            accepted: side.accepted,
            refused: side.refused.clone(),
            paid: side.paid.iter().map(|(asset, paid)| (asset.to_string(), Balance::text(paid))).collect(),
            points: side.points.text(),
            fee: side.fee.text(),
            tax: side.tax.text(),
        }
    }
}

impl From<&Difference> for DifferenceView {
    fn from(difference: &Difference) -> Self {
        Self {
            id: difference.id.to_string(),
            made: PlannedView::from(&difference.made),
            planned: PlannedView::from(&difference.planned),
        }
    }
}

impl From<&Planned> for PlannedView {
    fn from(planned: &Planned) -> Self {
        match planned {
            Planned::Accepted(points) => Self { points: points.as_ref().map(|points| points.text()), refusal: None },
            Planned::Refused(code) => Self { points: None, refusal: Some(code.clone()) },
        }
    }
}
