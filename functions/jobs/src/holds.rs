//! Expires holds: what merchants have not captured in time is released to the payers.
//!
//! Two workers on one hold release it once, under a key made of the payment. A capture or void that comes first takes
//! precedence.

use futures::future::join_all;
use ledger_core::idempotency::Admission;
use ledger_core::ids::{PaymentId, Tenant};
use ledger_core::keys::{self, Work};
use ledger_core::payment_state::PaymentState;
use ledger_core::payments::{self, PaymentRecord};
use ledger_core::plan::Context;
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::due::{DueList, ListedWork};
use ledger_runtime::execute::ok;
use ledger_runtime::problem::Problem;
use ledger_runtime::views::PaymentStateView;
use std::time::Duration;
use tokio::time::Instant;

/// The number of holds that are released at once.
const CONCURRENCY: usize = 8;
/// A run starts nothing after this time: a function's time is limited, and a later run continues.
const RUN_TIME_MAX: Duration = Duration::from_secs(20);

/// Releases the holds that are due and returns their number. A hold that cannot be released does not
/// stop the others.
pub(crate) async fn run(app: &App, tenant: &Tenant, due: &mut DueList) -> Result<usize, Problem> {
    let began = Instant::now();
    let (mut expired, mut fault) = (0_usize, None);
    loop {
        let holds = due.next(Work::Hold).await?;
        if holds.is_empty() || began.elapsed() >= RUN_TIME_MAX {
            break;
        }
        for few in holds.chunks(CONCURRENCY) {
            for ended in join_all(few.iter().map(|hold| expire(app, tenant, hold))).await {
                match ended {
                    Ok(given_back) => expired = expired.saturating_add(usize::from(given_back)),
                    Err(problem) => {
                        tracing::warn!(%tenant, code = problem.code(), "hold not released");
                        fault = Some(problem);
                    }
                }
            }
        }
    }
    fault.map_or(Ok(expired), Err)
}

/// Releases one hold; returns whether this run released it.
async fn expire(app: &App, tenant: &Tenant, listed: &ListedWork) -> Result<bool, Problem> {
    let id = listed.id(PaymentId::parse)?;
    let payment = async || -> Result<PaymentRecord, Problem> {
        let item = app.dynamo().get(&keys::payment(tenant, id)).await?.ok_or_else(Problem::not_found)?;
        Ok(PaymentRecord::read(&item)?)
    };
    // The index may be behind, so the payment itself is read.
    let seen = payment().await?;
    if seen.state != PaymentState::Authorized {
        return Ok(false);
    }
    let claim = payments::expire::claim(tenant, &seen, app.now());
    let debts = PayerDebts::default();
    let plan = async |cx: Context| {
        let terms = app.terms_at(tenant, cx.now).await?;
        let payment = payment().await?;
        let wallet = debts.wallet(app, tenant, payment.payer).await?;
        Ok(payments::expire::plan(tenant, (&payment, &wallet), &terms, &cx)?)
    };
    let render = |payment: &PaymentRecord| ok(&PaymentStateView::from(payment));
    let outcome = app.perform(claim, Admission::Execute, plan, render).await;
    let fresh = !outcome.is_replay();
    if outcome.into_answer()?.status == 200 {
        return Ok(fresh);
    }
    // A capture or void came first. Or less is held than the payment says, and the key is used up.
    if payment().await?.state == PaymentState::Authorized {
        tracing::error!(%tenant, payment = %id, "release of a hold refused, and its payment is still authorized");
        return Err(Problem::internal());
    }
    Ok(false)
}
