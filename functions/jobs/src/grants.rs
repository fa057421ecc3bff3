//! Bulk grants, slice by slice. Two workers on one job grant nobody twice, since each customer's grant has a
//! key of its own.

use futures::future::try_join_all;
use ledger_core::dynamo::read;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Admission, CanonicalRequest, Claim, Fields, Window};
use ledger_core::ids::{Actor, CustomerId, JobId, Principal, Tenant};
use ledger_core::keys::{self, Shards};
use ledger_core::money::Amount;
use ledger_core::operation::Operation;
use ledger_core::ops::bulk_grant::GrantJob;
use ledger_core::ops::grant::{self, Grant};
use ledger_core::reads;
use ledger_runtime::app::App;
use ledger_runtime::execute::ok;
use ledger_runtime::problem::Problem;
use serde::Serialize;

/// How many customers are dealt with before progress is stored.
const SLICE: usize = 50;
/// How many of them at once.
const AT_ONCE: usize = 8;
/// How many jobs of a shard are looked at in one run.
const JOBS: usize = 10;

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slice {
    /// Customers dealt with.
    pub(crate) done: usize,
    /// How many of them could not be granted to.
    pub(crate) failed: usize,
}

/// Does one slice of every due job of a tenant.
pub(crate) async fn run(app: &App, tenant: &Tenant, shards: Shards) -> Result<Slice, Problem> {
    let mut all = Slice::default();
    for shard in 0..shards.count() {
        let query = reads::grant_jobs_to_continue(tenant, shard).limit(JOBS);
        for item in app.dynamo().query(&query).await? {
            let id = read::parsed(&item, "job_id", JobId::parse)?;
            let slice = run_slice(app, tenant, id).await?;
            all.done = all.done.saturating_add(slice.done);
            all.failed = all.failed.saturating_add(slice.failed);
        }
    }
    Ok(all)
}

/// One slice of a job. Slice is stored only when all of it is certain.
async fn run_slice(app: &App, tenant: &Tenant, id: JobId) -> Result<Slice, Problem> {
    // The index may be behind: the job itself says where it stands.
    let Some(item) = app.dynamo().get(&keys::job(tenant, id)).await? else { return Ok(Slice::default()) };
    let job = GrantJob::read(&item)?;
    let customers: Vec<CustomerId> = job.customers.iter().skip(job.done).take(SLICE).copied().collect();
    let mut granted = Vec::with_capacity(customers.len());
    for few in customers.chunks(AT_ONCE) {
        granted.extend(try_join_all(few.iter().map(|customer| grant_to(app, tenant, &job, *customer))).await?);
    }
    let failed = granted.iter().filter(|granted| !**granted).count();
    let done = job.done.saturating_add(customers.len());
    let transaction =
        job.advance(tenant, done, job.failed.saturating_add(failed), app.now()).map_err(|_| Problem::internal())?;
    match app.ledger().apply(tenant, Operation::BulkGrant, &transaction).await {
        Ok(()) => Ok(Slice { done: customers.len(), failed }),
        // Another worker stored the same slice.
        Err(error) if error.failure() == Some(Failure::StalePlan) => Ok(Slice::default()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a customer got the grant. Everything that is not certain is an error: the slice is done again.
async fn grant_to(app: &App, tenant: &Tenant, job: &GrantJob, customer: CustomerId) -> Result<bool, Problem> {
    let terms = app.terms(tenant).await?;
    let spec = terms.spec(&job.asset).ok_or_else(|| Problem::invalid_field("asset", "is not run by this tenant"))?;
    let amount = Amount::parse(spec, &job.amount).map_err(|why| Problem::invalid_field("amount", why))?;
    let fields = Fields::new().with("customer_id", customer).with_amount("amount", &amount);
    let claim = Claim {
        tenant: tenant.clone(),
        principal: Principal::Staff(job.staff),
        actor: Actor::Staff(job.staff),
        // Apart from the grants that the staff member asks for, whose keys can be anything.
        operation: Operation::BulkGrant,
        key: job.child_key(customer).map_err(Problem::key)?,
        request: CanonicalRequest { method: "POST", path: format!("/v1/admin/grants/{}", job.id), fields },
        window: Window::WALLET,
        now: app.now(),
    };
    let grant =
        Grant { tenant: tenant.clone(), actor: Actor::Staff(job.staff), customer, amount, reason: job.reason.clone() };
    let plan = async |cx| Ok(grant::plan(&grant, &terms, &cx)?);
    let render = |receipt: &grant::GrantReceipt| ok(&Granted { transaction_id: receipt.transaction_id.to_string() });
    let outcome = app.ledger().perform(claim, Admission::Execute, plan, render).await;
    match outcome.status() {
        200..300 => Ok(true),
        404 => Ok(false),
        _ => match outcome.into_answer() {
            Ok(_) => Ok(false),
            Err(problem) => Err(problem),
        },
    }
}

/// The stored answer of one customer's grant.
#[derive(Serialize)]
struct Granted {
    transaction_id: String,
}
