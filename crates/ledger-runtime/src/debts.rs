//! What a payer owes, for plans that give value back.

use crate::app::App;
use crate::execute::PlanError;
use ledger_core::account::Account;
use ledger_core::ids::Tenant;
use ledger_core::ops::SeenWallet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads what a payer owes while one request is planned. A wallet owes only where a dispute took more than it could
/// give, so the first plan reads nothing and is guarded on owing nothing; each later one reads the wallet.
#[derive(Debug, Default)]
pub struct PayerDebts {
    is_replanned: AtomicBool,
}

impl PayerDebts {
    /// The payer's wallet for the next plan.
    ///
    /// # Errors
    /// [`PlanError`] if the store did not answer, or an item does not look as we write it.
    pub async fn wallet(&self, app: &App, tenant: &Tenant, payer: Account) -> Result<SeenWallet, PlanError> {
        let is_first = !self.is_replanned.swap(true, Ordering::Relaxed);
        let customer = match payer {
            Account::Customer(customer) if !is_first => customer,
            Account::Customer(_) | Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => {
                return Ok(SeenWallet::default());
            }
        };
        Ok(SeenWallet::read(app.dynamo().get_many(&SeenWallet::keys(tenant, customer)).await?)?)
    }
}
