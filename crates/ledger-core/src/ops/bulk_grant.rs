//! A grant to many customers: a stored job that a worker carries on, slice by slice. Each child is a
//! grant of its own under a key derived from the job, so that a slice done twice grants once.

use super::audit::Act;
use super::{Context, PlanRefusal, TenantTerms, grant};
use crate::dynamo::{Cmp, Condition, Item, ItemError, Update, Value, read};
use crate::failure::Failure;
use crate::idempotency::{IdempotencyKey, KeyError};
use crate::ids::{Actor, CustomerId, JobId, StaffId, Tenant};
use crate::keys::{self, Work, attr};
use crate::money::{Amount, Asset, stored_text};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction};

/// The most customers that one job may have: they stand in one item.
pub const MAX_CUSTOMERS: usize = 1_500;

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
    /// When it was asked for.
    pub created_at: Timestamp,
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
    let mut seen = std::collections::BTreeSet::new();
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
        let wrong = |attribute: &str| ItemError::invalid(attribute);
        let count = |attribute: &str| usize::try_from(read::int(item, attribute)?).map_err(|_| wrong(attribute));
        let customers = read::list(item, "customers")?.iter().map(|value| match value {
            Value::S(id) => CustomerId::parse(id).map_err(|_| wrong("customers")),
            Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => Err(wrong("customers")),
        });
        Ok(Self {
            id: read::parsed(item, "job_id", JobId::parse)?,
            staff: read::parsed(item, "staff_id", StaffId::parse)?,
            customers: customers.collect::<Result<_, _>>()?,
            asset: read::parsed(item, "asset", Asset::parse)?,
            amount: stored_text(read::number(item, "amount")?).map_err(|_| wrong("amount"))?,
            reason: read::parsed(item, "reason", |text| FreeText::parse(text, 140))?,
            done: count("done")?,
            failed: count("failed")?,
            created_at: read::parsed(item, attr::CREATED_AT, Timestamp::parse)?,
        })
    }

    /// Whether every customer has been dealt with.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.done >= self.customers.len()
    }

    /// The key of one customer's grant: the same whoever carries the job on.
    ///
    /// # Errors
    /// [`KeyError`], which two UUIDs never give.
    pub fn child_key(&self, customer: CustomerId) -> Result<IdempotencyKey, KeyError> {
        IdempotencyKey::parse(&format!("job:{}:{customer}", self.id))
    }

    /// Records progress from what was read: `done` of `customers`, the work mark removed at the end.
    /// Two workers on one slice write the same; the slower one's write is refused as stale.
    ///
    /// # Errors
    /// [`BuildError`], which this form never gives.
    pub fn advance(
        &self,
        tenant: &Tenant,
        done: usize,
        failed: usize,
        now: Timestamp,
    ) -> Result<Transaction, BuildError> {
        let number = |count: usize| Value::int(i64::try_from(count).unwrap_or(i64::MAX));
        let mut update = Update::new().set("done", "done", number(done)).set("failed", "failed", number(failed)).set(
            attr::UPDATED_AT,
            "ua",
            Value::s(now),
        );
        if done >= self.customers.len() {
            update = update.remove(attr::DUE_PK).remove(attr::DUE_SK);
        }
        let clause = Clause {
            condition: Condition::compare("done", Cmp::Eq, "seen", number(self.done)),
            failure: Failure::StalePlan,
        };
        Transaction::unkeyed(vec![TransactItem::update(Role::Job, keys::job(tenant, self.id), update, vec![clause])])
    }
}
