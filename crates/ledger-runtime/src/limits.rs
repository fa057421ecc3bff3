//! The terms under which an account's operation is planned: the tenant's, with the account's own limits if they matter.

use crate::app::App;
use crate::execute::PlanError;
use crate::problem::Problem;
use ledger_core::account::Account;
use ledger_core::dynamo::Item;
use ledger_core::ids::Tenant;
use ledger_core::keys::{self, Partition};
use ledger_core::terms::TenantTerms;
use ledger_core::time::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The account of one request, whose own limits are read for a second plan only.
///
/// The first plan assumes that the account has none, and is stale if it has. So an account without limits of its own
/// costs no read.
#[derive(Debug)]
pub struct LimitedAccount {
    account: Account,
    is_planned: AtomicBool,
}

impl LimitedAccount {
    /// The account of a request that has not been planned.
    #[must_use]
    pub fn new(account: Account) -> Self {
        Self { account, is_planned: AtomicBool::new(false) }
    }

    /// Returns the tenant's terms for the next plan of a request of the time `at`.
    ///
    /// # Errors
    /// As [`App::terms`]; 503 if the account's item could not be read.
    pub async fn terms(&self, app: &App, (tenant, at): (&Tenant, Timestamp)) -> Result<Arc<TenantTerms>, PlanError> {
        let terms = app.terms_at(tenant, at).await?;
        let is_first = !self.is_planned.swap(true, Ordering::Relaxed);
        let Some(limits) = terms.limits.as_ref().filter(|limits| !is_first && limits.has_own_limits()) else {
            return Ok(terms);
        };
        let limits = Some(limits.of_account(&app.limited_items(tenant, self.account).await?)?);
        Ok(Arc::new(TenantTerms { limits, ..(*terms).clone() }))
    }
}

impl App {
    /// The items of an account that have its limits and what it has used of them: its balance items, or the card.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn limited_items(&self, tenant: &Tenant, account: Account) -> Result<Vec<Item>, Problem> {
        match account {
            Account::Customer(id) => self.balances(&Partition::customer(tenant, id)).await,
            Account::Card(id) => Ok(self.dynamo().get(&keys::card(tenant, id)).await?.into_iter().collect()),
            Account::Merchant(_) | Account::Tenant(_) => Ok(Vec::new()),
        }
    }
}
