//! A grant to many customers: a stored job that a worker carries on, slice by slice. Each child is a
//! grant of its own under a key derived from the job, so that a slice done twice grants once.

use super::audit::Act;
use super::{Context, PlanRefusal, TenantTerms, grant};
use crate::dynamo::{AttributeKind, Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::idempotency::{IdempotencyKey, KeyError, Window};
use crate::ids::{Actor, CustomerId, JobId, StaffId, Tenant};
use crate::keys::{self, Work, attr};
use crate::money::{Amount, Asset, stored_text};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction};
use std::collections::BTreeSet;

/// The most customers that one job may have: they stand in one item.
pub const MAX_CUSTOMERS: usize = 1_500;
/// The reason of a failure: the tenant's terms no longer have the job's asset.
pub const ASSET_NOT_RUN: &str = "asset_not_run";
/// The reason of a failure: the job was older than the markers of its grants are kept.
pub const JOB_EXPIRED: &str = "job_expired";

/// A bulk grant.
#[derive(Clone, Debug)]
pub struct BulkGrant {
    /// Whose table.
    pub tenant: Tenant,
    /// Who grants.
    pub staff: StaffId,
    /// To whom, each once.
    pub customers: Vec<CustomerId>,
    /// How much to each.
    pub amount: Amount,
    /// Why.
    pub reason: FreeText,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantJob {
    /// Its id.
    pub id: JobId,
    /// Who asked for it.
    pub staff: StaffId,
    /// To whom.
    pub customers: Vec<CustomerId>,
    /// What.
    pub asset: Asset,
    /// How much to each, as canonical text: its scale is the tenant's.
    pub amount: String,
    /// Why.
    pub reason: FreeText,
    /// How many customers have been dealt with.
    pub done: usize,
    /// How many of them could not be granted to.
    pub failed: usize,
    /// Those of them whose reason was recorded: all but those that a release before this recorded.
    pub failures: Vec<FailedGrant>,
    /// When it was asked for.
    pub created_at: Timestamp,
}

/// A customer to whom a job could not grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGrant {
    /// Who.
    pub customer: CustomerId,
    /// Why: the stable code of the refusal, [`ASSET_NOT_RUN`] or [`JOB_EXPIRED`].
    pub reason: String,
}

/// What is certain after a slice of a job. Customers of the slice who are in neither list come again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SliceOutcome {
    /// Who has the grant.
    pub granted: Vec<CustomerId>,
    /// Who cannot have it.
    pub failed: Vec<FailedGrant>,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// Some customers have not been dealt with.
    Running,
    /// Every customer has the grant.
    Finished,
    /// Every customer has been dealt with, and some could not be granted to.
    CompletedWithFailures,
}

/// What a response tells of a new job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReceipt {
    /// The job.
    pub job_id: JobId,
    /// How many customers.
    pub customers: usize,
    /// When.
    pub created_at: Timestamp,
}

/// Stores the job, due at once.
///
/// # Errors
/// [`PlanRefusal`] for no, too many or repeated customers, or an asset that cannot be granted.
pub fn plan(command: &BulkGrant, terms: &TenantTerms, cx: &Context) -> Result<Planned<JobReceipt>, PlanRefusal> {
    let invalid = |why| PlanRefusal::Invalid { field: "customer_ids", why };
    grant::check_asset(command.amount.asset())?;
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
    let shard = keys::shard_of(id.uuid(), terms.due_shards);
    let item = Item::from([
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
        (attr::DUE_PK.to_owned(), Value::S(keys::due_partition(&command.tenant, Work::Job, shard))),
        (attr::DUE_SK.to_owned(), Value::s(id)),
    ]);
    let act = Act::new(Actor::Staff(command.staff), Operation::BulkGrant, format!("job:{id}"))
        .because(Some(&command.reason))
        .with("amount", command.amount.text())
        .with("asset", command.amount.asset())
        .with("customers", count);
    let items = vec![
        TransactItem::put_new(Role::Job, keys::job(&command.tenant, id), item, Failure::AlreadyExists),
        act.record(&command.tenant, cx),
    ];
    let receipt = JobReceipt { job_id: id, customers: count, created_at: cx.now };
    Ok(Planned { draft: Draft { entry: None, items }, receipt })
}

impl GrantJob {
    /// Reads a stored job.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
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

    /// How far it is.
    #[must_use]
    pub fn status(&self) -> JobStatus {
        match (self.done >= self.customers.len(), self.failed) {
            (false, _) => JobStatus::Running,
            (true, 0) => JobStatus::Finished,
            (true, _) => JobStatus::CompletedWithFailures,
        }
    }

    /// Whether a marker of one of its grants may have gone, so that executing the grant again would grant twice.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.created_at.plus(Window::WALLET.replay) <= now.plus(CLOCK_SKEW)
    }

    /// At most `max` customers who have not been dealt with, after the first `passed_over` of those.
    #[must_use]
    pub fn slice(&self, passed_over: usize, max: usize) -> Vec<CustomerId> {
        self.customers.iter().skip(self.done).skip(passed_over).take(max).copied().collect()
    }

    /// The key of one customer's grant: the same whoever carries the job on.
    ///
    /// # Errors
    /// [`KeyError`], which two UUIDs never give.
    pub fn child_key(&self, customer: CustomerId) -> Result<IdempotencyKey, KeyError> {
        IdempotencyKey::parse(&format!("job:{}:{customer}", self.id))
    }

    /// Records progress from what was read: the first `done` of `customers` have been dealt with, so those whom a
    /// slice passed over move behind them; the work mark is removed at the end. The guard is on `done`, which each
    /// write increases: of two workers' writes from one read, the later is refused as stale.
    ///
    /// `None` if nothing is certain: there is nothing to record.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
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

impl JobStatus {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::CompletedWithFailures => "completed_with_failures",
        }
    }
}
