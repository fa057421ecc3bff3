//! Audit records: who did what, when and why. Every change by an operator has one in its transaction.

use crate::account::Account;
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::ids::{Actor, AuditId, Tenant};
use crate::keys::{self, attr};
use crate::memo::Memo;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::Context;
use crate::transaction::{Action, Role, TransactItem};
use std::fmt::Display;

/// The content of an audit record. It has no personal data: subjects are ids.
#[derive(Clone, Debug)]
pub struct Act<'a> {
    /// The actor.
    pub actor: Actor,
    /// The operation's name.
    pub action: &'a str,
    /// What it was done to, for example `customer:<id>`.
    pub subject: String,
    /// The operator's reason, if one was given.
    pub reason: Option<&'a FreeText>,
    /// Amounts, or values before and after.
    pub details: Item,
}

impl<'a> Act<'a> {
    /// An act without a reason and details.
    pub fn new(actor: Actor, operation: Operation, subject: impl Display) -> Self {
        Self { actor, action: operation.name(), subject: subject.to_string(), reason: None, details: Item::new() }
    }

    /// Adds the operator's reason.
    #[must_use]
    pub fn because(mut self, reason: Option<&'a FreeText>) -> Self {
        self.reason = reason;
        self
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.details.insert(name.to_owned(), Value::s(value));
        self
    }

    /// Builds the record's action.
    pub(crate) fn record(self, tenant: &Tenant, cx: &Context) -> TransactItem {
        let index_keys = listing(tenant, cx.audit_id, (self.action, &self.subject));
        let mut item = Item::from([
            ("audit_id".to_owned(), Value::s(cx.audit_id)),
            ("actor".to_owned(), Value::s(self.actor)),
            ("action".to_owned(), Value::s(self.action)),
            ("subject".to_owned(), Value::s(self.subject)),
            ("details".to_owned(), Value::M(self.details)),
            (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        ]);
        item.extend(cx.memo(self.reason).iter().flat_map(Memo::attributes));
        item.extend(index_keys);
        TransactItem::put_new(Role::Audit, keys::audit(tenant, cx.audit_id), item, Failure::AlreadyExists)
    }
}

/// The index keys of an act about a customer; none of any other act. That staff has read a customer's data changes nothing
/// of the customer, so it is on the audit trail alone.
fn listing(tenant: &Tenant, id: AuditId, (action, subject): (&str, &str)) -> Item {
    if action == Operation::CustomerRead.name() {
        return Item::new();
    }
    match Account::parse(subject) {
        Ok(Account::Customer(customer)) => Item::from([
            (attr::OWNER_PK.to_owned(), Value::S(keys::acts_partition(tenant, customer))),
            (attr::OWNER_SK.to_owned(), Value::s(id)),
        ]),
        Ok(Account::Card(_) | Account::Merchant(_) | Account::Tenant(_)) | Err(_) => Item::new(),
    }
}

/// The audit record of a command that another person's approval executes: the decider acts, and the record names the
/// approval and who requested it.
pub(crate) fn of_decider(record: TransactItem, decider: Actor, details: [(&str, String); 2]) -> TransactItem {
    let (role, key) = (record.role(), record.key().clone());
    match record.action {
        Action::Put(mut item) => {
            item.insert("actor".to_owned(), Value::s(decider));
            if let Some(Value::M(all)) = item.get_mut("details") {
                all.extend(details.map(|(name, value)| (name.to_owned(), Value::S(value))));
            }
            TransactItem::put_new(role, key, item, Failure::AlreadyExists)
        }
        Action::Update(_) | Action::Check => record,
    }
}
