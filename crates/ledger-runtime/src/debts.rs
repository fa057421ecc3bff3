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
    /// Lets the next plan read the wallet. Returns whether it would not have done so.
    fn replan(&self) -> bool {
        !self.is_replanned.swap(true, Ordering::Relaxed)
    }

    /// Whether the payer is a customer whose wallet is closed. Like the debt, it is not read for the first plan, which is stale
    /// if a balance is closed.
    ///
    /// # Errors
    /// [`PlanError`] if the table did not answer.
    pub async fn is_closed(&self, app: &App, tenant: &Tenant, payer: Account) -> Result<bool, PlanError> {
        match payer {
            Account::Customer(customer) if self.is_replanned.load(Ordering::Relaxed) => {
                Ok(app.dynamo().is_closed(tenant, customer).await?)
            }
            Account::Customer(_) | Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => Ok(false),
        }
    }

    /// Returns the payer's wallet for the next plan.
    ///
    /// # Errors
    /// [`PlanError`] if the table did not answer, or an item cannot be read.
    pub async fn wallet(&self, app: &App, tenant: &Tenant, payer: Account) -> Result<SeenWallet, PlanError> {
        let is_first = self.replan();
        let customer = match payer {
            Account::Customer(customer) if !is_first => customer,
            Account::Customer(_) | Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => {
                return Ok(SeenWallet::default());
            }
        };
        Ok(SeenWallet::read(app.dynamo().get_many(&SeenWallet::keys(tenant, customer)).await?)?)
    }
}
