//! `tenant rooms`: lets refunds in an open tenant take from refund rooms, and settlements return rooms.

use super::{TenantError, config, terms_of};
use crate::operator::ledger;
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, Tenant};
use ledger_core::operation::Operation;
use ledger_core::tenants;
use std::time::Duration;

/// The arguments of `tenant rooms`.
#[derive(Debug, Clone)]
pub struct RoomsCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The table.
    pub table: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Lets refunds of an open tenant take from refund rooms, and settlements return rooms, and waits for `settles`, as
/// [`super::raise_records`] does.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn settle_rooms(
    command: &RoomsCommand,
    settles: Duration,
    progress: impl Fn(&str),
) -> Result<String, TenantError> {
    let RoomsCommand { slug, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let config = config(&ledger, &slug).await?;
    let terms = terms_of(&config, &slug, &ledger)?;
    if !terms.cash.is_owed() {
        return Err(TenantError::RoomsBeforeCash(slug.to_string()));
    }
    let cx = ledger.context(ledger.clock().now())?;
    // CloudTrail has the person who ran the command, as for the shards.
    let transaction = tenants::settle_rooms(&slug, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => {
            progress(&format!(
                "{slug}: refunds take from refund rooms, and settlements return rooms; waiting {} s until no function has \
                 earlier terms. The switch stays if this command is stopped.",
                settles.as_secs()
            ));
            tokio::time::sleep(settles).await;
            Ok(format!("{slug}: every refund takes from the refund room of its merchant"))
        }
        Err(error) if error.failure() == Some(Failure::WrongState) => {
            Err(TenantError::RoomsAreSettled(slug.to_string()))
        }
        Err(error) if error.failure() == Some(Failure::StalePlan) => Err(TenantError::Changed(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}
