//! `tenant`: opens a tenant in a table, deployed or local, through the builder that everything else
//! reads its terms by, and raises the shards of one that is open.

use crate::operator::{self, CredentialsError};
use crate::terms_file::{self, TermsError};
use ledger_core::failure::Failure;
use ledger_core::ids::{Actor, IdError, Tenant};
use ledger_core::keys::Shards;
use ledger_core::migration::{self, Model};
use ledger_core::operation::Operation;
use ledger_core::ops::tenant;
use ledger_core::transaction::BuildError;
use ledger_runtime::clock::Clock;
use ledger_runtime::dynamo::{self, Dynamo};
use ledger_runtime::entropy::{Entropy, EntropyError};
use ledger_runtime::execute::Ledger;
use ledger_runtime::metrics::{Counting, Metrics};
use ledger_runtime::problem::Problem;
use std::path::PathBuf;

/// Opening a tenant.
#[derive(Debug, Clone)]
pub struct OpenCommand {
    /// Its slug.
    pub slug: String,
    /// The file with its terms.
    pub terms: PathBuf,
    /// The legacy model that its customers come from, if they do.
    pub legacy: Option<Model>,
    /// The table.
    pub table: String,
    /// Another DynamoDB than that of the Region.
    pub endpoint_url: Option<String>,
}

/// Raising the shards of a tenant.
#[derive(Debug, Clone)]
pub struct ShardsCommand {
    /// Its slug.
    pub slug: String,
    /// Over how many shards its due work is to be spread.
    pub due: u32,
    /// The table.
    pub table: String,
    /// Another DynamoDB than that of the Region.
    pub endpoint_url: Option<String>,
}

/// Why a tenant was not opened or changed.
#[derive(Debug, thiserror::Error)]
pub enum TenantError {
    /// The slug is none.
    #[error("{0} is no slug: 1 to 32 of a-z, 0-9 and -")]
    Slug(String, #[source] IdError),
    /// The file cannot be read.
    #[error("cannot read {}: {cause}; `cargo run -- tenant terms` prints one to begin with", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The terms cannot be used.
    #[error("the terms cannot be used: {0}")]
    Terms(#[from] TermsError),
    /// It stands.
    #[error("{0} stands in this table already, and was left as it is")]
    Stands(String),
    /// The count of shards is none.
    #[error("{0} is no number of shards: 1 to 64")]
    Shards(u32),
    /// It has as many already, or more.
    #[error("{0} has as many shards for due work already, or more, and they are only ever raised: nothing was changed")]
    NotRaised(String),
    /// There is no such tenant.
    #[error("{0} is not open in this table")]
    NotOpen(String),
    /// There are no credentials.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// No randomness.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
    /// The write cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The store did not take it, or did not say.
    #[error("{}: {}; run the same command again, it does nothing twice", .0.code(), .0.detail())]
    Store(Problem),
}

/// Opens a tenant; one that stands is not touched.
///
/// # Errors
/// [`TenantError`] says what to do.
pub async fn open(command: &OpenCommand) -> Result<String, TenantError> {
    let OpenCommand { slug, terms: path, legacy, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let text = std::fs::read_to_string(path).map_err(|cause| TenantError::Unreadable { path: path.clone(), cause })?;
    let terms = terms_file::parse(&text)?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let transaction = migration::open_tenant(&slug, &terms, *legacy, ledger.clock().now())?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Ok(format!("{slug} is open in {table}")),
        Err(error) if error.failure() == Some(Failure::AlreadyExists) => Err(TenantError::Stands(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

/// Raises the shards of an open tenant's due work. Functions see it within a minute.
///
/// # Errors
/// [`TenantError`] says what to do.
pub async fn raise_shards(command: &ShardsCommand) -> Result<String, TenantError> {
    let ShardsCommand { slug, due, table, endpoint_url } = command;
    let slug = Tenant::parse(slug).map_err(|error| TenantError::Slug(slug.clone(), error))?;
    let shards = Shards::new(*due).ok_or(TenantError::Shards(*due))?;
    let ledger = ledger(table, endpoint_url.as_deref()).await?;
    let cx = ledger.context(ledger.clock().now())?;
    // Who ran the command is in CloudTrail; the audit record says that no staff member did it through the API.
    let transaction = tenant::raise_due_shards(&slug, shards, Actor::System, &cx)?;
    match ledger.apply(&slug, Operation::TenantConfigure, &transaction).await {
        Ok(()) => Ok(format!("{slug}: due work is spread over {due} shards, everywhere within a minute")),
        Err(error) if error.failure() == Some(Failure::WrongState) => Err(TenantError::NotRaised(slug.to_string())),
        Err(error) if error.failure() == Some(Failure::AccountMissing) => Err(TenantError::NotOpen(slug.to_string())),
        Err(error) => Err(TenantError::Store(error.into())),
    }
}

async fn ledger(table: &str, endpoint_url: Option<&str>) -> Result<Ledger, CredentialsError> {
    let (clock, entropy) = (Clock::system(), Entropy::system());
    let sdk = operator::sdk_config(endpoint_url).await?;
    let dynamo = Dynamo::from_client(dynamo::client(&sdk, endpoint_url), table, entropy.clone());
    Ok(Ledger::new(dynamo, clock.clone(), entropy, Metrics::to(Counting::new(clock))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Data, Engine, EngineConfig};
    use crate::testing::TempDir;
    use crate::{seed, table};
    use ledger_core::keys;
    use ledger_core::ops::TenantTerms;

    #[tokio::test]
    async fn a_tenant_is_opened_once() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let (url, dir) = (engine.url(), TempDir::make());
        let client = table::client(&url).await;
        table::ensure(&client, &url, "ledger").await.unwrap();
        let file = dir.path().join("terms.json");
        let terms = seed::terms().unwrap();
        std::fs::write(&file, terms_file::text(&terms)).unwrap();
        let command = |slug: &str, terms: PathBuf| OpenCommand {
            slug: slug.to_owned(),
            terms,
            legacy: None,
            table: "ledger".to_owned(),
            endpoint_url: Some(url.clone()),
        };
        assert_eq!(open(&command("aoba", file.clone())).await.unwrap(), "aoba is open in ledger");
        let dynamo = Dynamo::from_client(client, "ledger", Entropy::system());
        let item = dynamo.get(&keys::config(&Tenant::parse("aoba").unwrap())).await.unwrap().unwrap();
        assert_eq!(TenantTerms::read(&item).unwrap(), terms);

        let mut changed = terms;
        changed.topup = None;
        std::fs::write(&file, terms_file::text(&changed)).unwrap();
        assert!(matches!(open(&command("aoba", file.clone())).await, Err(TenantError::Stands(_))));
        assert!(matches!(open(&command("a#b", file)).await, Err(TenantError::Slug(..))));
        let missing = dir.path().join("none.json");
        assert!(matches!(open(&command("aoba", missing)).await, Err(TenantError::Unreadable { .. })));
        engine.stop().await;
    }

    #[tokio::test]
    async fn shards_of_an_open_tenant_are_raised_and_never_lowered() {
        let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
        let url = engine.url();
        let client = table::client(&url).await;
        table::ensure(&client, &url, "ledger").await.unwrap();
        let (terms, aoba) = (seed::terms().unwrap(), Tenant::parse("aoba").unwrap());
        let ledger = ledger("ledger", Some(&url)).await.unwrap();
        let opened = tenant::open(&aoba, &terms, ledger.clock().now()).unwrap();
        ledger.apply(&aoba, Operation::TenantConfigure, &opened).await.unwrap();
        let raise = async |slug: &str, due: u32| {
            let (slug, table, endpoint_url) = (slug.to_owned(), "ledger".to_owned(), Some(url.clone()));
            raise_shards(&ShardsCommand { slug, due, table, endpoint_url }).await
        };
        let shards = async || {
            let item = ledger.dynamo().get(&keys::config(&aoba)).await.unwrap().unwrap();
            TenantTerms::read(&item).unwrap()
        };
        assert!(raise("aoba", 64).await.unwrap().contains("64 shards"));
        assert_eq!(shards().await, TenantTerms { due_shards: Shards::new(64).unwrap(), ..terms.clone() });
        for due in [64, 16, 1] {
            assert!(matches!(raise("aoba", due).await, Err(TenantError::NotRaised(_))), "{due}");
        }
        assert!(matches!(raise("aoba", 65).await, Err(TenantError::Shards(65))));
        assert!(matches!(raise("nobody", 64).await, Err(TenantError::NotOpen(_))));
        assert_eq!(shards().await.due_shards.count(), 64);
        engine.stop().await;
    }
}
