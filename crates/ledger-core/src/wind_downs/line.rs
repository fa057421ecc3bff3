//! What a job says of each account that it closed or could not close.

use crate::account::Account;
use crate::closing::ClosingReceipt;
use crate::dynamo::{Attributes, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::{CustomerId, JobId, Tenant, TransactionId};
use crate::keys::{self, Key, attr};
use crate::money::{Asset, stored_text};
use crate::time::Timestamp;
use crate::transaction::{Clause, Role, TransactItem};
use crate::words::words;
use std::collections::BTreeMap;

words! {
    /// Whether the job closed the account of a line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LineState {
        /// It closed it.
        Closed = "closed",
        /// It could not close it.
        Open = "open",
    }
}

/// An account that could not be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAccount {
    /// The account.
    pub account: Account,
    /// What is open, as a refusal of a close names it, or the code of another refusal.
    pub open: Vec<String>,
}

/// A line of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindDownLine {
    /// The account.
    pub account: Account,
    /// The owner of a card, if it has one.
    pub owner: Option<CustomerId>,
    /// Whether it was closed.
    pub state: LineState,
    /// What it had, by asset, as canonical text.
    pub rest: BTreeMap<Asset, String>,
    /// The journal entry; `None` if it had nothing.
    pub transaction_id: Option<TransactionId>,
    /// What is open.
    pub open: Vec<String>,
    /// When the line was written.
    pub created_at: Timestamp,
}

impl LineState {
    const fn other(self) -> Self {
        match self {
            Self::Closed => Self::Open,
            Self::Open => Self::Closed,
        }
    }
}

impl WindDownLine {
    /// Reads a stored line.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let rest = item.map("rest")?;
        let amount = |name: &String| {
            let asset = Asset::parse(name).map_err(|_| ItemError::invalid("rest"))?;
            Ok((asset, rest.parsed_number(name, stored_text)?))
        };
        Ok(Self {
            account: item.parsed("account", Account::parse)?,
            owner: item.opt_parsed("customer_id", CustomerId::parse)?,
            state: item.named("state", LineState::parse)?,
            rest: rest.keys().map(amount).collect::<Result<_, ItemError>>()?,
            transaction_id: item.opt_parsed("transaction_id", TransactionId::parse)?,
            open: item.texts("open", |text| Ok::<_, ItemError>(text.to_owned()))?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }
}

/// The line of an account that is closed in the same transaction.
pub(super) fn closed(
    tenant: &Tenant,
    job: JobId,
    receipt: &ClosingReceipt,
    owner: Option<CustomerId>,
) -> [TransactItem; 2] {
    let rest = receipt.rest.iter().map(|amount| (amount.asset().to_string(), Value::N(amount.text())));
    let mut item = line(receipt.account, LineState::Closed, rest.collect(), receipt.closed_at);
    item.extend(owner.map(|owner| ("customer_id".to_owned(), Value::s(owner))));
    item.extend(receipt.transaction_id.map(|id| ("transaction_id".to_owned(), Value::s(id))));
    written(tenant, job, (receipt.account, LineState::Closed), item)
}

/// The line of an account that could not be closed.
pub(super) fn open(tenant: &Tenant, job: JobId, of: &OpenAccount, now: Timestamp) -> [TransactItem; 2] {
    let mut item = line(of.account, LineState::Open, Item::new(), now);
    item.insert("open".to_owned(), Value::L(of.open.iter().map(Value::s).collect()));
    written(tenant, job, (of.account, LineState::Open), item)
}

fn line(account: Account, state: LineState, rest: Item, now: Timestamp) -> Item {
    Item::from([
        ("account".to_owned(), Value::s(account)),
        ("state".to_owned(), Value::s(state.name())),
        ("rest".to_owned(), Value::M(rest)),
        ("open".to_owned(), Value::L(Vec::new())),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
    ])
}

/// The key of the line of an account in a state.
pub(super) fn key(tenant: &Tenant, job: JobId, state: LineState, account: Account) -> Key {
    keys::job_line(tenant, job, format_args!("{}#{account}", state.name()))
}

/// Writes a line if the job has none of the account, in either state.
fn written(tenant: &Tenant, job: JobId, (account, state): (Account, LineState), item: Item) -> [TransactItem; 2] {
    let absent = Clause { condition: Condition::absent(attr::PK), failure: Failure::StalePlan };
    [
        TransactItem::put_new(Role::WindDownLine, key(tenant, job, state, account), item, Failure::StalePlan),
        TransactItem::check(Role::WindDownLine, key(tenant, job, state.other(), account), vec![absent]),
    ]
}
