//! A staff member sees a customer's personal data.

use crate::account::Account;
use crate::audit::Act;
use crate::ids::{Actor, CustomerId, Tenant};
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
