//! A grant to many customers: a stored job that a worker executes in slices. Each customer's grant has a key derived
//! from the job, so a slice that runs twice grants once.

use super::grant;
use crate::audit::Act;
use crate::dynamo::{AttributeKind, Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::idempotency::{IdempotencyKey, KeyError, Window};
use crate::ids::{Actor, CustomerId, JobId, StaffId, Tenant};
use crate::jobs;
use crate::keys::{self, JobKind, attr};
use crate::money::{Amount, Asset, stored_text};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{BuildError, Clause, Draft, Role, TransactItem, Transaction};
use crate::words::words;
use std::collections::BTreeSet;

/// The most customers in one job, because they are stored in one item.
pub const MAX_CUSTOMERS: usize = 1_500;
/// The reason of a failure: the tenant's terms no longer have the job's asset.
pub const ASSET_NOT_RUN: &str = "asset_not_run";
/// The reason of a failure: the job is older than the time for which the markers of its grants are kept.
pub const JOB_EXPIRED: &str = "job_expired";

/// A bulk grant.
#[derive(Clone, Debug)]
pub struct BulkGrant {
    /// The tenant.
    pub tenant: Tenant,
    /// Who makes the grant.
    pub staff: StaffId,
    /// The recipients, each named once.
    pub customers: Vec<CustomerId>,
    /// The amount for each.
    pub amount: Amount,
    /// The reason.
    pub reason: FreeText,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantJob {
    /// Its id.
    pub id: JobId,
    /// The staff member who requested it.
    pub staff: StaffId,
    /// The recipients.
    pub customers: Vec<CustomerId>,
    /// The asset.
    pub asset: Asset,
    /// The amount for each, as canonical text. Its scale is that of the tenant's asset.
    pub amount: String,
    /// The reason.
    pub reason: FreeText,
    /// How many customers have been handled, with success or failure.
    pub done: usize,
    /// How many of them could not get the grant.
    pub failed: usize,
    /// Those customers, with the reasons.
    pub failures: Vec<FailedGrant>,
    /// When it was requested.
    pub created_at: Timestamp,
}

/// A customer to whom a job could not grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGrant {
    /// The customer.
    pub customer: CustomerId,
    /// The stable code of the refusal, or [`ASSET_NOT_RUN`] or [`JOB_EXPIRED`].
    pub reason: String,
}

/// The certain outcomes of a slice of a job. Customers of the slice in neither list are tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceOutcome {
    /// The customers who have the grant.
    pub granted: Vec<CustomerId>,
    /// The customers who cannot get it.
    pub failed: Vec<FailedGrant>,
}

words! {
    /// The progress of a job.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum JobStatus {
        /// Some customers have not been handled.
        Running = "running",
        /// Every customer has the grant.
        Finished = "finished",
        /// Every customer was handled, and some could not get the grant.
        CompletedWithFailures = "completed_with_failures",
    }
}

/// Stores the job, due at once.
///
/// # Errors
/// [`PlanRefusal`] for no, too many or repeated customers, or an asset that cannot be granted.
pub fn plan(command: &BulkGrant, terms: &TenantTerms, cx: &Context) -> Result<Draft, PlanRefusal> {
    let invalid = |why| PlanRefusal::Invalid { field: "customer_ids", why };
    grant::check_issued(command.amount.asset(), terms)?;
    if command.customers.is_empty() || command.customers.len() > MAX_CUSTOMERS {
        return Err(invalid("must name 1 to 1500 customers"));
    }
    let mut seen = BTreeSet::new();
    if !command.customers.iter().all(|customer| seen.insert(*customer)) {
        return Err(invalid("names a customer twice"));
    }
    let id = JobId::new(cx.resource_id);
    let count = command.customers.len();
    let customers = command.customers.iter().map(Value::s).collect();
    let mut item = Item::from([
        ("job_id".to_owned(), Value::s(id)),
        ("staff_id".to_owned(), Value::s(command.staff)),
        ("customers".to_owned(), Value::L(customers)),
        ("asset".to_owned(), Value::s(command.amount.asset())),
        ("amount".to_owned(), Value::N(command.amount.text())),
        ("reason".to_owned(), Value::s(command.reason.expose())),
        ("done".to_owned(), Value::int(0)),
        ("failed".to_owned(), Value::int(0)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    item.extend(jobs::begun(&command.tenant, JobKind::Grant, id, cx.now));
    let act = Act::new(Actor::Staff(command.staff), Operation::BulkGrant, format!("job:{id}"))
        .because(Some(&command.reason))
        .with("amount", command.amount.text())
        .with("asset", command.amount.asset())
        .with("customers", count);
    let items = vec![
        TransactItem::put_new(Role::Job, keys::job(&command.tenant, id), item, Failure::AlreadyExists),
        act.record(&command.tenant, cx),
    ];
    Ok(Draft { entry: None, items })
}

impl GrantJob {
    /// Reads a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("job_id", JobId::parse)?,
            staff: item.parsed("staff_id", StaffId::parse)?,
            customers: item.texts("customers", CustomerId::parse)?,
            asset: item.parsed("asset", Asset::parse)?,
            amount: item.parsed_number("amount", stored_text)?,
            reason: item.parsed("reason", |text| FreeText::parse(text, 140))?,
            done: item.int("done")?,
            failed: item.int("failed")?,
            failures: item.list("failures")?.iter().map(FailedGrant::read).collect::<Result<_, _>>()?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }

    /// The job's progress.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        match (self.done >= self.customers.len(), self.failed) {
            (false, _) => JobStatus::Running,
            (true, 0) => JobStatus::Finished,
            (true, _) => JobStatus::CompletedWithFailures,
        }
    }

    /// Whether a marker of one of the job's grants may have lapsed. Executing a grant again could then grant twice.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.created_at.plus(Window::WALLET.replay) <= now.plus(CLOCK_SKEW)
    }

    /// At most `max` customers who have not been handled, after skipping the first `passed_over` of those.
    #[must_use]
    pub fn slice(&self, passed_over: usize, max: usize) -> Vec<CustomerId> {
        self.customers.iter().skip(self.done).skip(passed_over).take(max).copied().collect()
    }

    /// The key of one customer's grant. It depends on the job and the customer alone.
    ///
    /// # Errors
    /// [`KeyError`], which two UUIDs never cause.
    pub fn child_key(&self, customer: CustomerId) -> Result<IdempotencyKey, KeyError> {
        IdempotencyKey::parse(&format!("job:{}:{customer}", self.id))
    }

    /// Records progress: the first `done` of `customers` have been handled, so customers whom a slice passed over
    /// move behind them. The last write removes the due index entry. The guard is on `done`, which each write
    /// increases: of two workers' writes from one read, the later is refused as stale.
    ///
    /// `None` if no outcome is certain: there is nothing to record.
    ///
    /// # Errors
    /// [`BuildError`], which a transaction of this form never causes.
    pub fn advance(
        &self,
        tenant: &Tenant,
        outcome: &SliceOutcome,
        now: Timestamp,
    ) -> Result<Option<Transaction>, BuildError> {
        let number = |count: usize| Value::int(i64::try_from(count).unwrap_or(i64::MAX));
        let failed = outcome.failed.iter().map(|failed| failed.customer);
        let certain: BTreeSet<CustomerId> = outcome.granted.iter().copied().chain(failed).collect();
        let rest = self.customers.iter().skip(self.done).copied();
        let (dealt, left): (Vec<_>, Vec<_>) = rest.partition(|customer| certain.contains(customer));
        if dealt.is_empty() {
            return Ok(None);
        }
        let done = self.done.saturating_add(dealt.len());
        let before = self.customers.iter().take(self.done).copied();
        let customers: Vec<CustomerId> = before.chain(dealt).chain(left).collect();
        let mut update = Update::new()
            .set("done", "done", number(done))
            .set("failed", "failed", number(self.failed.saturating_add(outcome.failed.len())))
            .set(attr::UPDATED_AT, "ua", Value::s(now));
        if customers != self.customers {
            update = update.set("customers", "customers", Value::L(customers.iter().map(Value::s).collect()));
        }
        if !outcome.failed.is_empty() {
            let failures = self.failures.iter().chain(&outcome.failed).map(FailedGrant::value);
            update = update.set("failures", "failures", Value::L(failures.collect()));
        }
        if done >= self.customers.len() {
            update = update.remove(attr::DUE_PK).remove(attr::DUE_SK);
        }
        let clause = Clause {
            condition: Condition::compare("done", Cmp::Eq, "seen", number(self.done)),
            failure: Failure::StalePlan,
        };
        let item = TransactItem::update(Role::Job, keys::job(tenant, self.id), update, vec![clause]);
        Transaction::unkeyed(vec![item]).map(Some)
    }
}

impl FailedGrant {
    fn read(value: &Value) -> Result<Self, ItemError> {
        let Value::M(item) = value else { return Err(ItemError::wrong_type("failures", AttributeKind::Map)) };
        Ok(Self { customer: item.parsed("customer_id", CustomerId::parse)?, reason: item.string("reason")? })
    }

    fn value(&self) -> Value {
        Value::M(Item::from([
            ("customer_id".to_owned(), Value::s(self.customer)),
            ("reason".to_owned(), Value::s(&self.reason)),
        ]))
    }
}
