//! Reads a payer's debt, for plans that give value back.

use crate::app::App;
use crate::execute::PlanError;
use ledger_core::account::Account;
use ledger_core::ids::Tenant;
use ledger_core::wallets::SeenWallet;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads a payer's debt while one request is planned.
///
/// A wallet has a debt only if a dispute took more than the wallet could give. The first plan therefore reads nothing
/// and is guarded on no debt; each later plan reads the wallet.
#[derive(Debug, Default)]
pub struct PayerDebts {
    is_replanned: AtomicBool,
}

impl PayerDebts {
    /// Returns the payer's wallet for the next plan.
    ///
    /// # Errors
    /// [`PlanError`] if the table did not answer, or an item cannot be read.
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
