//! `tenant home`: records in the registry that a tenant's money is in another table, after a restore.

use super::{TenantError, registry};
use crate::operator::{Operator, operator};
use ledger_core::failure::Failure;
use ledger_core::ids::Tenant;
use ledger_core::keys;
use ledger_core::registry::{RegisteredTenant, TenantHome, TenantState, change_home};
use ledger_runtime::dynamo::{ReadError, RegistryWriteError};

/// The arguments of `tenant home`.
#[derive(Debug, Clone)]
pub struct HomeCommand {
    /// The tenant's slug.
    pub slug: String,
    /// The table that its money is in.
    pub table: String,
    /// The registry. Not that of the table: a restored table has none.
    pub registry_name: String,
    /// The endpoint URL; `None` for the AWS SDK's Region.
    pub endpoint_url: Option<String>,
}

/// Why a tenant's home was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The registry does not have the tenant.
    #[error("registry {0} has no such tenant: open it with `tenant open`")]
    NotRegistered(String),
    /// The table does not have the terms of a tenant that is open.
    #[error(
        "{0} does not have the terms of the tenant: was it restored to a time before the tenant was opened? Nothing was written"
    )]
    TermsMissing(String),
    /// Another run has recorded a home since the registry was read.
    #[error(
        "another run has changed the home since it was read; check it with `tenant list`, and run the command again"
    )]
    ChangedSince,
    /// A read failed.
    #[error("{0}; repeating the command is safe")]
    Read(#[from] ReadError),
    /// The registry was not written.
    #[error("registry {table}: {cause}; repeating the command is safe")]
    Registry {
        /// The registry's table.
        table: String,
        /// Why.
        cause: RegistryWriteError,
    },
}

/// Records that a tenant's money is in a table. Repeating it changes nothing.
///
/// # Errors
/// [`TenantError`], whose text says what to do.
pub async fn record_home(command: &HomeCommand) -> Result<String, TenantError> {
    let HomeCommand { slug, table, registry_name, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let Operator { ledger, region } = operator(table, endpoint_url.as_deref()).await?;
    let registry = registry(&ledger, Some(registry_name))?;
    let home = TenantHome { region, table: table.clone() };
    let read = async || -> Result<RegisteredTenant, HomeError> {
        let registered = registry.get(&slug).await?;
        registered.ok_or_else(|| HomeError::NotRegistered(registry_name.clone()))
    };
    let registered = read().await?;
    let is_there = ledger.dynamo().get(&keys::config(&slug)).await.map_err(HomeError::from)?.is_some();
    if registered.state == TenantState::Open && !is_there {
        return Err(HomeError::TermsMissing(table.clone()).into());
    }
    if registered.home == home {
        return Ok(format!("{slug} is in {table} already, with epoch {}", registered.epoch));
    }
    match registry.write(&change_home(&registered, &home, ledger.clock().now())).await {
        Ok(()) => {}
        // An attempt of this write, or another run, may have recorded this home.
        Err(RegistryWriteError::Failed(Failure::StalePlan)) => {
            if read().await?.home != home {
                return Err(HomeError::ChangedSince.into());
            }
        }
        Err(cause) => return Err(HomeError::Registry { table: registry_name.clone(), cause }.into()),
    }
    Ok(format!("{slug} is in {table}, with epoch {}", read().await?.epoch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::{seed, table};
    use ledger_core::operation::Operation;
    use ledger_core::registry::{begin_opening, finish_opening};
    use ledger_core::tenants;
    use ledger_runtime::dynamo::Registry;
    use ledger_runtime::execute::Ledger;

    /// A table `ledger` with its registry, and a table `restored` beside it.
    struct Restore {
        engine: Engine,
        registry: Registry,
        restored: Ledger,
        aoba: Tenant,
    }

    impl Restore {
        async fn new() -> Self {
            let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
            let url = engine.url();
            for name in ["ledger", "restored"] {
                table::ensure(&table::client(&url).await, &url, name).await.unwrap();
            }
            let Operator { ledger, region } = operator("ledger", Some(&url)).await.unwrap();
            let (registry, aoba) = (Registry::of(ledger.dynamo()), Tenant::parse("aoba").unwrap());
            let home = TenantHome { region, table: "ledger".to_owned() };
            registry.write(&begin_opening(&aoba, &home, ledger.clock().now())).await.unwrap();
            let Operator { ledger: restored, .. } = operator("restored", Some(&url)).await.unwrap();
            Self { engine, registry, restored, aoba }
        }

        async fn opened(&self) {
            let now = self.restored.clock().now();
            self.registry.write(&finish_opening(&self.aoba, now, now)).await.unwrap();
        }

        async fn record(&self, slug: &str) -> Result<String, TenantError> {
            let command = HomeCommand {
                slug: slug.to_owned(),
                table: "restored".to_owned(),
                registry_name: "ledger-registry".to_owned(),
                endpoint_url: Some(self.engine.url()),
            };
            record_home(&command).await
        }

        async fn registered(&self) -> RegisteredTenant {
            self.registry.get(&self.aoba).await.unwrap().unwrap()
        }
    }

    #[tokio::test]
    async fn restored_table_is_recorded_once_with_the_next_epoch() {
        let restore = Restore::new().await;
        restore.opened().await;
        let before = restore.registered().await;
        // The table was restored to a time before the opening.
        let refused = restore.record("aoba").await.unwrap_err();
        assert!(matches!(refused, TenantError::Home(HomeError::TermsMissing(_))), "{refused}");
        assert_eq!(restore.registered().await, before);
        let opened = tenants::open(&restore.aoba, &seed::terms().unwrap(), restore.restored.clock().now()).unwrap();
        restore.restored.apply(&restore.aoba, Operation::TenantConfigure, &opened).await.unwrap();
        assert_eq!(restore.record("aoba").await.unwrap(), "aoba is in restored, with epoch 2");
        let home = TenantHome { table: "restored".to_owned(), ..before.home.clone() };
        let after = RegisteredTenant { home, epoch: 2, ..before };
        assert_eq!(restore.registered().await, after);
        assert_eq!(restore.record("aoba").await.unwrap(), "aoba is in restored already, with epoch 2");
        assert_eq!(restore.registered().await, after);
        let refused = restore.record("moriya").await.unwrap_err();
        assert!(matches!(refused, TenantError::Home(HomeError::NotRegistered(_))), "{refused}");
        restore.engine.stop().await;
    }

    #[tokio::test]
    async fn runs_at_the_same_time_raise_the_epoch_once() {
        let restore = Restore::new().await;
        // The opening goes on in the restored table, so its terms need not be there.
        let runs = (0..6).map(|_| restore.record("aoba"));
        for run in futures::future::join_all(runs).await {
            assert!(run.unwrap().ends_with("with epoch 2"));
        }
        let registered = restore.registered().await;
        assert_eq!((registered.home.table.as_str(), registered.epoch), ("restored", 2));
        restore.engine.stop().await;
    }
}
