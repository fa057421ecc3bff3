//! Winding tenants down. Each account is closed under a key of its own, by a transaction of its own, so two workers on one job close
//! it once.

use crate::subjects::{AT_ONCE, Subjects, listed_meanwhile};
use ledger_core::account::Account;
use ledger_core::closing::{self, CardClose, ClosingReceipt, CustomerClose};
use ledger_core::dynamo::ItemError;
use ledger_core::idempotency::{Admission, Answer, CanonicalRequest, Claim, Fields, Window};
use ledger_core::ids::{Actor, Principal, Tenant};
use ledger_core::jobs::{Counted, Line, LineState, Outcome, Page};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::wind_downs::{WindDown, WindDownDetails};
use ledger_runtime::app::App;
use ledger_runtime::execute::{PlanError, ok};
use ledger_runtime::problem::{Code, Problem};
use serde::{Deserialize, Serialize};

/// The stored response of one account's close.
#[derive(Serialize)]
struct Closed {
    closed_at: String,
}

/// A stored refusal.
#[derive(Deserialize)]
struct Refused {
    code: String,
    open: Option<Vec<String>>,
}

impl Subjects for WindDownDetails {
    async fn at_once(_: &App, _: &Tenant, _: &WindDown) -> Result<usize, Problem> {
        Ok(AT_ONCE)
    }

    async fn page(app: &App, tenant: &Tenant, job: &WindDown, counted: &Counted) -> Result<Option<Page>, Problem> {
        let Some(query) = job.query(tenant, counted)? else { return Ok(None) };
        Ok(Some(job.page(&app.dynamo().query(&query).await?, counted.room())?))
    }

    async fn deal_with(app: &App, tenant: &Tenant, job: &WindDown, subject: &str) -> Result<Outcome, Problem> {
        match closed(app, tenant, job, subject).await {
            // Nothing was written, and another try would end in the same way.
            Err(problem) if problem.code() == Code::Internal.name() => {
                tracing::error!(%tenant, job = %job.head.id, subject, "account cannot be closed");
                Ok(Outcome::Line(Box::new(Line::failed(subject, problem.code(), app.now()))))
            }
            outcome => outcome,
        }
    }
}

async fn closed(app: &App, tenant: &Tenant, job: &WindDown, subject: &str) -> Result<Outcome, Problem> {
    let account = Account::parse(subject).map_err(|_| Problem::internal())?;
    let record = match WindDown::record(tenant, account) {
        Some(key) => app.dynamo().get(&key).await?,
        None => None,
    };
    if WindDown::is_closed(account, record.as_ref()) {
        return listed_meanwhile(app, (tenant, job.head.id), subject).await;
    }
    let answer = close(app, tenant, job, account).await?;
    if answer.status < 300 {
        return Ok(Outcome::Listed(LineState::Done));
    }
    let refused: Refused = serde_json::from_str(&answer.body).map_err(|_| Problem::internal())?;
    if refused.open.is_none() && refused.code == Code::WrongState.name() {
        return listed_meanwhile(app, (tenant, job.head.id), subject).await;
    }
    let line = Line { open: refused.open, ..Line::failed(subject, &refused.code, app.now()) };
    Ok(Outcome::Line(Box::new(line)))
}

/// The stored answer to an account's close.
async fn close(app: &App, tenant: &Tenant, job: &WindDown, account: Account) -> Result<Answer, Problem> {
    let staff = job.head.staff.ok_or_else(|| ItemError::missing("staff_id"))?;
    let claim = Claim {
        tenant: tenant.clone(),
        principal: Principal::Staff(staff),
        actor: Actor::Staff(staff),
        operation: Operation::WindDown,
        key: job.line_key(account).into(),
        request: CanonicalRequest {
            method: "POST",
            path: format!("/v1/admin/wind-downs/{}", job.head.id),
            fields: Fields::new().with("account", account),
        },
        window: Window::WALLET,
        now: app.now(),
    };
    let (actor, reason) = (claim.actor, job.head.reason.as_ref());
    let plan = async |cx: Context| {
        let terms = app.terms_at(tenant, cx.now).await?;
        let (planned, owner) = match account {
            Account::Customer(id) => {
                let (of, items) = app.customer_to_close(&claim, id).await?;
                let close = CustomerClose { tenant, actor, of: &of, clears: true, reason };
                (closing::plan_customer(&close, &items, &terms, &cx)?, None)
            }
            Account::Card(id) => {
                let (of, items) = app.card_to_close(&claim, id).await?;
                let close = CardClose { tenant, actor, of: &of, clears: true, reason };
                (closing::plan_card(&close, &items, &terms, &cx)?, of.owner)
            }
            Account::Merchant(_) | Account::Tenant(_) => return Err(PlanError::Missing),
        };
        Ok(job.with_line(tenant, planned, owner))
    };
    let render = |receipt: &ClosingReceipt| ok(&Closed { closed_at: receipt.closed_at.to_string() });
    app.perform(claim.clone(), Admission::Execute, plan, render).await.into_answer()
}
