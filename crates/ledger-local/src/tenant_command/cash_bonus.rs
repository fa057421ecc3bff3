//! `tenant cash-bonus`: lets cash that merchants owe earn a bonus in an open tenant.

use super::{TenantError, config, terms_of};
use crate::operator::ledger;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use std::time::Duration;

/// The arguments of `tenant cash-bonus`.
#[derive(Debug, Clone)]
pub struct CashBonusCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why cash cannot earn bonuses.
#[derive(Debug, thiserror::Error)]
pub enum CashBonusError {
    /// The tenant's settlements return no rooms.
    #[error("the settlements of {0} return no rooms: run `tenant rooms {0}` first; nothing was changed")]
    BeforeRooms(String),
    /// The tenant's cash earns bonuses already.
    #[error("cash that the merchants of {0} owe already earns a bonus once it is covered: nothing was changed")]
    IsEarned(String),
}

/// Lets cash that the merchants of an open tenant owe earn a bonus once it is covered, and waits for `settles`, as
/// [`super::raise_records`] does.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn grant_cash_bonuses(
    command: &CashBonusCommand,
    settles: Duration,
    progress: impl Fn(&str),
) -> Result<String, TenantError> {
    let CashBonusCommand { slug, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let config = config(&ledger, &slug).await?;
    let terms = terms_of(&config, &slug, &ledger)?;
    if !terms.rooms.are_settled() {
        return Err(CashBonusError::BeforeRooms(slug.to_string()).into());
    }
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command, as for the shards.
    let transaction = tenants::grant_cash_bonuses(&slug, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => {
            progress(&format!(
                "{slug}: cash earns a bonus once it is covered; waiting {} s until no function has earlier terms. The switch \
                 stays if this command is stopped.",
                settles.as_secs()
            ));
            tokio::time::sleep(settles).await;
            Ok(format!(
                "{slug}: the bonus on cash that a merchant owes is granted when a settlement has covered the cash"
            ))
        }
        Err(error) if error.failure() == Some(Failure::WrongState) => {
            Err(CashBonusError::IsEarned(slug.to_string()).into())
        }
        Err(error) if error.failure() == Some(Failure::StalePlan) => Err(TenantError::Changed(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}
