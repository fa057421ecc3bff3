//! `tenant cash`: makes the merchants of an open tenant owe the cash that their terminals take.

use super::{TenantError, config};
use crate::operator::ledger;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use std::time::Duration;

/// The arguments of `tenant cash`.
#[derive(Debug, Clone)]
pub struct CashCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Makes the merchants of an open tenant owe the cash that their terminals take, and waits for `settles`, as
/// [`raise_records`] does.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn owe_cash(
    command: &CashCommand,
    settles: Duration,
    progress: impl Fn(&str),
) -> Result<String, TenantError> {
    let CashCommand { slug, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    // There must be such a tenant.
    config(&ledger, &slug).await?;
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command, as for the shards.
    let transaction = tenants::owe_cash(&slug, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => {
            progress(&format!(
                "{slug}: merchants owe the cash that their terminals take; waiting {} s until no function has earlier \
                 terms. The switch stays if this command is stopped.",
                settles.as_secs()
            ));
            tokio::time::sleep(settles).await;
            Ok(format!("{slug}: every terminal takes cash that its merchant owes, within the cash room that it has"))
        }
        Err(error) if error.failure() == Some(Failure::WrongState) => Err(TenantError::CashIsOwed(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}
