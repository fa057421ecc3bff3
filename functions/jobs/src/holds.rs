//! What merchants hold and have not captured in time goes back to the payers. Two workers on one hold give it
//! back once, under a key that is made of the payment; a capture or a void that comes first wins.

use futures::future::join_all;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::idempotency::Admission;
use ledger_core::ids::{PaymentId, Tenant};
use ledger_core::keys::{self, attr};
use ledger_core::ops::{PaymentRecord, PaymentState, TenantTerms, hold_expire};
use ledger_core::reads;
use ledger_runtime::app::App;
use ledger_runtime::debts::PayerDebts;
use ledger_runtime::execute::ok;
use ledger_runtime::problem::Problem;
use ledger_runtime::views::PaymentDetail;
use std::time::Duration;
use tokio::time::Instant;

/// How many holds of a shard are asked for at a time.
const BATCH: usize = 50;
/// How many of them are given back at once.
const AT_ONCE: usize = 8;
/// A run begins nothing after this: a function's time is bounded, and a later run goes on.
const RUN: Duration = Duration::from_secs(20);

/// Gives back what is due, shard by shard, and says how much of it there was. A hold that cannot be given
/// back does not keep the others from it.
pub(crate) async fn run(app: &App, tenant: &Tenant, terms: &TenantTerms) -> Result<usize, Problem> {
    let began = Instant::now();
    let (mut expired, mut fault) = (0_usize, None);
    for shard in 0..terms.due_shards.count() {
        let due = reads::holds_due(tenant, shard, app.now()).limit(BATCH);
        let mut after = None;
        while began.elapsed() < RUN {
            let query = due.clone().after(after.take());
            let items = app.dynamo().query(&query).await?;
            for few in items.chunks(AT_ONCE) {
                for ended in join_all(few.iter().map(|item| expire(app, tenant, terms, item))).await {
                    match ended {
                        Ok(given_back) => expired = expired.saturating_add(usize::from(given_back)),
                        Err(problem) => {
                            tracing::warn!(%tenant, code = problem.code(), "a hold could not be given back");
                            fault = Some(problem);
                        }
                    }
                }
            }
            match items.last() {
                Some(last) if items.len() >= BATCH => after = Some(last.string(attr::DUE_SK)?),
                Some(_) | None => break,
            }
        }
    }
    fault.map_or(Ok(expired), Err)
}

/// Whether this run gave it back.
async fn expire(app: &App, tenant: &Tenant, terms: &TenantTerms, listed: &Item) -> Result<bool, Problem> {
    let id = listed.parsed("payment_id", PaymentId::parse)?;
    let payment = async || -> Result<PaymentRecord, Problem> {
        let item = app.dynamo().get(&keys::payment(tenant, id)).await?.ok_or_else(Problem::not_found)?;
        Ok(PaymentRecord::read(&item)?)
    };
    // The index may be behind: the payment itself says where it stands.
    let seen = payment().await?;
    if seen.state != PaymentState::Authorized {
        return Ok(false);
    }
    let claim = hold_expire::claim(tenant, &seen, app.now()).map_err(Problem::key)?;
    let debts = PayerDebts::default();
    let plan = async |cx| {
        let payment = payment().await?;
        let wallet = debts.wallet(app, tenant, payment.payer).await?;
        Ok(hold_expire::plan(tenant, (&payment, &wallet), terms, &cx)?)
    };
    let render = |payment: &PaymentRecord| ok(&PaymentDetail::from(payment));
    let outcome = app.perform(claim, Admission::Execute, plan, render).await;
    let fresh = !outcome.is_replay();
    if outcome.into_answer()?.status == 200 {
        return Ok(fresh);
    }
    // A capture or a void was first; or less is held for it than it says, and then its key is used up.
    if payment().await?.state == PaymentState::Authorized {
        tracing::error!(%tenant, payment = %id, "a hold was refused, and its payment still holds");
        return Err(Problem::internal());
    }
    Ok(false)
}
