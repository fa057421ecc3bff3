//! A staff member sees a customer's personal data.

use crate::account::Account;
use crate::audit::Act;
use crate::ids::{Actor, CustomerId, Tenant};
use crate::keys::Lookup;
use crate::operation::Operation;
use crate::plan::Context;
use crate::transaction::{BuildError, Transaction};

/// Records who saw a customer's name, e-mail address and telephone number, or transactions.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn record(tenant: &Tenant, actor: Actor, customer: CustomerId, cx: &Context) -> Result<Transaction, BuildError> {
    let act = Act::new(actor, Operation::CustomerRead, Account::Customer(customer));
    Transaction::unkeyed(vec![act.record(tenant, cx)])
}

/// By what a staff member found customers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// The list of all customers.
    List,
    /// The customer's id.
    Id,
    /// A value of the customer.
    Value(Lookup),
}

impl FoundBy {
    /// The name on the audit trail.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Id => "customer_id",
            Self::Value(lookup) => lookup.name(),
        }
    }
}

/// Records who listed or searched customers, by what, and how many were found. The value that was searched is not kept.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn record_search(
    tenant: &Tenant,
    actor: Actor,
    by: FoundBy,
    found: usize,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let act = Act::new(actor, Operation::CustomerSearch, "customers").with("by", by.name()).with("found", found);
    Transaction::unkeyed(vec![act.record(tenant, cx)])
}
