//! `/v1/admin/files`: files that a worker makes, and links to fetch them.

use crate::customers;
use crate::jobs::seeing_content;
use crate::transactions::existing;
use axum::Json;
use axum::extract::State;
use ledger_core::files::{self, FileContent, FileJob, FileRequest, FileState};
use ledger_core::idempotency::Fields;
use ledger_core::ids::{CustomerId, JobId};
use ledger_core::keys::Partition;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::time::{BusinessDate, BusinessMonth};
use ledger_runtime::app::App;
use ledger_runtime::endpoint::{Endpoint, Keyed, Permission};
use ledger_runtime::execute::{Outcome, accepted};
use ledger_runtime::files::object;
use ledger_runtime::identity::{Admin, Caller};
use ledger_runtime::permission;
use ledger_runtime::problem::{Code, Problem};
use ledger_runtime::request::{self, KeyedJson, PathId};
use ledger_runtime::views::words;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// How long a link can be used.
const LINK_VALID: Duration = Duration::from_secs(10 * 60);

/// A request for a file.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"kind": "payouts", "from": "2026-11-01", "to": "2026-11-30", "reason": "accounting"}))]
pub(crate) struct FileBody {
    /// `customer_data`: what is stored about a customer, without cards that were closed, as JSON. The others are CSV:
    /// `customer_history`, a customer's transactions on some days; `payees`, where each merchant is paid, or why it cannot be;
    /// `payouts`, the settlements that were opened on some days and are in the list of all merchants' settlements; `statements`,
    /// the month of every merchant.
    #[schema(value_type = words::FileKind)]
    kind: String,
    /// The customer, of `customer_data` and `customer_history`.
    customer_id: Option<String>,
    /// The first day in Japan, of `customer_history` and `payouts`.
    from: Option<String>,
    /// The last day in Japan, likewise.
    to: Option<String>,
    /// The month in Japan, of `statements`: `2026-11`.
    month: Option<String>,
    /// The reason; at most 140 characters, no card number.
    reason: String,
}

/// A file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileView {
    /// The job's id.
    job_id: String,
    /// What it has.
    #[schema(value_type = words::FileKind)]
    kind: &'static str,
    /// The customer.
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_id: Option<String>,
    /// The first day.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The last day.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The month.
    #[serde(skip_serializing_if = "Option::is_none")]
    month: Option<String>,
    /// `in_progress`, `ready`, `expired` (a week after it was ready), `failed` or `stopped`.
    #[schema(value_type = words::FileStatus)]
    status: &'static str,
    /// The rows that are written so far.
    rows: u32,
    /// A link to the file, which needs no token and works for ten minutes. Absent while the file is not ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The time until which links can be had; of a file that is ready or expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// The time of the request.
    created_at: String,
}

const ABOUT_KINDS: &str = "It also needs what reading the content needs: `customers.read`, `settlements.read` for payees and \
                           payouts, or `figures.read` for statements.";

pub(crate) const CREATE: Keyed = Endpoint::post("/v1/admin/files")
    .summary("Asks for a file, which is made in the background.")
    .about(ABOUT_KINDS)
    .permission(Permission::FilesRead)
    .body::<FileBody>()
    .accepted::<FileView>("Stored as a job")
    .when(Code::NotFound, "no such customer")
    .when(Code::WrongState, "the deployment has no store of files")
    .keyed(Operation::FileRequest);

pub(crate) async fn create(
    State(app): State<App>,
    who: Admin,
    KeyedJson(key, body): KeyedJson<FileBody>,
) -> Result<Outcome, Problem> {
    let content = content(&body)?;
    let reason = request::memo("reason", &body.reason);
    let fields = Fields::new()
        .with("kind", content.kind())
        .with_some("customer_id", content.customer())
        .with_some("from", content.days().map(|(from, _)| from))
        .with_some("to", content.days().map(|(_, to)| to))
        .with_some("month", content.month())
        .with("reason", reason.as_sent());
    permission::require(&app, &who.member(), seeing_content(&content)).await?;
    let (claim, admission) = CREATE.claim(&app, &who, key, &[], fields).await?;
    let plan = async |cx: Context| {
        if app.files().is_none() {
            return Err(Problem::not_yet("The deployment has no store of files: set its bucket.").into());
        }
        if let Some(customer) = content.customer() {
            let _ = existing(&app, &Partition::customer(who.tenant(), customer).profile()).await?;
        }
        let reason = reason.text()?;
        let request = FileRequest { tenant: who.tenant(), staff: who.staff_id(), content, reason: &reason };
        Ok(files::plan(&request, &cx)?)
    };
    let stored = |job: &FileJob| accepted(GET.path(&[&job.head.id]), &FileView::new(job, FileState::InProgress));
    Ok(app.perform(claim.clone(), admission, plan, stored).await)
}

pub(crate) const GET: Endpoint = Endpoint::get("/v1/admin/files/{job_id}")
    .summary("Returns how far a file is, and a link to it once it is ready.")
    .about("It also needs what reading the content needs. The audit trail shows who had a link to a customer's file.")
    .permission(Permission::FilesRead)
    .id("job_id", "The job's id.")
    .ok::<FileView>("The file")
    .when(Code::NotFound, "no such file");

pub(crate) async fn get(
    State(app): State<App>,
    who: Admin,
    PathId(id): PathId<JobId>,
) -> Result<Json<FileView>, Problem> {
    let tenant = who.tenant();
    let job = FileJob::read(&app.job_of::<FileContent>(tenant, id).await?)?;
    permission::require(&app, &who.member(), seeing_content(&job.details)).await?;
    let state = job.state(app.now());
    let mut view = FileView::new(&job, state);
    if let (FileState::Ready, Some(store)) = (state, app.files()) {
        if let Some(customer) = job.details.customer() {
            customers::record_read(&app, &who, customer).await?;
        }
        let link = store.link(&object(tenant, id), LINK_VALID).await;
        view.url = Some(link.map_err(|why| {
            tracing::error!(%tenant, file = %id, why, "no link to a file");
            Problem::unavailable()
        })?);
    }
    Ok(Json(view))
}

/// What is asked for. A field that its kind does not have is refused.
fn content(body: &FileBody) -> Result<FileContent, Problem> {
    let missing = |field: &str| Problem::invalid_field(field, "is missing");
    let customer = || {
        let id = body.customer_id.as_deref().ok_or_else(|| missing("customer_id"))?;
        request::id("customer_id", id, CustomerId::parse)
    };
    let day = |field: &str, text: &Option<String>| {
        let text = text.as_deref().ok_or_else(|| missing(field))?;
        BusinessDate::parse(text).map_err(|_| Problem::invalid_field(field, "must be a date: 2026-11-21"))
    };
    let days = || Ok::<_, Problem>((day("from", &body.from)?, day("to", &body.to)?));
    let month = || {
        let text = body.month.as_deref().ok_or_else(|| missing("month"))?;
        BusinessMonth::parse(text).map_err(|_| Problem::invalid_field("month", "must be a month: 2026-11"))
    };
    let content = match body.kind.as_str() {
        "customer_data" => FileContent::CustomerData(customer()?),
        "customer_history" => FileContent::CustomerHistory(customer()?, days()?),
        "payees" => FileContent::Payees,
        "payouts" => FileContent::Payouts(days()?),
        "statements" => FileContent::Statements(month()?),
        _ => {
            let kinds = "must be one of: customer_data, customer_history, payees, payouts, statements";
            return Err(Problem::invalid_field("kind", kinds));
        }
    };
    for (field, is_sent, is_of_kind) in [
        ("customer_id", body.customer_id.is_some(), content.customer().is_some()),
        ("from", body.from.is_some(), content.days().is_some()),
        ("to", body.to.is_some(), content.days().is_some()),
        ("month", body.month.is_some(), content.month().is_some()),
    ] {
        if is_sent && !is_of_kind {
            return Err(Problem::invalid_field(field, "is not of this kind of file"));
        }
    }
    Ok(content)
}

impl FileView {
    fn new(job: &FileJob, state: FileState) -> Self {
        let content = &job.details;
        Self {
            job_id: job.head.id.to_string(),
            kind: content.kind(),
            customer_id: content.customer().map(|id| id.to_string()),
            from: content.days().map(|(from, _)| from.to_string()),
            to: content.days().map(|(_, to)| to.to_string()),
            month: content.month().map(|month| month.to_string()),
            status: state.name(),
            rows: job.head.done,
            url: None,
            expires_at: job.expires_at().map(|at| at.to_string()),
            created_at: job.head.created_at.to_string(),
        }
    }
}
