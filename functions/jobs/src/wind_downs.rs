//! Winding tenants down, slice by slice. Each account is closed under a key of its own, by a transaction of its own, so two
//! workers on one job close it once. A slice is recorded when the outcome of each of its accounts is certain.

use futures::future::join_all;
use ledger_core::account::Account;
use ledger_core::closing::{self, CardClose, ClosingReceipt, CustomerClose};
use ledger_core::idempotency::{Admission, Answer, CanonicalRequest, Claim, Fields, Window};
use ledger_core::ids::{Actor, JobId, Principal, Tenant};
use ledger_core::keys::{self, JobKind};
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::wind_downs::{OpenAccount, SliceOutcome, Standing, WindDown, WindDownStatus};
use ledger_runtime::app::App;
use ledger_runtime::due::DueList;
use ledger_runtime::execute::{PlanError, ok};
use ledger_runtime::problem::{Code, Problem};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::Instant;

/// The jobs that a run continues; a later run continues the others.
const JOBS_MAX: usize = 10;
/// The number of accounts that are closed before the progress is stored.
const SLICE_ACCOUNTS: usize = 24;
/// The number of accounts that are closed at once.
const CONCURRENCY: usize = 8;
/// A run starts no slice after this time: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(10);

/// What became of an account.
enum Closing {
    /// The job closed it.
    Closed,
    /// It was closed before, or there is none.
    ClosedBefore,
    /// It cannot be closed.
    Open(OpenAccount),
}

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

/// Continues the jobs of a tenant; returns how many accounts this run closed.
pub(crate) async fn run(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<usize, Problem> {
    let (began, mut closed) = (Instant::now(), 0_usize);
    for listed in due.next(JobKind::WindDown).await?.iter().take(JOBS_MAX) {
        let id = listed.id(JobId::parse)?;
        while began.elapsed() < RUN_TIME_MAX {
            match advance(app, tenant, id).await? {
                Some(accounts) => closed = closed.saturating_add(accounts),
                None => break,
            }
        }
    }
    Ok(closed)
}

/// Closes the accounts of the next slice of a job, and records it; returns how many it closed. `None` if the job is over, or
/// another worker has recorded the slice.
async fn advance(app: &App, tenant: &Tenant, id: JobId) -> Result<Option<usize>, Problem> {
    // The index may be behind, so the job itself is read.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(None) };
    let job = WindDown::read(&item)?;
    let next = job.next(tenant, SLICE_ACCOUNTS);
    let Some(query) = next.filter(|_| job.status() == WindDownStatus::Running) else { return Ok(None) };
    let slice = job.slice(&app.dynamo().query(&query).await?, SLICE_ACCOUNTS)?;
    let mut outcome = SliceOutcome::default();
    for few in slice.accounts.chunks(CONCURRENCY) {
        let closings = join_all(few.iter().map(|account| close(app, tenant, &job, *account))).await;
        for closing in closings {
            match closing? {
                Closing::Closed => outcome.closed = outcome.closed.saturating_add(1),
                Closing::ClosedBefore => {}
                Closing::Open(open) => outcome.open.push(open),
            }
        }
    }
    let transaction = job.advance(tenant, &slice, &outcome, app.now()).map_err(|_| Problem::internal())?;
    let is_ours = app.ledger().apply_as_read(tenant, Operation::WindDown, &transaction).await?;
    Ok(is_ours.then_some(outcome.closed))
}

/// Closes an account, unless that is done.
///
/// # Errors
/// A problem whose outcome is not certain: the account is tried again.
async fn close(app: &App, tenant: &Tenant, job: &WindDown, account: Account) -> Result<Closing, Problem> {
    let items = app.dynamo().get_many(&job.keys(tenant, account)).await?;
    match job.standing(account, &items) {
        Standing::Closed => return Ok(Closing::Closed),
        Standing::ClosedBefore => return Ok(Closing::ClosedBefore),
        Standing::Open => {}
    }
    match perform(app, tenant, job, account).await {
        Ok(answer) if answer.status < 300 => Ok(Closing::Closed),
        Ok(answer) => {
            let refused: Refused = serde_json::from_str(&answer.body).map_err(|_| Problem::internal())?;
            let is_gone = [Code::WrongState, Code::NotFound].iter().any(|code| code.name() == refused.code);
            Ok(match refused.open {
                None if is_gone => Closing::ClosedBefore,
                open => Closing::Open(OpenAccount { account, open: open.unwrap_or_else(|| vec![refused.code]) }),
            })
        }
        // Nothing was written, and a retry would end in the same way. It must not keep the others open.
        Err(problem) if problem.code() == Code::Internal.name() => {
            tracing::error!(%tenant, job = %job.id, %account, "account cannot be closed");
            Ok(Closing::Open(OpenAccount { account, open: vec![problem.code().to_owned()] }))
        }
        Err(problem) => Err(problem),
    }
}

/// The stored answer to an account's close.
async fn perform(app: &App, tenant: &Tenant, job: &WindDown, account: Account) -> Result<Answer, Problem> {
    let claim = Claim {
        tenant: tenant.clone(),
        principal: Principal::Staff(job.staff),
        actor: Actor::Staff(job.staff),
        // Separate from the closes that the staff member requests directly, whose keys may have any form.
        operation: Operation::WindDown,
        key: job.child_key(account).map_err(Problem::key)?,
        request: CanonicalRequest {
            method: "POST",
            path: format!("/v1/admin/wind-downs/{}", job.id),
            fields: Fields::new().with("account", account),
        },
        window: Window::WALLET,
        now: app.now(),
    };
    let (actor, reason) = (claim.actor, Some(&job.reason));
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
