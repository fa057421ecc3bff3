//! A grant to many customers: a job. Each customer's grant has the job's line in its transaction, so a customer is granted to once.

use super::grant::{self, GrantReceipt};
use crate::account::Account;
use crate::audit::Act;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::failure::Failure;
use crate::idempotency::LedgerKey;
use crate::ids::{Actor, CustomerId, JobId, StaffId, Tenant};
use crate::jobs::{CursorJob, Details, Line, LineState, Page, Request};
use crate::keys::{self, JobKind, attr};
use crate::money::{Amount, Asset, stored_text};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::{Draft, Planned, Role, TransactItem};
use std::collections::BTreeSet;

/// The most customers in one job, because they are stored in one item.
pub const MAX_CUSTOMERS: usize = 1_500;
/// The code of a failed line: the tenant's terms do not have the job's asset.
pub const ASSET_NOT_RUN: &str = "asset_not_run";

const CUSTOMERS: &str = "customers";

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

/// What a job grants to each customer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantDetails {
    /// The asset.
    pub asset: Asset,
    /// The amount for each, as canonical text. Its scale is that of the tenant's asset.
    pub amount: String,
}

/// A stored job.
pub type GrantJob = CursorJob<GrantDetails>;

impl Details for GrantDetails {
    const KIND: JobKind = JobKind::Grant;

    fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self { asset: item.parsed("asset", Asset::parse)?, amount: item.parsed_number("amount", stored_text)? })
    }

    fn attributes(&self) -> Item {
        Item::from([("asset".to_owned(), Value::s(&self.asset)), ("amount".to_owned(), Value::N(self.amount.clone()))])
    }
}

/// Stores the job and its customers, due at once.
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
    let (tenant, id, count) = (&command.tenant, JobId::new(cx.resource_id), command.customers.len());
    let request = Request {
        id,
        staff: Some(command.staff),
        reason: Some(&command.reason),
        total: u32::try_from(count).ok(),
        now: cx.now,
    };
    let details = GrantDetails { asset: command.amount.asset().clone(), amount: command.amount.text() };
    let customers = Item::from([
        (CUSTOMERS.to_owned(), Value::L(command.customers.iter().map(Value::s).collect())),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    let act = Act::new(Actor::Staff(command.staff), Operation::BulkGrant, format!("job:{id}"))
        .because(Some(&command.reason))
        .with("amount", command.amount.text())
        .with("asset", command.amount.asset())
        .with("customers", count);
    let items = vec![
        GrantJob::requested(request, details).put(tenant, cx.now),
        TransactItem::put_new(Role::Job, keys::job_customers(tenant, id), customers, Failure::AlreadyExists),
        act.record(tenant, cx),
    ];
    Ok(Draft { entry: None, items })
}

/// The customers of a job, as stored.
///
/// # Errors
/// [`ItemError`] if they are malformed.
pub fn customers(item: &Item) -> Result<Vec<CustomerId>, ItemError> {
    item.texts(CUSTOMERS, CustomerId::parse)
}

impl GrantJob {
    /// The next customers, at most `room`.
    ///
    /// # Errors
    /// [`ItemError`] if the cursor is malformed.
    pub fn page(&self, customers: &[CustomerId], room: usize) -> Result<Page, ItemError> {
        let from = self.cursor().map_or(Ok(0), str::parse::<usize>).map_err(|_| ItemError::invalid("cursor"))?;
        let next = customers.iter().skip(from).take(room);
        let to = from.saturating_add(room);
        Ok(Page {
            subjects: next.map(|customer| Account::Customer(*customer).to_string()).collect(),
            cursor: (to < customers.len()).then(|| to.to_string()),
        })
    }

    /// The key of one customer's grant. It depends on the job and the customer alone.
    #[must_use]
    pub fn line_key(&self, customer: CustomerId) -> LedgerKey {
        LedgerKey::of_job_line(self.head.id, Account::Customer(customer))
    }

    /// Adds the job's line to a customer's grant. Fails with `StalePlan` if the job has a line of the customer.
    #[must_use]
    pub fn with_line(&self, tenant: &Tenant, planned: Planned<GrantReceipt>) -> Planned<GrantReceipt> {
        let receipt = &planned.receipt;
        let line = Line {
            transaction_id: Some(receipt.transaction_id),
            ..Line::new(Account::Customer(receipt.customer), LineState::Done, receipt.created_at)
        };
        planned.and(Some(line.put(tenant, self.head.id)))
    }
}
