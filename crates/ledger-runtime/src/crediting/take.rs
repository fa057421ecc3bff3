//! Takes and releases the lease of a merchant, to credit it or to read its balances while no worker credits it.

use crate::app::App;
use crate::problem::Problem;
use ledger_core::crediting::{CreditedMerchant, Crediting};
use ledger_core::ids::{MerchantId, Tenant};
use ledger_core::keys::Partition;
use ledger_core::lease::Leased;
use ledger_core::operation::Operation;
use ledger_core::retry;

/// The merchant, and the operation under which the metrics count.
pub(crate) type Taking<'a> = (&'a Tenant, MerchantId, Operation);

/// Takes a merchant's lease; `None` if another worker held it at each of `tries` attempts.
///
/// # Errors
/// 503 if the outcome is unknown.
pub(crate) async fn take(
    app: &App,
    (tenant, merchant, operation): Taking<'_>,
    tries: u32,
) -> Result<Option<Leased<CreditedMerchant>>, Problem> {
    let (ledger, key) = (app.ledger(), Partition::merchant(tenant, merchant).crediting());
    for tried in 0..tries {
        if tried > 0 {
            tokio::time::sleep(retry::backoff(tried.saturating_sub(1), ledger.entropy().jitter())).await;
        }
        let seen = app.dynamo().get(&key).await?.as_ref().map(Crediting::read).transpose()?;
        let taken = CreditedMerchant::take(tenant, merchant, seen.as_ref(), app.now());
        let taken = taken.map_err(|error| ledger.broken(tenant, operation, &error.to_string()))?;
        if let Some((held, transaction)) = taken
            && ledger.apply_as_read(tenant, operation, &transaction).await?
        {
            return Ok(Some(held));
        }
    }
    Ok(None)
}

/// Releases a merchant's lease. A lease that another worker has taken since is left unchanged.
///
/// # Errors
/// 503 if the outcome is unknown.
pub(crate) async fn release(
    app: &App,
    (tenant, operation): (&Tenant, Operation),
    held: &Leased<CreditedMerchant>,
) -> Result<(), Problem> {
    let released = held.release(app.now());
    let released = released.map_err(|error| app.ledger().broken(tenant, operation, &error.to_string()))?;
    app.ledger().apply_as_read(tenant, operation, &released).await.map(|_| ())
}
