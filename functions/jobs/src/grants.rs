//! Bulk grants. Each customer's grant has its own key, and the job's line in its transaction.

use crate::subjects::{AT_ONCE, Subjects};
use ledger_core::account::Account;
use ledger_core::dynamo::ItemError;
use ledger_core::grants::bulk::{self, ASSET_NOT_RUN, GrantDetails, GrantJob};
use ledger_core::grants::grant::{self, Grant};
use ledger_core::idempotency::{Admission, CanonicalRequest, Claim, Fields, Window};
use ledger_core::ids::{CustomerId, Principal, Tenant};
use ledger_core::jobs::{Counted, Line, LineState, Outcome, Page};
use ledger_core::keys;
use ledger_core::money::RequestedAmount;
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::execute::{self, ok};
use ledger_runtime::problem::Problem;
use ledger_runtime::request;
use serde::Serialize;

/// The stored response of one customer's grant.
#[derive(Serialize)]
struct Granting {
    transaction_id: String,
}

impl Subjects for GrantDetails {
    async fn at_once(app: &App, tenant: &Tenant, job: &GrantJob) -> Result<usize, Problem> {
        // Grants of an asset with a budget all take from one item.
        let is_budgeted = app.terms(tenant).await?.asset(&job.details.asset).is_some_and(|terms| terms.budgeted);
        Ok(if is_budgeted { 1 } else { AT_ONCE })
    }

    async fn page(app: &App, tenant: &Tenant, job: &GrantJob, counted: &Counted) -> Result<Option<Page>, Problem> {
        let item = app.dynamo().get(&keys::job_customers(tenant, job.head.id)).await?;
        let customers = bulk::customers(&item.ok_or_else(|| ItemError::missing("customers"))?)?;
        Ok(Some(job.page(&customers, counted.room())?))
    }

    async fn deal_with(app: &App, tenant: &Tenant, job: &GrantJob, subject: &str) -> Result<Outcome, Problem> {
        let Ok(Account::Customer(customer)) = Account::parse(subject) else { return Err(Problem::internal()) };
        let outcome = grant_to(app, tenant, job, customer).await?;
        match outcome.status() {
            200..300 => Ok(Outcome::Listed(LineState::Done)),
            // The ledger's rules refuse it, and will refuse another try.
            400 | 404 => {
                let is_run = app.terms(tenant).await?.spec(&job.details.asset).is_some();
                let code = outcome.problem_code().unwrap_or_default();
                let code = if is_run || code != "invalid_request" { &code } else { ASSET_NOT_RUN };
                Ok(Outcome::Line(Box::new(Line::failed(subject, code, app.now()))))
            }
            _ => outcome.into_answer().and_then(|_| Err(Problem::internal())),
        }
    }
}

async fn grant_to(
    app: &App,
    tenant: &Tenant,
    job: &GrantJob,
    customer: CustomerId,
) -> Result<execute::Outcome, Problem> {
    let (staff, reason) = by(job)?;
    let GrantDetails { asset, amount } = &job.details;
    let amount = RequestedAmount::parse(asset.clone(), amount).map_err(|_| Problem::internal())?;
    let fields = Fields::new().with("customer_id", customer).with_requested("amount", &amount);
    let actor = job.head.actor();
    let claim = Claim {
        tenant: tenant.clone(),
        principal: staff,
        actor,
        operation: Operation::BulkGrant,
        key: job.line_key(customer).into(),
        request: CanonicalRequest { method: "POST", path: format!("/v1/admin/grants/{}", job.head.id), fields },
        window: Window::WALLET,
        now: app.now(),
    };
    let plan = async |cx: Context| {
        let terms = app.terms_at(tenant, cx.now).await?;
        let amount = request::amount_in(&terms, &amount)?;
        let (tenant_of, reason) = (tenant.clone(), reason.clone());
        let grant = Grant { tenant: tenant_of, actor, customer, amount, reason };
        Ok(job.with_line(tenant, grant::plan(&grant, &terms, &cx)?))
    };
    let render = |receipt: &grant::GrantReceipt| ok(&Granting { transaction_id: receipt.transaction_id.to_string() });
    Ok(app.perform(claim, Admission::Execute, plan, render).await)
}

/// The staff member who asked for the job, and the reason. A person asks for each.
fn by(job: &GrantJob) -> Result<(Principal, FreeText), Problem> {
    let staff = job.head.staff.ok_or_else(|| ItemError::missing("staff_id"))?;
    let reason = job.head.reason.clone().ok_or_else(|| ItemError::missing("reason"))?;
    Ok((Principal::Staff(staff), reason))
}
